//! Noise or structure: what the model leaves unexplained, told apart by repeated measurements.

use super::data::Data;
use super::fit::Fit;
use super::model::Outlook;
use super::scale::Scale;
use crate::error::Result;
use crate::points::{Collected, Observations, Points, Prior};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Repeated values that scatter this unlikely little, if all that the model leaves unexplained were noise, say that it is not.
/// Whoever believes it takes single values for the truth, and so the luckiest for the best: noise must hardly ever be mistaken for structure.
const UNLIKELY: f64 = 1e-3;

/// How the variance that the model leaves unexplained splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unexplained {
    /// Variance of single values around the truth, at the knee of the scale.
    pub noise: f64,
    /// Variance of the truth around the model, likewise.
    pub structure: f64,
}

impl Unexplained {
    /// With $k$ degrees of freedom and pure error $s^2$, all of $\tau^2$ is noise unless $P(\chi^2_k\le ks^2/\tau^2)<10^{-3}$; then $\tau^2-s^2$ is structure.
    /// Points in one cell, of these widths, count as one.
    pub fn of(data: &Data, fit: &Fit, cell: &[f64]) -> Result<Self> {
        let total = fit.ridge.powi(2);
        let observations = observations(data, fit, cell)?;
        let freedom = observations.len() - observations.locations().distinct();
        let all_noise = Self { noise: total, structure: 0.0 };
        if freedom == 0 {
            return Ok(all_noise);
        }
        let scatter = scatter(data, &observations, &fit.scale);
        let surprise = ChiSquared::new(freedom as f64).map_or(1.0, |chi| chi.cdf(scatter / total));
        if surprise >= UNLIKELY {
            return Ok(all_noise);
        }
        let noise = (scatter / freedom as f64).min(total);
        Ok(Self { noise, structure: total - noise })
    }

    /// Moves the means at the measured points to $\mu+\frac{v}{v+s^2/c}(\bar y-\mu)$, $v$ being the structure's variance and $c$ the number of repeats.
    pub fn settle(self, data: &Data, fit: &Fit, cell: &[f64], outlook: &mut Outlook) -> Result<()> {
        if self.structure <= 0.0 {
            return Ok(());
        }
        let observations = observations(data, fit, cell)?;
        let locations = observations.locations();
        for (row, mean) in outlook.mean.iter_mut().enumerate() {
            let point = locations.distinct_of(row);
            let count = locations.count(point);
            let average = observations.sums()[point] / count;
            *mean += self.structure / (self.structure + self.noise / count) * (average - *mean);
        }
        Ok(())
    }
}

/// Squared distances of the values from the means of their repeats, in units of the noise at each mean relative to that at the scale's knee.
fn scatter(data: &Data, observations: &Observations, scale: &Scale) -> f64 {
    let locations = observations.locations();
    let square = |(row, value): (usize, &f64)| {
        let point = locations.distinct_of(row);
        let average = observations.sums()[point] / locations.count(point);
        ((scale.to_model(*value) - average) / scale.noise_share(scale.to_problem(average))).powi(2)
    };
    data.raw.iter().enumerate().map(square).sum()
}

/// Each point moved to the middle of its cell; where a width is 0 it stays.
fn observations(data: &Data, fit: &Fit, cell: &[f64]) -> Result<Observations> {
    let middle = |(v, width): (&f64, &f64)| if *width > 0.0 { (v / width).round() * width } else { *v };
    let rows: Vec<f64> = data.points.view().rows().flat_map(|x| x.iter().zip(cell).map(middle)).collect();
    Observations::new(Points::new(rows, cell.len())?, &data.values(&fit.scale), Collected::Adaptive, Prior::ZERO)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::Kernel;

    fn parts(values: &[f64]) -> (Data, Fit) {
        let x = (0..values.len()).map(|i| (i / 2) as f64).collect();
        let data = Data {
            points: Points::on_line(x).unwrap(),
            raw: values.to_vec(),
            errors: vec![None; values.len()],
            spread: values.len(),
            failed: None,
        };
        let fit = Fit::plain(Kernel::matern(2.5, 1.0, 1.0).unwrap(), 0.5, Scale::IDENTITY);
        (data, fit)
    }

    #[test]
    fn repeats_that_scatter_as_expected_are_noise() {
        let (data, fit) = parts(&[0.0, 0.7, 1.0, 0.4, 2.0, 2.9, 1.0, 0.5]);
        assert_eq!(Unexplained::of(&data, &fit, &[0.0]).unwrap(), Unexplained { noise: 0.25, structure: 0.0 });
    }

    #[test]
    fn repeats_that_agree_are_structure_and_settle_the_means() {
        let (data, fit) = parts(&[0.0, 0.02, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
        let found = Unexplained::of(&data, &fit, &[0.0]).unwrap();
        // Pure error: 2·0.01² over 4 degrees of freedom.
        assert!((found.noise - 5e-5).abs() < 1e-12 && (found.structure + found.noise - 0.25).abs() < 1e-12);
        let mut outlook = fit.model(&data).unwrap().outlook(data.points.view()).unwrap();
        let before = outlook.mean[0];
        found.settle(&data, &fit, &[0.0], &mut outlook).unwrap();
        let share = found.structure / (found.structure + found.noise / 2.0);
        assert!((outlook.mean[0] - (before + share * (0.01 - before))).abs() < 1e-12);
    }

    /// Four pairs that scatter so little one time in fifty.
    #[test]
    fn a_little_luck_is_not_taken_for_structure() {
        let apart = 0.23;
        let (data, fit) = parts(&[0.0, apart, 1.0, 1.0 - apart, 2.0, 2.0 + apart, 1.0, 1.0 + apart]);
        let surprise = ChiSquared::new(4.0).unwrap().cdf(4.0 * apart * apart / 2.0 / 0.25);
        assert!((0.01..0.05).contains(&surprise), "{surprise}");
        assert_eq!(Unexplained::of(&data, &fit, &[0.0]).unwrap().structure, 0.0);
    }

    /// Repeats that agree by chance are overruled by neighbours that nobody can tell from repeats.
    #[test]
    fn close_neighbours_that_scatter_say_that_it_is_noise() {
        let agreeing = [0.0, 0.01, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0];
        let scattered = [1.3, 0.4, 0.2, 1.1, 0.9, 0.3, 0.1, 0.9, 1.4, 0.6, 0.2, 1.0];
        let (data, fit) = parts(&[&agreeing[..], &scattered[..]].concat());
        let mut x: Vec<f64> = data.points.view().rows().map(|row| row[0]).collect();
        x[8..].iter_mut().enumerate().for_each(|(i, v)| *v += 1e-5 * i as f64);
        let data = Data { points: Points::on_line(x).unwrap(), ..data };
        assert!(Unexplained::of(&data, &fit, &[0.0]).unwrap().structure > 0.0);
        assert_eq!(Unexplained::of(&data, &fit, &[1e-3]).unwrap().structure, 0.0);
    }
}
