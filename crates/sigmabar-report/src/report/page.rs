//! A page under construction, and the finished page: one file that needs nothing else.

use super::error::Result;
use super::style::STYLE;
use crate::plot::{Cell, Medium, Picture, Table, escape, number};
use sigmabar::certificate::Contradiction;
use std::fmt::Write;

/// The most rows of a table that a page shows; the file of its numbers has all of them.
const MOST_ROWS: usize = 500;
/// The longest table that is carried inside the page, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Stands for the list of contents until all headings are known; text cannot hold it, because it is escaped.
const CONTENTS: &str = "<!--contents-->";

/// Stand around the name of numbers until it is known how they are linked to: one page is read on a server and kept as a file.
const NUMBERS: &str = "<!--numbers ";
const END: &str = "-->";

/// A report: one HTML page, its pictures and its numbers.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    pictures: Vec<Picture>,
    tables: Vec<(String, Table)>,
    contradiction: Option<Contradiction>,
    headings: Vec<String>,
    /// Where the numbers are fetched from, if they are not carried inside.
    numbers_at: Option<String>,
}

impl Page {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            body: String::new(),
            pictures: Vec::new(),
            tables: Vec::new(),
            headings: Vec::new(),
            contradiction: None,
            numbers_at: None,
        }
    }

    /// A page of a server, which gives the numbers at `address/NAME.csv`.
    pub(super) fn served(title: impl Into<String>, address: impl Into<String>) -> Self {
        Self { numbers_at: Some(address.into()), ..Self::new(title) }
    }

    /// What stands on the page, without head and style.
    #[must_use]
    pub fn body(&self) -> String {
        self.written(self.numbers_at.as_deref())
    }

    fn written(&self, address: Option<&str>) -> String {
        let line = |(i, text): (usize, &String)| format!("<li><a href=\"#part-{i}\">{}</a></li>", escape(text));
        let contents = match self.headings.len() {
            0 | 1 => String::new(),
            _ => format!("<nav><ul>{}</ul></nav>", self.headings.iter().enumerate().map(line).collect::<String>()),
        };
        self.linked(address).replacen(CONTENTS, &contents, 1)
    }

    /// What was written, with links to the numbers: to an address, or with the numbers inside.
    fn linked(&self, address: Option<&str>) -> String {
        let mut parts = self.body.split(NUMBERS);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for (name, rest) in parts.filter_map(|part| part.split_once(END)) {
            out += &match address {
                Some(address) => format!("<a class=\"download\" download href=\"{}/{name}.csv\">numbers (CSV)</a>", escape(address)),
                None => {
                    self.numbers().find(|(known, _)| escape(known) == name).map_or_else(String::new, |(name, table)| download(name, table))
                }
            };
            out += rest;
        }
        out
    }

    fn numbers(&self) -> impl Iterator<Item = (&str, &Table)> {
        let pictures = self.pictures.iter().map(|picture| (picture.name(), picture.table()));
        pictures.chain(self.tables.iter().map(|(name, table)| (name.as_str(), table)))
    }

    /// The page: no script, no request to any network, readable in a light and a dark room.
    #[must_use]
    pub fn html(&self) -> String {
        let (title, body) = (escape(&self.title), self.written(None));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><link rel=\"icon\" href=\"data:,\"/>\
             <title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
        )
    }

    /// That the data contradict the premises of what the page shows, if they do.
    #[must_use]
    pub fn contradiction(&self) -> Option<&Contradiction> {
        self.contradiction.as_ref()
    }

    pub(super) fn contradict(&mut self, contradiction: Contradiction) {
        self.contradiction = Some(contradiction);
    }

    /// The pictures.
    #[must_use]
    pub fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// File names and contents of the pictures as PNG.
    pub fn pngs(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.pictures.iter().map(|picture| Ok((format!("{}.png", picture.name()), picture.png()?))).collect()
    }

    /// File names and contents of the pictures as SVG.
    #[must_use]
    pub fn svgs(&self) -> Vec<(String, String)> {
        self.pictures.iter().map(|picture| (format!("{}.svg", picture.name()), picture.svg(Medium::File))).collect()
    }

    /// File names and contents of all numbers: one file for each picture and each table.
    #[must_use]
    pub fn csvs(&self) -> Vec<(String, String)> {
        self.numbers().map(|(name, table)| (format!("{name}.csv"), table.csv())).collect()
    }

    pub(super) fn title(&mut self, text: &str) {
        let _ = write!(self.body, "<h1>{}</h1>", escape(text));
    }

    pub(super) fn heading(&mut self, text: &str) {
        let _ = write!(self.body, "<h2 id=\"part-{}\">{}</h2>", self.headings.len(), escape(text));
        self.headings.push(text.to_owned());
    }

    /// Where the list of contents goes.
    pub(super) fn contents(&mut self) {
        self.body += CONTENTS;
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        let _ = write!(self.body, "<p>{}</p>", escape(text));
    }

    pub(super) fn list(&mut self, items: &[String]) {
        let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
        let _ = write!(self.body, "<ul>{items}</ul>");
    }

    /// Text to be read letter by letter: commands, certificates.
    pub(super) fn verbatim(&mut self, text: &str) {
        // Line ends are kept here, so the lines are escaped one by one.
        let lines: Vec<String> = text.lines().map(escape).collect();
        let _ = write!(self.body, "<pre>{}</pre>", lines.join("\n"));
    }

    /// Text for machines, folded away.
    pub(super) fn folded(&mut self, summary: &str, text: &str) {
        let _ = write!(self.body, "<details><summary>{}</summary><pre>{}</pre></details>", escape(summary), escape(text));
    }

    /// Lines for machines, folded away.
    pub(super) fn folded_lines(&mut self, summary: &str, lines: &[String]) {
        let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
        let _ = write!(self.body, "<details><summary>{}</summary><pre>{}</pre></details>", escape(summary), lines.join("\n"));
    }

    /// The answer, in a frame of its own: what to do, then what is known about it.
    pub(super) fn answer(&mut self, label: &str, headline: &str, facts: &[(String, String)], words: &[String]) {
        let facts: String =
            facts.iter().map(|(name, value)| format!("<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value))).collect();
        let words: String = words.iter().map(|text| format!("<p>{}</p>", escape(text))).collect();
        let kind = if label.is_empty() { "unknown" } else { label };
        let _ = write!(
            self.body,
            "<section class=\"answer {kind}\"><span class=\"label\">{}</span><p class=\"headline\">{}</p><dl>{facts}</dl>{words}</section>",
            escape(label),
            escape(headline)
        );
    }

    /// What a claim rests on, word for word, behind a click.
    pub(super) fn certificate(&mut self, text: &str) {
        self.body.push_str("<details class=\"certificate\"><summary>Certificate: what this rests on</summary>");
        self.verbatim(text);
        self.body.push_str("</details>");
    }

    pub(super) fn picture(&mut self, picture: Picture) {
        let link = numbers(picture.name());
        let (svg, caption) = (picture.svg(Medium::Page), escape(picture.caption()));
        let _ = write!(self.body, "<figure id=\"{}\">{svg}<figcaption>{caption} {link}</figcaption></figure>", escape(picture.name()));
        self.pictures.push(picture);
    }

    /// A table. Columns without any entry are only in its file.
    pub(super) fn table(&mut self, name: &str, table: Table) {
        let used: Vec<usize> = (0..table.columns().len()).filter(|&c| table.rows().iter().any(|row| !is_blank(&row[c]))).collect();
        let head: String = used.iter().map(|&c| heading(&table, c)).collect();
        let row = |row: &Vec<Cell>| format!("<tr>{}</tr>", used.iter().map(|&c| field(&row[c])).collect::<String>());
        let rows: String = table.rows().iter().take(MOST_ROWS).map(row).collect();
        let more = table.rows().len().saturating_sub(MOST_ROWS);
        let note = if more > 0 { format!("{more} more rows are in the file. ") } else { String::new() };
        let link = numbers(name);
        let _ = write!(
            self.body,
            "<div class=\"table\" id=\"{}\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div><p class=\"note\">{note}{link}</p>",
            escape(name)
        );
        self.tables.push((name.to_owned(), table));
    }
}

fn is_blank(cell: &Cell) -> bool {
    matches!(cell, Cell::Empty) || matches!(cell, Cell::Text(text) if text.is_empty())
}

/// The name of a column, on the side where its entries are.
fn heading(table: &Table, column: usize) -> String {
    let is_number =
        table.rows().iter().map(|row| &row[column]).find(|cell| !is_blank(cell)).is_some_and(|cell| !matches!(cell, Cell::Text(_)));
    let class = if is_number { " class=\"number\"" } else { "" };
    format!("<th{class}>{}</th>", escape(&table.columns()[column]))
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => format!("<td>{}</td>", escape(text)),
        Cell::Number(value) => format!("<td class=\"number\">{}</td>", number(*value)),
        Cell::Whole(count) => format!("<td class=\"number\">{count}</td>"),
        Cell::Empty => "<td></td>".to_owned(),
    }
}

/// Where the link to the numbers goes.
fn numbers(name: &str) -> String {
    format!("{NUMBERS}{}{END}", escape(name))
}

/// A link that holds the numbers themselves.
fn download(name: &str, table: &Table) -> String {
    let csv = table.csv();
    let name = escape(name);
    if csv.len() > MOST_BYTES {
        return "<span class=\"note\">The numbers are too many for this page: write them into a directory with --png.</span>".to_owned();
    }
    format!(
        "<a class=\"download\" download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{}\">numbers (CSV)</a>",
        percent_encoded(&csv)
    )
}

/// Text for a data URL inside an attribute.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~,;:+*()/!$@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
