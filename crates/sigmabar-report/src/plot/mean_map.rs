//! What the model says over two parameters at once, and how well it knows it.

use super::cloud::Look;
use super::plate::colour_bar;
use super::{Axis, Dot, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Scene, Side, Table, heat, number};

/// The model over two parameters, the others fixed.
#[derive(Clone, Debug)]
pub struct MeanMap {
    /// Where the others stay, as words: "the recommendation".
    pub through: String,
    /// What is measured, with its unit.
    pub response: String,
    /// What the intervals are worth.
    pub label: String,
    /// The two parameters.
    pub sides: [Side; 2],
    /// Where the model was asked along each of them, in rising order.
    pub steps: [Vec<f64>; 2],
    /// Mean and half the interval for it, all of the first parameter for each value of the second; none where constraints forbid the setting.
    pub says: Vec<Option<(f64, f64)>>,
    /// Where was measured, whatever the other parameters were.
    pub measured: Vec<Dot>,
    /// The setting that the map goes through.
    pub through_point: Option<(f64, f64)>,
}

/// The most measurements shown: bins would hide the map.
const MOST_DOTS: usize = 400;
/// Colours of a map: their edges are lines of equal height.
const COLOURS: f64 = 20.0;
const DOT: Fill = Fill { ink: Ink::Fixed(20, 20, 20), opacity: 1.0 };
const HALO: Fill = Fill { ink: Ink::Fixed(250, 250, 250), opacity: 1.0 };

impl MeanMap {
    /// Two maps: the mean, and half the width of its interval.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let title = format!("{} over {} and {}", self.response, self.sides[0].name, self.sides[1].name);
        let mut figure = Figure::new("mean-map", title);
        let mut entries = Vec::new();
        let (shown, all) = self.shown();
        let words =
            if shown.len() < all { format!("measured there ({} of {all} places)", shown.len()) } else { "measured there".to_owned() };
        if !shown.is_empty() {
            // On the map dots are dark for the colours there; beside it they must be seen on any page.
            entries.push((Sample::Point(Marker::Disc, Fill::opaque(Ink::Text)), words.as_str()));
        }
        let goal = Fill::opaque(Ink::Series(1));
        entries.extend(self.through_point.map(|_| (Sample::Point(Marker::Diamond, goal), "what the map goes through")));
        figure.legend(&entries);
        let areas = figure.grid(2, 2, 390.0);
        let titles = [format!("mean of the {}", self.response), "half the interval for the mean".to_owned()];
        let reads: [fn((f64, f64)) -> f64; 2] = [|(mean, _)| mean, |(_, half)| half];
        for ((area, title), read) in areas.into_iter().zip(titles).zip(reads) {
            let mut inner = area;
            inner.height -= 26.0;
            let [x, y] = [0, 1].map(|i| Axis::new(self.sides[i].scale.clone(), self.sides[i].name.as_str()));
            let panel = Panel::new(&mut figure.scene, inner, &title, x, y);
            self.fill(&panel, &mut figure.scene, read);
            self.marks(&panel, &mut figure.scene, &shown, goal);
            let ends = self.ends(read);
            colour_bar(&mut figure.scene, (panel.inner().left, area.top + area.height - 18.0), panel.inner().width, ends);
        }
        let caption = format!(
            "What the model says about {} while {} and {} move, which matter most; the other parameters stay at {}. Left the mean, bright where it is high; right half the width of its \
             interval ({}), bright where little is known. Edges between colours are lines of equal height.",
            self.response, self.sides[0].name, self.sides[1].name, self.through, self.label
        );
        figure.finish(caption, self.table())
    }

    fn ends(&self, read: fn((f64, f64)) -> f64) -> (f64, f64) {
        let all = self.says.iter().flatten().map(|says| read(*says)).filter(|v| v.is_finite());
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    }

    /// One rectangle for each run of equal colours.
    fn fill(&self, panel: &Panel, scene: &mut Scene, read: fn((f64, f64)) -> f64) {
        let (low, high) = self.ends(read);
        let colour = |says: Option<(f64, f64)>| {
            let share = if high > low { (read(says?) - low) / (high - low) } else { 0.5 };
            share.is_finite().then(|| (share * COLOURS).floor().min(COLOURS - 1.0))
        };
        let (across, up) = (edges(panel.x(), &self.steps[0]), edges(panel.y(), &self.steps[1]));
        let (inner, count) = (panel.inner(), self.steps[0].len());
        for (j, row) in self.says.chunks(count.max(1)).enumerate() {
            let mut from = 0;
            while from < row.len() {
                let own = colour(row[from]);
                let length = row[from..].iter().take_while(|says| colour(**says) == own).count();
                if let Some(own) = own {
                    let corner = (inner.left + inner.width * across[from], inner.top + inner.height * (1.0 - up[j + 1]));
                    let size = (inner.width * (across[from + length] - across[from]), inner.height * (up[j + 1] - up[j]));
                    let tip = row[from].map_or_else(String::new, |says| number(read(says)));
                    // A little more than its place, so that no light shows between neighbours.
                    let size =
                        ((size.0 + 0.4).min(inner.left + inner.width - corner.0), (size.1 + 0.4).min(inner.top + inner.height - corner.1));
                    scene.rect(corner, size, Fill::opaque(heat(own / (COLOURS - 1.0))), tip);
                }
                from += length;
            }
        }
    }

    /// Places that were measured, as many as can be shown, and how many there are.
    fn shown(&self) -> (Vec<Dot>, usize) {
        let mut places = self.measured.clone();
        places.sort_by(|a, b| a.at.0.total_cmp(&b.at.0).then(a.at.1.total_cmp(&b.at.1)));
        places.dedup_by_key(|dot| dot.at);
        let (all, every) = (places.len(), places.len().div_ceil(MOST_DOTS).max(1));
        (places.into_iter().step_by(every).collect(), all)
    }

    fn marks(&self, panel: &Panel, scene: &mut Scene, shown: &[Dot], goal: Fill) {
        let look = Look { radius: 2.8, marker: Marker::Disc, fill: HALO, what: "measurements", most: MOST_DOTS };
        panel.cloud(scene, shown.iter().map(|dot| Dot { trial: None, ..*dot }), look);
        panel.cloud(scene, shown.iter().copied(), Look { radius: 1.9, fill: DOT, ..look });
        if let Some(place) = self.through_point {
            panel.mark(scene, place, 8.5, Marker::Diamond, HALO, "");
            panel.mark(scene, place, 6.5, Marker::Diamond, goal, &self.through);
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new([self.sides[0].name.as_str(), self.sides[1].name.as_str(), "mean", "half_interval"]);
        let cell = |i: usize, v: f64| match &self.sides[i].scale {
            Scale::Names(names) => names.get(v as usize).map_or(v.into(), |name| name.as_str().into()),
            _ => super::Cell::Number(v),
        };
        for (i, says) in self.says.iter().enumerate() {
            let (x, y) = (i % self.steps[0].len(), i / self.steps[0].len());
            if let Some((mean, half)) = says {
                table.push(vec![cell(0, self.steps[0][x]), cell(1, self.steps[1][y]), (*mean).into(), (*half).into()]);
            }
        }
        table
    }
}

/// Where the cells around places on an axis begin and end, as shares of its length: halfway between neighbours, and at the ends of the axis.
fn edges(scale: &Scale, places: &[f64]) -> Vec<f64> {
    let shares: Vec<f64> = places.iter().map(|v| scale.share(*v).unwrap_or(0.5).clamp(0.0, 1.0)).collect();
    let between = shares.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
    std::iter::once(0.0).chain(between).chain([1.0]).collect()
}
