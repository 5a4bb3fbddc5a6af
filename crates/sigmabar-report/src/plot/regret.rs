//! Regret curves: strategies beside each other over seeds, and growth with the budget beside the bound.

use super::{Anchor, Axis, Figure, Fill, Ink, Panel, Picture, Sample, Scale, Scene, Stroke, Style, Table, number};

/// A strategy's regret over seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegretCurve {
    /// The strategy.
    pub strategy: String,
    /// Evaluations.
    pub evaluations: Vec<f64>,
    /// The mean over seeds.
    pub mean: Vec<f64>,
    /// A tenth of the seeds are below.
    pub lower: Vec<f64>,
    /// A tenth of the seeds are above.
    pub upper: Vec<f64>,
    /// Number of seeds.
    pub seeds: usize,
    /// Whether it changes at the evaluations given alone, as after the batches of a strategy: drawn as steps.
    pub is_stepped: bool,
}

impl RegretCurve {
    /// A line through values at its evaluations, with steps where it has them.
    fn drawn(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(2 * values.len());
        for (n, value) in self.evaluations.iter().zip(values) {
            points.extend(points.last().filter(|_| self.is_stepped).map(|(_, before)| (*n, *before)));
            points.push((*n, *value));
        }
        points
    }
}

/// All strategies on one problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegretPanel {
    /// The problem.
    pub problem: String,
    /// Its curves.
    pub curves: Vec<RegretCurve>,
    /// The slope on log-log axes that theory gives, where it gives one.
    pub theory_slope: Option<f64>,
}

const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

fn stroke(i: usize) -> Stroke {
    // Colour alone does not say which one it is: dashes change with it.
    Stroke { ink: Ink::Series(i), width: 2.0, dash: DASHES[(i + i / 7) % DASHES.len()] }
}

/// Regret against evaluations on log-log axes, a panel for each problem. `measure` is what is drawn, e.g. "simple regret".
#[must_use]
pub fn regret(panels: &[RegretPanel], measure: &str) -> Picture {
    let name = measure.replace(' ', "-");
    let mut figure = Figure::new(name, format!("{} against evaluations", capitalised(measure)));
    let strategies = distinct(panels.iter().flat_map(|panel| &panel.curves).map(|curve| curve.strategy.as_str()));
    let mut entries: Vec<(Sample, &str)> = strategies.iter().enumerate().map(|(i, s)| (Sample::Line(stroke(i)), *s)).collect();
    entries.push((Sample::Band(Fill::faint(Ink::Muted, 0.2)), "middle 80 % of the seeds"));
    if panels.iter().any(|panel| panel.theory_slope.is_some()) {
        entries.push((Sample::Line(theory()), "slope of the theory"));
    }
    figure.legend(&entries);
    let columns = if panels.len() == 1 { 1 } else { 2 };
    for (panel, area) in panels.iter().zip(figure.grid(panels.len(), columns, if columns == 1 { 380.0 } else { 300.0 })) {
        draw(panel, &strategies, measure, area, &mut figure.scene);
    }
    let mut table = Table::new(["problem", "strategy", "evaluations", "mean", "quantile_10", "quantile_90", "seeds"]);
    for panel in panels {
        for curve in &panel.curves {
            for i in 0..curve.mean.len() {
                let numbers = [curve.evaluations[i], curve.mean[i], curve.lower[i], curve.upper[i]];
                let words = [panel.problem.as_str().into(), curve.strategy.as_str().into()];
                table.push(words.into_iter().chain(numbers.into_iter().map(Into::into)).chain([curve.seeds.into()]).collect());
            }
        }
    }
    let caption = "Mean over seeds with the middle 80 % of them; lower is better. Strategies that measure in batches know more after each batch alone: their curves are steps. On \
                   log-log axes a power of the number of evaluations is a straight line. A regret of exactly 0 has no \
                   place on a logarithmic axis and is left out.";
    figure.finish(caption, table)
}

fn theory() -> Stroke {
    Stroke::dashed(Ink::Text, 1.2)
}

fn draw(panel: &RegretPanel, strategies: &[&str], measure: &str, area: super::Area, scene: &mut Scene) {
    let x = Scale::log_covering(panel.curves.iter().flat_map(|c| c.evaluations.iter().copied()));
    let bands = panel.curves.iter().flat_map(|c| c.mean.iter().chain(&c.lower).chain(&c.upper).copied());
    let y = Scale::log_covering(bands);
    let axes = Panel::new(scene, area, &panel.problem, Axis::new(x, "evaluations"), Axis::new(y, measure));
    for curve in &panel.curves {
        let i = strategies.iter().position(|s| *s == curve.strategy).unwrap_or(0);
        // A band's lower edge at 0 goes to the foot of the axis.
        let foot = if let Scale::Log { low, .. } = axes.y() { *low } else { 0.0 };
        let lower: Vec<f64> = curve.lower.iter().map(|v| v.max(foot)).collect();
        let upper: Vec<f64> = curve.upper.iter().map(|v| v.max(foot)).collect();
        let (n, lower): (Vec<f64>, Vec<f64>) = curve.drawn(&lower).into_iter().unzip();
        let upper: Vec<f64> = curve.drawn(&upper).into_iter().map(|(_, v)| v).collect();
        axes.band(scene, &n, &lower, &upper, Fill::faint(Ink::Series(i), 0.15));
        let line: Vec<(f64, f64)> = curve.drawn(&curve.mean).into_iter().filter(|p| p.1 > 0.0).collect();
        axes.line(scene, &line, stroke(i));
        let points = curve.evaluations.iter().copied().zip(curve.mean.iter().copied()).filter(|p| p.1 > 0.0);
        if curve.evaluations.len() <= 12 {
            points.for_each(|point| axes.mark(scene, point, 3.0, super::Marker::Disc, Fill::opaque(Ink::Series(i)), number(point.1)));
        }
    }
    if let Some(slope) = panel.theory_slope {
        guide(&axes, &panel.curves, slope, scene);
        remark(&axes, &format!("dashed: slope {}", super::significant(slope, 3)), scene);
    }
}

/// A line of a slope that ends at the first curve's end, as far as it stays inside.
fn guide(axes: &Panel, curves: &[RegretCurve], slope: f64, scene: &mut Scene) {
    let ends = curves.iter().filter_map(|c| Some((*c.evaluations.last()?, *c.mean.last()?)));
    let Some((n, r)) = ends.filter(|(_, r)| *r > 0.0).min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let (Scale::Log { low: first, .. }, Scale::Log { low, high }) = (axes.x(), axes.y()) else { return };
    let limit = if slope >= 0.0 { *low } else { *high };
    // r (x/n)^slope = limit
    let crossing = n * (limit / r).powf(1.0 / slope);
    let from = if crossing.is_finite() { first.max(crossing.min(n)) } else { *first };
    axes.line(scene, &[(from, r * (from / n).powf(slope)), (n, r)], theory());
}

/// A word in the upper left corner, which rising curves leave free.
fn remark(axes: &Panel, text: &str, scene: &mut Scene) {
    scene.text((axes.inner().left + 8.0, axes.inner().top + 14.0), text, Style::new(Ink::Text, 11.5, Anchor::Start));
}

/// One budget of a growth table.
#[derive(Clone, Debug, PartialEq)]
pub struct RegretGrowth {
    /// The setting.
    pub setting: String,
    /// $N$.
    pub budget: f64,
    /// Mean cumulative regret of runs of that budget.
    pub regret: f64,
    /// The computed bound.
    pub bound: f64,
    /// The largest slope that theory allows, margin included.
    pub slope_limit: f64,
}

/// The slope through the last decade of N: between the last budget and the first at least a tenth of it.
#[must_use]
pub fn last_decade_slope(points: &[(f64, f64)]) -> Option<f64> {
    let last = points.last()?;
    let first = points.iter().find(|p| p.0 >= 0.0999 * last.0 && p.0 < last.0)?;
    let slope = (last.1 / first.1).ln() / (last.0 / first.0).ln();
    slope.is_finite().then_some(slope)
}

/// Measured regret against the budget, the computed bound and the slope that theory allows: a panel for each setting.
#[must_use]
pub fn growth(rows: &[RegretGrowth]) -> Picture {
    let mut figure = Figure::new("regret-growth", "Cumulative regret against the budget N, and its computed bound");
    let (measured, bound) = (stroke(0), stroke(1));
    figure.legend(&[
        (Sample::Line(measured), "measured R(N), mean over seeds"),
        (Sample::Line(bound), "computed bound"),
        (Sample::Line(theory()), "largest slope that theory allows"),
    ]);
    let settings = distinct(rows.iter().map(|row| row.setting.as_str()));
    let mut table = Table::new(["setting", "budget", "regret", "bound", "slope_limit", "measured_slope_last_decade"]);
    for (setting, area) in settings.iter().zip(figure.grid(settings.len(), settings.len().min(3), 320.0)) {
        let mut mine: Vec<&RegretGrowth> = rows.iter().filter(|row| row.setting == *setting).collect();
        mine.sort_by(|a, b| a.budget.total_cmp(&b.budget));
        let curve = |f: fn(&RegretGrowth) -> f64| mine.iter().map(|g| (g.budget, f(g))).collect::<Vec<_>>();
        let (regrets, bounds) = (curve(|g| g.regret), curve(|g| g.bound));
        let x = Axis::new(Scale::log_covering(mine.iter().map(|g| g.budget)), "budget N");
        let y = Axis::new(Scale::log_covering(regrets.iter().chain(&bounds).map(|p| p.1)), "R(N)");
        let axes = Panel::new(&mut figure.scene, area, setting, x, y);
        axes.line(&mut figure.scene, &bounds, bound);
        axes.line(&mut figure.scene, &regrets, measured);
        for p in &regrets {
            axes.mark(&mut figure.scene, *p, 3.0, super::Marker::Disc, Fill::opaque(Ink::Series(0)), number(p.1));
        }
        let limit = mine.first().map_or(1.0, |g| g.slope_limit);
        let end = RegretCurve {
            evaluations: regrets.iter().map(|p| p.0).collect(),
            mean: regrets.iter().map(|p| p.1).collect(),
            ..RegretCurve::default()
        };
        guide(&axes, &[end], limit, &mut figure.scene);
        let slope = last_decade_slope(&regrets);
        if let Some(slope) = slope {
            let [slope, limit] = [slope, limit].map(|slope| super::significant(slope, 3));
            remark(&axes, &format!("slope {slope}, at most {limit}"), &mut figure.scene);
        }
        for g in &mine {
            let numbers = [Some(g.budget), Some(g.regret), Some(g.bound), Some(g.slope_limit), slope];
            table.push([(*setting).into()].into_iter().chain(numbers.into_iter().map(Into::into)).collect());
        }
    }
    let caption =
        "The measured curve stays below the bound at every N, and over the last decade of N it is no steeper than the dashed line.";
    figure.finish(caption, table)
}

/// Each name once, in the order of first appearance.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
