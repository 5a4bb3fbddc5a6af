//! What handlers take from a request, refused in one form where it is wrong.

use crate::refusal::Refusal;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The body, as JSON.
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, "not-json", message);
        let bytes = Bytes::from_request(request, state).await.map_err(|error| bad(error.to_string()))?;
        // A list would be read as the fields in their order.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(Refusal::invalid("the body must be a JSON object"));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            if error.is_data() { Refusal::invalid(error.to_string()) } else { bad(format!("the body is not JSON: {error}")) }
        })
    }
}

/// The query.
pub(crate) struct Args<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Args<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(read)| Self(read)).map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, "wrong-query", error.to_string()))
    }
}
