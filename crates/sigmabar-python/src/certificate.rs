//! Certificates: across the border as the core's JSON, and described by the core.

use crate::error::raise;
use pyo3::prelude::*;
use sigmabar::{Certificate, Origin};

/// Name, statement and origin of a premise, the last as the JSON writes it.
type PremiseParts = (&'static str, String, String);
/// The text, the label, whether and how the data contradict the premises, the premises, those that keep the claim from being certified, and the terms of the label.
type Described = (String, String, Option<String>, Vec<PremiseParts>, Vec<String>, Vec<String>);

/// The certificate as everybody writes it.
pub fn certificate_json(certificate: &Certificate) -> PyResult<String> {
    serde_json::to_string(certificate).map_err(raise)
}

/// A certificate as everybody writes it, however it was laid out; refused if its label is not the one that its premises carry.
#[pyfunction]
pub fn read_certificate(json: &str) -> PyResult<String> {
    certificate_json(&serde_json::from_str(json).map_err(raise)?)
}

/// A written range in words, as that of a certificate; none where it says nothing, as where the claim is only an estimate.
#[pyfunction]
pub fn range_sentence(json: &str, certificate: &str) -> PyResult<Option<String>> {
    let mut certificate: Certificate = serde_json::from_str(certificate).map_err(raise)?;
    certificate.range = Some(serde_json::from_str(json).map_err(raise)?);
    Ok(certificate.stands())
}

/// What a written certificate says; refused if its label is not the one that its premises carry.
#[pyfunction]
pub fn describe_certificate(json: &str) -> PyResult<Described> {
    let certificate: Certificate = serde_json::from_str(json).map_err(raise)?;
    let word = |origin: Origin| serde_json::to_value(origin).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default();
    let premises = certificate.premises.list().into_iter().map(|p| (p.name, p.statement, word(p.origin))).collect();
    let contradiction = certificate.contradiction.as_ref().map(ToString::to_string);
    Ok((
        certificate.to_string(),
        certificate.label().to_string(),
        contradiction,
        premises,
        certificate.weak_premises(),
        certificate.terms(),
    ))
}
