//! Plates: click a well and type its result, or upload a filled-in sheet and look at the difference before it is told.

use super::Shown;
use super::html::{Screen, button};
use crate::app::App;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, State};
use sigmabar_report::plot::{escape, number, plate_size, well_name, well_place};
use sigmabar_report::report::setting_words;
use sigmabar_study::{Study, TrialRow, TrialStatus, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The last plates are shown; older ones are in the report.
const MOST_PLATES: usize = 12;

pub(super) async fn show(State(app): State<Arc<App>>, Path(s): Path<String>, Extension(access): Extension<Access>) -> Shown {
    let desk = app.desk(&s)?;
    let rows: Vec<TrialRow> = desk.read(|study| Ok(study.trials()?.into_iter().filter(|row| row.well.is_some()).collect())).await?;
    let plates = plates(rows);
    let begun = plates.len();
    let ends =
        plates.iter().flatten().filter_map(|row| row.value).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let shown: String =
        plates.iter().enumerate().rev().take(MOST_PLATES).map(|(i, rows)| plate(i, rows, &desk.reader, access, ends)).collect();
    let wells = desk.reader.spec().plate().unwrap_or(24);
    let body = serde_json::json!({ "wells": wells, "name": format!("plate{}", begun + 1) }).to_string();
    let next = button(access, &format!("Lay out the next plate ({wells} wells)"), "POST", "/plates", &body, "");
    let upload = if access == Access::Write {
        "<section class=\"upload\"><h2>A filled-in sheet</h2><p>CSV with the columns <code>trial</code> and <code>result</code>, as <code>sigmabar ask --plate</code> writes it. \
         You see what it changes before anything is told.</p><label>Sheet <input type=\"file\" id=\"sheet\" accept=\".csv,text/csv,text/plain\"></label><div id=\"difference\" data-keep></div></section>"
    } else {
        ""
    };
    let none = if begun == 0 { "<p>No plate is laid out yet.</p>" } else { "" };
    let help = if access < Access::Write {
        ""
    } else {
        "<p class=\"note\">Click a well, or move with the arrow keys and press Enter; type a number, or <em>failed</em>; Enter keeps it and goes to the next well, Escape leaves it.</p>"
    };
    let screen = Screen { title: "Plates", study: Some((&desk, "plates")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&format!("<h1>Plates</h1><p class=\"controls\">{next}</p>{none}{help}{shown}{upload}")))
}

/// A batch begins a new plate, and so does a well that is in use already.
fn plates(rows: Vec<TrialRow>) -> Vec<Vec<TrialRow>> {
    let mut plates: Vec<Vec<TrialRow>> = Vec::new();
    for row in rows {
        let is_new = plates.last().is_none_or(|plate| plate.iter().any(|other| other.batch != row.batch || other.well == row.well));
        if is_new {
            plates.push(Vec::new());
        }
        if let Some(plate) = plates.last_mut() {
            plate.push(row);
        }
    }
    plates
}

fn plate(i: usize, rows: &[TrialRow], study: &Study, access: Access, ends: (f64, f64)) -> String {
    let by_place: HashMap<(usize, usize), &TrialRow> = rows
        .iter()
        .flat_map(|row| row.well.iter().flat_map(|wells| wells.split(';')).filter_map(move |well| Some((well_place(well)?, row))))
        .collect();
    let (height, width) = plate_size(by_place.keys().copied());
    let heads: String = (1..=width).map(|column| format!("<th scope=\"col\">{column}</th>")).collect();
    let line = |r: usize| {
        let letter: String = well_name(r, 0).chars().filter(|c| c.is_alphabetic()).collect();
        let cells: String = (0..width)
            .map(|c| by_place.get(&(r, c)).map_or_else(|| "<td></td>".to_owned(), |row| well(row, study, access, ends)))
            .collect();
        format!("<tr><th scope=\"row\">{letter}</th>{cells}</tr>")
    };
    let lines: String = (0..height).map(line).collect();
    let batch = rows.first().map_or(0, |row| row.batch + 1);
    format!(
        "<section><h2>Plate {} (batch {batch})</h2><div class=\"table\"><table class=\"plate\" id=\"plate-{}\"><thead><tr><th></th>{heads}</tr></thead><tbody>{lines}</tbody></table></div></section>",
        i + 1,
        i + 1
    )
}

fn well(row: &TrialRow, study: &Study, access: Access, (low, high): (f64, f64)) -> String {
    let names = study.spec().space().parameters().iter().map(|p| p.name.clone());
    let setting: Vec<(String, Value)> = names.zip(row.values.iter().cloned()).collect();
    let well = row.well.as_deref().unwrap_or_default();
    let tip = escape(&format!("{well} · trial {} · {}", row.id, setting_words(&setting)));
    let is_open = row.state.is_open() || row.state == TrialStatus::Missing;
    let (class, text) = match row.value {
        Some(value) => (format!("heat-{}", step(value, low, high)), number(value)),
        None if is_open => ("open".to_owned(), "·".to_owned()),
        None => ("failed".to_owned(), "×".to_owned()),
    };
    if is_open && access == Access::Write {
        format!(
            "<td><button type=\"button\" class=\"well {class}\" data-trial=\"{}\" title=\"{tip}\" aria-label=\"{tip}\">{text}</button></td>",
            row.id
        )
    } else {
        format!("<td><span class=\"well {class}\" tabindex=\"0\" title=\"{tip}\" aria-label=\"{tip}: {text}\">{text}</span></td>")
    }
}

/// One of ten colours.
fn step(value: f64, low: f64, high: f64) -> usize {
    if high > low { (((value - low) / (high - low)) * 9.0).round().clamp(0.0, 9.0) as usize } else { 5 }
}
