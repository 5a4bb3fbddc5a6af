//! Who worked when: one bar for each evaluation, in the row of its worker, with a fence where a batch begins.

use super::{Anchor, Axis, Cell, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Stroke, Style, Table, Tip};

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The trial.
    pub trial: u64,
    /// Who had it.
    pub worker: String,
    /// When it was handed out, in seconds since the beginning.
    pub from: f64,
    /// When its result was told; `None` while it runs.
    pub to: Option<f64>,
    /// Whether it failed.
    pub failed: bool,
}

/// A run seen from its workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gantt {
    /// The evaluations.
    pub bars: Vec<Bar>,
    /// When batches were planned, in seconds since the beginning.
    pub fences: Vec<f64>,
    /// Now, in seconds since the beginning.
    pub now: f64,
}

/// More bars than these are drawn as stretches of work, one after the other without a gap.
const MOST_BARS: usize = 600;
/// More workers than these have no row of their own: those seen last are shown.
const MOST_ROWS: usize = 40;

impl Gantt {
    /// Bars by worker, fences between batches; what runs for longer than the usual stands out.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let mut figure = Figure::new("workers", "Who worked when, and who keeps the batch waiting");
        let (done, runs, failed) = (Fill::faint(Ink::Series(0), 0.75), Fill::opaque(Ink::Series(4)), Fill::opaque(Ink::Series(1)));
        figure.legend(&[
            (Sample::Band(done), "an evaluation"),
            (Sample::Band(runs), "still running"),
            (Sample::Point(Marker::Cross, failed), "failed"),
            (Sample::Line(Stroke::dotted(Ink::Muted, 1.0)), "a batch begins"),
        ]);
        let (workers, left_out) = self.workers();
        let area = figure.grid(1, 1, 70.0 + 15.0 * workers.len().clamp(2, MOST_ROWS) as f64)[0];
        let (unit, seconds) = unit(self.now);
        let names = workers.iter().rev().map(|name| short_name(name)).collect();
        let x = Axis::new(Scale::Linear { low: 0.0, high: (self.now / seconds).max(1e-3) }, format!("{unit} since the study began"));
        let panel = Panel::new(&mut figure.scene, area, "", x, Axis::new(Scale::Names(names), ""));
        for fence in &self.fences {
            panel.fence(&mut figure.scene, fence / seconds, Stroke::dotted(Ink::Muted, 1.0));
        }
        let row = |worker: &str| workers.iter().rev().position(|known| *known == worker).map(|row| row as f64);
        // Whoever has many at once, as a plate has, shows what was told over what still runs.
        let mut stretches = self.stretches();
        stretches.sort_by_key(|stretch| stretch.to.is_some());
        for stretch in stretches {
            let Some(y) = row(&stretch.worker) else { continue };
            let (from, to) = (stretch.from / seconds, stretch.to.unwrap_or(self.now) / seconds);
            let (Some(low), Some(high)) = (panel.place((from, y - 0.35)), panel.place((to, y + 0.35))) else { continue };
            let fill = if stretch.to.is_none() { runs } else { done };
            figure.scene.rect((low.0, high.1), ((high.0 - low.0).max(1.0), low.1 - high.1), fill, stretch.tip());
            if stretch.failed {
                panel.mark(&mut figure.scene, (to, y), 4.0, Marker::Cross, failed, Tip { words: "failed".to_owned(), ..stretch.tip() });
            }
        }
        if workers.is_empty() {
            let inner = panel.inner();
            let at = (inner.left + inner.width / 2.0, inner.top + inner.height / 2.0);
            figure.scene.text(at, "nothing was handed out yet", Style::new(Ink::Muted, 12.0, Anchor::Middle));
        }
        let more = if left_out > 0 { format!(" {left_out} more workers are in the numbers.") } else { String::new() };
        let caption = format!(
            "A batch is planned when everything of the one before is answered: a single bar that reaches far beyond the others is what all wait for. \
             Close the batch to go on without it.{more}"
        );
        figure.finish(&caption, self.table())
    }

    /// The workers that have a row, in the order in which they came, and how many have none.
    fn workers(&self) -> (Vec<&str>, usize) {
        let mut known: Vec<(&str, f64)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for bar in &self.bars {
            let place = *places.entry(bar.worker.as_str()).or_insert(known.len());
            let seen = bar.to.unwrap_or(self.now);
            match known.get_mut(place) {
                Some((_, last)) => *last = last.max(seen),
                None => known.push((&bar.worker, seen)),
            }
        }
        let left_out = known.len().saturating_sub(MOST_ROWS);
        let mut by_last: Vec<f64> = known.iter().map(|(_, last)| *last).collect();
        by_last.sort_by(|a, b| b.total_cmp(a));
        let limit = by_last.get(MOST_ROWS - 1).copied().unwrap_or(f64::NEG_INFINITY);
        let shown = known.into_iter().filter(|(_, last)| *last >= limit).map(|(name, _)| name).take(MOST_ROWS);
        (shown.collect(), left_out)
    }

    /// The bars, or where they are too many, what a worker did without pause as one.
    fn stretches(&self) -> Vec<Stretch> {
        let apart = if self.bars.len() > MOST_BARS { self.now / 400.0 } else { -1.0 };
        let mut by_worker: std::collections::BTreeMap<&str, Vec<&Bar>> = std::collections::BTreeMap::new();
        self.bars.iter().for_each(|bar| by_worker.entry(&bar.worker).or_default().push(bar));
        let mut stretches: Vec<Stretch> = Vec::new();
        for (worker, mut bars) in by_worker {
            bars.sort_by(|a, b| a.from.total_cmp(&b.from));
            let first = stretches.len();
            for bar in bars {
                match stretches[first..].last_mut() {
                    Some(last) if bar.to.is_some() && last.to.is_some_and(|end| bar.from - end <= apart) => {
                        last.to = last.to.zip(bar.to).map(|(a, b)| a.max(b));
                        last.count += 1;
                        last.failed |= bar.failed;
                    }
                    _ => stretches.push(Stretch {
                        worker: worker.to_owned(),
                        from: bar.from,
                        to: bar.to,
                        failed: bar.failed,
                        count: 1,
                        trial: bar.trial,
                    }),
                }
            }
        }
        stretches
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["trial", "worker", "from_seconds", "to_seconds", "failed"]);
        for bar in &self.bars {
            let failed = if bar.failed { "yes" } else { "" };
            table.push(vec![Cell::Whole(bar.trial), bar.worker.as_str().into(), bar.from.into(), bar.to.into(), failed.into()]);
        }
        table
    }
}

struct Stretch {
    worker: String,
    from: f64,
    to: Option<f64>,
    failed: bool,
    count: usize,
    trial: u64,
}

impl Stretch {
    fn tip(&self) -> Tip {
        let what = if self.count == 1 { format!("trial {}", self.trial) } else { format!("{} trials", self.count) };
        let words = match self.to {
            Some(to) => format!("{what}: {:.1} s, {}", to - self.from, self.worker),
            None => format!("{what}: running, {}", self.worker),
        };
        Tip::of((self.count == 1).then_some(self.trial), words)
    }
}

/// The end of a long name tells workers apart better than its beginning.
fn short_name(name: &str) -> String {
    let length = name.chars().count();
    if length <= 22 { name.to_owned() } else { format!("…{}", name.chars().skip(length - 21).collect::<String>()) }
}

/// A unit in which the time is a small number, and its seconds.
fn unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        s if s > 3.0 * 86400.0 => ("days", 86400.0),
        s if s > 3.0 * 3600.0 => ("hours", 3600.0),
        s if s > 180.0 => ("minutes", 60.0),
        _ => ("seconds", 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Medium;

    fn run(count: usize) -> Gantt {
        let bar = |i: usize| Bar {
            trial: i as u64,
            worker: format!("w{}", i % 3),
            from: i as f64,
            to: (i + 1 < count).then_some(i as f64 + 2.5),
            failed: i == 1,
        };
        Gantt { bars: (0..count).map(bar).collect(), fences: vec![0.0], now: count as f64 + 3.0 }
    }

    #[test]
    fn what_was_told_lies_over_what_still_runs() {
        let bar = |trial, to| Bar { trial, worker: "plate1".to_owned(), from: 0.0, to, failed: false };
        let svg = Gantt { bars: vec![bar(1, Some(5.0)), bar(2, None)], fences: Vec::new(), now: 60.0 }.picture().svg(Medium::Page);
        let place = |id: u64| svg.find(&format!("data-id=\"{id}\"")).unwrap();
        assert!(place(2) < place(1), "a plate is handed out at once and told well by well");
    }

    #[test]
    fn every_evaluation_has_its_bar_and_its_row_of_numbers() {
        let picture = run(9).picture();
        let svg = picture.svg(Medium::Page);
        assert_eq!(svg.matches("<title>trial ").count(), 9);
        assert!((0..9).all(|id| svg.contains(&format!("data-id=\"{id}\""))), "each leads to its trial");
        assert!(svg.contains("running") && !svg.contains("style="));
        assert_eq!(picture.table().rows().len(), 9);
    }

    #[test]
    fn twenty_thousand_bars_become_few_stretches() {
        let many = run(20_000);
        let picture = many.picture();
        assert!(picture.svg(Medium::Page).len() < 200_000, "{}", picture.svg(Medium::Page).len());
        assert_eq!(picture.table().rows().len(), 20_000);
        assert!(Gantt::default().picture().svg(Medium::Page).contains("nothing was handed out yet"));
    }
}
