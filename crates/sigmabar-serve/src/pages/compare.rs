//! Studies side by side.

use super::Shown;
use super::html::{Screen, address, table};
use crate::app::App;
use crate::token::Access;
use axum::Extension;
use axum::extract::{RawQuery, State};
use sigmabar_report::plot::{Medium, between, compared, escape, number};
use sigmabar_report::report::{gaps, setting_words};
use sigmabar_study::TrialStatus;
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Extension(access): Extension<Access>, RawQuery(query): RawQuery) -> Shown {
    let all = app.desks.all();
    let wanted: Vec<&str> = query.as_deref().unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("with=")).collect();
    // An address has names as browsers write them: they are compared in that form.
    let is_wanted = |slug: &str| wanted.iter().any(|word| word.replace('+', "%20").eq_ignore_ascii_case(&crate::desk::encoded(slug)));
    let chosen: Vec<_> = all.iter().filter(|desk| wanted.is_empty() || is_wanted(&desk.slug)).take(14).collect();
    let (mut rows, mut curves, mut waiting) = (Vec::new(), Vec::new(), "");
    for desk in &chosen {
        // One that is read for the first time comes a moment later.
        let Some(known) = desk.glance().await? else {
            waiting = "<p data-waiting>Some studies are being read.</p>";
            continue;
        };
        let (status, advice) = (&known.live.status, known.live.advice.as_ref());
        let dash = || "–".to_owned();
        rows.push((
            desk.slug.clone(),
            vec![
                format!("<a href=\"{}\">{}</a>", address(desk, ""), escape(&desk.slug)),
                escape(&status.strategy),
                advice.map_or_else(dash, |advice| format!("<span class=\"badge {0}\">{0}</span>", escape(&advice.label().to_string()))),
                advice.filter(|advice| advice.gap.is_finite()).map_or_else(dash, |advice| number(advice.gap)),
                advice.map_or_else(dash, |advice| between(advice.lower, advice.upper)),
                advice.map_or_else(dash, |advice| escape(&setting_words(desk.reader.spec().space(), &advice.plain_values()))),
                format!("{} of {}", status.count(TrialStatus::Done) + status.count(TrialStatus::Failed), status.budget),
            ],
        ));
        curves.push((desk.slug.clone(), gaps(&known.live.batches)));
    }
    let boxes: String = all
        .iter()
        .map(|desk| {
            let checked = if chosen.iter().any(|other| Arc::ptr_eq(other, desk)) { " checked" } else { "" };
            let slug = escape(&desk.slug);
            format!("<label><input type=\"checkbox\" name=\"with\" value=\"{slug}\"{checked}> {slug}</label> ")
        })
        .collect();
    let picture = compared(&curves);
    let heads = ["study", "strategy", "label", "gap", "true value there", "setting", "measured"];
    let body = format!(
        "<h1>Compare</h1><form class=\"filter\" action=\"/compare\" method=\"get\">{boxes}<button>Compare</button></form>{waiting}{}<figure>{}<figcaption>{}</figcaption></figure>",
        table("compared", &heads, rows.into_iter()),
        picture.svg(Medium::Page),
        escape(picture.caption())
    );
    let screen = Screen { title: "Compare", study: None, access, events: "/api/v1/events".to_owned() };
    Ok(screen.around(&body))
}
