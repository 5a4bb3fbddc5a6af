//! Plates: click a well and type its result, or upload a filled-in sheet and look at the difference before it is told.

use super::Shown;
use super::html::{Screen, button};
use crate::app::App;
use crate::desk::Desk;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, State};
use sigmabar_report::plate::{Content, LaidPlate, laid};
use sigmabar_report::plot::{escape, number, well_name};
use sigmabar_report::report::called_words;
use sigmabar_study::{Study, TrialRow, TrialStatus};
use std::sync::Arc;

/// The last plates are shown; older ones are in the report.
const MOST_PLATES: usize = 12;

pub(super) async fn show(State(app): State<Arc<App>>, Path(s): Path<String>, Extension(access): Extension<Access>) -> Shown {
    let desk = app.desk(&s)?;
    let plates = desk.read(laid).await?;
    let begun = plates.len();
    let values = plates.iter().flat_map(|plate| plate.wells.values()).filter_map(|well| match well {
        Content::Trial(row) => row.value,
        Content::Control(value) => *value,
        Content::Blocked => None,
    });
    let ends = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let shown: String = plates.iter().rev().take(MOST_PLATES).map(|plate| section(plate, &desk, access, ends)).collect();
    let wells = desk.reader.spec().plate().unwrap_or(24);
    let body = serde_json::json!({ "wells": wells, "name": format!("plate{}", begun + 1) }).to_string();
    // Nothing is handed out once the study is over.
    let is_over = desk.glance().await?.is_some_and(|known| known.live.status.is_finished);
    let next = if is_over {
        String::new()
    } else {
        button(access, &format!("Lay out the next plate ({wells} wells)"), "POST", "/plates", &body, "")
    };
    let upload = if access == Access::Write {
        "<section class=\"upload\"><h2>A filled-in sheet</h2><p>CSV (UTF-8) with the columns <code>trial</code> and <code>result</code>, as <code>sigmabar ask --plate</code> writes it. \
         You see what it changes before anything is told.</p><label>Sheet <input type=\"file\" id=\"sheet\" accept=\".csv,text/csv,text/plain\"></label><div id=\"difference\" data-keep></div></section>"
    } else {
        ""
    };
    let none = if begun == 0 { "<p>No plate is laid out yet.</p>" } else { "" };
    let help = if access < Access::Write || begun == 0 {
        String::new()
    } else {
        let together = if desk.reader.spec().replicates() > 1 {
            " Every setting is in several wells: what is typed is told once all of them have a result."
        } else {
            ""
        };
        format!(
            "<p class=\"note\">Click a well, or move with the arrow keys and press Enter; type a number, or <em>failed</em>; Enter keeps it and goes to the next well, Escape leaves it.{together}</p>"
        )
    };
    let screen = Screen { title: "Plates", study: Some((&desk, "plates")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&format!("<h1>Plates</h1><p class=\"controls\">{next}</p>{none}{help}{shown}{upload}")))
}

fn section(plate: &LaidPlate, desk: &Desk, access: Access, ends: (f64, f64)) -> String {
    let (height, width) = plate.size;
    let heads: String = (1..=width).map(|column| format!("<th scope=\"col\">{column}</th>")).collect();
    let line = |r: usize| {
        let letter: String = well_name(r, 0).chars().filter(|c| c.is_alphabetic()).collect();
        let cell = |c: usize| {
            plate.wells.get(&(r, c)).map_or_else(String::new, |content| well(content, &well_name(r, c), plate, &desk.reader, access, ends))
        };
        let cells: String = (0..width).map(|c| format!("<td>{}</td>", cell(c))).collect();
        format!("<tr><th scope=\"row\">{letter}</th>{cells}</tr>")
    };
    let lines: String = (0..height).map(line).collect();
    let has = |wanted: fn(&Content) -> bool| plate.wells.values().any(wanted);
    let legend: String = [
        (has(|well| matches!(well, Content::Control(_))), "C: a control. "),
        (has(|well| matches!(well, Content::Blocked)), "Hatched: stays empty. "),
        (has(|well| matches!(well, Content::Trial(row) if row.value.is_none() && !is_open(row))), "×: failed. "),
    ]
    .iter()
    .filter(|(is_there, _)| *is_there)
    .map(|(_, words)| *words)
    .collect();
    let files = format!("{}/plates/{}", desk.address(), plate.number);
    let links = plate.with_layout(&desk.reader, |_| {
        format!("<a class=\"download\" download href=\"{files}/sheet.csv\">sheet (CSV)</a> <a class=\"download\" download href=\"{files}/map.csv\">pipetting map (CSV)</a>")
    });
    format!(
        "<section><h2>Plate {0} (batch {1})</h2><div class=\"table\"><table class=\"plate\" id=\"plate-{0}\" data-plate=\"{0}\"><thead><tr><th></th>{heads}</tr></thead><tbody>{lines}</tbody></table></div>\
         <p class=\"note\">{legend}{2}</p><div class=\"typed\" id=\"typed-{0}\" data-keep></div></section>",
        plate.number,
        plate.batch + 1,
        links.unwrap_or_default()
    )
}

fn is_open(row: &TrialRow) -> bool {
    row.state.is_open() || row.state == TrialStatus::Missing
}

fn well(content: &Content, name: &str, plate: &LaidPlate, study: &Study, access: Access, (low, high): (f64, f64)) -> String {
    let heat = |value: f64| format!("heat-{}", step(value, low, high));
    let (class, text, tip, trial) = match content {
        Content::Blocked => ("blocked".to_owned(), String::new(), format!("{name} · stays empty"), None),
        Content::Control(None) => ("open control".to_owned(), "C".to_owned(), format!("{name} · control"), Some("control".to_owned())),
        Content::Control(Some(value)) => {
            (format!("{} control", heat(*value)), number(*value), format!("{name} · control"), Some("control".to_owned()))
        }
        Content::Trial(row) => {
            let wells = row
                .well
                .as_deref()
                .filter(|wells| wells.contains(';'))
                .map_or_else(String::new, |wells| format!(" (in {})", wells.replace(';', ", ")));
            let tip = format!("{name} · trial {}{wells} · {}", row.id, called_words(study.spec().space(), &row.values));
            match row.value {
                Some(value) => (heat(value), number(value), tip, None),
                // Its trial has a result, made of its other wells.
                None if row.state == TrialStatus::Missing && row.told_at.is_some() => ("open".to_owned(), "·".to_owned(), tip, None),
                None if is_open(row) => ("open".to_owned(), "·".to_owned(), tip, Some(row.id.to_string())),
                None => ("failed".to_owned(), "×".to_owned(), tip, None),
            }
        }
    };
    let tip = escape(&tip);
    match trial.filter(|_| access == Access::Write) {
        Some(trial) => {
            let is_one_of_many = matches!(content, Content::Trial(row) if row.well.as_ref().is_some_and(|wells| wells.contains(';')));
            let together = if is_one_of_many { " data-together" } else { "" };
            format!(
                "<button type=\"button\" class=\"well {class}\" data-plate=\"{}\" data-well=\"{name}\" data-trial=\"{trial}\"{together} title=\"{tip}\" aria-label=\"{tip}\">{text}</button>",
                plate.number
            )
        }
        None => format!("<span class=\"well {class}\" tabindex=\"0\" title=\"{tip}\" aria-label=\"{tip}: {text}\">{text}</span>"),
    }
}

/// One of ten colours.
fn step(value: f64, low: f64, high: f64) -> usize {
    if high > low { (((value - low) / (high - low)) * 9.0).round().clamp(0.0, 9.0) as usize } else { 5 }
}
