//! What became of a fit: said, saved, and what follows from it.

use super::fit_arguments::Arguments;
use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::failure::Ending;
use crate::kernels;
use crate::model::{self, About, Model, Scores};
use crate::model_file;
use crate::which_study::quoted;
use serde_json::{Value, json};
use sigmabar::certificate::{Answer, Contradiction};
use std::path::{Path, PathBuf};

/// Models of more rows than this are saved without them.
pub(super) const MOST_KEPT: usize = 5000;
/// Inducing points kept for claims in the place of the rows.
pub(super) const AHEAD: usize = 64;

/// What follows from a model: predictions, or a remedy where the data contradict what was declared.
pub(super) fn ending(
    contradiction: Option<&Contradiction>,
    verb: &str,
    about: &About,
    saved: Option<&Path>,
    asked: &str,
    console: &Console,
) -> Ending {
    match (contradiction, saved) {
        (Some(contradiction), _) => return model_file::contradicted(contradiction, verb, about, console),
        (None, Some(path)) => console.next(format_args!("sigmabar predict {} {asked}", quoted(path))),
        (None, None) => {}
    }
    Ending::Done
}

/// Says what came out; gives back how the data contradict what was declared, if they do.
pub(super) fn report(model: &Model, scored: Option<(Scores, Answer)>, delta: f64, console: &Console) -> Outcome<Option<Contradiction>> {
    let information = model.posterior.information();
    let names: Vec<&str> = model.about.features.iter().map(|column| column.name.as_str()).collect();
    let (scores, answer) = match scored {
        Some((scores, answer)) => (Some(scores), answer),
        None => (None, model.answers(delta)?.at(information.features().inducing().range(0, 1))?),
    };
    let mut fields: Vec<(&str, Value)> = vec![
        ("target", json!(model.about.target)),
        ("rows", json!(information.len())),
        ("inducing", json!(information.features().len())),
        ("noise", json!(model.noise_level())),
    ];
    // People were told in words.
    if console.format(Format::Table) != Format::Table {
        fields.push(("kernel", kernels::fields(information.features().kernel(), &names)));
    }
    if let Some(scores) = &scores {
        fields.extend([
            ("held_out", json!(scores.rows)),
            ("rmse", json!(scores.rmse)),
            ("spread", json!(scores.spread)),
            ("nlpd", json!(scores.nlpd)),
            ("nominal", json!(scores.nominal)),
            ("coverage", json!(scores.coverage)),
        ]);
    }
    fields.push(("label", json!(answer.label())));
    fields.push(("response_label", json!(answer.response_certificate.label())));
    if console.format(Format::Table) == Format::Json {
        fields.push(("certificate", json!(answer.certificate)));
        fields.push(("response_certificate", json!(answer.response_certificate)));
    }
    console.record(&fields, Format::Table)?;
    console.say(model::words(&answer));
    Ok(answer.certificate.contradiction)
}

/// Saves the model, without the rows where they are many; where it is.
pub(super) fn save(mut model: Model, arguments: &Arguments, target: Option<&Path>, console: &Console) -> Outcome<Option<PathBuf>> {
    let Some(path) = target else { return Ok(None) };
    if model.posterior.information().distinct() > MOST_KEPT && !arguments.keep_rows {
        // Only a claim can tell the difference.
        let ahead = if model.about.norm_bound.is_some() { AHEAD } else { 0 };
        model.posterior = model.posterior.without_rows(ahead)?;
    }
    model_file::save(&model, path, arguments.over(), console).map(Some)
}
