//! Shapes on a sheet, and the sheet as SVG.

use super::ink::{Ink, Medium};
use std::fmt::Write;

/// A line's look.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    /// Its colour.
    pub ink: Ink,
    /// Its width.
    pub width: f64,
    /// Dashes and gaps; none for a whole line.
    pub dash: &'static str,
}

impl Stroke {
    /// A whole line.
    #[must_use]
    pub fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: "" }
    }

    /// A dashed line.
    #[must_use]
    pub fn dashed(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: "6 4" }
    }

    /// A dotted line.
    #[must_use]
    pub fn dotted(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: "2 3" }
    }
}

/// A filling.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Its colour.
    pub ink: Ink,
    /// From 0, not seen, to 1.
    pub opacity: f64,
}

impl Fill {
    /// A filling that hides what is behind it.
    #[must_use]
    pub fn opaque(ink: Ink) -> Self {
        Self { ink, opacity: 1.0 }
    }

    /// A filling that shows what is behind it.
    #[must_use]
    pub fn faint(ink: Ink, opacity: f64) -> Self {
        Self { ink, opacity }
    }
}

/// The form of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Disc,
    /// A ring: not filled.
    Ring,
    /// A square on its corner.
    Diamond,
    /// A cross of two strokes.
    Cross,
    /// A triangle that stands on its base.
    Triangle,
    /// A short upright stroke.
    Tick,
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// A text's look.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Its colour.
    pub ink: Ink,
    /// Its size.
    pub size: f64,
    /// Which end is at its place.
    pub anchor: Anchor,
    /// Whether it runs upwards.
    pub upright: bool,
}

impl Style {
    /// A text that runs from left to right.
    #[must_use]
    pub fn new(ink: Ink, size: f64, anchor: Anchor) -> Self {
        Self { ink, size, anchor, upright: false }
    }
}

/// Everything drawn so far. Lengths are in pixels, y grows downwards.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
enum Shape {
    Line { points: Vec<(f64, f64)>, stroke: Stroke },
    Area { points: Vec<(f64, f64)>, fill: Fill },
    Rect { corner: (f64, f64), size: (f64, f64), fill: Fill, tip: String },
    Mark { at: (f64, f64), radius: f64, marker: Marker, fill: Fill, tip: String },
    Text { at: (f64, f64), text: String, style: Style },
}

impl Scene {
    /// An empty sheet.
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// A line through points.
    pub fn line(&mut self, points: Vec<(f64, f64)>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points, stroke });
    }

    /// A filled polygon.
    pub fn area(&mut self, points: Vec<(f64, f64)>, fill: Fill) {
        self.shapes.push(Shape::Area { points, fill });
    }

    /// A filled rectangle, with what is shown when one points at it.
    pub fn rect(&mut self, corner: (f64, f64), size: (f64, f64), fill: Fill, tip: impl Into<String>) {
        self.shapes.push(Shape::Rect { corner, size, fill, tip: tip.into() });
    }

    /// A point, with what is shown when one points at it.
    pub fn mark(&mut self, at: (f64, f64), radius: f64, marker: Marker, fill: Fill, tip: impl Into<String>) {
        self.shapes.push(Shape::Mark { at, radius, marker, fill, tip: tip.into() });
    }

    /// A text.
    pub fn text(&mut self, at: (f64, f64), text: impl Into<String>, style: Style) {
        self.shapes.push(Shape::Text { at, text: text.into(), style });
    }

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
                close(out, tip, "rect");
            }
            Self::Mark { at, radius, marker, fill, tip } => write_mark(out, *at, *radius, *marker, fill, tip, medium),
            Self::Text { at, text, style } => write_text(out, *at, text, style, medium),
        }
    }
}

fn write_mark(out: &mut String, at: (f64, f64), r: f64, marker: Marker, fill: &Fill, tip: &str, medium: Medium) {
    let (x, y) = at;
    let [left, right, up, down] = [x - r, x + r, y - r, y + r].map(short);
    let (x, y) = (short(x), short(y));
    let element = match marker {
        Marker::Disc | Marker::Ring => {
            let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"", short(r));
            "circle"
        }
        Marker::Diamond => {
            let _ = write!(out, "<path d=\"M{x} {up}L{right} {y}L{x} {down}L{left} {y}Z\"");
            "path"
        }
        Marker::Triangle => {
            let _ = write!(out, "<path d=\"M{x} {up}L{right} {down}L{left} {down}Z\"");
            "path"
        }
        Marker::Cross => {
            let _ = write!(out, "<path d=\"M{left} {up}L{right} {down}M{left} {down}L{right} {up}\"");
            "path"
        }
        Marker::Tick => {
            let _ = write!(out, "<path d=\"M{x} {up}L{x} {down}\"");
            "path"
        }
    };
    if matches!(marker, Marker::Ring | Marker::Cross | Marker::Tick) {
        let (ink, opacity) = (fill.ink.value(medium), short(fill.opacity));
        let _ = write!(out, " fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.5\" stroke-opacity=\"{opacity}\"");
    } else {
        write_fill(out, fill, medium);
    }
    close(out, tip, element);
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

fn close(out: &mut String, tip: &str, element: &str) {
    if tip.is_empty() {
        out.push_str("/>");
    } else {
        let _ = write!(out, "><title>{}</title></{element}>", escape(tip));
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

/// About how wide a text is: the shipped font's widths in three classes.
#[must_use]
pub fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' | '[' | ']' | 'f' | 't' | 'r' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '±' | '≤' | '≥' | '+' | '=' | '<' | '>' | '→' | '−' => 0.9,
        c if c.is_uppercase() => 0.7,
        c if c as u32 > 0x2e80 => 1.0,
        _ => 0.62,
    };
    size * text.chars().map(width).sum::<f64>()
}
