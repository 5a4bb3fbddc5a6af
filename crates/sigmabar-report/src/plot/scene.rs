//! Shapes on a sheet.

use super::ink::Ink;

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

/// What is shown when one points at a shape, and the trial that it stands for: on a page it leads there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tip {
    /// The words; empty for none.
    pub words: String,
    /// The trial, if it stands for one.
    pub trial: Option<u64>,
}

impl Tip {
    /// Words about a trial.
    pub fn of(trial: Option<u64>, words: impl Into<String>) -> Self {
        Self { words: words.into(), trial }
    }
}

impl<W: Into<String>> From<W> for Tip {
    fn from(words: W) -> Self {
        Self { words: words.into(), trial: None }
    }
}

/// A point, and the trial that was measured there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Where.
    pub at: (f64, f64),
    /// The trial, if it is one of the study's.
    pub trial: Option<u64>,
}

/// Everything drawn so far. Lengths are in pixels, y grows downwards.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    pub(super) shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Line {
        points: Vec<(f64, f64)>,
        stroke: Stroke,
    },
    Area {
        points: Vec<(f64, f64)>,
        fill: Fill,
    },
    Rect {
        corner: (f64, f64),
        size: (f64, f64),
        fill: Fill,
        tip: Tip,
    },
    Mark {
        at: (f64, f64),
        radius: f64,
        marker: Marker,
        fill: Fill,
        tip: Tip,
    },
    /// Many points of one look.
    Dots {
        dots: Vec<Dot>,
        radius: f64,
        marker: Marker,
        fill: Fill,
    },
    /// Bins of one size and look, by their upper left corners.
    Cells {
        corners: Vec<(f64, f64)>,
        size: (f64, f64),
        fill: Fill,
        tip: Tip,
    },
    Text {
        at: (f64, f64),
        text: String,
        style: Style,
    },
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
    pub fn rect(&mut self, corner: (f64, f64), size: (f64, f64), fill: Fill, tip: impl Into<Tip>) {
        self.shapes.push(Shape::Rect { corner, size, fill, tip: tip.into() });
    }

    /// A point, with what is shown when one points at it.
    pub fn mark(&mut self, at: (f64, f64), radius: f64, marker: Marker, fill: Fill, tip: impl Into<Tip>) {
        self.shapes.push(Shape::Mark { at, radius, marker, fill, tip: tip.into() });
    }

    /// Points of one look, each with its trial.
    pub fn dots(&mut self, dots: Vec<Dot>, radius: f64, marker: Marker, fill: Fill) {
        self.shapes.push(Shape::Dots { dots, radius, marker, fill });
    }

    /// Bins of one size and look, by their upper left corners.
    pub fn cells(&mut self, corners: Vec<(f64, f64)>, size: (f64, f64), fill: Fill, tip: impl Into<Tip>) {
        self.shapes.push(Shape::Cells { corners, size, fill, tip: tip.into() });
    }

    /// Whether points were so many that they are drawn as bins.
    pub(super) fn has_bins(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, Shape::Cells { .. }))
    }

    /// A text.
    pub fn text(&mut self, at: (f64, f64), text: impl Into<String>, style: Style) {
        self.shapes.push(Shape::Text { at, text: text.into(), style });
    }
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
