//! Many points: each by itself while they can be told apart, in bins where they are more.

use super::panel::{Area, Panel};
use super::scene::{Dot, Fill, Marker, Scene};
use std::collections::BTreeMap;

/// More points than these are drawn as bins: a page stays small, and what lies upon each other is seen to be many.
pub const MOST_MARKS: usize = 5000;
/// The side of a bin.
const BIN: f64 = 6.0;

/// How the points of a cloud look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    pub radius: f64,
    pub marker: Marker,
    pub fill: Fill,
    /// What they are, in the plural: said of a bin.
    pub what: &'a str,
    /// More of them than these are drawn as bins; a picture of many panels has fewer for each.
    pub most: usize,
}

impl Panel {
    /// Points in the numbers of the axes.
    pub(super) fn cloud(&self, scene: &mut Scene, dots: impl IntoIterator<Item = Dot>, look: Look<'_>) {
        let placed = dots.into_iter().filter_map(|dot| Some(Dot { at: self.place(dot.at)?, ..dot })).collect();
        cloud(scene, self.inner(), placed, look);
    }
}

/// Points that have their places on the sheet.
pub(super) fn cloud(scene: &mut Scene, area: Area, dots: Vec<Dot>, look: Look<'_>) {
    let Look { radius, marker, fill, what, most } = look;
    if dots.len() <= most {
        scene.dots(dots, radius, marker, fill);
        return;
    }
    let mut bins: BTreeMap<(i64, i64), Vec<Dot>> = BTreeMap::new();
    for dot in dots {
        let part = |v: f64, low: f64, length: f64| ((v - low).clamp(0.0, length - 1e-9) / BIN) as i64;
        bins.entry((part(dot.at.0, area.left, area.width), part(dot.at.1, area.top, area.height))).or_default().push(dot);
    }
    // Counts that double from level to level: 2 and 3, 4 to 7, and so on.
    let mut levels: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (&(i, j), here) in &bins {
        match here[..] {
            [one] => alone.push(one),
            _ => levels.entry(here.len().ilog2()).or_default().push((area.left + BIN * i as f64, area.top + BIN * j as f64)),
        }
    }
    let highest = levels.keys().copied().max().unwrap_or(1);
    for (level, corners) in levels {
        // Lines that lie over them stay to be seen.
        let opacity = 0.1 + 0.5 * f64::from(level) / f64::from(highest);
        let tip = format!("{} to {} {what} in each of these", 1_u64 << level, (2_u64 << level) - 1);
        scene.cells(corners, (BIN, BIN), Fill { opacity, ..fill }, tip);
    }
    scene.dots(alone, radius, marker, fill);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Ink, Medium};

    const AREA: Area = Area { left: 10.0, top: 10.0, width: 400.0, height: 250.0 };

    fn drawn(dots: Vec<Dot>) -> String {
        let mut scene = Scene::new(420.0, 270.0);
        let look = Look { radius: 2.0, marker: Marker::Disc, fill: Fill::opaque(Ink::Text), what: "measurements", most: MOST_MARKS };
        cloud(&mut scene, AREA, dots, look);
        scene.svg("a cloud", Medium::Page)
    }

    /// Points along a spiral, and one far from all others.
    fn dots(count: usize) -> Vec<Dot> {
        let dot = |i: usize| {
            let (turn, share) = (2.4 * i as f64, i as f64 / count as f64);
            Dot { at: (210.0 + 150.0 * share * turn.cos(), 135.0 + 100.0 * share * turn.sin()), trial: Some(i as u64) }
        };
        std::iter::once(Dot { at: (12.0, 12.0), trial: Some(77_777) }).chain((1..count).map(dot)).collect()
    }

    #[test]
    fn five_thousand_points_are_marks_that_know_their_trials() {
        let svg = drawn(dots(MOST_MARKS));
        assert_eq!(svg.matches("data-id=").count(), MOST_MARKS);
        assert!(!svg.contains("in each of these"));
    }

    #[test]
    fn one_more_makes_bins_and_what_is_alone_stays_a_mark() {
        let svg = drawn(dots(MOST_MARKS + 1));
        assert!(svg.contains("<title>2 to 3 measurements in each of these</title>"), "{svg}");
        assert!(svg.contains("data-id=\"77777\""), "the one that is far from the others leads to its trial");
        let many = drawn(dots(200_000));
        assert!(many.len() < 120_000, "{}", many.len());
        // All of them are in bins or alone: nothing is left out, as a sample would.
        let cells = many.matches("h6v6h-6z").count();
        assert!(cells > 1000 && many.matches("<circle").count() < 500, "{cells}");
    }

    #[test]
    fn a_picture_file_names_no_trial() {
        let mut scene = Scene::new(10.0, 10.0);
        scene.dots(dots(3), 1.0, Marker::Cross, Fill::opaque(Ink::Text));
        assert!(!scene.svg("", Medium::File).contains("data-id"));
    }
}
