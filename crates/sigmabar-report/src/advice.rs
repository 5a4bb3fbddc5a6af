//! The recommendation and the progress of a study in words and fields.

use crate::data::{COLLECTED, CORRECTED};
use crate::plate::REPLICATES;
use crate::quantity::short;
use crate::sheet::{Sheet, plain};
use serde_json::{Map, Value, json};
use sigmabar::Label;
use sigmabar_study::{Advice, Error, ImportedRow, Mark, Nearest, Parameter, Space, Status, Study, TrialResult, TrialRow, TrialStatus};

/// What to do about a study whose premises the data refute.
pub const MEND: &str = "nothing more is measured under premises that the data refute; mend prior_mean, unit, norm_bound or noise in a new study; this one's results can teach it (sigmabar export, then sigmabar premises NEW.toml --from FILE) or come along (sigmabar import), where nothing certified rests on them";

/// The command that measures on: with what evaluates settings where the study has it, else the next list or plate, and in spite of a contradiction where there is one. `typed` is what
/// stands behind the verb to mean the study.
#[must_use]
pub fn measuring(study: &Study, status: &Status, typed: &str) -> String {
    let despite = if status.contradiction.is_some() { " --despite-contradiction" } else { "" };
    if study.spec().has_objective() {
        return format!("sigmabar run{typed}{despite}");
    }
    let plate = study.spec().plate().map(|wells| format!(" --plate {wells} -o plate{}.csv", status.closed + 1));
    format!("sigmabar ask{typed}{}{despite}", plate.unwrap_or_default())
}

/// Fields of the recommendation, in the data's scale.
pub fn fields(advice: &Advice) -> Vec<(&'static str, Value)> {
    let best = advice.best_observed.as_ref();
    let called = advice.called.as_ref().map(|label| ("candidate", json!(label)));
    let fields = vec![
        ("setting", setting(&advice.values)),
        ("lower", json!(advice.lower)),
        ("upper", json!(advice.upper)),
        // JSON knows no infinity: an unknown gap is null.
        ("gap", json!(advice.gap)),
        ("candidate_gap", json!(advice.candidate_gap)),
        ("label", json!(advice.label())),
        ("terms", json!(advice.certificate.terms())),
        ("reasons", json!(advice.certificate.weak_premises())),
        ("stands", json!(advice.certificate.stands())),
        ("certificate", json!(advice.certificate)),
        ("best_observed", best.map_or(Value::Null, |best| json!({ "trial": best.id, "value": best.value }))),
        ("near_trials", json!(advice.nearest)),
    ];
    called.into_iter().chain(fields).collect()
}

/// A setting by the names of its parameters.
#[must_use]
pub fn setting(values: &[(String, sigmabar_study::Value)]) -> Value {
    Value::Object(values.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<String, Value>>())
}

/// The same for people: numbers are rounded and have their units.
#[must_use]
pub fn setting_for_people(space: &Space, values: &[(String, sigmabar_study::Value)]) -> Value {
    let shown = |value: &sigmabar_study::Value| value.as_number().filter(|v| v.fract() != 0.0).map_or_else(|| value.to_string(), short);
    let word = |(parameter, (name, value)): (&Parameter, &(String, _))| format!("{name} = {}{}", shown(value), parameter.unit_words());
    json!(space.parameters().iter().zip(values).map(word).collect::<Vec<_>>().join(", "))
}

/// The recommendation in sentences.
pub fn words(space: &Space, advice: &Advice) -> String {
    let setting = plain(&setting_for_people(space, &advice.values));
    let worth = |gap: f64, best: &str| {
        if gap.is_finite() && advice.label() == Label::Certified {
            format!("at most {} from the best {best}", short(gap))
        } else if gap.is_finite() {
            format!("{} by the model's estimate", short(gap))
        } else {
            "the model does not say how far from the best it is".to_owned()
        }
    };
    let gap = worth(advice.gap, "there is");
    let candidates = |gap: f64| format!("\n  candidate gap: {}", worth(gap, "of the candidates that stand for the space"));
    let candidate_gap = advice.candidate_gap.map_or_else(String::new, candidates);
    let reasons = advice.certificate.weak_premises();
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let (low, high) = (short(advice.lower), short(advice.upper));
    let range = advice.certificate.stands().map_or_else(String::new, |range| format!("\n  {range}"));
    let called = advice.called.as_ref().map_or_else(String::new, |label| format!("{label}: "));
    format!(
        "recommended: {called}{setting}\n  its value: between {low} and {high}\n  gap: {gap}{candidate_gap}\n  {}{why}{range}",
        advice.certificate.label_in_words()
    )
}

/// What to beware of: a model knows nothing of failures.
pub fn warning(advice: &Advice) -> Option<String> {
    let Nearest { failed, of } = advice.nearest;
    let which = if failed == of { format!("all {of}") } else { format!("{failed} of the {of}") };
    let words = format!("{which} evaluations nearest to the recommended setting failed: make sure that it can be run before relying on it");
    advice.nearest.is_risky().then_some(words)
}

/// One row for each trial, with what [`export_sheet`] says of it.
pub fn trial_sheet(study: &Study, trials: &[TrialRow]) -> Result<Sheet, Error> {
    let (mut sheet, marks) = (plain_sheet(study, trials), study.marks()?);
    add_column(&mut sheet, REPLICATES, trials.iter().map(|trial| json!(trial.replicates)));
    add_column(&mut sheet, CORRECTED, trials.iter().map(|trial| json!(marks.get(&trial.id).copied().map(Mark::name))));
    Ok(sheet)
}

/// The columns that every study has.
fn plain_sheet(study: &Study, trials: &[TrialRow]) -> Sheet {
    let names = study.spec().space().names();
    let space = study.spec().space();
    let has_labels = space.candidates().is_some_and(|table| table.labels.is_some());
    let label = has_labels.then(|| "label".to_owned());
    let mut sheet = Sheet::new(["trial", "batch", "state"].into_iter().map(str::to_owned).chain(label).chain(names));
    sheet.columns.extend(["value", "std", "worker", "well", "reason", "note", "told_at"].map(str::to_owned));
    for trial in trials {
        let mut row = vec![json!(trial.id), json!(trial.batch + 1), json!(trial.state.name())];
        if has_labels {
            row.push(json!(space.label(&trial.values)));
        }
        row.extend(trial.values.iter().map(|value| json!(value)));
        // Milliseconds always with three digits: columns keep their width.
        row.extend([
            json!(trial.value),
            json!(trial.standard_error),
            json!(trial.worker),
            json!(trial.well),
            json!(trial.reason),
            json!(trial.note),
            json!(trial.told_at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).map(|at| format!("{at:.3}"))),
        ]);
        sheet.rows.push(row);
    }
    sheet
}

/// Every trial and every result from before the study, so that `import` reads again what stands here.
pub fn export_sheet(study: &Study) -> Result<Sheet, Error> {
    let (trials, imported, marks) = (study.trials()?, study.imported()?, study.marks()?);
    let mut sheet = plain_sheet(study, &trials);
    let has_labels = sheet.columns.get(3).is_some_and(|name| name == "label");
    sheet.rows.extend(imported.iter().map(|row| imported_row(row, has_labels)));
    let replicates = trials.iter().map(|trial| trial.replicates).chain(imported.iter().map(|row| row.result.replicates()));
    add_column(&mut sheet, REPLICATES, replicates.map(|count| json!(count)));
    // Nobody vouches for what was imported otherwise: through a second table it would look as fixed as the rest.
    let unvouched = study.imported_as()?.into_iter().map(|collected| (!collected.is_fixed()).then(|| collected.name()));
    add_column(&mut sheet, COLLECTED, trials.iter().map(|_| None).chain(unvouched).map(|word| json!(word)));
    let refuting = study.is_refuted().then_some(Mark::Refuting);
    let of_import = |row: &ImportedRow| row.mark.or(refuting.filter(|_| matches!(row.result, TrialResult::Value { .. })));
    let marks = trials.iter().map(|trial| marks.get(&trial.id).copied()).chain(imported.iter().map(of_import));
    add_column(&mut sheet, CORRECTED, marks.map(|mark| json!(mark.map(Mark::name))));
    Ok(sheet)
}

/// One more column with a cell for each row, where some cell says something.
fn add_column(sheet: &mut Sheet, name: &str, cells: impl Iterator<Item = Value>) {
    let cells: Vec<Value> = cells.collect();
    if cells.iter().any(|cell| !cell.is_null()) {
        sheet.columns.push(name.to_owned());
        sheet.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }
}

/// A result from before the study: its state is what came of it.
fn imported_row(imported: &ImportedRow, has_labels: bool) -> Vec<Value> {
    let (state, value, standard_error, reason) = match &imported.result {
        TrialResult::Value { value, standard_error, .. } => ("imported", json!(value), json!(standard_error), Value::Null),
        TrialResult::Failed { reason } => (TrialStatus::Failed.name(), Value::Null, Value::Null, json!(reason)),
    };
    let mut row = vec![Value::Null, Value::Null, json!(state)];
    row.extend(has_labels.then_some(Value::Null));
    row.extend(imported.values.iter().map(|value| json!(value)));
    row.extend([value, standard_error, Value::Null, Value::Null, reason, Value::Null, Value::Null]);
    row
}
