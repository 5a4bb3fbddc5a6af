//! The positive parameters of a kernel, by name, and as logarithms for learning.

use super::{Hamming, Kernel, Lengthscale, Linear, Matern, Periodic, RationalQuadratic, SquaredExponential};
use crate::error::{Error, Result, same_length};

/// One positive parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, with the way to it: `lengthscale`, `lengthscale[2]`, `product[0].variance`.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl Kernel {
    /// The positive parameters, in the order that gradients and [`Kernel::with_log_parameters`] use: length-scales, periods, then
    /// $\alpha$ or the offset (unless it is 0), then the variance; sums and products part by part. The smoothness $\nu$ is not learnt.
    /// Cost: their number.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut list = Vec::new();
        self.clone().visit_parameters("", &mut |name, value| list.push(Parameter { name, value: *value }));
        list
    }

    /// The logarithms of [`Kernel::parameters`].
    #[must_use]
    pub fn log_parameters(&self) -> Vec<f64> {
        self.parameters().iter().map(|parameter| parameter.value.ln()).collect()
    }

    /// Number of parameters.
    pub(super) fn parameter_count(&self) -> usize {
        match self {
            Self::SquaredExponential(kernel) => kernel.lengthscale.values().len() + 1,
            Self::Matern(kernel) => kernel.lengthscale.values().len() + 1,
            Self::RationalQuadratic(kernel) => kernel.lengthscale.values().len() + 2,
            Self::Periodic(kernel) => kernel.lengthscale.values().len() + kernel.period.values().len() + 1,
            Self::Linear(kernel) => kernel.lengthscale.values().len() + 1 + usize::from(kernel.offset > 0.0),
            Self::Hamming(kernel) => kernel.lengthscale.values().len() + 1,
            Self::Sum(parts) | Self::Product(parts) => parts.iter().map(Self::parameter_count).sum(),
            Self::Columns { kernel, .. } => kernel.parameter_count(),
        }
    }

    /// The same kernel with other parameters, given by their logarithms in the order of [`Kernel::parameters`]. Cost: their number.
    ///
    /// # Errors
    /// [`crate::Error::Length`] for a wrong number; [`crate::Error::Parameter`] if an exponential is not finite and positive.
    pub fn with_log_parameters(&self, theta: &[f64]) -> Result<Self> {
        same_length("the logarithms of the kernel parameters", self.parameter_count(), theta.len())?;
        let mut values = theta.iter().map(|t| t.exp());
        let mut kernel = self.clone();
        kernel.visit_parameters("", &mut |_, value| {
            if let Some(new) = values.next() {
                *value = new;
            }
        });
        kernel.validate()?;
        // An offset that underflows to 0 would drop out of the list of parameters.
        if kernel.parameter_count() != theta.len() {
            return Err(Error::Parameter { name: "offset", value: 0.0, requirement: "positive to be a parameter" });
        }
        Ok(kernel)
    }

    /// Shows every parameter with its name, in order.
    fn visit_parameters(&mut self, path: &str, visit: &mut dyn FnMut(String, &mut f64)) {
        let mut see = |name: &str, value: &mut f64| visit(format!("{path}{name}"), value);
        match self {
            Self::SquaredExponential(SquaredExponential { lengthscale, variance })
            | Self::Matern(Matern { lengthscale, variance, .. })
            | Self::Hamming(Hamming { lengthscale, variance }) => {
                see_lengths("lengthscale", lengthscale, &mut see);
                see("variance", variance);
            }
            Self::RationalQuadratic(RationalQuadratic { alpha, lengthscale, variance }) => {
                see_lengths("lengthscale", lengthscale, &mut see);
                see("alpha", alpha);
                see("variance", variance);
            }
            Self::Periodic(Periodic { period, lengthscale, variance }) => {
                see_lengths("lengthscale", lengthscale, &mut see);
                see_lengths("period", period, &mut see);
                see("variance", variance);
            }
            Self::Linear(Linear { offset, lengthscale, variance }) => {
                see_lengths("lengthscale", lengthscale, &mut see);
                if *offset > 0.0 {
                    see("offset", offset);
                }
                see("variance", variance);
            }
            Self::Sum(parts) => {
                parts.iter_mut().enumerate().for_each(|(p, part)| part.visit_parameters(&format!("{path}sum[{p}]."), visit))
            }
            Self::Product(parts) => {
                parts.iter_mut().enumerate().for_each(|(p, part)| part.visit_parameters(&format!("{path}product[{p}]."), visit));
            }
            Self::Columns { kernel, .. } => kernel.visit_parameters(path, visit),
        }
    }
}

fn see_lengths(name: &str, lengths: &mut Lengthscale, see: &mut impl FnMut(&str, &mut f64)) {
    match lengths {
        Lengthscale::Shared(length) => see(name, length),
        Lengthscale::PerColumn(lengths) => lengths.iter_mut().enumerate().for_each(|(i, length)| see(&format!("{name}[{i}]"), length)),
    }
}
