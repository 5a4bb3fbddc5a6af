//! Pictures: a small layer over SVG, and every picture of the reports as a function of plain numbers.
//!
//! Each picture is a [`Picture`]: drawing, title, how to read it, and its numbers as a table. Colours are told apart with every common kind of colour vision, and
//! form or dashes say the same as colour does.

mod calibration;
mod cloud;
mod compared;
mod effects;
mod elimination;
mod figure;
mod functions;
mod gantt;
mod ink;
mod mean_map;
mod panel;
mod picture;
mod plate;
mod png;
mod progress;
mod regret;
mod scale;
mod scene;
mod slices;
mod standing;
mod svg;
mod table;

pub use calibration::{Coverage, HeldOut, calibration, coverage, measured_against_predicted, residuals, verdict};
pub use cloud::MOST_MARKS;
pub use compared::compared;
pub use effects::{Effect, effects};
pub use elimination::{Elimination, Frame, Remaining, Side};
pub use figure::{Figure, Sample};
pub use functions::functions;
pub use gantt::{Bar, Gantt};
pub use ink::{Ink, Medium, OKABE_ITO, heat, on_heat};
pub use mean_map::MeanMap;
pub use panel::{Area, Axis, Panel, shortened};
pub use picture::Picture;
pub use plate::{Measured, Plate, Well, plate_size, well_name};
pub use png::PngError;
pub use progress::{BatchEnd, Progress, Rival, rivals};
pub(crate) use regret::distinct;
pub use regret::{RegretCurve, RegretGrowth, RegretPanel, growth, last_decade_slope, regret};
pub use scale::{Scale, Tick, between, number, significant};
pub use scene::{Anchor, Dot, Fill, Marker, Scene, Stroke, Style, Tip, text_width};
pub use sigmabar_study::well_place;
pub use slices::{MOST_DOTS, Slice, Slices};
pub use standing::{noise, premise_map, standing};
pub use svg::escape;
pub use table::{Cell, Table};
