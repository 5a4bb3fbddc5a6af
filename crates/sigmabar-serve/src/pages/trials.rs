//! The trials of a study, a page at a time, with their notes; results can be told by hand.

use super::Shown;
use super::html::{Screen, address, table, time};
use crate::app::App;
use crate::desk::encoded;
use crate::refusal::Refusal;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, Query, State};
use sigmabar_report::plot::{escape, number};
use sigmabar_report::report::{has_labels, value_words};
use sigmabar_study::{Page, Space, TrialRow, TrialStatus};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a page.
const ROWS: usize = 100;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Extension(access): Extension<Access>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Shown {
    let desk = app.desk(&s)?;
    // A form sends its empty fields too.
    let field = |name: &str| query.get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let state = field("state")
        .map(|word| TrialStatus::named(&word).ok_or_else(|| Refusal::invalid(format!("there is no state \"{word}\""))))
        .transpose()?;
    let whole = |name: &str| {
        field(name).map(|text| text.parse::<u64>().map_err(|_| Refusal::invalid(format!("{name} must be a whole number")))).transpose()
    };
    let batch = whole("batch")?.map(|batch| usize::try_from(batch.saturating_sub(1)).unwrap_or(usize::MAX));
    let page = Page { after: whole("after")?, at_most: Some(ROWS + 1), state, batch, worker: field("worker") };
    let mut rows = desk.read(move |study| study.trials_of(&page)).await?;
    let more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let space = desk.reader.spec().space();
    let names: Vec<String> = space.names().collect();
    let mut heads = vec!["trial", "state", "value"];
    heads.extend(has_labels(space).then_some("label"));
    heads.extend(names.iter().map(String::as_str));
    heads.extend(["batch", "worker", "well", "told", "note"]);
    let base = address(&desk, "trials");
    let filter: String =
        ["state", "batch", "worker"].iter().filter_map(|name| Some(format!("&amp;{name}={}", encoded(&field(name)?)))).collect();
    let next = rows
        .last()
        .filter(|_| more)
        .map_or_else(String::new, |last| format!("<a rel=\"next\" href=\"{base}?after={}{filter}\">Next {ROWS}</a>", last.id));
    let first = if field("after").is_some() {
        format!("<a href=\"{base}?{}\">First</a> ", filter.trim_start_matches("&amp;"))
    } else {
        String::new()
    };
    let shown = table("trials", &heads, rows.iter().map(|row| (row.id.to_string(), cells(row, space, access))));
    let body =
        format!("<h1>Trials</h1>{}{shown}<p class=\"pages\">{first}{next}</p>", filters(&base, state, &field("batch"), &field("worker")));
    let screen = Screen { title: "Trials", study: Some((&desk, "trials")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&body))
}

fn filters(base: &str, state: Option<TrialStatus>, batch: &Option<String>, worker: &Option<String>) -> String {
    let option = |status: &TrialStatus| {
        let chosen = if state == Some(*status) { " selected" } else { "" };
        format!("<option{chosen}>{status}</option>")
    };
    let text = |value: &Option<String>| escape(value.as_deref().unwrap_or_default());
    format!(
        "<form class=\"filter\" action=\"{base}\" method=\"get\"><label>state <select name=\"state\"><option value=\"\">any</option>{}</select></label> \
         <label>batch <input name=\"batch\" inputmode=\"numeric\" size=\"4\" value=\"{}\"></label> <label>worker <input name=\"worker\" size=\"12\" value=\"{}\"></label> \
         <button>Show</button></form>",
        TrialStatus::ALL.iter().map(option).collect::<String>(),
        text(batch),
        text(worker)
    )
}

/// A button that replaces or withdraws what was told.
fn correct(row: &TrialRow, access: Access) -> String {
    if access < Access::Write {
        return String::new();
    }
    let value = row.value.map_or_else(String::new, |value| value.to_string());
    format!(
        " <button type=\"button\" class=\"correct\" data-trial=\"{0}\" data-value=\"{value}\" aria-label=\"Correct the result of trial {0}\" title=\"Correct\">✎</button>",
        row.id
    )
}

fn cells(row: &TrialRow, space: &Space, access: Access) -> Vec<String> {
    let may = access == Access::Write;
    let value = match (row.value, row.state) {
        (Some(value), _) => {
            let error = row.standard_error.map_or_else(String::new, |error| format!(" ± {}", number(error)));
            format!("{}{error}{}", number(value), correct(row, access))
        }
        (None, TrialStatus::Failed | TrialStatus::Late) => {
            format!("{}{}", escape(row.reason.as_deref().unwrap_or_default()), correct(row, access))
        }
        (None, state) if may && row.attempts > 0 && (state.is_open() || state == TrialStatus::Missing) => {
            format!(
                "<input class=\"tell\" data-trial=\"{0}\" size=\"8\" aria-label=\"Result of trial {0}\" placeholder=\"result\">",
                row.id
            )
        }
        _ => String::new(),
    };
    let note = escape(row.note.as_deref().unwrap_or_default());
    let note = if may {
        format!("<input class=\"note-of\" data-trial=\"{0}\" size=\"12\" aria-label=\"Note on trial {0}\" value=\"{note}\">", row.id)
    } else {
        note
    };
    let mut cells = vec![row.id.to_string(), format!("<span class=\"badge {0}\">{0}</span>", row.state), value];
    cells.extend(has_labels(space).then(|| escape(&space.label(&row.values).unwrap_or_default())));
    cells.extend(row.values.iter().map(|value| escape(&value_words(value))));
    cells.extend([
        (row.batch + 1).to_string(),
        escape(row.worker.as_deref().unwrap_or_default()),
        escape(row.well.as_deref().unwrap_or_default()),
        time(row.told_at),
        note,
    ]);
    cells
}
