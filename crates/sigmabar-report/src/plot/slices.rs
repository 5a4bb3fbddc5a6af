//! Posterior slices: one parameter moves, the others stay.

use super::{Axis, Cell, Dot, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Stroke, Table, Tip};

/// What the model says along one parameter.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The parameter.
    pub parameter: String,
    /// Names of its values where they are not numbers: `x` then counts them from 0.
    pub names: Option<Vec<String>>,
    /// Whether the axis has equal ratios.
    pub log: bool,
    /// Whether only the values in `x` exist: intervals then stand apart.
    pub discrete: bool,
    /// Where the model was asked, in rising order.
    pub x: Vec<f64>,
    /// The mean there.
    pub mean: Vec<f64>,
    /// The interval for the mean.
    pub mean_interval: (Vec<f64>, Vec<f64>),
    /// The interval for a new measurement, where there is one.
    pub prediction_interval: Option<(Vec<f64>, Vec<f64>)>,
    /// Measurements as partial residuals: where, what they would be on the slice by the model (its mean there plus how far the measurement was from its own),
    /// and how near to the slice they lie (1 on it, 0 far).
    pub data: Vec<(Dot, f64)>,
    /// The same for measurements from before the study.
    pub imported: Vec<(Dot, f64)>,
    /// Inducing points.
    pub inducing: Vec<f64>,
    /// The value through which the slices of the other parameters go.
    pub through: Option<f64>,
}

/// Slices through one point.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// What the slices go through, as words: "the recommendation".
    pub through: String,
    /// What is measured, with its unit.
    pub response: String,
    /// What the interval for the mean is worth.
    pub mean_label: String,
    /// What the interval for a new measurement is worth.
    pub prediction_label: String,
    /// One for each parameter.
    pub slices: Vec<Slice>,
}

const MEAN: Fill = Fill { ink: Ink::Series(0), opacity: 0.35 };
const PREDICTION: Fill = Fill { ink: Ink::Series(4), opacity: 0.25 };

/// The most measurements of a panel: more hide the bands.
pub const MOST_DOTS: usize = 250;

impl Slices {
    /// One panel for each parameter.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let mut figure = Figure::new("slices", format!("What the model says along each parameter, through {}", self.through));
        figure.legend(&self.entries());
        let columns = if self.slices.len() == 1 { 1 } else { 2 };
        let areas = figure.grid(self.slices.len(), columns, if columns == 1 { 320.0 } else { 250.0 });
        let y = self.response_scale();
        for (i, (slice, area)) in self.slices.iter().zip(areas).enumerate() {
            let label = if i % columns == 0 { self.response.as_str() } else { "" };
            let panel = Panel::new(&mut figure.scene, area, "", Axis::new(slice.scale(), &slice.parameter), Axis::new(y.clone(), label));
            slice.draw(&panel, &mut figure.scene);
        }
        let mut caption = format!(
            "One parameter moves, the others stay at {}. The narrow band is for the true mean ({}); the wide one for a new noisy measurement ({}).",
            self.through, self.mean_label, self.prediction_label
        );
        if self.slices.iter().any(|slice| !slice.data.is_empty()) {
            caption += " Dots are partial residuals: measurements, moved to the slice by what the model says the other parameters do. Those nearest to it are shown, and fade with their \
                        distance.";
        }
        if self.slices.iter().any(|slice| !slice.inducing.is_empty()) {
            caption += " Ticks at the foot are inducing points.";
        }
        figure.finish(caption, self.table())
    }

    fn entries(&self) -> Vec<(Sample, &'static str)> {
        let has = |f: fn(&Slice) -> bool| self.slices.iter().any(f);
        let mut entries = vec![(Sample::Line(Stroke::solid(Ink::Series(0), 2.0)), "mean")];
        entries.push((Sample::Band(MEAN), "mean interval: where the true value is"));
        if has(|slice| slice.prediction_interval.is_some()) {
            entries.push((Sample::Band(PREDICTION), "prediction interval: where a new measurement falls"));
        }
        if has(|slice| !slice.data.is_empty()) {
            entries.push((Sample::Point(Marker::Disc, Fill::opaque(Ink::Text)), "partial residuals"));
        }
        if has(|slice| !slice.imported.is_empty()) {
            entries.push((Sample::Point(Marker::Ring, Fill::opaque(Ink::Series(3))), "imported: measured before the study"));
        }
        if has(|slice| !slice.inducing.is_empty()) {
            entries.push((Sample::Point(Marker::Tick, Fill::opaque(Ink::Series(2))), "inducing points"));
        }
        if has(|slice| slice.through.is_some()) {
            entries.push((Sample::Line(Stroke::dashed(Ink::Series(1), 1.5)), "recommended"));
        }
        entries
    }

    fn response_scale(&self) -> Scale {
        let bands = self.slices.iter().flat_map(|slice| {
            let (lower, upper) = slice.prediction_interval.as_ref().unwrap_or(&slice.mean_interval);
            [lower, upper, &slice.mean_interval.0, &slice.mean_interval.1].into_iter().flatten().copied()
        });
        Scale::covering(bands.chain(self.slices.iter().flat_map(|slice| slice.dots().map(|(dot, _)| dot.at.1))))
    }

    fn table(&self) -> Table {
        let bands = ["mean", "mean_lower", "mean_upper", "prediction_lower", "prediction_upper"];
        let mut table = Table::new(["parameter", "value"].into_iter().chain(bands).chain(["partial_residual", "nearness"]));
        for slice in &self.slices {
            let value =
                |x: f64| slice.names.as_ref().and_then(|names| names.get(x as usize)).map_or(Cell::Number(x), |name| name.clone().into());
            for (i, x) in slice.x.iter().enumerate() {
                let mut row = vec![slice.parameter.clone().into(), value(*x), slice.mean[i].into()];
                row.extend([slice.mean_interval.0[i].into(), slice.mean_interval.1[i].into()]);
                row.extend(slice.prediction_interval.iter().flat_map(|(lower, upper)| [lower[i].into(), upper[i].into()]));
                table.push(row);
            }
            for (Dot { at: (x, y), .. }, near) in slice.dots() {
                let empty = bands.iter().map(|_| Cell::Empty);
                table.push(
                    [slice.parameter.clone().into(), value(*x)].into_iter().chain(empty).chain([(*y).into(), (*near).into()]).collect(),
                );
            }
        }
        table
    }
}

impl Slice {
    fn scale(&self) -> Scale {
        let all = || self.x.iter().copied().chain(self.dots().map(|(dot, _)| dot.at.0)).chain(self.through);
        match &self.names {
            Some(names) => Scale::Names(names.clone()),
            None if self.log => Scale::log_covering(all()),
            None => Scale::covering(all()),
        }
    }

    fn draw(&self, panel: &Panel, scene: &mut Scene) {
        if let Some(through) = self.through {
            panel.fence(scene, through, Stroke::dashed(Ink::Series(1), 1.5));
        }
        if self.discrete || self.names.is_some() {
            self.draw_apart(panel, scene)
        } else {
            self.draw_bands(panel, scene)
        }
        for (data, marker, ink) in [(&self.imported, Marker::Ring, Ink::Series(3)), (&self.data, Marker::Disc, Ink::Text)] {
            for (i, (Dot { at: (x, y), trial }, strength)) in nearest(data).into_iter().enumerate() {
                // Beside the interval of a name, not upon it.
                let aside = if self.names.is_some() { -0.1 - 0.05 * (i % 5) as f64 } else { 0.0 };
                panel.mark(scene, (x + aside, y), 2.6, marker, Fill::faint(ink, strength), Tip::of(trial, ""));
            }
        }
        let foot = panel.inner().top + panel.inner().height - 5.0;
        for x in &self.inducing {
            if let Some((x, _)) = panel.place((*x, self.mean.first().copied().unwrap_or(0.0))) {
                scene.mark((x, foot), 5.0, Marker::Tick, Fill::opaque(Ink::Series(2)), "");
            }
        }
    }

    /// Everything measured.
    fn dots(&self) -> impl Iterator<Item = &(Dot, f64)> {
        self.data.iter().chain(&self.imported)
    }

    fn draw_bands(&self, panel: &Panel, scene: &mut Scene) {
        if let Some((lower, upper)) = &self.prediction_interval {
            panel.band(scene, &self.x, lower, upper, PREDICTION);
        }
        panel.band(scene, &self.x, &self.mean_interval.0, &self.mean_interval.1, MEAN);
        let line: Vec<(f64, f64)> = self.x.iter().copied().zip(self.mean.iter().copied()).collect();
        panel.line(scene, &line, Stroke::solid(Ink::Series(0), 2.0));
    }

    fn draw_apart(&self, panel: &Panel, scene: &mut Scene) {
        for (i, x) in self.x.iter().enumerate() {
            if let Some((lower, upper)) = &self.prediction_interval {
                panel.upright(scene, *x, lower[i], upper[i], Stroke::solid(Ink::Series(4), 1.5));
            }
            panel.upright(scene, *x, self.mean_interval.0[i], self.mean_interval.1[i], Stroke::solid(Ink::Series(0), 3.0));
            panel.mark(scene, (*x, self.mean[i]), 4.0, Marker::Diamond, Fill::opaque(Ink::Series(0)), "");
        }
    }
}

/// The measurements nearest to the slice, the farther the fainter: by rank, because what "far" is depends on the model.
fn nearest(data: &[(Dot, f64)]) -> Vec<(Dot, f64)> {
    let mut sorted = data.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    sorted.truncate(MOST_DOTS);
    let count = sorted.len() as f64;
    let strength = |(i, (dot, near)): (usize, (Dot, f64))| {
        let rank = if near > 0.999 { 1.0 } else { (1.0 - i as f64 / count).powi(3) };
        (dot, (0.1 + 0.8 * rank) * if count > 100.0 { 0.6 } else { 1.0 })
    };
    sorted.into_iter().enumerate().map(strength).collect()
}
