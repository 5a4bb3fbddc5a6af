//! What is claimed, and the intervals that follow with their certificate.

use crate::error::{raise, unknown};
use crate::noise::PyNoise;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use sigmabar::{BoxDomain, Certificate, Claim, Coverage, Intervals, Label, Method, PredictionIntervals, ResidualNormMethod, Side};

/// Lower ends, upper ends, and the certificate as JSON and in words.
pub type Ends<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, CertificateParts);
/// JSON, text, label, reasons and assumptions.
pub type CertificateParts = (String, String, &'static str, Vec<String>, Vec<String>);

/// A request for intervals.
#[pyclass(frozen, name = "Claim", module = "sigmabar._core")]
pub struct PyClaim {
    pub inner: Claim,
}

#[pymethods]
impl PyClaim {
    /// A claim; a norm bound that was `estimated` makes it calibrated.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by keyword from the Python face only")]
    fn new(
        delta: f64,
        norm_bound: Option<f64>,
        estimated: bool,
        noise: Option<&PyNoise>,
        new_noise: Option<&PyNoise>,
        side: &str,
        method: &str,
        coverage: &str,
        domain: Option<(Vec<f64>, Vec<f64>)>,
    ) -> PyResult<Self> {
        let mut claim = Claim::new(delta).map_err(raise)?;
        if let Some(bound) = norm_bound {
            claim = if estimated { claim.estimated_norm_bound(bound) } else { claim.norm_bound(bound) }.map_err(raise)?;
        }
        if let Some(noise) = noise {
            claim = claim.noise(noise.inner.clone());
        }
        if let Some(noise) = new_noise {
            claim = claim.new_noise(noise.inner.clone());
        }
        let inner = claim.side(side_of(side)?).method(method_of(method)?).coverage(coverage_of(coverage, domain)?);
        Ok(Self { inner })
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

/// The label in the words of the Python face.
pub fn label_name(label: Label) -> &'static str {
    match label {
        Label::Certified => "certified",
        Label::CertifiedForLearntKernel => "certified for the learnt kernel",
        Label::Calibrated => "calibrated",
        _ => "heuristic",
    }
}

fn parts(certificate: &Certificate) -> PyResult<CertificateParts> {
    let reasons = certificate.reasons.iter().map(ToString::to_string).collect();
    let assumptions = certificate.assumptions.iter().map(ToString::to_string).collect();
    let json = serde_json::to_string(certificate).map_err(raise)?;
    Ok((json, certificate.to_string(), label_name(certificate.label), reasons, assumptions))
}

/// Intervals for the function.
pub fn ends<'py>(py: Python<'py>, intervals: &Intervals) -> PyResult<Ends<'py>> {
    let (lower, upper) = (intervals.lower().to_vec(), intervals.upper().to_vec());
    Ok((lower.into_pyarray(py), upper.into_pyarray(py), parts(intervals.certificate())?))
}

/// Intervals for new responses.
pub fn response_ends<'py>(py: Python<'py>, intervals: &PredictionIntervals) -> PyResult<Ends<'py>> {
    let (lower, upper) = (intervals.response_lower().to_vec(), intervals.response_upper().to_vec());
    Ok((lower.into_pyarray(py), upper.into_pyarray(py), parts(intervals.certificate())?))
}
