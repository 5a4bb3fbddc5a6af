//! What a server shows of a study while it runs: the report's own words and pictures, in parts that are cheap to make.

use super::error::Result;
use super::held_out::held_out;
use super::page::Page;
use super::parameter::setting_words;
use super::study::{Content, title, trust, written};
use super::study_model::{StudyModel, Through};
use crate::plot::{Bar, BatchEnd, Gantt};
use sigmabar::certificate::Label;
use sigmabar::strategy::{PremiseRow, Standing};
use sigmabar::{Points, Strategy};
use sigmabar_study::{Advice, BatchRow, Status, Study, TrialRow, TrialStatus, Value};

/// A study at one moment.
#[derive(Clone, Debug)]
pub struct Live {
    /// Where it stands.
    pub status: Status,
    /// What to do if it ended now.
    pub advice: Option<Advice>,
    /// Its batches.
    pub batches: Vec<BatchRow>,
    /// The answer in its frame, then the pictures of how it got there; numbers are at `address/NAME.csv`.
    pub page: Page,
    /// Whether the page has all its pictures.
    pub is_whole: bool,
    /// The claim as a function of its premises, and the batches it belongs to.
    claim: Option<(Option<(usize, bool)>, Claim)>,
}

/// A claim along its premises, and its map; the map is empty where no norm bound gives a gap.
#[derive(Clone, Debug)]
struct Claim {
    standing: Standing,
    map: Vec<PremiseRow>,
}

impl Live {
    /// What a run that is judged batch by batch keeps until the next one ends.
    fn claim<'a>(run: &Strategy, advice: Option<&Advice>, before: Option<&'a Self>) -> Option<&'a Claim> {
        let known = before.filter(|before| before.is_whole && before.advice.as_ref() == advice && run.found_out().is_some());
        known.and_then(|before| before.claim.as_ref()).filter(|(found, _)| *found == run.found_out()).map(|(_, claim)| claim)
    }
}

/// The study as it stands; nothing is planned or written. The address is where a server gives the numbers of its pictures.
///
/// The answer with its certificate takes no model of all measurements, and pictures do: `publish` is given what is there already, each time there is more. What the page `before`
/// this one had, and still holds, is not computed again.
pub fn live(study: &Study, address: &str, before: Option<&Live>, mut publish: impl FnMut(&Live)) -> Result<Live> {
    let run = study.strategy()?;
    let content = Content::read(study, &run)?;
    let mut page = Page::served(study.name(), address);
    content.answer(&mut page);
    if let Some(advice) = &content.advice {
        page.certificate(&advice.certificate.to_string());
    }
    let Content { status, advice, batches, .. } = &content;
    let mut live = Live { status: status.clone(), advice: advice.clone(), batches: batches.clone(), page, is_whole: false, claim: None };
    publish(&live);
    content.history(&mut live.page, StudyModel::new(&run)?.as_ref())?;
    live.page.picture(gantt(&content.trials, &content.batches).picture());
    publish(&live);
    let known = Live::claim(&run, advice.as_ref(), before);
    let standing = match known {
        Some(known) => Some(known.standing.clone()),
        None => study.standing()?.filter(|standing| standing.certificate.label().is_certified()),
    };
    if let Some(standing) = standing {
        let has_curve = content.breaking(&mut live.page, &standing);
        // The map judges the run under four more kernels.
        publish(&live);
        let map = match known {
            Some(known) => known.map.clone(),
            None if has_curve => content.map(&standing)?,
            None => Vec::new(),
        };
        if has_curve {
            content.mapped(&mut live.page, &standing, &map);
        }
        live.claim = Some((run.found_out(), Claim { standing, map }));
    }
    live.is_whole = true;
    run.forget_posterior();
    Ok(live)
}

/// What the model says: slices through a setting (the recommendation unless given), relevance, calibration and residuals; `None` where there is no model.
///
/// # Errors
/// A setting that the space does not have, or what reading the study or asking its model runs into.
pub fn live_model(study: &Study, address: &str, at: Option<&[Value]>) -> Result<Option<Page>> {
    let run = study.strategy()?;
    let Some(model) = StudyModel::new(&run)? else { return Ok(None) };
    let content = Content::read(study, &run)?;
    let names = || study.spec().space().names();
    let through = match at {
        Some(values) => {
            let values: Vec<(String, Value)> = names().zip(values.iter().cloned()).collect();
            let plain: Vec<Value> = values.iter().map(|(_, value)| value.clone()).collect();
            Some(Through { point: study.spec().space().point(&plain)?, words: setting_words(study.spec().space(), &plain), values })
        }
        None => content.advice.as_ref().map(Through::from),
    };
    let mut page = Page::served(study.name(), address);
    content.model(&mut page, &model, through.as_ref())?;
    trust(&mut page, &held_out(&model)?, content.response());
    run.forget_posterior();
    Ok(Some(page))
}

/// The report as it stands, whose numbers are at `address/NAME.csv`; as a file it is what [`super::study`] makes.
pub fn live_report(study: &Study, address: &str) -> Result<Page> {
    written(study, Page::served(title(study), address))
}

/// What the model says at settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The mean of the true value there.
    pub mean: f64,
    /// Lower end of the interval for the true value.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// What the interval may be called.
    pub label: Label,
}

/// What the model says at settings, in the order of the study's parameters; `None` where there is no model.
///
/// # Errors
/// A setting that the space does not have, or what the model runs into.
pub fn predict(study: &Study, settings: &[Vec<Value>]) -> Result<Option<Vec<Predicted>>> {
    let run = study.strategy()?;
    let Some(model) = StudyModel::new(&run)? else { return Ok(None) };
    let points = settings.iter().map(|values| study.spec().space().point(values)).collect::<sigmabar_study::Result<Vec<_>>>()?;
    let view = model.view(Points::from_rows(&points)?.view())?;
    let one = |(mean, (lower, upper)): (&f64, &(f64, f64))| Predicted { mean: *mean, lower: *lower, upper: *upper, label: view.label };
    Ok(Some(view.mean.iter().zip(&view.interval).map(one).collect()))
}

/// A study's gaps for a comparison: after how many evaluations which one.
#[must_use]
pub fn gaps(batches: &[BatchRow]) -> Vec<BatchEnd> {
    let mut evaluations = 0;
    let mut end = |batch: &BatchRow| {
        evaluations += batch.report.measured;
        BatchEnd { evaluations, gap: batch.report.gap }
    };
    batches.iter().map(&mut end).collect()
}

fn gantt(trials: &[TrialRow], batches: &[BatchRow]) -> Gantt {
    let first = trials.iter().map(|row| row.planned_at).chain(batches.iter().map(|batch| batch.opened_at)).min().unwrap_or(0);
    let since = |at: i64| at.saturating_sub(first) as f64 / 1000.0;
    let last = trials.iter().flat_map(|row| [row.asked_at, row.told_at]).flatten().max().unwrap_or(first);
    let runs = trials.iter().any(|row| row.state == TrialStatus::Leased);
    let now = if runs { jiff::Timestamp::now().as_millisecond().max(last) } else { last };
    let bar = |row: &TrialRow| {
        Some(Bar {
            trial: row.id,
            worker: row.worker.clone()?,
            from: since(row.asked_at?),
            to: match (row.told_at, row.state) {
                (Some(at), _) => Some(since(at)),
                (None, TrialStatus::Leased) => None,
                (None, TrialStatus::Expired) => Some(since(row.leased_until.unwrap_or(now))),
                _ => return None,
            },
            failed: row.state == TrialStatus::Failed,
        })
    };
    let mut fences: Vec<(usize, f64)> = trials.iter().map(|row| (row.batch, since(row.planned_at))).collect();
    fences.dedup_by_key(|(batch, _)| *batch);
    // A strategy that plans one evaluation at a time has no batches to speak of.
    let fences = if fences.len() > 40 { Vec::new() } else { fences.into_iter().map(|(_, at)| at).collect() };
    Gantt { bars: trials.iter().filter_map(bar).collect(), fences, now: since(now) }
}
