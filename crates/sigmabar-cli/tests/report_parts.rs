//! What every page has around its pictures: a list of contents that leads somewhere, the response's name on axes, failures where they happened.

use crate::reports::{answer, noise, number, study, value};
use resvg::usvg::roxmltree::{Document, Node, ParsingOptions};
use sigmabar_cli::plot::Medium;
use sigmabar_cli::report::{self, Page};
use sigmabar_study::TrialResult;
use tempfile::TempDir;

/// The page of a study called "yield / %" whose trials 4 and 9 failed.
fn page(directory: &TempDir) -> Page {
    let toml = "response = \"yield / %\"\nbudget = 40\nbatches = 2\n[parameters.temperature]\ntype = \"float\"\nlow = 20\nhigh = 80\n\
                [parameters.time]\ntype = \"float\"\nlow = 1\nhigh = 8";
    let study = study(directory, toml);
    answer(&study, usize::MAX, |trial| match trial.id {
        4 | 9 => TrialResult::Failed { reason: "spilt".to_owned() },
        _ => value(40.0 - ((number(trial, 0) - 50.0) / 8.0).powi(2) + number(trial, 1) + 2.0 * noise(trial.seed)),
    });
    report::study(&study).unwrap()
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|child| child.text().filter(|_| child.is_text())).collect()
}

#[test]
fn the_list_of_contents_leads_to_every_part_in_its_order() {
    let html = page(&TempDir::new().unwrap()).html();
    let document = Document::parse_with_options(&html, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() }).unwrap();
    let nav = document.descendants().find(|node| node.has_tag_name("nav")).unwrap();
    let links: Vec<(String, String)> =
        nav.descendants().filter_map(|link| Some((link.attribute("href")?.trim_start_matches('#').to_owned(), text(link)))).collect();
    let parts: Vec<(String, String)> = document
        .descendants()
        .filter(|node| node.has_tag_name("h2"))
        .map(|part| (part.attribute("id").unwrap_or_default().to_owned(), text(part)))
        .collect();
    assert!(parts.len() > 3 && links == parts, "{links:?}\n{parts:?}");
}

#[test]
fn axes_bear_the_name_of_the_response() {
    let page = page(&TempDir::new().unwrap());
    for name in ["progress", "slices", "effects", "mean-map", "residuals"] {
        let picture = page.pictures().iter().find(|picture| picture.name() == name).unwrap_or_else(|| panic!("there is no {name}"));
        let svg = picture.svg(Medium::File);
        let document = Document::parse(&svg).unwrap();
        assert!(document.descendants().any(|node| node.has_tag_name("text") && text(node).contains("yield / %")), "{name}");
    }
}

#[test]
fn failures_are_drawn_where_they_happened() {
    let page = page(&TempDir::new().unwrap());
    let svg = page.pictures().iter().find(|picture| picture.name() == "progress").unwrap().svg(Medium::Page);
    let document = Document::parse(&svg).unwrap();
    let trials: Vec<&str> = document.descendants().filter_map(|node| node.attribute("data-id")).collect();
    assert!(svg.contains("failed evaluations") && trials.contains(&"4") && trials.contains(&"9"), "{trials:?}");
}
