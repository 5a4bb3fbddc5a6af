//! Which parameter matters: main and total effects in the unit of the result, with bounds (algorithm notes 17).

use super::{Anchor, Axis, Figure, Fill, Ink, Panel, Picture, Sample, Scale, Stroke, Style, Table, number};
use sigmabar::Label;

/// How much one parameter matters, over a declared grid: every level in every one of the settings of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The parameter.
    pub parameter: String,
    /// $\sqrt{V_i}$: the standard deviation, over its levels, of the result averaged over the others. In the unit of the result.
    pub main: f64,
    /// $\sqrt{T_i}$: the root of the average, over the others, of the variance over its levels. Never less than `main`; more where it acts together with others.
    pub total: f64,
    /// The largest minus the smallest of the averages: what setting it well is worth on average.
    pub swing: f64,
    /// $V_i/V$ and $T_i/V$: Sobol' indices over the same grid.
    pub shares: (f64, f64),
    /// $\rho$: by how much the function's effects can differ from these, which are the mean's.
    pub uncertainty: f64,
    /// What the bound is worth.
    pub label: Label,
}

impl Effect {
    /// From what the model says on the grid, the levels of each setting side by side, and how far the function may be from it at each point.
    ///
    /// Main and total effect are seminorms of the function over the grid, and both are at most its quadratic mean there: those of $f$ and $\mu$ differ by at most
    /// $\rho=\sqrt{\operatorname{mean}w^2}$ where $|f-\mu|\le w$ (algorithm notes 17.2).
    #[must_use]
    pub fn new(parameter: &str, levels: usize, mean: &[f64], reach: &[f64], label: Label) -> Self {
        let rows: Vec<&[f64]> = mean.chunks_exact(levels).collect();
        let count = rows.len().max(1) as f64;
        let averages: Vec<f64> = (0..levels).map(|l| rows.iter().map(|row| row[l]).sum::<f64>() / count).collect();
        let total = rows.iter().map(|row| variance(row)).sum::<f64>() / count;
        let (main, all) = (variance(&averages), variance(mean));
        let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
        let ends = averages.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
        let uncertainty = (reach.iter().map(|w| w * w).sum::<f64>() / reach.len().max(1) as f64).sqrt();
        Self {
            parameter: parameter.to_owned(),
            main: main.sqrt(),
            total: total.sqrt(),
            swing: (ends.1 - ends.0).max(0.0),
            shares: (share(main), share(total)),
            uncertainty,
            label,
        }
    }
}

impl Effect {
    /// Whether its bounds say anything on an axis from 0 to `most`: that there is an effect, or that there is no larger one.
    fn is_bounded_within(&self, most: f64) -> bool {
        self.total > self.uncertainty || self.total + self.uncertainty < most
    }
}

/// The variance of values that are all equally likely.
fn variance(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count
}

/// Bars in the unit of the result, the parameter that matters most on top: what it does by itself, and together with the others.
#[must_use]
pub fn effects(list: &[Effect], response: &str) -> Picture {
    let mut sorted = list.to_vec();
    sorted.sort_by(|a, b| b.total.total_cmp(&a.total));
    let mut figure = Figure::new("effects", "Which parameter matters? Main and total effects");
    figure.legend(&[
        (Sample::Band(Fill::opaque(Ink::Series(0))), "by itself (main effect)"),
        (Sample::Band(Fill::faint(Ink::Series(0), 0.35)), "with all it does together with others (total effect)"),
    ]);
    let area = figure.grid(1, 1, 56.0 + 30.0 * sorted.len() as f64)[0];
    let most = 1.35 * sorted.iter().map(|e| e.total).fold(0.0, f64::max);
    let scale = Scale::from_zero([most]);
    let names = sorted.iter().rev().map(|e| e.parameter.clone()).collect();
    let x = Axis::new(scale, format!("standard deviation of the {response} while the parameter is varied"));
    let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(Scale::Names(names), ""));
    for (i, e) in sorted.iter().rev().enumerate() {
        let y = i as f64;
        panel.rect(&mut figure.scene, (0.0, y - 0.32), (e.total, y + 0.32), Fill::faint(Ink::Series(0), 0.35));
        panel.rect(&mut figure.scene, (0.0, y - 0.32), (e.main, y + 0.32), Fill::opaque(Ink::Series(0)));
        if e.is_bounded_within(most) {
            let ends = [((e.total - e.uncertainty).max(0.0), y), ((e.total + e.uncertainty).min(most), y)];
            panel.line(&mut figure.scene, &ends, Stroke::solid(Ink::Text, 1.0));
        }
        if let Some((x, y)) = panel.place((e.total, y)) {
            let words = format!("{} (swing {})", number(e.total), number(e.swing));
            figure.scene.text((x + 6.0, y - 7.0), words, Style::new(Ink::Text, 11.0, Anchor::Start));
        }
    }
    let mut table = Table::new(["parameter", "main", "total", "swing", "main_share", "total_share", "uncertainty", "label"]);
    for e in &sorted {
        table.push(vec![
            e.parameter.as_str().into(),
            e.main.into(),
            e.total.into(),
            e.swing.into(),
            e.shares.0.into(),
            e.shares.1.into(),
            e.uncertainty.into(),
            e.label.to_string().as_str().into(),
        ]);
    }
    let label = sorted.first().map_or_else(String::new, |e| e.label.to_string());
    let bounded = sorted.iter().filter(|e| e.is_bounded_within(most)).count();
    let bounds = if bounded == 0 {
        format!("How far the function's effects can be from these, the model's, is too wide a range to tell ({label})")
    } else {
        let others = if bounded < sorted.len() { "; where there is none, too far to tell" } else { "" };
        format!("Thin lines: how far the function's total effect can be from the model's ({label}){others}")
    };
    let caption = format!(
        "How much the {response} varies when one parameter runs through its range, in units of the {response}, so that numbers and names can be compared: averaged over the other parameters \
         (strong colour), and including what it does only together with them (faint). The swing is the best minus the worst average. {bounds}; \
         Sobol' indices and bounds are in the data of the picture."
    );
    figure.finish(caption, table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain loops over algorithm notes 17.1.
    fn literal(f: &dyn Fn(usize, usize) -> f64, levels: usize, settings: usize) -> (f64, f64) {
        let mut main = 0.0;
        for l in 0..levels {
            for k in 0..levels {
                let mut difference = 0.0;
                for j in 0..settings {
                    difference += (f(l, j) - f(k, j)) / settings as f64;
                }
                main += difference * difference / (2 * levels * levels) as f64;
            }
        }
        let mut total = 0.0;
        for j in 0..settings {
            for l in 0..levels {
                for k in 0..levels {
                    total += (f(l, j) - f(k, j)).powi(2) / (2 * levels * levels * settings) as f64;
                }
            }
        }
        (main.sqrt(), total.sqrt())
    }

    fn effect(f: &dyn Fn(usize, usize) -> f64, levels: usize, settings: usize, reach: &[f64]) -> Effect {
        let mean: Vec<f64> = (0..settings).flat_map(|j| (0..levels).map(move |l| (l, j))).map(|(l, j)| f(l, j)).collect();
        Effect::new("p", levels, &mean, reach, Label::Estimated)
    }

    #[test]
    fn effects_are_those_of_the_printed_formulas() {
        let f = |l: usize, j: usize| (l as f64 * 1.3).sin() * (1.0 + 0.3 * (j as f64).cos()) + 0.2 * j as f64;
        let found = effect(&f, 5, 7, &[]);
        let (main, total) = literal(&f, 5, 7);
        assert!((found.main - main).abs() < 1e-12 && (found.total - total).abs() < 1e-12 && found.main <= found.total);
        let constant = effect(&|_, j| j as f64, 4, 3, &[]);
        assert_eq!((constant.main, constant.total, constant.swing), (0.0, 0.0, 0.0));
        // Two levels that are 57 apart on average.
        assert!((effect(&|l, _| 57.0 * l as f64, 2, 4, &[]).swing - 57.0).abs() < 1e-12);
    }

    #[test]
    fn bounds_that_span_everything_are_not_drawn_and_the_caption_says_so() {
        let parts = |reach: f64| {
            let list = [57.0, 40.0].map(|size| effect(&|l, _| size * l as f64, 2, 4, &[reach; 8]));
            let picture = effects(&list, "yield");
            let svg = picture.svg(crate::plot::Medium::File);
            (svg.matches("<polyline").count() + svg.matches("<path").count() + svg.matches("<line").count(), picture.caption().to_owned())
        };
        let ((narrow, all), (half, some), (wide, none)) = (parts(1.0), parts(22.0), parts(500.0));
        assert_eq!((narrow - half, half - wide), (1, 1), "one line for each effect that is bounded");
        assert!(all.contains("Thin lines") && !all.contains("too"), "{all}");
        assert!(some.contains("Thin lines") && some.contains("too far to tell"), "{some}");
        assert!(!none.contains("Thin lines") && none.contains("too wide a range to tell"), "{none}");
    }

    #[test]
    fn no_function_within_its_band_has_effects_outside_their_bounds() {
        let mean = |l: usize, j: usize| (l * j) as f64 * 0.1;
        let (levels, settings) = (4, 6);
        let reach: Vec<f64> = (0..levels * settings).map(|i| 0.1 + 0.05 * (i % 5) as f64).collect();
        let mut worst: f64 = 0.0;
        for attack in 0..200_usize {
            // The worst a function can do within a band: bend it with the mean, or against it, or in patterns of levels and settings.
            let sign = |l: usize, j: usize| match attack {
                0 => 2 * l >= levels,
                1 => 2 * l < levels,
                _ => (attack >> ((l + 3 * j) % 8)) & 1 == 0,
            };
            let bent = |l: usize, j: usize| mean(l, j) + if sign(l, j) { 1.0 } else { -1.0 } * reach[j * levels + l];
            let (claimed, truth) = (effect(&mean, levels, settings, &reach), effect(&bent, levels, settings, &reach));
            let missed = (claimed.main - truth.main).abs().max((claimed.total - truth.total).abs());
            assert!(missed <= claimed.uncertainty + 1e-12, "{attack}");
            worst = worst.max(missed / claimed.uncertainty);
        }
        assert!(worst > 0.7, "a bound of two thirds would not hold: {worst}");
    }
}
