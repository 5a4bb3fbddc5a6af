//! A sheet as SVG.

use super::ink::{Ink, Medium};
use super::scene::{Anchor, Fill, Marker, Scene, Shape, Stroke, Style, Tip};
use std::fmt::Write;

impl Scene {
    /// The sheet as one SVG element, described by `title` for those who do not see it.
    #[must_use]
    pub fn svg(&self, title: &str, medium: Medium) -> String {
        let (w, h) = (short(self.width), short(self.height));
        // Inside a page the element needs no namespace, and a page without any address is easy to check for outside references.
        let namespace = if medium == Medium::File { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        let mut out = format!(
            "<svg{namespace} viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             font-family=\"'DejaVu Sans', Verdana, sans-serif\"><title>{}</title>",
            escape(title)
        );
        let _ = write!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", Ink::Paper.value(medium));
        self.shapes.iter().for_each(|shape| shape.write(&mut out, medium));
        out.push_str("</svg>");
        out
    }
}

// Writing to a string does not fail: the results of write! are dropped on purpose.
impl Shape {
    fn write(&self, out: &mut String, medium: Medium) {
        match self {
            Self::Line { points, stroke } => {
                let _ = write!(out, "<polyline fill=\"none\" stroke-linejoin=\"round\" points=\"{}\"", list(points));
                write_stroke(out, stroke, medium);
                out.push_str("/>");
            }
            Self::Area { points, fill } => {
                let _ = write!(out, "<polygon points=\"{}\"", list(points));
                write_fill(out, fill, medium);
                out.push_str("/>");
            }
            Self::Rect { corner, size, fill, tip } => {
                let [x, y, w, h] = [corner.0, corner.1, size.0, size.1].map(short);
                let _ = write!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"");
                write_fill(out, fill, medium);
                close(out, tip, "rect", medium);
            }
            Self::Mark { at, radius, marker, fill, tip } => {
                let element = write_form(out, *at, *radius, *marker);
                write_paint(out, *marker, fill, medium);
                close(out, tip, element, medium);
            }
            Self::Dots { dots, radius, marker, fill } => {
                out.push_str("<g");
                write_paint(out, *marker, fill, medium);
                out.push('>');
                for dot in dots {
                    let element = write_form(out, dot.at, *radius, *marker);
                    close(out, &Tip::of(dot.trial, ""), element, medium);
                }
                out.push_str("</g>");
            }
            Self::Cells { corners, size, fill, tip } => {
                let (w, h) = (short(size.0), short(size.1));
                out.push_str("<path d=\"");
                for (x, y) in corners {
                    let _ = write!(out, "M{} {}h{w}v{h}h-{w}z", short(*x), short(*y));
                }
                out.push('"');
                write_fill(out, fill, medium);
                close(out, tip, "path", medium);
            }
            Self::Text { at, text, style } => write_text(out, *at, text, style, medium),
        }
    }
}

/// Begins the element of a marker; its name.
fn write_form(out: &mut String, (x, y): (f64, f64), r: f64, marker: Marker) -> &'static str {
    let [left, right, up, down] = [x - r, x + r, y - r, y + r].map(short);
    let (x, y) = (short(x), short(y));
    let path = match marker {
        Marker::Disc | Marker::Ring => {
            let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"", short(r));
            return "circle";
        }
        Marker::Diamond => format!("M{x} {up}L{right} {y}L{x} {down}L{left} {y}Z"),
        Marker::Triangle => format!("M{x} {up}L{right} {down}L{left} {down}Z"),
        Marker::Cross => format!("M{left} {up}L{right} {down}M{left} {down}L{right} {up}"),
        Marker::Tick => format!("M{x} {up}L{x} {down}"),
    };
    let _ = write!(out, "<path d=\"{path}\"");
    "path"
}

fn write_paint(out: &mut String, marker: Marker, fill: &Fill, medium: Medium) {
    if matches!(marker, Marker::Ring | Marker::Cross | Marker::Tick) {
        let (ink, opacity) = (fill.ink.value(medium), short(fill.opacity));
        let _ = write!(out, " fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.5\" stroke-opacity=\"{opacity}\"");
    } else {
        write_fill(out, fill, medium);
    }
}

fn write_text(out: &mut String, (x, y): (f64, f64), text: &str, style: &Style, medium: Medium) {
    let anchor = match style.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (short(x), short(y));
    let _ = write!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"",
        short(style.size),
        style.ink.value(medium)
    );
    if style.upright {
        let _ = write!(out, " transform=\"rotate(-90 {x} {y})\"");
    }
    let _ = write!(out, ">{}</text>", escape(text));
}

fn write_stroke(out: &mut String, stroke: &Stroke, medium: Medium) {
    let _ = write!(out, " stroke=\"{}\" stroke-width=\"{}\"", stroke.ink.value(medium), short(stroke.width));
    if !stroke.dash.is_empty() {
        let _ = write!(out, " stroke-dasharray=\"{}\"", stroke.dash);
    }
}

fn write_fill(out: &mut String, fill: &Fill, medium: Medium) {
    let _ = write!(out, " fill=\"{}\"", fill.ink.value(medium));
    if fill.opacity < 1.0 {
        let _ = write!(out, " fill-opacity=\"{}\"", short(fill.opacity));
    }
}

fn close(out: &mut String, tip: &Tip, element: &str, medium: Medium) {
    // On a page a mark is found by its trial; in a picture file nobody asks.
    if let Some(trial) = tip.trial.filter(|_| medium == Medium::Page) {
        let _ = write!(out, " data-id=\"{trial}\"");
    }
    if tip.words.is_empty() {
        out.push_str("/>");
    } else {
        let _ = write!(out, "><title>{}</title></{element}>", escape(&tip.words));
    }
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", short(x), short(y))).collect::<Vec<_>>().join(" ")
}

/// A length with two decimals at most: a hundredth of a pixel is not seen.
fn short(v: f64) -> String {
    let text = format!("{v:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A text as it may stand in an element or an attribute; characters that XML forbids become a replacement sign.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
