//! The elimination: what is still possible after each batch.

use super::cloud::{Look, MOST_MARKS};
use super::{Axis, Cell, Dot, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Table, significant};

/// A parameter's whole range.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The parameter.
    pub name: String,
    /// Its axis: a scale over all its values.
    pub scale: Scale,
}

/// What is still possible.
#[derive(Clone, Debug, PartialEq)]
pub enum Remaining {
    /// These of the elimination's candidates.
    Candidates(Vec<usize>),
    /// Boxes: lower and upper corners.
    Cells(Vec<(Vec<f64>, Vec<f64>)>),
}

/// The state after a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What is still possible.
    pub remaining: Remaining,
    /// The share of the domain that it is, from 0 to 1, where it is known.
    pub share: Option<f64>,
    /// Which trials the batch measured, and where.
    pub measured: Vec<(u64, Vec<f64>)>,
}

/// All batches of a run.
#[derive(Clone, Debug, Default)]
pub struct Elimination {
    /// The parameters.
    pub sides: Vec<Side>,
    /// All candidates of a finite domain, or those seen of a larger one; none of a box.
    pub candidates: Vec<Vec<f64>>,
    /// Whether the candidates are the whole domain.
    pub is_list: bool,
    /// What ruling out is worth: "certified" or another label.
    pub label: String,
    /// One for each closed batch.
    pub frames: Vec<Frame>,
    /// The recommendation.
    pub recommended: Option<Vec<f64>>,
}

/// Bins begin no earlier than this, however many panels share the marks of a picture.
const FEWEST_MARKS: usize = 500;
/// The most boxes of a panel; more are shown on a raster of this many parts a side.
const MOST_BOXES: usize = 2500;
const RASTER: usize = 64;
/// Parts of a strip along a parameter of numbers.
const STRIP: usize = 30;
const LEFT: Fill = Fill { ink: Ink::Series(0), opacity: 0.55 };
const GONE: Fill = Fill { ink: Ink::Muted, opacity: 0.25 };
const MEASURED: Fill = Fill { ink: Ink::Text, opacity: 0.9 };

impl Elimination {
    /// One panel for each batch and pair of parameters; strips for a single parameter, and for settings of mixed kinds or many parameters.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let mut figure = Figure::new("elimination", "What is still possible after each batch");
        figure.legend(&self.entries());
        let caption = match self.sides.len() {
            0 | 1 => {
                self.strips(&mut figure);
                String::new()
            }
            _ if self.is_mixed() => self.shares(&mut figure),
            _ => self.projections(&mut figure),
        };
        let caption = format!(
            "Blue settings may still be the best one; the others are ruled out ({}). Each batch measures only where the answer can still be.{caption}",
            self.label
        );
        figure.finish(caption, self.table())
    }

    fn entries(&self) -> Vec<(Sample, &'static str)> {
        let mut entries = if self.candidates.is_empty() || self.is_mixed() {
            vec![(Sample::Band(LEFT), "still possible")]
        } else {
            vec![(Sample::Point(Marker::Disc, LEFT), "still possible"), (Sample::Point(Marker::Disc, GONE), "ruled out")]
        };
        entries.push((Sample::Point(Marker::Cross, MEASURED), "measured in this batch"));
        if self.recommended.is_some() {
            entries.push((Sample::Point(Marker::Diamond, Fill::opaque(Ink::Series(1))), "recommended"));
        }
        entries
    }

    /// Whether pairs of parameters would be many, or would show names against numbers.
    fn is_mixed(&self) -> bool {
        let has_names = self.sides.iter().any(|side| matches!(side.scale, Scale::Names(_)));
        !self.candidates.is_empty() && (self.sides.len() > 3 || has_names)
    }

    /// One panel for each parameter, one row for each batch: the share of the settings that is left in each part of its range.
    fn shares(&self, figure: &mut Figure) -> String {
        let name = |i: usize| if self.is_list { self.heading(i) } else { format!("batch {}", i + 1) };
        let rows: Vec<String> = (0..self.frames.len()).rev().map(name).collect();
        let areas = figure.grid(self.sides.len(), 2, 70.0 + 26.0 * rows.len() as f64);
        for ((p, side), area) in self.sides.iter().enumerate().zip(areas) {
            let (x, y) = (Axis::new(side.scale.clone(), side.name.as_str()), Axis::new(Scale::Names(rows.clone()), ""));
            let panel = Panel::new(&mut figure.scene, area, "", x, y);
            let parts = if let Scale::Names(names) = &side.scale { names.len().max(1) } else { STRIP };
            for (i, frame) in self.frames.iter().enumerate() {
                let row = (rows.len() - 1 - i) as f64;
                let at = |point: &[f64]| (point[p], row);
                self.strip(&panel, &mut figure.scene, frame, p, (parts, row));
                self.crosses(frame, |point| (at(point).0, row - 0.3), &panel, &mut figure.scene);
                if i + 1 == self.frames.len() {
                    self.goal(at, &panel, &mut figure.scene);
                }
            }
        }
        let whole = if self.is_list { "the candidates" } else { "the settings that were looked at" };
        format!(
            " Each row is a batch and shows, along the parameter, which share of {whole} there was left after it: the stronger the colour, the larger, and nothing where none is. Crosses are its measurements."
        )
    }

    /// The share of the settings that is left after a batch in equal parts of one parameter.
    fn strip(&self, panel: &Panel, scene: &mut Scene, frame: &Frame, p: usize, (parts, row): (usize, f64)) {
        let Remaining::Candidates(left) = &frame.remaining else { return };
        let scale = &self.sides[p].scale;
        let counted = |settings: &mut dyn Iterator<Item = usize>| {
            let mut counts = vec![0_usize; parts];
            for share in settings.filter_map(|i| scale.share(self.candidates[i][p])) {
                counts[((share.clamp(0.0, 1.0) * parts as f64) as usize).min(parts - 1)] += 1;
            }
            counts
        };
        let (counts, whole) = (counted(&mut left.iter().copied()), counted(&mut (0..self.candidates.len())));
        let inner = panel.inner();
        let Some((_, middle)) = left.first().and_then(|&i| panel.place((self.candidates[i][p], row))) else { return };
        let width = inner.width / parts as f64;
        for (part, (&count, &whole)) in counts.iter().zip(&whole).enumerate().filter(|(_, (count, _))| **count > 0) {
            // The fewest that are left are still seen.
            let fill = Fill { ink: Ink::Series(0), opacity: 0.15 + 0.7 * count as f64 / whole.max(1) as f64 };
            let tip = format!("{count} of {whole} settings left");
            scene.rect((inner.left + part as f64 * width, middle - 8.0), (width, 12.0), fill, tip);
        }
    }

    fn strips(&self, figure: &mut Figure) {
        let Some(side) = self.sides.first() else { return };
        let areas = figure.grid(self.frames.len(), 1, 84.0);
        for (i, (frame, area)) in self.frames.iter().zip(areas).enumerate() {
            let last = i + 1 == self.frames.len();
            let x = Axis::new(side.scale.clone(), if last { side.name.as_str() } else { "" });
            let y = Axis::new(Scale::Names(vec![String::new()]), "");
            let panel = Panel::new(&mut figure.scene, area, &self.heading(i), x, y);
            let scene = &mut figure.scene;
            match &frame.remaining {
                Remaining::Cells(cells) => cells.iter().for_each(|(low, high)| panel.rect(scene, (low[0], -0.35), (high[0], 0.35), LEFT)),
                Remaining::Candidates(left) => self.dots(left, |p| (p[0], 0.0), &panel, scene),
            }
            self.crosses(frame, |p| (p[0], 0.0), &panel, scene);
            self.goal(|p| (p[0], 0.0), &panel, scene);
        }
    }

    /// Draws the panels and says which pairs were left out.
    fn projections(&self, figure: &mut Figure) -> String {
        let pairs = self.pairs();
        let columns = self.frames.len().clamp(2, 4);
        let height = if columns == 2 { 300.0 } else { 230.0 };
        for &(a, b) in &pairs {
            // A single batch keeps the width of half a page.
            let areas = figure.grid(self.frames.len().max(columns), columns, height);
            for (i, (frame, area)) in self.frames.iter().zip(areas).enumerate() {
                let y_label = if i % columns == 0 { self.sides[b].name.as_str() } else { "" };
                let x = Axis::new(self.sides[a].scale.clone(), self.sides[a].name.as_str());
                let panel = Panel::new(&mut figure.scene, area, &self.heading(i), x, Axis::new(self.sides[b].scale.clone(), y_label));
                let at = |p: &[f64]| (p[a], p[b]);
                match &frame.remaining {
                    Remaining::Candidates(left) => self.dots(left, at, &panel, &mut figure.scene),
                    Remaining::Cells(cells) => self.boxes(cells, (a, b), &panel, &mut figure.scene),
                }
                self.crosses(frame, at, &panel, &mut figure.scene);
                self.goal(at, &panel, &mut figure.scene);
            }
        }
        let all = self.sides.len() * (self.sides.len() - 1) / 2;
        if all > pairs.len() {
            format!(" Shown are the {} pairs of parameters that elimination narrowed most, of {all}.", pairs.len())
        } else {
            String::new()
        }
    }

    fn heading(&self, frame: usize) -> String {
        let left = match (&self.frames[frame].remaining, self.frames[frame].share) {
            (Remaining::Candidates(left), _) if self.is_list => format!("{} of {} left", left.len(), self.candidates.len()),
            (Remaining::Candidates(left), _) => format!("{} candidates left", left.len()),
            (_, Some(share)) => format!("{} % left", significant(100.0 * share, 2)),
            (Remaining::Cells(cells), None) => format!("{} cells left", cells.len()),
        };
        format!("batch {}: {left}", frame + 1)
    }

    /// All pairs of up to three parameters, else those of the three whose range shrank most.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let mut order: Vec<usize> = (0..self.sides.len()).collect();
        if order.len() > 3 {
            order.sort_by(|a, b| self.width_left(*a).total_cmp(&self.width_left(*b)).then(a.cmp(b)));
            order.truncate(3);
            order.sort_unstable();
        }
        (0..order.len()).flat_map(|i| (i + 1..order.len()).map(move |j| (i, j))).map(|(i, j)| (order[i], order[j])).collect()
    }

    /// The share of a parameter's range that is left at the end.
    fn width_left(&self, side: usize) -> f64 {
        let Some(frame) = self.frames.last() else { return 1.0 };
        let share = |v: f64| self.sides[side].scale.share(v).unwrap_or(0.5);
        let ends: Vec<f64> = match &frame.remaining {
            Remaining::Candidates(left) => left.iter().map(|&i| share(self.candidates[i][side])).collect(),
            Remaining::Cells(cells) => cells.iter().flat_map(|(low, high)| [share(low[side]), share(high[side])]).collect(),
        };
        ends.iter().copied().fold(0.0, f64::max) - ends.iter().copied().fold(1.0, f64::min)
    }

    fn dots(&self, left: &[usize], at: impl Fn(&[f64]) -> (f64, f64), panel: &Panel, scene: &mut Scene) {
        let mut is_left = vec![false; self.candidates.len()];
        left.iter().for_each(|&i| is_left[i] = true);
        let gone: Vec<usize> = (0..self.candidates.len()).filter(|&i| !is_left[i]).collect();
        for (list, radius, fill) in [(&gone[..], 1.6, GONE), (left, 3.0, LEFT)] {
            let look = Look { radius, marker: Marker::Disc, fill, what: "settings", most: self.most_marks() };
            panel.cloud(scene, list.iter().map(|&i| Dot { at: at(&self.candidates[i]), trial: None }), look);
        }
    }

    fn boxes(&self, cells: &[(Vec<f64>, Vec<f64>)], (a, b): (usize, usize), panel: &Panel, scene: &mut Scene) {
        if self.sides.len() == 2 && cells.len() <= MOST_BOXES {
            cells.iter().for_each(|(low, high)| panel.rect(scene, (low[a], low[b]), (high[a], high[b]), LEFT));
            return;
        }
        let inner = panel.inner();
        let part = |side: usize, v: f64| self.sides[side].scale.share(v).unwrap_or(0.0).clamp(0.0, 1.0) * RASTER as f64;
        let mut touched = vec![false; RASTER * RASTER];
        for (low, high) in cells {
            let columns = part(a, low[a]).floor() as usize..(part(a, high[a]).ceil() as usize).min(RASTER);
            for row in part(b, low[b]).floor() as usize..(part(b, high[b]).ceil() as usize).min(RASTER) {
                touched[row * RASTER..][columns.clone()].fill(true);
            }
        }
        let (w, h) = (inner.width / RASTER as f64, inner.height / RASTER as f64);
        for row in 0..RASTER {
            // One rectangle for each run of touched parts.
            let mut from = 0;
            while from < RASTER {
                let length = touched[row * RASTER + from..(row + 1) * RASTER].iter().take_while(|t| **t).count();
                if length > 0 {
                    let corner = (inner.left + from as f64 * w, inner.top + inner.height - (row + 1) as f64 * h);
                    scene.rect(corner, (length as f64 * w, h), LEFT, "");
                }
                from += length.max(1);
            }
        }
    }

    fn goal(&self, at: impl Fn(&[f64]) -> (f64, f64), panel: &Panel, scene: &mut Scene) {
        if let Some(point) = &self.recommended {
            panel.mark(scene, at(point), 6.0, Marker::Diamond, Fill::opaque(Ink::Series(1)), "recommended");
        }
    }

    fn table(&self) -> Table {
        let names = |suffix: &str| self.sides.iter().map(|side| format!("{}{suffix}", side.name)).collect::<Vec<_>>();
        if self.candidates.is_empty() {
            let mut table = Table::new([vec!["batch".to_owned()], names("_low"), names("_high")].concat());
            for (i, frame) in self.frames.iter().enumerate() {
                let Remaining::Cells(cells) = &frame.remaining else { continue };
                for (low, high) in cells {
                    table.push([Cell::from(i + 1)].into_iter().chain(low.iter().chain(high).map(|v| Cell::Number(*v))).collect());
                }
            }
            return table;
        }
        let mut table = Table::new([vec!["batch".to_owned(), "candidate".to_owned()], names("")].concat());
        for (i, frame) in self.frames.iter().enumerate() {
            let Remaining::Candidates(left) = &frame.remaining else { continue };
            for &candidate in left {
                let values = self.candidates[candidate].iter().map(|v| Cell::Number(*v));
                table.push([Cell::from(i + 1), candidate.into()].into_iter().chain(values).collect());
            }
        }
        table
    }

    /// The marks of one kind that a panel may have.
    fn most_marks(&self) -> usize {
        (MOST_MARKS / self.frames.len().max(1)).max(FEWEST_MARKS)
    }

    fn crosses(&self, frame: &Frame, at: impl Fn(&[f64]) -> (f64, f64), panel: &Panel, scene: &mut Scene) {
        // A point measured again and again is one cross, and many crosses are small and faint: what is left must be seen through them.
        let mut dots: Vec<Dot> = frame.measured.iter().map(|(trial, point)| Dot { at: at(point), trial: Some(*trial) }).collect();
        dots.sort_by(|a, b| a.at.0.total_cmp(&b.at.0).then(a.at.1.total_cmp(&b.at.1)));
        dots.dedup_by_key(|dot| dot.at);
        let (radius, opacity) = if dots.len() > 60 { (1.8, 0.6) } else { (2.6, 0.9) };
        let fill = Fill { opacity, ..MEASURED };
        panel.cloud(scene, dots, Look { radius, marker: Marker::Cross, fill, what: "measurements", most: self.most_marks() });
    }
}
