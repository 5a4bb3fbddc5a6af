//! Plate maps: numbers in their wells.

use super::{
    Anchor, Area, Figure, Fill, Ink, Marker, Picture, Scene, Stroke, Style, Table, Tip, heat, number, on_heat, shortened, significant,
    text_width,
};

/// What came of a well.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A value.
    Value(f64),
    /// It failed.
    Failed,
    /// Nothing yet.
    Missing,
}

/// A used well.
#[derive(Clone, Debug, PartialEq)]
pub struct Well {
    /// The row, 0 for A.
    pub row: usize,
    /// The column, 0 for 1.
    pub column: usize,
    /// The setting in words.
    pub setting: String,
    /// The trial in it, if it is one.
    pub trial: Option<u64>,
    /// Whether it holds a control: the model says nothing about it.
    pub is_control: bool,
    /// What was measured.
    pub measured: Measured,
    /// What the model says now, where there is a model.
    pub predicted: Option<f64>,
    /// The model's standard deviation now.
    pub std_dev: Option<f64>,
    /// How far the measurement is from the prediction, in standard deviations of a measurement.
    pub surprise: Option<f64>,
}

/// A plate.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// What it is called: "Plate 1".
    pub title: String,
    /// A name for files.
    pub name: String,
    /// Rows and columns: 8 × 12 for 96 wells.
    pub size: (usize, usize),
    /// What is measured, with its unit.
    pub response: String,
    /// The used wells.
    pub wells: Vec<Well>,
    /// Whether wells show the mean of their replicates, because their own values are not known.
    pub has_means: bool,
    /// Rows and columns of wells that stay empty.
    pub blocked: Vec<(usize, usize)>,
}

/// The name of a well: `A1` for row 0, column 0.
#[must_use]
pub fn well_name(row: usize, column: usize) -> String {
    format!("{}{}", row_name(row), column + 1)
}

fn row_name(row: usize) -> String {
    let letter = |i: usize| char::from(b'A' + (i % 26) as u8);
    if row < 26 { letter(row).to_string() } else { format!("{}{}", letter(row / 26 - 1), letter(row)) }
}

/// The smallest usual plate with room for these places.
#[must_use]
pub fn plate_size(places: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    let needed = places.fold((1, 1), |(rows, columns), (row, column)| (rows.max(row + 1), columns.max(column + 1)));
    let usual = [(2, 3), (3, 4), (4, 6), (6, 8), (8, 12), (16, 24), (32, 48)];
    usual.into_iter().find(|size| size.0 >= needed.0 && size.1 >= needed.1).unwrap_or(needed)
}

/// What a map shows of a well.
type Reading = fn(&Well) -> Option<f64>;

impl Plate {
    /// Four maps: measured and predicted in the same colours, how far they are apart, and how uncertain the model is. The colours are those of all plates of the study, `all`,
    /// so that a well is as bright as an equal one of another plate.
    #[must_use]
    pub fn picture(&self, all: &[Self]) -> Picture {
        let mut figure = Figure::new(self.name.as_str(), format!("{}: measured, predicted, and where they differ", self.title));
        let maps: [(String, Reading); 4] = [
            (format!("measured {}", self.response), |w| if let Measured::Value(v) = w.measured { Some(v) } else { None }),
            (format!("predicted {} (model's mean)", self.response), |w| w.predicted),
            ("(measured − predicted) / standard deviation".to_owned(), |w| w.surprise),
            (format!("uncertainty of the mean (std. dev.) in {}", self.response), |w| w.std_dev),
        ];
        // The first map shows the layout even before anything is measured.
        let is_shown = |i: usize| i == 0 || self.wells.iter().any(|well| maps[i].1(well).is_some());
        let shown: Vec<_> = (0..maps.len()).filter(|&i| is_shown(i)).map(|i| &maps[i]).collect();
        let columns = if self.size.1 > 12 { 1 } else { 2 };
        let width = if columns == 1 { 820.0 } else { 410.0 };
        let height = 66.0 + (width - 40.0) / self.size.1 as f64 * self.size.0 as f64;
        for ((title, value), area) in shown.iter().zip(figure.grid(shown.len().max(columns), columns, height)) {
            self.map(&mut figure.scene, area, title, *value, ends(all, *value, [maps[0].1, maps[1].1], maps[2].1));
        }
        let failed = self.wells.iter().filter(|well| well.measured == Measured::Failed).count();
        let missing = self.wells.iter().filter(|well| well.measured == Measured::Missing).count();
        let means = if self.has_means { " Each well shows the mean of its replicates." } else { "" };
        let caption = format!(
            "{} in use, {failed} failed (×), {missing} without a result (○).{}{means} Bright is high, and measured and predicted wells have the same colours. Wells more than three standard deviations from their prediction deserve a look.",
            crate::quantity::counted(self.wells.len(), "well"),
            self.controls()
        );
        figure.finish(caption, self.table())
    }

    /// What the controls came to, in a sentence.
    fn controls(&self) -> String {
        let all = self.wells.iter().filter(|well| well.is_control);
        let values: Vec<f64> = all.filter_map(|well| if let Measured::Value(v) = well.measured { Some(v) } else { None }).collect();
        let has_some = self.wells.iter().any(|well| well.is_control);
        let blocked = if self.blocked.is_empty() { "" } else { " Wells with a dash stay empty." };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let scatter = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let words = match values.len() {
            _ if !has_some => String::new(),
            0 => " Controls stand in squares.".to_owned(),
            1 => format!(" The control, in a square, came to {}.", number(mean)),
            n => {
                format!(
                    " The {n} controls, in squares, came to {} on average, with a standard deviation of {}.",
                    number(mean),
                    number(scatter)
                )
            }
        };
        words + blocked
    }

    fn map(&self, scene: &mut Scene, area: Area, title: &str, value: Reading, (low, high): (f64, f64)) {
        let (rows, columns) = self.size;
        let pitch = (area.width - 34.0) / columns as f64;
        let (left, top) = (area.left + 26.0, area.top + 38.0);
        heading(scene, area, title);
        for column in 0..columns {
            let at = (left + (column as f64 + 0.5) * pitch, top - 5.0);
            scene.text(at, format!("{}", column + 1), Style::new(Ink::Muted, 10.0, Anchor::Middle));
        }
        for row in 0..rows {
            let y = top + (row as f64 + 0.5) * pitch;
            scene.text((left - 6.0, y + 4.0), row_name(row), Style::new(Ink::Muted, 10.0, Anchor::End));
            for column in 0..columns {
                scene.mark((left + (column as f64 + 0.5) * pitch, y), 0.44 * pitch, Marker::Disc, Fill::faint(Ink::Grid, 0.6), "");
            }
        }
        let values: Vec<f64> = self.wells.iter().filter_map(value).filter(|v| v.is_finite()).collect();
        let largest = values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let place = |row: usize, column: usize| (left + (column as f64 + 0.5) * pitch, top + (row as f64 + 0.5) * pitch);
        for &(row, column) in &self.blocked {
            let (x, y) = place(row, column);
            scene.line(vec![(x - 0.2 * pitch, y), (x + 0.2 * pitch, y)], Stroke::solid(Ink::Muted, 1.5));
        }
        for well in &self.wells {
            let at = place(well.row, well.column);
            let name = well_name(well.row, well.column);
            if well.is_control {
                let (x, y, r) = (at.0, at.1, 0.48 * pitch);
                let corners = vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r), (x - r, y - r)];
                scene.line(corners, Stroke::solid(Ink::Text, 1.2));
            }
            match value(well) {
                // The model has nothing to say about a control.
                None if well.is_control && well.measured != Measured::Missing => {}
                Some(v) => {
                    let share = if high > low { (v - low) / (high - low) } else { 0.5 };
                    let tip = Tip::of(well.trial, format!("{name}: {} · {}", number(v), well.setting));
                    scene.mark(at, 0.46 * pitch, Marker::Disc, Fill::opaque(heat(share)), tip);
                    if pitch > 28.0 {
                        let text = beside(v, largest);
                        let size = (0.9 * pitch / text.chars().count().max(3) as f64 / 0.62).min(10.5);
                        scene.text((at.0, at.1 + 0.35 * size), text, Style::new(on_heat(share), size, Anchor::Middle));
                    }
                }
                None if well.measured == Measured::Failed => {
                    let tip = Tip::of(well.trial, format!("{name}: failed · {}", well.setting));
                    scene.mark(at, 0.28 * pitch, Marker::Cross, Fill::opaque(Ink::Series(1)), tip);
                }
                None => {
                    let tip = Tip::of(well.trial, format!("{name}: no result · {}", well.setting));
                    scene.mark(at, 0.4 * pitch, Marker::Ring, Fill::opaque(Ink::Muted), tip);
                }
            }
        }
        if values.is_empty() {
            return;
        }
        colour_bar(scene, (left, top + rows as f64 * pitch + 6.0), columns as f64 * pitch, (low, high));
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["well", "setting", "measured", "predicted", "std_dev", "surprise"]);
        for well in &self.wells {
            let measured = match well.measured {
                Measured::Value(v) => v.into(),
                Measured::Failed => "failed".into(),
                Measured::Missing => super::Cell::Empty,
            };
            table.push(vec![
                well_name(well.row, well.column).into(),
                well.setting.as_str().into(),
                measured,
                well.predicted.into(),
                well.std_dev.into(),
                well.surprise.into(),
            ]);
        }
        table
    }
}

/// The title of a map, in smaller letters where it is long: nothing of it is cut unless these are too small to be read.
fn heading(scene: &mut Scene, area: Area, title: &str) {
    let width = area.width - 8.0;
    let size = (12.5 * width / text_width(title, 12.5)).clamp(9.0, 12.5);
    scene.text((area.left + 4.0, area.top + 14.0), shortened(title, size, width), Style::new(Ink::Text, size, Anchor::Start));
}

/// A value among others, with the decimals that the largest of them has room for: what is far smaller is 0 beside it.
fn beside(value: f64, largest: f64) -> String {
    let power = if largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
    if !value.is_finite() || !(-4..6).contains(&power) {
        return significant(value, 2);
    }
    let scale = 10_f64.powi((1 - power).max(0));
    significant((value * scale).round() / scale, if value.abs() * scale < 9.5 { 1 } else { 2 })
}

/// The ends of the colours of a map: the same for measured and predicted, and three standard deviations either way for their difference.
fn ends(plates: &[Plate], value: Reading, shared: [Reading; 2], difference: Reading) -> (f64, f64) {
    let wells = || plates.iter().flat_map(|plate| &plate.wells);
    let range = |readings: &[Reading]| {
        let all = wells().flat_map(|well| readings.iter().filter_map(move |reading| reading(well))).filter(|v| v.is_finite());
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let is = |other: Reading| std::ptr::fn_addr_eq(value, other);
    if shared.into_iter().any(is) {
        range(&shared)
    } else if is(difference) {
        let (low, high) = range(&[value]);
        let reach = low.abs().max(high.abs()).max(3.0);
        (-reach, reach)
    } else {
        range(&[value])
    }
}

/// The colours of a map with the numbers at their ends.
pub(super) fn colour_bar(scene: &mut Scene, (left, top): (f64, f64), width: f64, (low, high): (f64, f64)) {
    let (from, length) = (left + 0.2 * width, 0.6 * width);
    let parts = 40;
    for i in 0..parts {
        let share = f64::from(i) / f64::from(parts - 1);
        let step = length / f64::from(parts);
        scene.rect((from + f64::from(i) * step, top), (step + 0.4, 9.0), Fill::opaque(heat(share)), "");
    }
    scene.text((from - 6.0, top + 9.0), significant(low, 3), Style::new(Ink::Muted, 10.5, Anchor::End));
    scene.text((from + length + 6.0, top + 9.0), significant(high, 3), Style::new(Ink::Muted, 10.5, Anchor::Start));
}
