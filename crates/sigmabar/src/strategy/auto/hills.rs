//! Separate hills of the posterior mean: the highest now need not be the highest there is (algorithm notes 5.10).

use super::data::Data;
use super::draws::Functions;
use super::ground::Ground;
use super::maximisers::largest;
use super::model::Model;
use crate::error::Result;
use crate::points::Points;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sigmabar_linalg::{argmax, parallel};

/// Points looked at on the way from one top to another.
const STOPS: usize = 15;
/// A way leads down where the mean falls by more than the noise, and by more than this share of the values' spread.
const DIP: f64 = 0.05;
/// Hills told apart at most, and steps of the climb to a top.
const MOST: usize = 8;
const ASCENT: usize = 15;
/// Functions drawn, candidates and frequencies for the search of one hill, and steps of its candidates in length-scales.
const DRAWS: usize = 64;
const CANDIDATES: usize = 384;
const FREQUENCIES: usize = 192;
const SPREAD: [f64; 4] = [0.1, 0.3, 0.6, 1.0];

/// Tops of the posterior mean with a dip between any two, highest first.
pub(super) struct Hills {
    pub tops: Vec<Vec<f64>>,
    pub heights: Vec<f64>,
}

impl Hills {
    /// Climbs from the better half of the measured points. Cost O(n²d) for a step of all climbs.
    pub fn new(ground: &Ground<'_>, model: &Model, data: &Data) -> Result<Self> {
        let mean = model.outlook(data.points.view())?.mean;
        let ranges = ground.ranges();
        let starts = largest(&mean, (mean.len() / 2).clamp(12, 200).min(mean.len()));
        let climb =
            |&at: &usize| ground.climb(&|x: &[f64]| model.mean_with_slope(x, &ranges), data.points.row(at), data.points.view(), ASCENT);
        let mut ends: Vec<(Vec<f64>, f64)> = parallel(|watch| starts.par_iter().inspect(|_| watch.check()).map(climb).collect());
        ends.sort_by(|a, b| b.1.total_cmp(&a.1));
        let margin = model.ridge.max(DIP * deviation(&data.values(&model.scale)));
        let mut hills = Self { tops: Vec::new(), heights: Vec::new() };
        for (top, height) in ends {
            let mut own = true;
            for other in &hills.tops {
                own &= lowest_between(model, &top, other)? <= height - margin;
            }
            if own {
                hills.tops.push(top);
                hills.heights.push(height);
            }
            if hills.tops.len() == MOST {
                break;
            }
        }
        Ok(hills)
    }

    fn contains(&self, ground: &Ground<'_>, hill: usize, x: &[f64]) -> bool {
        let far = |top: &[f64]| (0..x.len()).map(|c| ((x[c] - top[c]) / ground.steps[c].max(f64::MIN_POSITIVE)).powi(2)).sum::<f64>();
        argmax(self.tops.iter().enumerate().map(|(i, top)| (i, -far(top)))) == Some(hill)
    }

    /// Points that look for the best value within the part of the domain that is nearer to this top than to any other: where functions drawn are larger than at
    /// all points known there. With them the share of the functions that reach the height of the highest hill. None for a kernel that was given.
    pub fn search(
        &self,
        ground: &Ground<'_>,
        model: &Model,
        known: &[Vec<f64>],
        hill: usize,
        count: usize,
        seed: u64,
    ) -> Result<(Vec<Vec<f64>>, f64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let Some(functions) = Functions::new(model, DRAWS, FREQUENCIES, &mut rng)? else { return Ok((Vec::new(), 0.0)) };
        let mut points = Points::from_rows(&[&self.tops[hill]])?;
        for _ in 0..CANDIDATES {
            let moved = ground.stepped(&self.tops[hill], SPREAD[rng.random_range(0..SPREAD.len())], &mut rng);
            if let Some(moved) = ground.settled(moved).filter(|x| self.contains(ground, hill, x)) {
                points.push(&moved)?;
            }
        }
        let values = functions.values(points.view())?;
        let climb = |draw: usize| {
            let start = largest(values.row(draw), 1)[0];
            ground.climb(&|x: &[f64]| functions.with_slope(draw, x), points.row(start), points.view(), ASCENT).0
        };
        let ends: Vec<Vec<f64>> = parallel(|watch| (0..functions.len()).into_par_iter().inspect(|_| watch.check()).map(climb).collect());
        ends.iter().filter(|x| self.contains(ground, hill, x)).try_for_each(|x| points.push(x))?;
        let own: Vec<&Vec<f64>> = known.iter().filter(|x| self.contains(ground, hill, x)).collect();
        let values = functions.values(points.view())?;
        let lowest = values.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        let mut reached = vec![lowest; functions.len()];
        if !own.is_empty() {
            let known = functions.values(Points::from_rows(&own)?.view())?;
            reached.iter_mut().enumerate().for_each(|(i, r)| *r = known.row(i).iter().copied().fold(*r, f64::max));
        }
        let reaching = (0..functions.len()).filter(|&draw| values.row(draw).iter().any(|v| *v >= self.heights[0])).count();
        let mut chosen: Vec<Vec<f64>> = Vec::new();
        while chosen.len() < count {
            let gain = |i: usize| reached.iter().enumerate().map(|(draw, r)| (values[(draw, i)] - r).max(0.0)).sum::<f64>();
            let Some(top) = argmax((0..points.len()).map(|i| (i, gain(i)))).filter(|&i| gain(i) > 0.0) else { break };
            reached.iter_mut().enumerate().for_each(|(draw, r)| *r = r.max(values[(draw, top)]));
            chosen.push(points.row(top).to_vec());
        }
        Ok((chosen, reaching as f64 / functions.len() as f64))
    }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn lowest_between(model: &Model, from: &[f64], to: &[f64]) -> Result<f64> {
    let stop = |s: usize| {
        let share = s as f64 / (STOPS + 1) as f64;
        from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect::<Vec<f64>>()
    };
    let way = Points::from_rows(&(1..=STOPS).map(stop).collect::<Vec<_>>())?;
    Ok(model.outlook(way.view())?.mean.into_iter().fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::fit::Fit;
    use super::super::scale::Scale;
    use super::super::structure::Structure;
    use super::*;
    use crate::domain::{BoxDomain, Domain};

    fn on<T>(unit: f64, f: impl Fn(f64) -> f64, work: impl FnOnce(&Ground<'_>, &Model, &Data) -> T) -> T {
        let x: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
        let raw: Vec<f64> = x.iter().map(|&v| unit * f(v)).collect();
        let data = Data { points: Points::on_line(x).unwrap(), errors: vec![None; 21], spread: 21, raw, failed: None };
        let domain = Domain::Box(BoxDomain::unit(1).unwrap());
        let structure = Structure::new(&domain, 4.0 * unit * unit).with_theta(&[0.2_f64.ln(), (unit * unit).ln()]);
        let fit = Fit { structure: Some(structure.clone()), ..Fit::plain(structure.kernel().unwrap(), 0.01 * unit, Scale::IDENTITY) };
        let model = fit.model(&data).unwrap();
        work(&Ground::new(&domain, &model), &model, &data)
    }

    fn bump(x: f64, centre: f64) -> f64 {
        (-((x - centre) / 0.1).powi(2)).exp()
    }

    #[test]
    fn two_hills_are_told_apart_and_one_is_not_split() {
        for unit in [0.01, 1.0, 300.0] {
            on(
                unit,
                |x| bump(x, 0.2) + 0.8 * bump(x, 0.8),
                |ground, model, data| {
                    let hills = Hills::new(ground, model, data).unwrap();
                    assert!(hills.tops.len() == 2 && (hills.tops[0][0] - 0.2).abs() < 0.02 && (hills.tops[1][0] - 0.8).abs() < 0.02);
                    assert!((hills.heights[1] / hills.heights[0] - 0.8).abs() < 0.05);
                },
            );
        }
        on(1.0, |x| bump(x, 0.4), |ground, model, data| assert_eq!(Hills::new(ground, model, data).unwrap().tops.len(), 1));
    }

    #[test]
    fn functions_on_a_hill_reach_the_highest_unless_it_is_known_to_be_lower() {
        let reaching = |height: f64| {
            on(
                1.0,
                |x| bump(x, 0.2) + height * bump(x, 0.8),
                |ground, model, data| Hills::new(ground, model, data).unwrap().search(ground, model, &[], 1, 4, 1).unwrap().1,
            )
        };
        assert_eq!(reaching(0.8), 0.0);
        assert!(reaching(0.999) > 0.25);
    }

    #[test]
    fn a_search_stays_on_its_hill() {
        on(
            1.0,
            |x| bump(x, 0.2) + 0.99 * bump(x, 0.8),
            |ground, model, data| {
                let hills = Hills::new(ground, model, data).unwrap();
                for hill in 0..2 {
                    let (found, _) = hills.search(ground, model, &[], hill, 4, 1).unwrap();
                    assert!(!found.is_empty() && found.iter().all(|x| (x[0] - hills.tops[hill][0]).abs() < 0.3 + 1e-9), "{found:?}");
                }
            },
        );
    }
}
