//! The report: on a screen that follows the study, and as the file that the command writes.

use super::html::{Screen, address, coming};
use super::{Shown, Wrong};
use crate::app::App;
use crate::desk::blocking;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Path(s): Path<String>, Extension(access): Extension<Access>) -> Shown {
    let desk = app.desk(&s)?;
    let drawn = desk.report_soon().await?.map_or_else(|| coming("The report is being made and comes"), |page| page.body());
    let link =
        format!("<p class=\"note\"><a href=\"{}\">This report as one file</a>, to keep or to send</p>", address(&desk, "report.html"));
    let screen = Screen { title: desk.reader.name(), study: Some((&desk, "report")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&format!("{link}{drawn}")))
}

/// The page that the command writes: it carries its own style, and its own leave for it.
pub(super) async fn file(State(app): State<Arc<App>>, Path(s): Path<String>) -> Result<Response, Wrong> {
    let desk = app.desk(&s)?;
    let page = desk.report().await?;
    let mut response = Html(blocking(move || Ok(page.html())).await?).into_response();
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    Ok(response)
}
