//! How a run got on: the gap after each batch, the best so far, and the recommendation beside the luckiest draw.

use super::cloud::{Look, MOST_MARKS, cloud};
use super::{Anchor, Axis, Dot, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Stroke, Style, Table, Tip, number};

/// A closed batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchEnd {
    /// Evaluations made so far.
    pub evaluations: usize,
    /// How far from the best setting the recommendation can still be; `None` where nothing is known.
    pub gap: Option<f64>,
}

/// A run as a history.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// What is measured, with its unit.
    pub response: String,
    /// Whether large values are wanted.
    pub maximise: bool,
    /// What the gap is worth: "certified" or another label.
    pub gap_label: String,
    /// Whether the gaps are those among the candidates that stand for the space.
    pub among_candidates: bool,
    /// The gap at which the run may stop.
    pub wanted_gap: Option<f64>,
    /// Measured values in the order of evaluation.
    pub values: Vec<f64>,
    /// The trials of these values, for marks that lead there; empty for none.
    pub trials: Vec<u64>,
    /// After how many measurements an evaluation failed, and which trial it was.
    pub failures: Vec<(usize, u64)>,
    /// The batches that are closed.
    pub batches: Vec<BatchEnd>,
}

/// More batches than these are not worth a fence each: a strategy that plans one evaluation at a time has no batches to speak of.
const MOST_FENCES: usize = 20;

impl Progress {
    /// The gap and the best so far against evaluations; fences are ends of batches.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let mut figure = Figure::new("progress", "May I stop? The optimality gap and the best so far");
        let (gap, stop) = (Stroke::solid(Ink::Series(0), 2.0), Stroke::dashed(Ink::Series(1), 2.0));
        let best = Stroke::solid(Ink::Series(2), 2.0);
        let among = if self.among_candidates { "candidate" } else { "optimality" };
        let gap_text = format!("{among} gap ({})", self.gap_label);
        let mut entries = vec![(Sample::Line(gap), gap_text.as_str())];
        let stop_text = self.wanted_gap.map(|gap| format!("stop line: gap {}", number(gap)));
        entries.extend(stop_text.as_deref().map(|text| (Sample::Line(stop), text)));
        entries.push((Sample::Line(best), "best measured so far"));
        entries.push((Sample::Point(Marker::Disc, Fill::faint(Ink::Text, 0.35)), "measurements"));
        if !self.failures.is_empty() {
            entries.push((Sample::Point(Marker::Cross, Fill::opaque(Ink::Series(1))), "failed evaluations"));
        }
        if self.batches.len() <= MOST_FENCES {
            entries.push((Sample::Line(Stroke::dotted(Ink::Muted, 1.0)), "end of a batch, with its number"));
        }
        figure.legend(&entries);
        let areas = figure.grid(2, 2, 300.0);
        let last = self.values.len().max(self.batches.last().map_or(0, |batch| batch.evaluations));
        let evaluations = || Axis::new(Scale::Linear { low: 0.0, high: 1.04 * last.max(1) as f64 }, "evaluations");
        let gaps: Vec<(f64, f64)> = self.known_gaps().map(|(batch, gap)| (batch.evaluations as f64, gap)).collect();
        let scale = Scale::log_covering(gaps.iter().map(|g| g.1).chain(self.wanted_gap));
        let left = Panel::new(&mut figure.scene, areas[0], "", evaluations(), Axis::new(scale, format!("gap in {}", self.response)));
        self.fences(&left, &mut figure.scene);
        if let Some(wanted) = self.wanted_gap {
            left.level(&mut figure.scene, wanted, stop);
        }
        left.line(&mut figure.scene, &steps(&gaps, last as f64), gap);
        for (x, y) in &gaps {
            left.mark(&mut figure.scene, (*x, *y), 4.0, Marker::Disc, Fill::opaque(Ink::Series(0)), number(*y));
        }
        if gaps.is_empty() {
            let inner = left.inner();
            let at = (inner.left + inner.width / 2.0, inner.top + inner.height / 2.0);
            figure.scene.text(at, "no finite gap is known yet", Style::new(Ink::Muted, 12.0, Anchor::Middle));
        }
        let y = Axis::new(Scale::covering(self.values.iter().copied()), self.response.as_str());
        let right = Panel::new(&mut figure.scene, areas[1], "", evaluations(), y);
        self.fences(&right, &mut figure.scene);
        let dot = |(i, value): (usize, &f64)| Dot { at: (i as f64 + 1.0, *value), trial: self.trials.get(i).copied() };
        let measured = self.values.iter().enumerate().map(dot);
        let look = Look { radius: 2.2, marker: Marker::Disc, fill: Fill::faint(Ink::Text, 0.3), what: "measurements", most: MOST_MARKS };
        right.cloud(&mut figure.scene, measured, look);
        right.line(&mut figure.scene, &self.best_so_far(), best);
        let inner = right.inner();
        let foot = |&(after, trial): &(usize, u64)| {
            let share = right.x().share(after as f64 + 0.5)?;
            Some(Dot { at: (inner.left + inner.width * share, inner.top + inner.height - 6.0), trial: Some(trial) })
        };
        let failed = self.failures.iter().filter_map(foot).collect();
        let fill = Fill::opaque(Ink::Series(1));
        cloud(&mut figure.scene, inner, failed, Look { radius: 3.5, marker: Marker::Cross, fill, what: "failed evaluations", ..look });
        let others = if self.among_candidates { "of the candidates that stand for the space" } else { "setting" };
        let caption = format!(
            "The gap says how much better than the recommendation any other {others} can still be{}. \
                       The best measured value is a lucky draw as often as a good setting; the gap is not read from it.",
            if self.wanted_gap.is_some() { ": once it is below the stop line there is nothing worth looking for" } else { "" }
        );
        figure.finish(caption, self.table())
    }

    fn known_gaps(&self) -> impl Iterator<Item = (&BatchEnd, f64)> {
        self.batches.iter().filter_map(|batch| Some((batch, batch.gap.filter(|gap| gap.is_finite() && *gap > 0.0)?)))
    }

    /// Ends of batches, numbered where there is room.
    fn fences(&self, panel: &Panel, scene: &mut Scene) {
        let inner = panel.inner();
        let mut free_from = f64::NEG_INFINITY;
        for (i, batch) in self.batches.iter().enumerate() {
            let at = batch.evaluations as f64;
            if self.batches.len() <= MOST_FENCES {
                panel.fence(scene, at, Stroke::dotted(Ink::Muted, 1.0));
            }
            let Some(share) = panel.x().share(at).filter(|_| self.batches.len() <= MOST_FENCES) else { continue };
            let x = inner.left + inner.width * share;
            if x - 14.0 > free_from {
                scene.text((x - 3.0, inner.top + 9.0), format!("{}", i + 1), Style::new(Ink::Muted, 10.0, Anchor::End));
                free_from = x;
            }
        }
    }

    fn best_so_far(&self) -> Vec<(f64, f64)> {
        let mut best = None;
        let mut curve = Vec::new();
        for (i, value) in self.values.iter().enumerate() {
            let better = best.is_none_or(|b| if self.maximise { *value > b } else { *value < b });
            if better {
                curve.extend(best.map(|b| (i as f64 + 1.0, b)));
                best = Some(*value);
                curve.push((i as f64 + 1.0, *value));
            }
        }
        curve.extend(best.map(|b| (self.values.len() as f64, b)));
        curve
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["evaluation", "value", "best_so_far", "closed_batches", "gap"]);
        let mut best = f64::NAN;
        for (i, value) in self.values.iter().enumerate() {
            best = if self.maximise { best.max(*value) } else { best.min(*value) };
            let closed = self.batches.iter().take_while(|batch| batch.evaluations <= i + 1).count();
            let gap = closed.checked_sub(1).and_then(|last| self.batches[last].gap);
            table.push(vec![(i + 1).into(), (*value).into(), best.into(), closed.into(), gap.into()]);
        }
        table
    }
}

/// A value holds until the next one.
fn steps(points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let mut line = Vec::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        line.push((x, y));
        line.push((points.get(i + 1).map_or(end.max(x), |next| next.0), y));
    }
    line
}

/// A setting with what was measured and what is known about its true value.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// What it is: "recommended".
    pub name: String,
    /// The setting in words.
    pub setting: String,
    /// Measured values there, with their trials.
    pub measured: Vec<(u64, f64)>,
    /// The model's mean there, where it is known.
    pub mean: Option<f64>,
    /// The interval for its true value, where one is known.
    pub interval: Option<(f64, f64)>,
    /// What the interval is worth.
    pub label: String,
}

/// The recommended setting beside the best measured one.
#[must_use]
pub fn rivals(rivals: &[Rival], response: &str) -> Picture {
    let (title, caption) = if rivals.len() > 1 {
        (
            "Recommended, or only lucky? What is known about the two settings",
            "The best of many noisy measurements is usually lucky: its cross lies beyond what its true value can be expected to be. The recommendation is chosen by what is sure \
             about it, not by one draw.",
        )
    } else {
        (
            "What is known about the recommended setting",
            "The best single measurement was made at the recommended setting too, or there is none. The recommendation is chosen by what is sure about it, not by one draw.",
        )
    };
    let mut figure = Figure::new("recommended-or-luckiest", title);
    figure.legend(&[
        (Sample::Line(Stroke::solid(Ink::Series(0), 4.0)), "interval for the true value"),
        (Sample::Point(Marker::Diamond, Fill::opaque(Ink::Series(0))), "model's mean"),
        (Sample::Point(Marker::Cross, Fill::opaque(Ink::Series(1))), "measured there"),
    ]);
    let area = figure.grid(1, 1, 60.0 + 64.0 * rivals.len() as f64)[0];
    let numbers = rivals
        .iter()
        .flat_map(|r| r.measured.iter().map(|(_, value)| *value).chain(r.mean).chain(r.interval.into_iter().flat_map(|(a, b)| [a, b])));
    let names = rivals.iter().rev().map(|r| r.name.clone()).collect();
    let panel = Panel::new(&mut figure.scene, area, "", Axis::new(Scale::covering(numbers), response), Axis::new(Scale::Names(names), ""));
    for (i, rival) in rivals.iter().rev().enumerate() {
        let y = i as f64;
        if let Some((lower, upper)) = rival.interval {
            panel.line(&mut figure.scene, &[(lower, y), (upper, y)], Stroke::solid(Ink::Series(0), 4.0));
        }
        if let Some(mean) = rival.mean {
            panel.mark(&mut figure.scene, (mean, y), 6.0, Marker::Diamond, Fill::opaque(Ink::Series(0)), number(mean));
        }
        for (trial, value) in &rival.measured {
            // Below the interval, so that many of them do not hide it.
            panel.mark(
                &mut figure.scene,
                (*value, y - 0.2),
                4.0,
                Marker::Cross,
                Fill::opaque(Ink::Series(1)),
                Tip::of(Some(*trial), number(*value)),
            );
        }
        if let Some((_, at)) = panel.place((0.0, y)) {
            let text = format!("{} · {}", rival.setting, rival.label);
            let text = super::shortened(&text, 11.0, panel.inner().width - 10.0);
            figure.scene.text((panel.inner().left + 6.0, at - 15.0), text, Style::new(Ink::Muted, 11.0, Anchor::Start));
        }
    }
    let mut table = Table::new(["which", "setting", "label", "mean", "lower", "upper", "measured"]);
    for r in rivals {
        let ends = (r.interval.map(|i| i.0), r.interval.map(|i| i.1));
        let measured = r.measured.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(" ");
        table.push(vec![
            r.name.as_str().into(),
            r.setting.as_str().into(),
            r.label.as_str().into(),
            r.mean.into(),
            ends.0.into(),
            ends.1.into(),
            measured.into(),
        ]);
    }
    figure.finish(caption, table)
}
