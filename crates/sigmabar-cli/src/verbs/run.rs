//! `sigmabar run STUDY`: begins or resumes a study, shows each batch as it goes, and ends with the recommendation and a page of pictures.

use crate::Outcome;
use crate::advice;
use crate::args::{Format, Global};
use crate::console::{Console, Watch};
use crate::failure::Ending;
use crate::interrupt;
use crate::output::{self, Over};
use crate::quantity::{counted, duration, grouped, positive, short};
use crate::verbs::report;
use crate::verbs::status::{recommended, repeats_of, schedule};
#[cfg(feature = "serve")]
use crate::verbs::worker::{OUTBOX, Work};
use crate::which_study::{StudyArgument, WhichStudy, quoted};
use indicatif::ProgressBar;
use sigmabar::linalg::Interrupt;
use sigmabar::strategy::{Failures, StillPossible};
use sigmabar::{Certificate, Label, Problem};
use sigmabar_study::{BatchRow, Page, RunEnd, RunEvent, RunOptions, Status, Study, Survivors, TrialResult, TrialStatus};
use std::path::PathBuf;
use std::time::Duration;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Work for a study that sigmabar serve has at this address, together with others
    #[arg(long, value_name = "URL", conflicts_with_all = ["study", "report", "no_report", "despite_contradiction"])]
    #[cfg(feature = "serve")]
    server: Option<String>,
    /// Evaluations at a time
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = positive)]
    parallel: usize,
    /// Evaluate each setting by this command instead; {name} stands for a parameter, the last line printed is the value
    #[arg(long)]
    command: Option<String>,
    /// Stop after so many evaluations; the same command goes on later
    #[arg(long, value_name = "N", value_parser = positive)]
    at_most: Option<usize>,
    /// How long a setting stays with its worker, such as 90s or 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
    /// Go on although the data contradict the premises: nothing is certified any more
    #[arg(long)]
    despite_contradiction: bool,
    /// Evaluate settings again that failed, those of the newest batch: after the objective was mended
    #[arg(long)]
    retry_failed: bool,
    /// Where to write the page of pictures; STUDY-report.html beside the study unless named
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write no page
    #[arg(long)]
    no_report: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    #[cfg(feature = "serve")]
    if let Some(server) = &arguments.server {
        let options = RunOptions { parallel: arguments.parallel, lease: arguments.lease, at_most: arguments.at_most };
        let (name, command) = (arguments.study.name(), arguments.command.as_deref());
        return Work { server, name, command, options, outbox: OUTBOX.as_ref() }.run(console);
    }
    let place = arguments.study.place()?;
    if !arguments.no_report {
        // Before the work, not after it.
        output::check_writable(&report_of(arguments, &place), &place.files(), Over::Pages)?;
    }
    let (study, begun) = place.open_or_begin_with(global.seed, arguments.command.as_deref())?;
    if arguments.retry_failed {
        say_retried(&study, &study.retry_failed()?, console)?;
    }
    say_start(&study, begun, console)?;
    let stop = interrupt::listen(console);
    let options = RunOptions { parallel: arguments.parallel, lease: arguments.lease, at_most: arguments.at_most };
    let mut screen = Screen::new(&study, console)?;
    if arguments.despite_contradiction {
        study.go_on_despite_contradiction()?;
    }
    let end = study.run(&options, &mut |event| screen.show(event), &stop);
    screen.finish(&stop);
    if let Err(sigmabar_study::Error::Contradicted(contradiction)) = &end {
        return Ok(place.contradicted(&study, contradiction, console));
    }
    if let Err(sigmabar_study::Error::PremisesAwaited { .. }) = &end {
        return Ok(place.awaits_premises(console));
    }
    let end = end?;
    if end == RunEnd::Stopped && stop.is_triggered() {
        // Neither advice nor page: both may take long, and somebody wants to go.
        say_measured_again(study.spec().problem(), console);
        return Ok(interrupted(&place, console));
    }
    // For the same reason both can be called off: nothing is written before all of it is there.
    match stop.watch(|| finish(arguments, &place, &study, end, console)) {
        Err(_) => Ok(interrupted(&place, console)),
        Ok(Err(failure)) if failure.is_interrupted() => Ok(interrupted(&place, console)),
        Ok(ended) => ended,
    }
}

/// Which failures are evaluated again, and why no others.
fn say_retried(study: &Study, again: &[u64], console: &Console) -> Outcome<()> {
    let status = study.status()?;
    let left = status.count(TrialStatus::Failed);
    let rest = "what was planned since rests on them";
    if again.is_empty() && left > 0 {
        console.say(format_args!(
            "no failed setting is evaluated again: {} of earlier batches stay, because {rest}",
            counted(left, "failure")
        ));
        return Ok(());
    }
    console.say(format_args!("{} of batch {} evaluated again", counted(again.len(), "failed setting"), status.batches));
    if left > 0 {
        console.say(format_args!("{} of earlier batches stay: {rest}", counted(left, "failure")));
    }
    Ok(())
}

/// What an interrupt costs whoever wants a certificate, said while they remember it.
fn say_measured_again(problem: &Problem, console: &Console) {
    if problem.has_premises() && problem.failures() != Failures::Unrelated {
        console.say("what was being measured will be measured again, which a certificate counts as lost: only failures = \"unrelated\" vouches for it");
    }
}

fn interrupted(place: &WhichStudy, console: &Console) -> Ending {
    console.say("interrupted: everything told is kept");
    console.next(format_args!("sigmabar run{}", place.typed()));
    Ending::Interrupted
}

fn report_of(arguments: &Arguments, place: &WhichStudy) -> PathBuf {
    arguments.report.clone().unwrap_or_else(|| place.report())
}

fn say_start(study: &Study, begun: bool, console: &Console) -> Outcome<()> {
    let spec = study.spec();
    if let Some(words) = spec.description() {
        console.say(words);
    }
    let status = study.status()?;
    let assumed = format!(
        "{}, strategy {}, delta {}",
        counted(spec.space().parameters().len(), "parameter"),
        status.strategy,
        spec.problem().delta()
    );
    if begun {
        console.say(format_args!("begun: {} ({assumed}, at most {} measurements)", study.file().display(), grouped(status.budget)));
    } else {
        let (measured, failed) = (status.count(TrialStatus::Done), status.count(TrialStatus::Failed));
        let failed = if failed > 0 { format!(" and {}", counted(failed, "failure")) } else { String::new() };
        let there = format!("{}{failed} of at most {} are there", counted(measured, "result"), grouped(status.budget));
        console.say(format_args!("resumed: {} ({assumed}, {there})", study.file().display()));
    }
    Ok(())
}

/// How many results are there, failures among them.
fn told(status: &Status) -> usize {
    status.count(TrialStatus::Done) + status.count(TrialStatus::Failed)
}

/// What is shown while the study runs.
struct Screen<'a> {
    study: &'a Study,
    console: &'a Console,
    bar: ProgressBar,
    watch: Watch,
    /// Batches whose plan was shown.
    planned: Option<usize>,
    /// Batches whose end was shown.
    closed: usize,
}

impl<'a> Screen<'a> {
    fn new(study: &'a Study, console: &'a Console) -> Outcome<Self> {
        let (status, problem) = (study.status()?, study.spec().problem());
        let done = study.trials_of(&Page { state: Some(TrialStatus::Done), ..Page::default() })?;
        let values = done.iter().filter_map(|trial| trial.value);
        let watch = Watch::new(problem.direction(), values, status.count(TrialStatus::Failed));
        let bar = console.watched(&watch, problem.budget());
        bar.set_position(told(&status) as u64);
        // What was there before says nothing about how fast it goes now.
        bar.reset_eta();
        Ok(Self { study, console, bar, watch, planned: None, closed: study.batches()?.len() })
    }

    fn say(&self, words: String) {
        self.bar.suspend(|| self.console.say(words));
    }

    fn show(&mut self, event: RunEvent) {
        self.watch.note(&event);
        match event {
            RunEvent::Recovered { ids } => {
                self.say(format!("{} settings of a run that ended without their results are measured again", ids.len()))
            }
            RunEvent::Started { trial } if self.planned.is_none_or(|planned| planned < trial.batch) => {
                self.show_closed();
                self.planned = Some(trial.batch);
                let planned = self.study.trials_of(&Page { batch: Some(trial.batch), ..Page::default() }).map_or(0, |trials| trials.len());
                self.say(format!("batch {}: {} planned", trial.batch + 1, counted(planned, "setting")));
                if trial.batch == 0 {
                    schedule(self.study.spec()).into_iter().for_each(|words| self.say(words));
                }
                repeats_of(self.study, trial.batch, |_| true).ok().flatten().into_iter().for_each(|words| self.say(words));
            }
            RunEvent::Retried { id, reason } => {
                self.bar.suspend(|| self.console.detail(format_args!("trial {id} failed ({reason}) and is tried again")))
            }
            RunEvent::Told { id, result, .. } => {
                self.bar.inc(1);
                if let TrialResult::Failed { reason } = result {
                    self.say(format!("trial {id} failed: {reason}"));
                }
            }
            _ => {}
        }
    }

    /// The batches that were closed since the last look. A reader that fails now is heard of at the end.
    fn show_closed(&mut self) {
        let Ok(batches) = self.study.batches() else { return };
        for row in &batches[self.closed.min(batches.len())..] {
            self.say(closed(row));
        }
        self.closed = self.closed.max(batches.len());
    }

    fn finish(&mut self, stop: &Interrupt) {
        // Whoever stops is not told how far it got.
        let _ = stop.watch(|| self.show_closed());
        self.bar.finish_and_clear();
    }
}

fn closed(row: &BatchRow) -> String {
    let report = &row.report;
    let mut words = format!("batch {}: {} of {} measured", row.batch + 1, grouped(report.measured), grouped(report.planned));
    words += &match (report.survivors, &row.survivors) {
        // A mixed space is searched through settings that stand for it.
        (Some(StillPossible::Candidates(count)), Some(Survivors::Points(_))) => format!(", {} still possible", counted(count, "setting")),
        (Some(StillPossible::Candidates(count)), _) => format!(", {} still possible", counted(count, "candidate")),
        (Some(StillPossible::Share(share)), _) => format!(", {} % of the space still possible", short(100.0 * share)),
        _ => String::new(),
    };
    if let Some(gap) = report.gap.filter(|gap| gap.is_finite()) {
        words += &match report.certificate.as_ref().map(Certificate::label) {
            Some(Label::Certified) => format!(", gap at most {}", short(gap)),
            _ => format!(", gap {} by the model", short(gap)),
        };
    }
    if let Some(gap) = report.candidate_gap {
        words += &format!(", {} among the candidates", short(gap));
    }
    words
}

fn finish(arguments: &Arguments, place: &WhichStudy, study: &Study, end: RunEnd, console: &Console) -> Outcome {
    let advice = recommended(study, console)?;
    let status = study.status()?;
    if let Some(advice) = &advice {
        if console.format(Format::Table) == Format::Table {
            console.answer(advice::words(study.spec().space(), advice))?;
        } else {
            console.record(&advice::fields(advice), Format::Json)?;
        }
        if let Some(words) = advice::warning(advice) {
            console.warn(words);
        }
    }
    if advice.is_some() && !arguments.no_report {
        report::write_study(study, place, &report_of(arguments, place), console)?;
    }
    match end {
        RunEnd::Finished => {
            let ending = ending(study, &status, console)?;
            if arguments.no_report {
                console.next(format_args!("sigmabar report{}", place.typed()));
            } else {
                console.next(format_args!("open {}", quoted(&report_of(arguments, place))));
            }
            Ok(ending)
        }
        RunEnd::Stopped => {
            console.next(format_args!("sigmabar run{}   (goes on)", place.typed()));
            Ok(Ending::Done)
        }
    }
}

/// Whether the wanted gap was reached by a theorem. A study that left assumptions open never promised one: there the model's word is enough.
fn ending(study: &Study, status: &Status, console: &Console) -> Outcome {
    if let Some(contradiction) = &status.contradiction {
        console.warn(contradiction);
        console.say(advice::MEND);
        return Ok(Ending::Uncertified);
    }
    let Some((wanted, among_candidates)) = status.wanted() else { return Ok(Ending::Done) };
    let gap = format!("{}gap of {}", if among_candidates { "candidate " } else { "" }, short(wanted));
    if !status.is_gap_reached {
        console.warn(format_args!("the budget is spent and the wanted {gap} is not reached"));
        return Ok(Ending::Uncertified);
    }
    let is_open = !study.spec().problem().has_premises() || study.spec().policy().name() == "auto";
    match study.batches()?.last().and_then(|row| row.report.certificate.as_ref().map(Certificate::label)) {
        Some(Label::Certified) => Ok(Ending::Done),
        _ if is_open => {
            console.warn(format_args!("the {gap} is reached by the model: what was learnt from the responses (auto) makes it no theorem"));
            Ok(Ending::Done)
        }
        label => {
            let label = label.map_or_else(|| "unlabelled".to_owned(), |label| label.to_string());
            console.warn(format_args!("the {gap} is reached by the model only ({label}), and is not certified"));
            Ok(Ending::Uncertified)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sigmabar::strategy::BatchReport;

    #[test]
    fn one_setting_left_is_not_the_whole_space() {
        let report = |left| BatchReport {
            planned: 4,
            measured: 4,
            survivors: Some(left),
            gap: None,
            candidate_gap: None,
            certificate: None,
            inducing: None,
        };
        let row = |left, survivors| BatchRow { batch: 0, report: report(left), survivors: Some(survivors), opened_at: 0, closed_at: None };
        let points = || Survivors::Points(vec![vec![sigmabar_study::Value::Int(3)]]);
        assert!(closed(&row(StillPossible::Candidates(1), points())).ends_with(", 1 setting still possible"));
        assert!(closed(&row(StillPossible::Share(1.0), points())).ends_with(", 100 % of the space still possible"));
        assert!(closed(&row(StillPossible::Candidates(1), Survivors::Candidates(vec![7]))).ends_with(", 1 candidate still possible"));
    }
}
