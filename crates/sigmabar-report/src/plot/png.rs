//! SVG to PNG with a font of our own: the picture has its words on a machine without fonts, and looks the same on all.

#[cfg(feature = "png")]
use resvg::{tiny_skia, usvg};
#[cfg(feature = "png")]
use std::sync::{Arc, OnceLock};

#[cfg(feature = "png")]
/// DejaVu Sans, cut down to Latin, Greek, Cyrillic and signs.
const FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSans-subset.ttf");

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The drawing is not SVG that the renderer reads.
    #[cfg(feature = "png")]
    #[error("the drawing cannot be rendered")]
    Drawing(#[from] usvg::Error),
    /// This build draws no pixels.
    #[error("this sigmabar was built without PNG pictures; build it with --features png, or take the SVG")]
    Absent,
    /// There is no memory for so many pixels, or none at all is asked for.
    #[error("a picture of {width} × {height} pixels cannot be made")]
    Size {
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
    },
    /// The file format refuses the pixels.
    #[error("the pixels cannot be written as PNG: {reason}")]
    Encoding {
        /// What the encoder says.
        reason: String,
    },
}

#[cfg(feature = "png")]
fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}

/// Refuses: the renderer is left out.
///
/// # Errors
/// Always.
#[cfg(not(feature = "png"))]
pub fn rasterise(_svg: &str, _zoom: f32) -> Result<Vec<u8>, PngError> {
    Err(PngError::Absent)
}

/// Renders an SVG document, `zoom` pixels for each unit.
///
/// # Errors
/// [`PngError`]
#[cfg(feature = "png")]
pub fn rasterise(svg: &str, zoom: f32) -> Result<Vec<u8>, PngError> {
    let options = usvg::Options { fontdb: fonts(), font_family: "DejaVu Sans".to_owned(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options)?;
    let pixels = |length: f32| (length * zoom).ceil() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let mut map = tiny_skia::Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(zoom, zoom), &mut map.as_mut());
    map.encode_png().map_err(|error| PngError::Encoding { reason: error.to_string() })
}
