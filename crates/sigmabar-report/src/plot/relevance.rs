//! Which parameter matters.

use super::{Anchor, Axis, Figure, Fill, Ink, Panel, Picture, Scale, Style, Table, number};

/// A parameter's relevance.
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// The parameter.
    pub parameter: String,
    /// Its length-scale, in the coordinates that the kernel sees.
    pub lengthscale: f64,
    /// Its range in the same coordinates.
    pub range: f64,
}

impl Relevance {
    /// How many length-scales the range holds: how often the function may turn along it.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.range / self.lengthscale
    }
}

/// Bars, the most relevant parameter on top. `source` says where the length-scales come from.
#[must_use]
pub fn relevance(list: &[Relevance], source: &str) -> Picture {
    let mut sorted = list.to_vec();
    sorted.sort_by(|a, b| b.value().total_cmp(&a.value()));
    let mut figure = Figure::new("relevance", "Which parameter matters? Range over length-scale");
    let area = figure.grid(1, 1, 56.0 + 30.0 * sorted.len() as f64)[0];
    let scale = Scale::from_zero(sorted.iter().map(|r| 1.12 * r.value()));
    let names = sorted.iter().rev().map(|r| r.parameter.clone()).collect();
    let x = Axis::new(scale, "length-scales in the range (range / length-scale)");
    let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(Scale::Names(names), ""));
    for (i, r) in sorted.iter().rev().enumerate() {
        let y = i as f64;
        panel.rect(&mut figure.scene, (0.0, y - 0.32), (r.value(), y + 0.32), Fill::opaque(Ink::Series(0)));
        if let Some((x, y)) = panel.place((r.value(), y)) {
            figure.scene.text((x + 6.0, y + 4.0), number(r.value()), Style::new(Ink::Text, 11.0, Anchor::Start));
        }
    }
    let mut table = Table::new(["parameter", "lengthscale", "range", "range_over_lengthscale"]);
    for r in &sorted {
        table.push(vec![r.parameter.as_str().into(), r.lengthscale.into(), r.range.into(), r.value().into()]);
    }
    let caption = format!(
        "A long bar: the result changes over a small part of the range, so the parameter must be set with care. A short bar: it hardly matters. Length-scales {source}."
    );
    figure.finish(caption, table)
}
