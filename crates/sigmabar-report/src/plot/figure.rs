//! A sheet under construction: title, legend, then rows of panels.

use super::ink::Ink;
use super::panel::{Area, shortened};
use super::picture::Picture;
use super::scene::{Anchor, Fill, Marker, Scene, Stroke, Style, text_width};
use super::table::Table;

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 14.0;

/// What a caption adds where points are drawn as bins.
const BINNED: &str = " Points that are too many to be told apart are drawn as bins, the stronger the more there are; one that is alone in its bin is drawn itself.";

/// What stands for a series in the legend.
#[derive(Clone, Copy, Debug)]
pub enum Sample {
    /// A line.
    Line(Stroke),
    /// A filled area.
    Band(Fill),
    /// A point.
    Point(Marker, Fill),
}

/// A sheet that grows downwards.
#[derive(Clone, Debug)]
pub struct Figure {
    name: String,
    title: String,
    /// What is drawn so far.
    pub scene: Scene,
    bottom: f64,
}

impl Figure {
    /// A sheet with a title that says what it shows; `name` is for files.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        let (name, title) = (name.into(), title.into());
        let mut scene = Scene::new(WIDTH, 40.0);
        scene.text((MARGIN, 25.0), shortened(&title, 16.0, WIDTH - 2.0 * MARGIN), Style::new(Ink::Text, 16.0, Anchor::Start));
        Self { name, title, scene, bottom: 38.0 }
    }

    /// The legend, above all data, in as many lines as it needs.
    pub fn legend(&mut self, entries: &[(Sample, &str)]) {
        let (mut x, mut y) = (MARGIN, self.bottom + 14.0);
        for (sample, text) in entries {
            let text = shortened(text, 12.0, WIDTH - 2.0 * MARGIN - 40.0);
            let width = 34.0 + text_width(&text, 12.0) + 14.0;
            if x + width > WIDTH - MARGIN && x > MARGIN {
                (x, y) = (MARGIN, y + 19.0);
            }
            let middle = y - 4.0;
            match *sample {
                Sample::Line(stroke) => self.scene.line(vec![(x, middle), (x + 26.0, middle)], stroke),
                Sample::Band(fill) => self.scene.rect((x, middle - 6.0), (26.0, 12.0), fill, ""),
                Sample::Point(marker, fill) => self.scene.mark((x + 13.0, middle), 4.5, marker, fill, ""),
            }
            self.scene.text((x + 33.0, y), text, Style::new(Ink::Text, 12.0, Anchor::Start));
            x += width;
        }
        self.bottom = y + 8.0;
    }

    /// Room for panels side by side, `columns` to a row, each row `height` high.
    pub fn grid(&mut self, count: usize, columns: usize, height: f64) -> Vec<Area> {
        let columns = columns.clamp(1, count.max(1));
        let width = (WIDTH - 2.0 * MARGIN) / columns as f64;
        let top = self.bottom + 6.0;
        let area = |i: usize| Area {
            left: MARGIN + (i % columns) as f64 * width,
            top: top + (i / columns) as f64 * (height + 8.0),
            width: width - 6.0,
            height,
        };
        self.bottom = top + count.div_ceil(columns) as f64 * (height + 8.0);
        (0..count).map(area).collect()
    }

    /// The finished picture.
    pub fn finish(mut self, caption: impl Into<String>, table: Table) -> Picture {
        self.scene.height = self.bottom + 8.0;
        let bins = if self.scene.has_bins() { BINNED } else { "" };
        Picture::new(self.name, self.title, caption.into() + bins, self.scene, table)
    }
}
