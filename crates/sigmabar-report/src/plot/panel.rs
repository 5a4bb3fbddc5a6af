//! One pair of axes and what is drawn on them.

use super::ink::Ink;
use super::scale::{Scale, Tick};
use super::scene::{Anchor, Fill, Marker, Scene, Stroke, Style, Tip, text_width};

const SMALL: f64 = 11.0;

/// A part of the sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its left edge.
    pub left: f64,
    /// Its upper edge.
    pub top: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// A scale with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The numbers.
    pub scale: Scale,
    /// What they are, with their unit; empty for none.
    pub label: String,
}

impl Axis {
    /// A named scale.
    pub fn new(scale: Scale, label: impl Into<String>) -> Self {
        Self { scale, label: label.into() }
    }
}

/// Axes in place. Everything is given in their numbers; what has no place on a scale (a logarithm of 0) is left out.
#[derive(Clone, Debug)]
pub struct Panel {
    inner: Area,
    x: Scale,
    y: Scale,
}

impl Panel {
    /// Draws frame, grid, ticks and names into a part of the sheet.
    pub fn new(scene: &mut Scene, area: Area, title: &str, x: Axis, y: Axis) -> Self {
        // Names stand closer than numbers: each of them is needed.
        let most =
            if matches!(y.scale, Scale::Names(_)) { (area.height / 13.0).max(2.0) } else { ((area.height - 60.0) / 34.0).clamp(2.0, 7.0) };
        let y_ticks = y.scale.ticks(most as usize);
        let widest = y_ticks.iter().map(|tick| text_width(&tick.label, SMALL)).fold(0.0, f64::max).min(0.4 * area.width);
        let left = widest + 10.0 + if y.label.is_empty() { 0.0 } else { 18.0 };
        let top = if title.is_empty() { 8.0 } else { 24.0 };
        let bottom = 20.0 + if x.label.is_empty() { 0.0 } else { 18.0 };
        let inner =
            Area { left: area.left + left, top: area.top + top, width: area.width - left - 14.0, height: area.height - top - bottom };
        let panel = Self { inner, x: x.scale, y: y.scale };
        if !title.is_empty() {
            let title = shortened(title, 12.5, inner.width + left - 4.0);
            scene.text((inner.left, area.top + 15.0), title, Style::new(Ink::Text, 12.5, Anchor::Start));
        }
        panel.draw_x(scene, &x.label, area);
        panel.draw_y(scene, &y_ticks, &y.label, area);
        let (right, low) = (inner.left + inner.width, inner.top + inner.height);
        scene.line(vec![(inner.left, inner.top), (inner.left, low), (right, low)], Stroke::solid(Ink::Muted, 1.0));
        panel
    }

    /// The scale of x.
    #[must_use]
    pub fn x(&self) -> &Scale {
        &self.x
    }

    /// The scale of y.
    #[must_use]
    pub fn y(&self) -> &Scale {
        &self.y
    }

    /// Where the axes are.
    #[must_use]
    pub fn inner(&self) -> Area {
        self.inner
    }

    fn draw_x(&self, scene: &mut Scene, label: &str, area: Area) {
        let inner = self.inner;
        let low = inner.top + inner.height;
        let mut free_from = f64::NEG_INFINITY;
        let names = matches!(self.x, Scale::Names(_));
        let ticks = self.x.ticks(((inner.width / 60.0) as usize).clamp(3, 8).max(if names { 12 } else { 0 }));
        // Half a number is another number: those of a ladder are left out where there is no room, and never cut.
        let may_cut = names && !ticks.iter().all(|tick| tick.label.parse::<f64>().is_ok());
        let room = if may_cut { (inner.width / ticks.len() as f64).max(24.0) } else { f64::INFINITY };
        for tick in ticks {
            let Some(x) = self.place_x(tick.value) else { continue };
            let text = shortened(&tick.label, SMALL, room);
            let half = text_width(&text, SMALL) / 2.0;
            if !names {
                scene.line(vec![(x, inner.top), (x, low)], Stroke::solid(Ink::Grid, 1.0));
            }
            if x - half >= free_from {
                scene.text((x, low + 15.0), text, Style::new(Ink::Muted, SMALL, Anchor::Middle));
                free_from = x + half + 6.0;
            }
        }
        let text = shortened(label, 12.0, inner.width + 20.0);
        let at = (inner.left + inner.width / 2.0, area.top + area.height - 5.0);
        scene.text(at, text, Style::new(Ink::Text, 12.0, Anchor::Middle));
    }

    fn draw_y(&self, scene: &mut Scene, ticks: &[Tick], label: &str, area: Area) {
        let inner = self.inner;
        let names = matches!(self.y, Scale::Names(_));
        for tick in ticks {
            let Some(y) = self.place_y(tick.value) else { continue };
            if !names {
                scene.line(vec![(inner.left, y), (inner.left + inner.width, y)], Stroke::solid(Ink::Grid, 1.0));
            }
            let text = shortened(&tick.label, SMALL, 0.4 * area.width);
            scene.text((inner.left - 6.0, y + 4.0), text, Style::new(Ink::Muted, SMALL, Anchor::End));
        }
        if !label.is_empty() {
            let style = Style { upright: true, ..Style::new(Ink::Text, 12.0, Anchor::Middle) };
            scene.text((area.left + 12.0, inner.top + inner.height / 2.0), shortened(label, 12.0, inner.height + 30.0), style);
        }
    }

    fn place_x(&self, value: f64) -> Option<f64> {
        Some(self.inner.left + self.inner.width * self.x.share(value)?)
    }

    fn place_y(&self, value: f64) -> Option<f64> {
        Some(self.inner.top + self.inner.height * (1.0 - self.y.share(value)?))
    }

    /// Where a pair of numbers is on the sheet; `None` where it has no place.
    #[must_use]
    pub fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.place_x(x)?, self.place_y(y)?))
    }

    fn places(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points.iter().filter_map(|point| self.place(*point)).collect()
    }

    /// A line through points.
    pub fn line(&self, scene: &mut Scene, points: &[(f64, f64)], stroke: Stroke) {
        scene.line(self.places(points), stroke);
    }

    /// What lies between two curves over the same x.
    pub fn band(&self, scene: &mut Scene, x: &[f64], lower: &[f64], upper: &[f64], fill: Fill) {
        let up = x.iter().zip(lower).map(|(x, y)| (*x, *y));
        let back = x.iter().zip(upper).rev().map(|(x, y)| (*x, *y));
        scene.area(self.places(&up.chain(back).collect::<Vec<_>>()), fill);
    }

    /// A point, with what is shown when one points at it.
    pub fn mark(&self, scene: &mut Scene, point: (f64, f64), radius: f64, marker: Marker, fill: Fill, tip: impl Into<Tip>) {
        if let Some(at) = self.place(point) {
            scene.mark(at, radius, marker, fill, tip);
        }
    }

    /// A rectangle between two corners.
    pub fn rect(&self, scene: &mut Scene, low: (f64, f64), high: (f64, f64), fill: Fill) {
        if let (Some(a), Some(b)) = (self.place(low), self.place(high)) {
            scene.rect((a.0.min(b.0), a.1.min(b.1)), ((b.0 - a.0).abs(), (b.1 - a.1).abs()), fill, "");
        }
    }

    /// An interval standing upright, with caps.
    pub fn upright(&self, scene: &mut Scene, x: f64, lower: f64, upper: f64, stroke: Stroke) {
        if let (Some((x, a)), Some((_, b))) = (self.place((x, lower)), self.place((x, upper))) {
            scene.line(vec![(x, a), (x, b)], stroke);
            [a, b].into_iter().for_each(|y| scene.line(vec![(x - 4.0, y), (x + 4.0, y)], stroke));
        }
    }

    /// A line over the whole height at a number.
    pub fn fence(&self, scene: &mut Scene, x: f64, stroke: Stroke) {
        if let Some(x) = self.place_x(x) {
            scene.line(vec![(x, self.inner.top), (x, self.inner.top + self.inner.height)], stroke);
        }
    }

    /// A line over the whole width at a number.
    pub fn level(&self, scene: &mut Scene, y: f64, stroke: Stroke) {
        if let Some(y) = self.place_y(y) {
            scene.line(vec![(self.inner.left, y), (self.inner.left + self.inner.width, y)], stroke);
        }
    }

    /// A word beside a point, on the side where there is room.
    pub fn note(&self, scene: &mut Scene, point: (f64, f64), text: &str, ink: Ink) {
        let Some((x, y)) = self.place(point) else { return };
        let room = x + 8.0 + text_width(text, SMALL) < self.inner.left + self.inner.width;
        let (x, anchor) = if room { (x + 8.0, Anchor::Start) } else { (x - 8.0, Anchor::End) };
        scene.text((x, (y - 6.0).max(self.inner.top + 10.0)), text, Style::new(ink, SMALL, anchor));
    }
}

/// A text cut to a width, with an ellipsis where something is missing.
#[must_use]
pub fn shortened(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if text_width(&kept, size) + size > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::scene::Shape;

    fn labels(names: Vec<String>) -> Vec<String> {
        let mut scene = Scene::new(400.0, 200.0);
        let area = Area { left: 0.0, top: 0.0, width: 400.0, height: 200.0 };
        let (x, y) = (Axis::new(Scale::Names(names), ""), Axis::new(Scale::Names(Vec::new()), ""));
        Panel::new(&mut scene, area, "", x, y);
        let text = |shape: &Shape| if let Shape::Text { text, .. } = shape { Some(text.clone()) } else { None };
        scene.shapes.iter().filter_map(text).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn numbers_of_a_ladder_are_never_cut() {
        let ladder: Vec<String> = (0..73).map(|i| (12.5 + 0.5 * f64::from(i)).to_string()).collect();
        let shown = labels(ladder.clone());
        assert!(shown.len() >= 4 && shown.iter().all(|label| ladder.contains(label)), "{shown:?}");
        let words = labels((0..9).map(|i| format!("a very long name of solvent {i}")).collect());
        assert!(words.iter().all(|label| label.ends_with('…')), "{words:?}");
    }
}
