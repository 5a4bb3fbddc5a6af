//! The screens: rendered here, read without a script, kept up to date with one.

mod answer;
mod compare;
mod html;
mod model;
mod plates;
mod report;
mod studies;
mod trials;
mod workers;

use crate::app::App;
use crate::refusal::{Outcome, Refusal};
use axum::Router;
use axum::extract::Path;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use sigmabar_report::plot::escape;
use std::sync::Arc;

const SCRIPT: &str = include_str!("../assets/app.js");
const STYLE: &str = include_str!("../assets/style.css");
const ICON: &str = include_str!("../assets/icon.svg");

/// All screens.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(studies::show))
        .route("/compare", get(compare::show))
        .route("/s/{s}", get(answer::show))
        .route("/s/{s}/trials", get(trials::show))
        .route("/s/{s}/workers", get(workers::show))
        .route("/s/{s}/plates", get(plates::show))
        .route("/s/{s}/model", get(model::show))
        .route("/s/{s}/report", get(report::show))
        .route("/s/{s}/report.html", get(report::file))
        .route("/assets/{name}", get(asset))
        .fallback(|| async { Wrong(Refusal::not_found("there is no such page here")) })
}

/// A refusal as a page.
pub(crate) struct Wrong(Refusal);

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        (self.0.status, plain("This cannot be shown", &format!("<p>{}</p><p><a href=\"/\">All studies</a></p>", escape(&self.0.message))))
            .into_response()
    }
}

type Shown = Result<Html<String>, Wrong>;

/// What somebody sees who has no token.
pub(crate) fn sign_in() -> Html<String> {
    plain(
        "This page needs its token",
        "<p>Open the address that <code>sigmabar serve</code> printed when it was started: the token is its last part.</p>",
    )
}

fn plain(title: &str, body: &str) -> Html<String> {
    let title = escape(title);
    Html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · sigmabar</title><link rel=\"icon\" href=\"/assets/icon.svg\"><link rel=\"stylesheet\" href=\"/assets/style.css\"></head>\
         <body><header><span class=\"brand\">sigmabar</span></header><main><h1>{title}</h1>{body}</main></body></html>\n"
    ))
}

async fn asset(Path(name): Path<String>) -> Outcome<Response> {
    let (kind, text) = match name.as_str() {
        "app.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "style.css" => ("text/css; charset=utf-8", format!("{}\n{STYLE}", sigmabar_report::report::STYLE)),
        "icon.svg" => ("image/svg+xml", ICON.to_owned()),
        _ => return Err(Refusal::not_found("there is no such file")),
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
