//! Separate hills of the posterior mean: the highest now need not be the highest there is.

use super::model::{Data, Model};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::Points;

/// Points looked at on the way from one measured point to another.
const STOPS: usize = 15;
/// A way leads down where the mean falls by more than the noise, and by more than this share of the values' spread.
const DIP: f64 = 0.05;

/// The best measured point, and the best one that lies on another hill: on the straight way between them the mean falls below both.
/// `None` if no other hill comes within `depth` of the best, in standard deviations of the values. Cost O(n³) at most.
pub(super) fn rivals(model: &Model, data: &Data, depth: f64) -> Result<Option<[usize; 2]>> {
    let mean = model.outlook(data.points.view())?.mean;
    let spread = deviation(&data.values(&model.scale));
    let mut order: Vec<usize> = (0..mean.len()).collect();
    order.sort_by(|&a, &b| mean[b].total_cmp(&mean[a]).then(a.cmp(&b)));
    let best = order[0];
    for &other in order[1..].iter().take_while(|&&i| mean[i] >= mean[best] - depth * spread) {
        if lowest_between(model, data.points.row(best), data.points.row(other))? < mean[other] - model.ridge.max(DIP * spread) {
            return Ok(Some([best, other]));
        }
    }
    Ok(None)
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

/// The part of the domain that is nearer, in the kernel's metric, to one top than to another.
#[derive(Clone, Copy)]
pub(super) struct Hill<'a> {
    pub kernel: &'a Kernel,
    pub top: &'a [f64],
    pub other: &'a [f64],
}

impl Hill<'_> {
    pub fn contains(&self, x: &[f64]) -> bool {
        self.kernel.metric(x, self.top) <= self.kernel.metric(x, self.other)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::scale::Scale;
    use super::*;

    /// On a scale where values are `unit` times as large.
    fn fitted(unit: f64, f: impl Fn(f64) -> f64) -> (Model, Data) {
        let x: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
        let raw: Vec<f64> = x.iter().map(|&v| unit * f(v)).collect();
        let data = Data { points: Points::on_line(x).unwrap(), errors: vec![None; 21], spread: 21, raw };
        (Model::new(Kernel::matern(2.5, 0.2, unit * unit).unwrap(), 0.01 * unit, Scale::IDENTITY, &data).unwrap(), data)
    }

    fn bump(x: f64, centre: f64) -> f64 {
        (-((x - centre) / 0.1).powi(2)).exp()
    }

    #[test]
    fn two_hills_are_rivals_until_one_is_too_low() {
        for unit in [0.01, 1.0, 300.0] {
            let (model, data) = fitted(unit, |x| bump(x, 0.2) + 0.8 * bump(x, 0.8));
            assert_eq!(rivals(&model, &data, 1.5).unwrap(), Some([4, 16]));
            assert_eq!(rivals(&model, &data, 0.3).unwrap(), None);
        }
    }

    #[test]
    fn one_hill_has_no_rival() {
        let (model, data) = fitted(1.0, |x| bump(x, 0.4));
        assert_eq!(rivals(&model, &data, 2.0).unwrap(), None);
    }

    #[test]
    fn hills_share_the_domain() {
        let kernel = Kernel::matern(2.5, vec![0.1, 1.0], 1.0).unwrap();
        let (one, two) = ([0.2, 0.9], [0.3, 0.1]);
        let hill = Hill { kernel: &kernel, top: &one, other: &two };
        // The second column counts for a tenth of the first.
        assert!(hill.contains(&[0.21, 0.1]) && !hill.contains(&[0.29, 0.9]));
        let across = Hill { kernel: &kernel, top: &two, other: &one };
        assert!(!across.contains(&[0.21, 0.1]) && across.contains(&[0.29, 0.9]));
    }
}
