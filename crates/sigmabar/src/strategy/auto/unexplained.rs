//! Noise or structure: what the model leaves unexplained, told apart by repeated measurements.

use super::fit::Fit;
use super::model::{Data, Outlook};
use super::scale::Scale;
use crate::error::Result;
use crate::points::{Collected, Observations, Prior};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Repeated values that scatter this unlikely little, if all that the model leaves unexplained were noise, say that it is not.
const UNLIKELY: f64 = 0.05;

/// How the variance that the model leaves unexplained splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unexplained {
    /// Variance of single values around the truth, at the knee of the scale.
    pub noise: f64,
    /// Variance of the truth around the model, likewise.
    pub structure: f64,
}

impl Unexplained {
    /// With $k$ degrees of freedom and pure error $s^2$, all of $\tau^2$ is noise unless $P(\chi^2_k\le ks^2/\tau^2)<0.05$; then $\tau^2-s^2$ is structure.
    pub fn of(data: &Data, fit: &Fit) -> Result<Self> {
        let total = fit.ridge.powi(2);
        let observations = observations(data, fit)?;
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
    pub fn settle(self, data: &Data, fit: &Fit, outlook: &mut Outlook) -> Result<()> {
        if self.structure <= 0.0 {
            return Ok(());
        }
        let observations = observations(data, fit)?;
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

fn observations(data: &Data, fit: &Fit) -> Result<Observations> {
    Observations::new(data.points.clone(), &data.values(&fit.scale), Collected::Adaptive, Prior::ZERO)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::Kernel;
    use crate::points::Points;

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
        assert_eq!(Unexplained::of(&data, &fit).unwrap(), Unexplained { noise: 0.25, structure: 0.0 });
    }

    #[test]
    fn repeats_that_agree_are_structure_and_settle_the_means() {
        let (data, fit) = parts(&[0.0, 0.02, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
        let found = Unexplained::of(&data, &fit).unwrap();
        // Pure error: 2·0.01² over 4 degrees of freedom.
        assert!((found.noise - 5e-5).abs() < 1e-12 && (found.structure + found.noise - 0.25).abs() < 1e-12);
        let mut outlook = fit.model(&data).unwrap().outlook(data.points.view()).unwrap();
        let before = outlook.mean[0];
        found.settle(&data, &fit, &mut outlook).unwrap();
        let share = found.structure / (found.structure + found.noise / 2.0);
        assert!((outlook.mean[0] - (before + share * (0.01 - before))).abs() < 1e-12);
    }
}
