//! `sigmabar status`: where a study stands.

use crate::Outcome;
use crate::advice::{setting, setting_for_people};
use crate::args::Format;
use crate::console::Console;
use crate::failure::Ending;
use crate::quantity::counted;
use crate::sheet::Sheet;
use crate::which_study::{StudyArgument, WhichStudy, quoted};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use sigmabar::Policy;
use sigmabar::certificate::{Certificate, Theorem};
use sigmabar::strategy::StillPossible;
use sigmabar_study::{Advice, BatchRow, Page, Status, Study, StudySpec, TrialStatus};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// One row for each closed batch instead
    #[arg(long)]
    batches: bool,
}

/// What a batch spends on replicates where nobody knows the noise, for those who see its first settings.
pub(crate) fn repeats_of(study: &Study, batch: usize, sees_first: impl Fn(u64) -> bool) -> Outcome<Option<String>> {
    if study.spec().problem().unknown_level().is_none() {
        return Ok(None);
    }
    let run = study.strategy()?;
    let begins = sees_first(run.ledger().batch(batch).start as u64);
    Ok(run.repeats().filter(|repeats| begins && repeats.batch == batch).map(|repeats| repeats.to_string()))
}

/// What the newest batch with any spends on replicates where nobody knows the noise.
pub(crate) fn repeats(study: &Study) -> Outcome<Option<String>> {
    let is_unknown = study.spec().problem().unknown_level().is_some();
    Ok(if is_unknown { study.strategy()?.repeats().map(|repeats| repeats.to_string()) } else { None })
}

/// Why batches are as long as they are, where they are not all alike.
pub(crate) fn schedule(spec: &StudySpec) -> Option<String> {
    let Policy::Sbpe(policy) = spec.policy() else { return None };
    let lengths = policy.batch_lengths(spec.problem().budget()).ok()?;
    let pilot = spec.pilot();
    let lengths = if pilot > 0 && lengths.first() == Some(&pilot) { &lengths[1..] } else { &lengths[..] };
    let is_even = lengths.iter().max()? - lengths.iter().min()? <= 1;
    let list: Vec<String> = lengths.iter().map(ToString::to_string).collect();
    (!is_even)
        .then(|| format!("batches by S-BPE's schedule: {}; each rules settings out, and the next measures what is left", list.join(", ")))
}

/// The recommendation with the range of premises it holds for, which may take a while to find.
pub(crate) fn recommended(study: &Study, console: &Console) -> Outcome<Option<Advice>> {
    let is_range_known = study.strategy()?.found_out().is_none_or(|(closed, is_known)| closed == 0 || is_known);
    let busy = (!is_range_known).then(|| console.busy("finding the range of the claim"));
    let advice = study.recommend()?;
    study.remember();
    busy.iter().for_each(ProgressBar::finish_and_clear);
    Ok(advice)
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    if arguments.batches {
        console.sheet(&batch_sheet(&study.batches()?), Format::Table)?;
        return Ok(Ending::Done);
    }
    let status = study.status()?;
    let counts: Map<String, Value> = status.counts.iter().map(|(state, count)| (state.name().to_owned(), json!(count))).collect();
    let fields = [
        ("study", json!(status.name)),
        ("strategy", json!(status.strategy)),
        ("trials", Value::Object(counts)),
        ("planned", json!(status.planned)),
        ("budget", json!(status.budget)),
        ("batches", json!(status.batches)),
        ("closed", json!(status.closed)),
        ("finished", json!(status.is_finished)),
        ("wanted_gap", json!(status.wanted_gap)),
        ("wanted_candidate_gap", json!(status.wanted_candidate_gap)),
        ("gap_reached", json!(status.is_gap_reached)),
        ("imported", json!(status.imported)),
    ];
    let mut fields = fields.to_vec();
    // Only one of them is wanted.
    fields.retain(|(name, _)| *name != if status.wanted_candidate_gap.is_some() { "wanted_gap" } else { "wanted_candidate_gap" });
    fields.extend(repeats(&study)?.map(|words| ("repeats", json!(words))));
    if study.spec().pilot() > 0 {
        let stage = if status.awaits_premises { ", measured: the premises are to be fixed now" } else { "" };
        fields.push(("pilot", json!(format!("{}{stage}", counted(study.spec().pilot(), "evaluation")))));
    }
    let advice = recommended(&study, console)?;
    if let Some(advice) = &advice {
        let is_for_people = console.format(Format::Table) == Format::Table;
        let best = if is_for_people { setting_for_people(study.spec().space(), &advice.values) } else { setting(&advice.values) };
        fields.extend([("best", best), ("gap", json!(advice.gap))]);
        fields.extend(advice.candidate_gap.map(|gap| ("candidate_gap", json!(gap))));
        fields.push(("label", json!(if is_for_people { advice.certificate.label_in_words() } else { advice.label().to_string() })));
        fields.extend((!is_for_people).then(|| ("terms", json!(advice.certificate.terms()))));
        fields.extend(reasons(&advice.certificate, is_for_people).map(|reasons| ("reasons", json!(reasons))));
        fields.extend(advice.certificate.stands().map(|range| ("stands", json!(range))));
        if matches!(console.format(Format::Table), Format::Json | Format::Jsonl) {
            fields.push(("certificate", json!(advice.certificate)));
        }
    }
    console.record(&fields, Format::Table)?;
    // Said before anything is measured: afterwards it is a reason.
    if let Some(from) = study.spec().learnt_from_unnamed().filter(|_| advice.is_none() && !study.spec().has_distinct_rows()) {
        console.warn(format_args!(
            "the study file has no learnt_rows: a result of {from} that was told here again is not noticed, and the answer is an estimate unless you declare distinct_rows = true, that there is none"
        ));
    }
    if let Some(contradiction) = &status.contradiction {
        return Ok(place.contradicted(&study, contradiction, console));
    }
    say_next(&place, &study, &status, console)?;
    Ok(Ending::Done)
}

/// Why an answer is not certified. People read it where a theorem was in reach: what no theorem covers says so by its strategy, and a contradiction for itself.
fn reasons(certificate: &Certificate, is_for_people: bool) -> Option<Vec<String>> {
    let reasons = certificate.weak_premises();
    let is_in_reach = certificate.theorem != Theorem::Model && certificate.contradiction.is_none();
    (!is_for_people || (is_in_reach && !reasons.is_empty())).then_some(reasons)
}

/// The command that goes on from here.
pub(crate) fn say_next(place: &WhichStudy, study: &Study, status: &Status, console: &Console) -> Outcome<()> {
    let handed_out = status.count(TrialStatus::Leased);
    if handed_out > 0 && handed_out == status.open() && !study.spec().has_objective() && !status.is_finished {
        console.say(format_args!("everything of batch {} is handed out: {} to be told", status.batches, counted(handed_out, "result")));
        console.next(telling(place, study)?);
    } else {
        console.next(place.going_on(study, status));
    }
    Ok(())
}

/// The commands that go on where everything is handed out.
pub(crate) fn telling(place: &WhichStudy, study: &Study) -> Outcome<String> {
    let what = sheet(study)?.unwrap_or("TRIAL VALUE".to_owned());
    Ok(format!("sigmabar tell {what}{}   or   sigmabar close-batch{}", place.typed_option(), place.typed()))
}

/// The sheet that everything handed out stands on: a plate is told as a whole. By its name where it lies here.
fn sheet(study: &Study) -> Outcome<Option<String>> {
    let leased = study.trials_of(&Page { state: Some(TrialStatus::Leased), ..Page::default() })?;
    let mut workers: Vec<Option<&str>> = leased.iter().map(|trial| trial.worker.as_deref().filter(|_| trial.well.is_some())).collect();
    workers.dedup();
    Ok(match workers[..] {
        [Some(worker)] => {
            let file = PathBuf::from(format!("{worker}.csv"));
            Some(if file.exists() { quoted(&file) } else { "SHEET".to_owned() })
        }
        _ => None,
    })
}

fn batch_sheet(batches: &[BatchRow]) -> Sheet {
    let mut sheet = Sheet::new(["batch", "planned", "measured", "survivors", "gap", "inducing"]);
    let has_candidates = batches.iter().any(|row| row.report.candidate_gap.is_some());
    sheet.columns.extend(has_candidates.then(|| "candidate_gap".to_owned()));
    for row in batches {
        let report = &row.report;
        let mut cells = vec![
            json!(row.batch + 1),
            json!(report.planned),
            json!(report.measured),
            json!(report.survivors.map(StillPossible::number)),
            json!(report.gap),
            json!(report.inducing),
        ];
        cells.extend(has_candidates.then(|| json!(report.candidate_gap)));
        sheet.rows.push(cells);
    }
    sheet
}
