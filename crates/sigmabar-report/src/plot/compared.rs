//! Studies side by side: how their gaps close.

use super::{Anchor, Axis, BatchEnd, Figure, Ink, Panel, Picture, Sample, Scale, Stroke, Style, Table};

/// The gap of each study against its evaluations.
#[must_use]
pub fn compared(studies: &[(String, Vec<BatchEnd>)]) -> Picture {
    let mut figure = Figure::new("compared", "Which study knows more? The optimality gap of each");
    let stroke = |i: usize| {
        let ink = Ink::Series(i % 7);
        if i < 7 { Stroke::solid(ink, 2.0) } else { Stroke::dashed(ink, 2.0) }
    };
    let known = |batches: &[BatchEnd]| -> Vec<(f64, f64)> {
        let gap = |batch: &BatchEnd| Some((batch.evaluations as f64, batch.gap.filter(|gap| gap.is_finite() && *gap > 0.0)?));
        batches.iter().filter_map(gap).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = studies.iter().map(|(_, batches)| known(batches)).collect();
    let names = studies
        .iter()
        .zip(&curves)
        .map(|((name, _), curve)| if curve.is_empty() { format!("{name} (no gap known)") } else { name.clone() });
    let names: Vec<String> = names.collect();
    let entries: Vec<(Sample, &str)> = names.iter().enumerate().map(|(i, name)| (Sample::Line(stroke(i)), name.as_str())).collect();
    figure.legend(&entries);
    let last = curves.iter().flatten().map(|(x, _)| *x).fold(1.0, f64::max);
    let area = figure.grid(1, 1, 320.0)[0];
    let x = Axis::new(Scale::Linear { low: 0.0, high: 1.04 * last }, "evaluations");
    let y = Axis::new(Scale::log_covering(curves.iter().flatten().map(|(_, y)| *y)), "gap");
    let panel = Panel::new(&mut figure.scene, area, "", x, y);
    for (i, curve) in curves.iter().enumerate() {
        panel.line(&mut figure.scene, curve, stroke(i));
        for (x, y) in curve {
            panel.mark(&mut figure.scene, (*x, *y), 3.5, super::Marker::Disc, super::Fill::opaque(Ink::Series(i % 7)), super::number(*y));
        }
    }
    if curves.iter().all(Vec::is_empty) {
        let inner = panel.inner();
        let at = (inner.left + inner.width / 2.0, inner.top + inner.height / 2.0);
        figure.scene.text(at, "no finite gap is known yet", Style::new(Ink::Muted, 12.0, Anchor::Middle));
    }
    let mut table = Table::new(["study", "evaluations", "gap"]);
    for (name, batches) in studies {
        for batch in batches {
            table.push(vec![name.as_str().into(), batch.evaluations.into(), batch.gap.into()]);
        }
    }
    figure.finish("How much better than the recommendation any other setting can still be; labels may differ, see the table.", table)
}
