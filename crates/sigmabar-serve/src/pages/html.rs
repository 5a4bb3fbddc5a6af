//! The frame around every screen, and the few words of HTML they share.

use crate::desk::{Desk, encoded};
use crate::token::Access;
use axum::response::Html;
use sigmabar_report::plot::escape;
use sigmabar_study::{Study, now};

/// What a screen is about.
pub(super) struct Screen<'a> {
    pub title: &'a str,
    /// The study, and which of its tabs is open.
    pub study: Option<(&'a Desk, &'a str)>,
    pub access: Access,
    /// Where news come from.
    pub events: String,
}

const TABS: [(&str, &str); 6] =
    [("", "Answer"), ("trials", "Trials"), ("workers", "Workers"), ("plates", "Plates"), ("model", "Model"), ("report", "Report")];

impl Screen<'_> {
    pub fn around(&self, body: &str) -> Html<String> {
        let tabs = self.study.map_or_else(String::new, |(desk, open)| {
            let tab = |(path, name): &(&str, &str)| {
                let current = if *path == open { " aria-current=\"page\"" } else { "" };
                format!("<a href=\"{}\"{current}>{name}</a>", address(desk, path))
            };
            format!("<nav class=\"tabs\" aria-label=\"Screens\">{}</nav>", TABS.iter().map(tab).collect::<String>())
        });
        let here = self.study.map_or_else(String::new, |(desk, _)| {
            format!("<a class=\"here\" href=\"{}\">{}</a>", address(desk, ""), escape(desk.reader.name()))
        });
        let api = self.study.map_or_else(String::new, |(desk, _)| desk.address());
        let identity = self.study.map_or("", |(desk, _)| desk.reader.identity());
        let may = if self.access == Access::Write { "write" } else { "read" };
        Html(format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{} · sigmabar</title><link rel=\"icon\" href=\"/assets/icon.svg\"><link rel=\"stylesheet\" href=\"/assets/style.css\">\
             <script type=\"module\" src=\"/assets/app.js\"></script></head>\
             <body data-events=\"{}\" data-api=\"{}\" data-study=\"{}\" data-may=\"{may}\"><a class=\"skip\" href=\"#main\">Skip to content</a>\
             <header><a class=\"brand\" href=\"/\">sigmabar</a>{here}<a href=\"/compare\">Compare</a><span id=\"live\" role=\"status\"></span></header>{tabs}\
             <main id=\"main\" tabindex=\"-1\">{body}</main><div id=\"say\" role=\"alert\" aria-live=\"assertive\"></div></body></html>\n",
            escape(self.title),
            escape(&self.events),
            escape(&api),
            escape(identity)
        ))
    }
}

/// Which batch a study is in, and of how many where that was declared.
pub(super) fn batch_words(begun: usize, study: &Study) -> String {
    let count = study.spec().batch_count().filter(|count| *count >= begun);
    count.map_or_else(|| format!("batch {begun}"), |count| format!("batch {begun} of {count}"))
}

/// Says that the rest of a page follows.
pub(super) fn coming(words: &str) -> String {
    format!("<p data-waiting>{words} by itself; without JavaScript, load the page again.</p>")
}

/// Where a screen of a study is.
pub(super) fn address(desk: &Desk, screen: &str) -> String {
    let base = format!("/s/{}", encoded(&desk.slug));
    if screen.is_empty() { base } else { format!("{base}/{screen}") }
}

/// A button that sends JSON; only there for those who may change something.
pub(super) fn button(access: Access, name: &str, method: &str, path: &str, body: &str, question: &str) -> String {
    if access < Access::Write {
        return String::new();
    }
    format!(
        "<button type=\"button\" data-method=\"{method}\" data-path=\"{}\" data-body=\"{}\" data-ask=\"{}\">{}</button>",
        escape(path),
        escape(body),
        escape(question),
        escape(name)
    )
}

/// A time that the page shows as one of the reader's own; without a script it is in UTC.
pub(super) fn time(at: Option<i64>) -> String {
    at.and_then(|at| jiff::Timestamp::from_second(at.div_euclid(1000)).ok()).map_or_else(String::new, |at| {
        let shown = at.to_string().replace('T', " ").replace('Z', " UTC");
        format!("<time datetime=\"{at}\">{shown}</time>")
    })
}

/// How long a lease has left.
pub(super) fn left(until: Option<i64>) -> String {
    match until.map(|until| (until - now()) / 1000) {
        None => String::new(),
        Some(seconds) if seconds <= 0 => "run out".to_owned(),
        Some(seconds) if seconds < 120 => format!("{seconds} s"),
        Some(seconds) if seconds < 7200 => format!("{} min", seconds / 60),
        Some(seconds) if seconds < 2 * 86400 => format!("{} h", seconds / 3600),
        Some(seconds) => format!("{} days", seconds / 86400),
    }
}

/// A table; cells are HTML already. A row is found by its key: that of the trials is #trials-17.
pub(super) fn table(id: &str, heads: &[&str], rows: impl Iterator<Item = (String, Vec<String>)>) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escape(head))).collect();
    let row = |(key, cells): (String, Vec<String>)| {
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        let key = escape(&key);
        format!("<tr data-id=\"{key}\" id=\"{id}-{key}\">{cells}</tr>")
    };
    let rows: String = rows.map(row).collect();
    format!("<div class=\"table\" tabindex=\"0\" id=\"{id}\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")
}
