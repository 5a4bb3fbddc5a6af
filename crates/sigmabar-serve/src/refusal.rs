//! Refusals: one form for all of them, with a status, a short name and words that say what would be right.

use crate::wire::Problem;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sigmabar_study::{Error, StoreError};

/// A file that is damaged, or no longer there.
pub(crate) const UNREADABLE: &str = "unreadable";

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub error: &'static str,
    pub message: String,
    /// Seconds after which to try again, where that may help.
    pub retry_after: u64,
}

pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    pub fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Self { status, error, message: message.into(), retry_after: 2 }
    }

    /// What was sent is not what the API takes.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub fn conflict(error: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, error, message)
    }

    /// Later it may work.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    /// Somebody asks too often.
    pub fn too_many(retry_after: u64, message: impl Into<String>) -> Self {
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", message) }
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        let (status, name) = match error {
            Error::UnknownTrial { .. } => (StatusCode::NOT_FOUND, "unknown-trial"),
            Error::NotAsked { .. } => (StatusCode::CONFLICT, "not-asked"),
            Error::AlreadyTold { .. } => (StatusCode::CONFLICT, "already-told"),
            Error::Mistyped { .. } => (StatusCode::CONFLICT, "mistyped"),
            Error::NotHandedOut { .. } => (StatusCode::CONFLICT, "not-handed-out"),
            Error::NotTold { .. } => (StatusCode::CONFLICT, "not-told"),
            Error::Unamendable { .. } => (StatusCode::CONFLICT, "unamendable"),
            // The server opens it again within a moment.
            Error::Amended { .. } => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Error::StudyExists { .. } => (StatusCode::CONFLICT, "study-exists"),
            Error::Contradicted(_) => (StatusCode::CONFLICT, "contradicted"),
            Error::PremisesAwaited { .. } => (StatusCode::CONFLICT, "premises-awaited"),
            Error::Result { .. }
            | Error::Setting { .. }
            | Error::SettingLength { .. }
            | Error::NotACandidate { .. }
            | Error::Unconstrained { .. }
            | Error::ImportedRow { .. }
            | Error::UsedOtherwise { .. }
            | Error::Spec(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Error::Store { problem: StoreError::Busy { .. }, .. } => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Error::Store { problem: StoreError::Full, .. } => (StatusCode::INSUFFICIENT_STORAGE, "disk-full"),
            Error::Store { problem: StoreError::ReadOnly, .. } => (StatusCode::CONFLICT, "read-only"),
            Error::Store { problem: StoreError::Replaced, .. } => (StatusCode::SERVICE_UNAVAILABLE, "replaced"),
            // It does not pass by itself: clients try again for a moment, and then say what stands here.
            Error::Store { .. } => (StatusCode::INTERNAL_SERVER_ERROR, UNREADABLE),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let remedy = if matches!(error, Error::Mistyped { .. }) { ": sure=true says that it was measured" } else { "" };
        Self::new(status, name, format!("{error}{remedy}"))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<sigmabar_report::report::Error> for Refusal {
    fn from(error: sigmabar_report::report::Error) -> Self {
        match error {
            sigmabar_report::report::Error::Study(error) => error.into(),
            other => Self::internal(other.to_string()),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let retry = matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
        let mut response = (self.status, Json(Problem { error: self.error.to_owned(), message: self.message })).into_response();
        let headers = response.headers_mut();
        if retry {
            headers.insert(header::RETRY_AFTER, self.retry_after.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
