//! What the model says: slices through a setting of one's choice, relevance, and whether it can be trusted.

use super::Shown;
use super::html::{Screen, address, coming};
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::Refusal;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, Query, State};
use sigmabar_report::plot::escape;
use sigmabar_report::report;
use sigmabar_study::{Advice, ParameterKind, Study, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Extension(access): Extension<Access>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Shown {
    let desk = app.desk(&s)?;
    let known = desk.glance().await?;
    let chosen = chosen(&desk, &query)?;
    let at = chosen.clone();
    let pictures = format!("{}/pictures", desk.address());
    let draw = move |study: &Study| {
        let none = "<p>There is no model yet: it needs measurements, and a kernel.</p>";
        Ok(report::live_model(study, &pictures, at.as_deref())?.map_or_else(|| none.to_owned(), |page| page.body()))
    };
    let shown = match desk.soon(&format!("model at {chosen:?}"), draw).await {
        Ok(drawn) => drawn.map_or_else(|| coming("The model is being asked, and what it says comes"), |page| page.to_string()),
        Err(refusal) => format!("<p class=\"wrong\">{}</p>", escape(&refusal.message)),
    };
    let form = form(&desk, chosen.as_deref(), known.as_ref().and_then(|known| known.live.advice.as_ref()));
    let screen = Screen { title: "Model", study: Some((&desk, "model")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&format!("<h1>Model</h1>{form}{shown}")))
}

/// The setting of the form, if it is whole.
fn chosen(desk: &Desk, query: &BTreeMap<String, String>) -> Result<Option<Vec<Value>>, Refusal> {
    let parameters = desk.reader.spec().space().parameters();
    let given: Vec<Option<&String>> =
        parameters.iter().map(|p| query.get(&format!("at.{}", p.name)).filter(|text| !text.trim().is_empty())).collect();
    if given.iter().all(Option::is_none) {
        return Ok(None);
    }
    let value = |(parameter, text): (&sigmabar_study::Parameter, Option<&String>)| {
        let text = text.ok_or_else(|| Refusal::invalid(format!("the parameter \"{}\" is missing", parameter.name)))?;
        Ok(match &parameter.kind {
            ParameterKind::Float { .. } | ParameterKind::Column { .. } => {
                let wrong = || Refusal::invalid(format!("\"{}\" must be a number, and is \"{text}\"", parameter.name));
                Value::Float(text.trim().parse().map_err(|_| wrong())?)
            }
            _ => Value::from_text(text),
        })
    };
    parameters.iter().zip(given).map(value).collect::<Result<Vec<_>, _>>().map(Some)
}

fn form(desk: &Desk, chosen: Option<&[Value]>, advice: Option<&Advice>) -> String {
    let shown = |i: usize| {
        chosen.map(|values| values[i].to_string()).or_else(|| advice.map(|advice| advice.values[i].1.to_string())).unwrap_or_default()
    };
    let field = |(i, parameter): (usize, &sigmabar_study::Parameter)| {
        let name = escape(&parameter.name);
        let value = shown(i);
        match &parameter.kind {
            ParameterKind::Categorical { choices: values } | ParameterKind::Ordinal { levels: values } => {
                let option = |choice: &Value| {
                    let selected = if choice.to_string() == value { " selected" } else { "" };
                    format!("<option{selected}>{}</option>", escape(&choice.to_string()))
                };
                format!("<label>{name} <select name=\"at.{name}\">{}</select></label> ", values.iter().map(option).collect::<String>())
            }
            _ => {
                format!("<label>{name} <input name=\"at.{name}\" size=\"20\" inputmode=\"decimal\" value=\"{}\"></label> ", escape(&value))
            }
        }
    };
    let fields: String = desk.reader.spec().space().parameters().iter().enumerate().map(field).collect();
    let base = address(desk, "model");
    format!(
        "<form class=\"filter\" action=\"{base}\" method=\"get\">Slices through {fields}<button>Show</button> <a href=\"{base}\">the recommendation</a></form>"
    )
}
