//! What is claimed, and the intervals that follow with their certificate.

use crate::certificate::certificate_json;
use crate::error::{raise, unknown};
use crate::noise::PyNoise;
use crate::origin::Number;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use sigmabar::certificate::{Coverage, Ends, Method, ResidualNormMethod, Side};
use sigmabar::points::Seen;
use sigmabar::{BoxDomain, Certificate, Claim};

/// Centres, lower ends, upper ends, and the certificate as JSON.
pub type PyEnds<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, String);

/// A request for intervals.
#[pyclass(frozen, name = "Claim", module = "sigmabar._core")]
pub struct PyClaim {
    /// Without norm bound and noise, whose origins depend on the rows that the claim is about.
    inner: Claim,
    norm_bound: Option<Number>,
    noise: Option<PyNoise>,
    new_noise: Option<PyNoise>,
}

impl PyClaim {
    /// The claim about a model of these rows.
    pub fn about(&self, rows: &Seen) -> sigmabar::Result<Claim> {
        let mut claim = self.inner.clone();
        if let Some(bound) = &self.norm_bound {
            claim = claim.norm_bound(bound.on(rows))?;
        }
        if let Some(noise) = &self.new_noise {
            claim = claim.new_noise(noise.on(rows));
        }
        Ok(match &self.noise {
            Some(noise) => claim.noise(noise.on(rows)),
            None => claim,
        })
    }
}

#[pymethods]
impl PyClaim {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by keyword from the Python face only")]
    fn new(
        delta: f64,
        norm_bound: Option<Number>,
        noise: Option<&PyNoise>,
        new_noise: Option<&PyNoise>,
        side: &str,
        method: &str,
        coverage: &str,
        domain: Option<(Vec<f64>, Vec<f64>)>,
    ) -> PyResult<Self> {
        let inner =
            Claim::new(delta).map_err(raise)?.side(side_of(side)?).method(method_of(method)?).coverage(coverage_of(coverage, domain)?);
        Ok(Self { inner, norm_bound, noise: noise.cloned(), new_noise: new_noise.cloned() })
    }
}

fn side_of(name: &str) -> PyResult<Side> {
    match name {
        "both" => Ok(Side::Both),
        "lower" => Ok(Side::Lower),
        "upper" => Ok(Side::Upper),
        other => Err(unknown("side", other, &["both", "lower", "upper"])),
    }
}

fn method_of(name: &str) -> PyResult<Method> {
    match name {
        "tight" => Ok(Method::Tight),
        "paper" => Ok(Method::Paper),
        "drop-in" => Ok(Method::DropIn),
        "energy" => Ok(Method::Energy),
        other => Err(unknown("method", other, &["tight", "paper", "drop-in", "energy"])),
    }
}

fn coverage_of(name: &str, domain: Option<(Vec<f64>, Vec<f64>)>) -> PyResult<Coverage> {
    match (name, domain) {
        ("continuous", Some((low, high))) => BoxDomain::with_flat_sides(low, high).map(Coverage::Continuous).map_err(raise),
        ("continuous", None) => Err(raise("coverage \"continuous\" needs a domain: domain=(low, high)")),
        (_, Some(_)) => Err(raise("a domain is only used with coverage=\"continuous\": leave it out, or say so")),
        ("point", None) => Ok(Coverage::Point),
        ("points", None) => Ok(Coverage::Points),
        ("uniform", None) => Ok(Coverage::Uniform),
        (other, None) => Err(unknown("coverage", other, &["point", "points", "uniform", "continuous"])),
    }
}

/// A named way to bound the residual norm.
pub fn residual_method(name: &str, pivots: usize, steps: usize, failure: f64, seed: u64) -> PyResult<ResidualNormMethod> {
    match name {
        "best" => Ok(ResidualNormMethod::Best),
        "trace" => Ok(ResidualNormMethod::Trace),
        "lookahead" => Ok(ResidualNormMethod::LookAhead { pivots }),
        "dense" => Ok(ResidualNormMethod::Dense),
        "randomised" => Ok(ResidualNormMethod::Randomised { steps, failure, seed }),
        other => Err(unknown("kind", other, &["best", "trace", "lookahead", "dense", "randomised"])),
    }
}

/// Intervals with what they rest on.
pub fn ends<'py>(py: Python<'py>, Ends { mean, lower, upper }: Ends, certificate: &Certificate) -> PyResult<PyEnds<'py>> {
    Ok((mean.into_pyarray(py), lower.into_pyarray(py), upper.into_pyarray(py), certificate_json(certificate)?))
}
