//! How to move on a domain: how far a step goes in each column, which points exist, and how to climb.

use super::model::Model;
use crate::domain::{Column, Domain, SpaceDomain};
use crate::kernel::{Kernel, Lengthscale};
use crate::points::{Points, PointsRef};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Points this close, in length-scales, are the same to the model.
const SAME: f64 = 1e-3;
/// Steps of a perturbation, in length-scales.
const STEPS: [f64; 4] = [0.02, 0.05, 0.15, 0.4];
/// The share of categorical columns that a perturbation draws anew.
const REDRAWN: f64 = 0.2;
/// Neighbours tried in a discrete column: levels on either side, and categories at most.
const LEVELS: usize = 2;
const CATEGORIES: usize = 16;
/// Moves tried where constraints leave no gradient to follow, for each step of a climb.
const MOVES: usize = 4;

/// What rounding to a level and back may change, in ranges of a column.
const ROUNDED: f64 = 1e-9;

/// A domain, or a part of it, with the distances over which a model says that the function changes.
#[derive(Clone)]
pub(super) struct Ground<'a> {
    pub domain: &'a Domain,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// A length-scale, but no more than the column's range.
    pub steps: Vec<f64>,
    category: Vec<bool>,
}

/// A function with its slope.
pub(super) type Slope<'a> = dyn Fn(&[f64]) -> (f64, Vec<f64>) + Sync + 'a;

impl<'a> Ground<'a> {
    pub fn new(domain: &'a Domain, model: &Model) -> Self {
        let dim = domain.dim();
        let (low, high) = match domain {
            Domain::Box(b) => (b.low().to_vec(), b.high().to_vec()),
            Domain::List(list) => {
                let end = |c: usize, join: fn(f64, f64) -> f64, from: f64| list.points().rows().map(|row| row[c]).fold(from, join);
                let low: Vec<f64> = (0..dim).map(|c| end(c, f64::min, f64::INFINITY)).collect();
                (low, (0..dim).map(|c| end(c, f64::max, f64::NEG_INFINITY)).collect())
            }
            Domain::Space(space) => {
                let top = |c: &Column| if let Column::Categorical { choices } = c { (*choices - 1) as f64 } else { 1.0 };
                (vec![0.0; dim], space.columns().iter().map(top).collect())
            }
        };
        let category = (0..dim).map(|c| matches!(domain, Domain::Space(s) if s.columns()[c].is_categorical())).collect();
        let mut steps: Vec<f64> = low.iter().zip(&high).map(|(l, h)| h - l).collect();
        match &model.structure {
            Some(structure) => steps.iter_mut().zip(structure.steps()).for_each(|(s, length)| *s = s.min(length)),
            None => shorten(&model.kernel, &(0..dim).collect::<Vec<_>>(), &mut steps),
        }
        Self { domain, low, high, steps, category }
    }

    /// The ranges of the columns; 1 where there is only one value.
    pub fn ranges(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(l, h)| if h > l { h - l } else { 1.0 }).collect()
    }

    /// Widths of cells in which nobody can tell two points apart; 0 in categories.
    pub fn cell(&self) -> Vec<f64> {
        self.steps.iter().zip(&self.category).map(|(step, is)| if *is { 0.0 } else { SAME * step }).collect()
    }

    /// Whether points lie between any two: categories have nothing between them, lists and constraints may not.
    pub fn is_divisible(&self) -> bool {
        match self.domain {
            Domain::Box(_) => true,
            Domain::Space(space) => space.constraints().is_empty() && !self.category.contains(&true),
            Domain::List(_) => false,
        }
    }

    fn is_bound(&self) -> bool {
        matches!(self.domain, Domain::Space(space) if !space.constraints().is_empty())
    }

    fn is_discrete(&self) -> bool {
        matches!(self.domain, Domain::Space(space) if space.columns().iter().any(|c| c.levels().is_some()))
    }

    /// The nearest point that exists, if it is feasible.
    pub fn settled(&self, x: Vec<f64>) -> Option<Vec<f64>> {
        match self.domain {
            Domain::Box(_) => Some(self.clipped(x)),
            Domain::Space(space) => self.rounded(space, x),
            Domain::List(_) => None,
        }
    }

    /// The part of the domain between the lowest and the highest of these points in every number.
    pub fn spanned(&self, points: PointsRef<'_>) -> Self {
        let end = |c: usize, join: fn(f64, f64) -> f64| points.rows().map(|row| row[c]).reduce(join);
        let mut part = self.clone();
        for c in (0..self.low.len()).filter(|&c| !self.category[c]) {
            part.low[c] = end(c, f64::min).unwrap_or(self.low[c]);
            part.high[c] = end(c, f64::max).unwrap_or(self.high[c]);
        }
        part
    }

    fn contains(&self, x: &[f64]) -> bool {
        x.iter().enumerate().all(|(c, v)| *v >= self.low[c] - ROUNDED && *v <= self.high[c] + ROUNDED)
    }

    fn clipped(&self, mut x: Vec<f64>) -> Vec<f64> {
        x.iter_mut().enumerate().for_each(|(c, v)| *v = v.clamp(self.low[c], self.high[c]));
        x
    }

    fn rounded(&self, space: &SpaceDomain, moved: Vec<f64>) -> Option<Vec<f64>> {
        let encoded = Points::new(moved, space.dim()).ok()?;
        let natural = self.domain.decode(encoded.view()).ok()?;
        if !self.domain.contains(natural.row(0)) {
            return None;
        }
        Some(self.domain.encode(natural.view()).ok()?.row(0).to_vec()).filter(|x| self.contains(x))
    }

    /// A point nearby; where constraints hold, on the line to another point that satisfies them.
    pub fn moved(&self, point: &[f64], other: &[f64], rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let step = STEPS[rng.random_range(0..STEPS.len())];
        if self.is_bound() {
            return self.settled(point.iter().zip(other).map(|(p, o)| p + step * (o - p)).collect());
        }
        let mut moved = self.stepped(point, step, rng);
        if let Domain::Space(space) = self.domain {
            moved.iter_mut().zip(space.columns()).for_each(|(v, column)| redraw(v, column, rng));
        }
        self.settled(moved)
    }

    /// A normal step in every column, or in about half of them.
    pub fn stepped(&self, point: &[f64], step: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let some = rng.random::<bool>();
        let mut one = |(value, length): (&f64, &f64)| {
            let normal: f64 = StandardNormal.sample(rng);
            if some && rng.random::<bool>() { *value } else { value + step * length * normal }
        };
        point.iter().zip(&self.steps).map(&mut one).collect()
    }

    /// Climbs a function from a point: by projected gradients with Barzilai–Borwein steps over the numbers as if they were continuous, then over neighbouring
    /// levels and other categories; where constraints hold, by moves to and from `others`.
    pub fn climb(&self, f: &Slope<'_>, start: &[f64], others: PointsRef<'_>, steps: usize) -> (Vec<f64>, f64) {
        if self.is_bound() {
            return self.climb_by_moves(f, start, others, MOVES * steps);
        }
        let (x, value) = self.ascend(f, start, steps);
        if !self.is_discrete() {
            return (x, value);
        }
        let first = (start.to_vec(), f(start).0);
        let rounded = self.settled(x).map(|x| (f(&x).0, x)).filter(|(v, _)| *v > first.1).map_or(first.clone(), |(v, x)| (x, v));
        self.climb_levels(f, rounded)
    }

    fn ascend(&self, f: &Slope<'_>, start: &[f64], steps: usize) -> (Vec<f64>, f64) {
        let scale: Vec<f64> = self.steps.iter().zip(&self.category).map(|(s, is)| if *is { 0.0 } else { *s }).collect();
        // A slope that leads out of the domain counts for nothing.
        let scaled = |x: &[f64], slope: Vec<f64>| {
            let inward = |c: usize| (x[c] > self.low[c] || slope[c] > 0.0) && (x[c] < self.high[c] || slope[c] < 0.0);
            (0..slope.len()).map(|c| if inward(c) { slope[c] * scale[c] } else { 0.0 }).collect::<Vec<f64>>()
        };
        let norm = |g: &[f64]| g.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
        let mut x = start.to_vec();
        let (mut value, slope) = f(&x);
        let mut slope = scaled(&x, slope);
        let mut length = 0.1 / norm(&slope);
        for _ in 0..steps {
            let next = self.clipped((0..x.len()).map(|c| x[c] + length * slope[c] * scale[c]).collect());
            let (found, next_slope) = f(&next);
            if found.is_nan() || found < value {
                length /= 4.0;
                continue;
            }
            let next_slope = scaled(&next, next_slope);
            let (mut curved, mut square) = (0.0, 0.0);
            for c in (0..x.len()).filter(|&c| scale[c] > 0.0) {
                let moved = (next[c] - x[c]) / scale[c];
                curved += moved * (slope[c] - next_slope[c]);
                square += moved * moved;
            }
            if square == 0.0 {
                break;
            }
            let natural = if curved > 1e-14 { square / curved } else { 3.0 * length };
            (x, value, slope) = (next, found, next_slope);
            length = natural.min(1.0 / norm(&slope));
        }
        (x, value)
    }

    /// One column at a time, until no neighbour is better.
    fn climb_levels(&self, f: &Slope<'_>, mut best: (Vec<f64>, f64)) -> (Vec<f64>, f64) {
        let Domain::Space(space) = self.domain else { return best };
        for _ in 0..3 {
            let before = best.1;
            for (c, column) in space.columns().iter().enumerate() {
                for value in neighbours(column, best.0[c]) {
                    let mut moved = best.0.clone();
                    moved[c] = value;
                    if let Some(moved) = self.settled(moved) {
                        let found = f(&moved).0;
                        if found > best.1 {
                            best = (moved, found);
                        }
                    }
                }
            }
            if best.1 <= before {
                break;
            }
        }
        best
    }

    fn climb_by_moves(&self, f: &Slope<'_>, start: &[f64], others: PointsRef<'_>, moves: usize) -> (Vec<f64>, f64) {
        let seed = start.iter().fold(0, |seed: u64, v| seed.rotate_left(17) ^ v.to_bits());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut best = (start.to_vec(), f(start).0);
        for _ in 0..moves {
            let other = others.row(rng.random_range(0..others.len()));
            let step = STEPS[rng.random_range(0..STEPS.len())] * if rng.random::<bool>() { 1.0 } else { -0.5 };
            let moved = best.0.iter().zip(other).map(|(p, o)| p + step * (o - p)).collect();
            if let Some(moved) = self.settled(moved) {
                let found = f(&moved).0;
                if found > best.1 {
                    best = (moved, found);
                }
            }
        }
        best
    }
}

fn neighbours(column: &Column, value: f64) -> Vec<f64> {
    match (column, column.levels()) {
        (Column::Categorical { choices }, _) => (0..(*choices).min(CATEGORIES)).map(|k| k as f64).filter(|k| *k != value).collect(),
        (_, Some(levels)) if levels > 1 => {
            let step = 1.0 / (levels - 1) as f64;
            (1..=LEVELS).flat_map(|k| [value + k as f64 * step, value - k as f64 * step]).filter(|v| (0.0..=1.0).contains(v)).collect()
        }
        _ => Vec::new(),
    }
}

fn redraw(value: &mut f64, column: &Column, rng: &mut ChaCha8Rng) {
    match column {
        Column::Categorical { choices } => {
            if rng.random::<f64>() < REDRAWN {
                *value = rng.random_range(0..*choices) as f64;
            } else {
                *value = value.round().clamp(0.0, (*choices - 1) as f64);
            }
        }
        // Steps shorter than half a level would never move: now and then, one level up or down.
        Column::Float { .. } => {}
        _ => {
            if let Some(levels) = column.levels().filter(|&l| l > 1)
                && rng.random::<f64>() < REDRAWN
            {
                *value += if rng.random::<bool>() { 1.0 } else { -1.0 } / (levels - 1) as f64;
            }
        }
    }
}

/// Takes each column's length-scale where it is shorter than what is there.
fn shorten(kernel: &Kernel, seen: &[usize], lengths: &mut [f64]) {
    match kernel {
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().for_each(|part| shorten(part, seen, lengths)),
        Kernel::Columns { columns, kernel } => {
            let inner: Vec<usize> = columns.iter().map(|&c| seen[c]).collect();
            shorten(kernel, &inner, lengths);
        }
        _ => {}
    }
    let Some(values) = kernel.lengthscale().map(Lengthscale::values) else { return };
    for (position, &column) in seen.iter().enumerate() {
        let length = values.get(position).or(values.first()).copied().unwrap_or(f64::INFINITY);
        lengths[column] = lengths[column].min(length);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::data::Data;
    use super::super::fit::Fit;
    use super::super::scale::Scale;
    use super::*;
    use crate::domain::{BoxDomain, Constraint};

    fn on<T>(domain: &Domain, work: impl FnOnce(&Ground<'_>) -> T) -> T {
        let candidates = domain.candidates(8, 1).unwrap().range(0, 8).unwrap();
        let raw = (0..8).map(f64::from).collect();
        let data = Data { points: candidates, raw, errors: vec![None; 8], spread: 8, failed: None };
        let model = Fit::plain(domain.default_kernel(0.5, 1.0).unwrap(), 0.1, Scale::IDENTITY).model(&data).unwrap();
        work(&Ground::new(domain, &model))
    }

    /// A paraboloid with its top at these coordinates.
    fn bowl(top: &[f64]) -> impl Fn(&[f64]) -> (f64, Vec<f64>) + Sync + '_ {
        move |x| {
            let away: Vec<f64> = x.iter().zip(top).map(|(v, t)| v - t).collect();
            (-away.iter().map(|a| a * a).sum::<f64>(), away.iter().map(|a| -2.0 * a).collect())
        }
    }

    #[test]
    fn climbs_reach_the_top_inside_and_on_the_edge() {
        let domain = Domain::Box(BoxDomain::new(vec![0.0, -3.0], vec![1.0, 5.0]).unwrap());
        let none = Points::from_rows(&[[0.0, 0.0]]).unwrap();
        on(&domain, |ground| {
            let (x, _) = ground.climb(&bowl(&[0.3, 2.0]), &[0.9, -2.0], none.view(), 40);
            assert!((x[0] - 0.3).abs() < 1e-4 && (x[1] - 2.0).abs() < 1e-4, "{x:?}");
            let (x, _) = ground.climb(&bowl(&[0.3, 9.0]), &[0.9, -2.0], none.view(), 40);
            assert!((x[0] - 0.3).abs() < 1e-3 && x[1] == 5.0, "{x:?}");
        });
    }

    #[test]
    fn levels_and_categories_are_climbed_to_points_that_exist() {
        let columns = vec![Column::float(0.0, 1.0), Column::integer(0, 4), Column::categorical(3)];
        let domain = Domain::Space(SpaceDomain::new(columns, Vec::new()).unwrap());
        let none = Points::from_rows(&[[0.0; 3]]).unwrap();
        // The slope says nothing about the category.
        let f = |x: &[f64]| {
            let (value, mut slope) = bowl(&[0.4, 0.7])(&x[..2]);
            slope.push(0.0);
            (value + f64::from(u8::from(x[2] == 2.0)), slope)
        };
        on(&domain, |ground| {
            let (x, _) = ground.climb(&f, &[0.9, 0.0, 0.0], none.view(), 30);
            assert!((x[0] - 0.4).abs() < 1e-3 && x[1] == 0.75 && x[2] == 2.0, "{x:?}");
        });
    }

    #[test]
    fn a_climb_does_not_leave_the_span_of_points() {
        let columns = vec![Column::float(0.0, 1.0), Column::integer(0, 4), Column::categorical(3)];
        let domain = Domain::Space(SpaceDomain::new(columns, Vec::new()).unwrap());
        let best = Points::from_rows(&[[0.6, 0.0, 0.0], [0.9, 0.5, 0.0]]).unwrap();
        let f = |x: &[f64]| {
            let (value, mut slope) = bowl(&[0.4, 1.0])(&x[..2]);
            slope.push(0.0);
            (value + f64::from(u8::from(x[2] == 2.0)), slope)
        };
        on(&domain, |ground| {
            // Categories lie beside each other, not in a row: none is beyond another.
            let (x, _) = ground.spanned(best.view()).climb(&f, best.row(1), best.view(), 30);
            assert!((x[0] - 0.6).abs() < 1e-9 && x[1] == 0.5 && x[2] == 2.0, "{x:?}");
        });
    }

    #[test]
    fn constraints_hold_on_the_way() {
        let domain = Domain::Space(SpaceDomain::new(vec![Column::float(0.0, 1.0); 3], vec![Constraint::sum(&[0, 1, 2], 1.0)]).unwrap());
        let others = domain.candidates(200, 5).unwrap().range(0, 200).unwrap();
        on(&domain, |ground| {
            let (x, value) = ground.climb(&bowl(&[0.6, 0.3, 0.1]), others.row(0), others.view(), 60);
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-9 && value > -0.01, "{x:?}");
        });
    }
}
