//! A finished picture: drawing, words and numbers.

use super::ink::Medium;
use super::png::{PngError, rasterise};
use super::scene::Scene;
use super::table::Table;

/// A picture with its numbers.
#[derive(Clone, Debug)]
pub struct Picture {
    name: String,
    title: String,
    caption: String,
    scene: Scene,
    table: Table,
}

impl Picture {
    pub(super) fn new(name: String, title: String, caption: String, scene: Scene, table: Table) -> Self {
        Self { name, title, caption, scene, table }
    }

    /// A short name for files: lower-case letters, digits and hyphens.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same picture under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What it shows.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How to read it.
    #[must_use]
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// Its numbers.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// As an SVG element for a page that sets the colours, or by itself.
    #[must_use]
    pub fn svg(&self, medium: Medium) -> String {
        self.scene.svg(&self.title, medium)
    }

    /// As a PNG file, two pixels for each unit of the drawing.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        rasterise(&self.svg(Medium::File), 2.0)
    }
}
