//! The report of a model file.

use super::error::Result;
use super::fitted::{Answers, Feature, Fitted, fitted};
use super::page::Page;
use crate::model::Model;
use crate::plot::{HeldOut, number};
use sigmabar::PointsRef;

/// The miss probability of the intervals shown.
const DELTA: f64 = 0.05;

/// The page of a fitted model: how well it predicts first, then what it says, whether it can be trusted, and what it rests on.
///
/// # Errors
/// What asking the model runs into.
pub fn model(model: &Model) -> Result<Page> {
    let about = &model.about;
    let answers = model.answers(DELTA)?;
    let answer = |x: PointsRef<'_>| {
        let answer = answers.at(x)?;
        let (label, response_label) = (answer.label().to_string(), answer.response_certificate.label().to_string());
        let (words, contradiction) = (crate::model::words(&answer), answer.certificate.contradiction);
        Ok(Answers { mean: answer.mean, function: answer.function, response: answer.response, label, response_label, words, contradiction })
    };
    let noise = model.noise_level();
    let held_out = about
        .held_out
        .iter()
        .map(|row| HeldOut { predicted: row.mean, std_dev: row.std.hypot(noise), measured: row.response, trial: None })
        .collect();
    let mut facts = Vec::new();
    if let Some(scores) = &about.scores {
        let percent = |share: f64| format!("{} %", number(100.0 * share));
        facts.push(("typical error on unseen rows (RMSE)".to_owned(), number(scores.rmse)));
        facts.push(("error of always guessing the mean".to_owned(), number(scores.spread)));
        facts.push((
            format!("{} prediction interval held", percent(scores.nominal)),
            format!("{} of {} unseen rows", percent(scores.coverage), scores.rows),
        ));
        facts.push(("NLPD".to_owned(), number(scores.nlpd)));
    }
    let information = model.posterior.information();
    facts.push(("rows fitted".to_owned(), information.len().to_string()));
    facts.push(("inducing points".to_owned(), information.features().len().to_string()));
    fitted(&Fitted {
        name: &about.data,
        target: &about.target,
        features: about
            .features
            .iter()
            .map(|column| Feature { name: column.name.clone(), categories: column.categories.clone() })
            .collect(),
        posterior: &model.posterior,
        answer: &answer,
        held_out,
        facts,
    })
}
