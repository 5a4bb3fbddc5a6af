//! The report of a study.

use super::assumptions::{assumed, declared};
use super::elimination::elimination;
use super::error::Result;
use super::held_out::{FEWEST, held_out};
use super::page::Page;
use super::parameter::setting_words;
use super::plates::plates;
use super::study_model::{Dots, StudyModel, Through};
use super::tables::{batch_table, trial_table};
use crate::plot::{self, BatchEnd, Progress, Table, between, number};
use crate::quantity::counted;
use serde_json::json;
use sigmabar::certificate::Contradiction;
use sigmabar::strategy::{Direction, Rules};
use sigmabar::{Certificate, Label, Policy, Strategy};
use sigmabar_study::{Advice, BatchRow, ImportedRow, Status, Study, TrialResult, TrialRow, TrialStatus};

/// Everything a study's page is made of.
pub(super) struct Content<'a> {
    pub study: &'a Study,
    pub run: &'a Strategy,
    pub trials: Vec<TrialRow>,
    pub imported: Vec<ImportedRow>,
    pub batches: Vec<BatchRow>,
    pub status: Status,
    pub advice: Option<Advice>,
}

impl<'a> Content<'a> {
    pub fn read(study: &'a Study, run: &'a Strategy) -> Result<Self> {
        let (trials, imported) = (study.trials()?, study.imported()?);
        Ok(Self { study, run, trials, imported, batches: study.batches()?, status: study.status()?, advice: study.recommend()? })
    }
}

/// The page of a study: the recommendation with its interval, gap and label first, then the pictures, the batches and trials, and what it all rests on.
pub fn study(study: &Study) -> Result<Page> {
    written(study, Page::new(title(study)))
}

/// What the window of a report is called.
pub(super) fn title(study: &Study) -> String {
    format!("{} · sigmabar", study.name())
}

/// The report on a page that says where its numbers are.
pub(super) fn written(study: &Study, mut page: Page) -> Result<Page> {
    let run = study.strategy()?;
    let content = Content::read(study, &run)?;
    page.title(study.name());
    if let Some(text) = study.spec().description() {
        page.paragraph(text);
    }
    content.answer(&mut page);
    content.copies(&mut page);
    page.contents();
    content.runners_up(&mut page)?;
    let certificate = content.pictures(&mut page)?;
    content.premises(&mut page)?;
    content.tables(&mut page);
    content.grounds(&mut page, certificate.as_ref());
    content.again(&mut page);
    run.forget_posterior();
    Ok(page)
}

impl Content<'_> {
    /// What is measured, as people call it.
    pub fn response(&self) -> &str {
        self.study.spec().response().unwrap_or("value")
    }

    /// The study's database, as it is called.
    pub fn file(&self) -> String {
        self.study.file().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    pub fn maximises(&self) -> bool {
        self.study.spec().problem().direction() == Direction::Maximize
    }

    pub fn answer(&self, page: &mut Page) {
        let measured = self.trials.iter().filter(|row| row.value.is_some()).count();
        let batches = self.status.batches;
        let evaluations = format!("{measured} of {} in {batches} {}", self.status.budget, if batches == 1 { "batch" } else { "batches" });
        if let Some(contradiction) = self.contradiction() {
            page.contradict(contradiction);
        }
        let Some(advice) = &self.advice else {
            page.answer("", "Nothing was measured yet: there is no recommendation.", &[("evaluations".to_owned(), evaluations)], &[]);
            return;
        };
        let gap = if advice.gap.is_finite() { format!("at most {}", number(advice.gap)) } else { "not known".to_owned() };
        let mut facts =
            vec![("true value there".to_owned(), between(advice.lower, advice.upper)), ("any other setting is better by".to_owned(), gap)];
        if let Some(gap) = advice.candidate_gap {
            facts.push(("any other candidate that stands for the space, by".to_owned(), format!("at most {}", number(gap))));
        }
        if let Some(best) = &advice.best_observed {
            facts.push(("best single measurement".to_owned(), number(best.value)));
        }
        facts.push(("evaluations".to_owned(), evaluations));
        if self.contradiction().is_some() {
            facts.insert(0, ("the model's guess".to_owned(), setting_words(self.study.spec().space(), &advice.plain_values())));
        }
        page.answer(&advice.label().to_string(), &self.headline(advice), &facts, &self.words(advice));
    }

    /// A contradiction, if there is one; else the setting, firm only at the end: before it the answer may change.
    fn headline(&self, advice: &Advice) -> String {
        let called = advice.called.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        let setting = setting_words(self.study.spec().space(), &advice.plain_values());
        if let Some(contradiction) = self.contradiction() {
            format!("Stop: {contradiction}.")
        } else if self.status.is_finished {
            format!("Use {called}{setting}")
        } else {
            format!("Best so far, before the study is over: {called}{setting}")
        }
    }

    pub fn contradiction(&self) -> Option<Contradiction> {
        self.status.contradiction.or_else(|| self.advice.as_ref()?.certificate.contradiction)
    }

    /// The answer in forms that can be copied: a table, JSON, and variables for a shell.
    fn copies(&self, page: &mut Page) {
        let Some(advice) = &self.advice else { return };
        let parameters = self.study.spec().space().parameters();
        let unit = |name: &str| parameters.iter().find(|p| p.name == name).and_then(|p| p.unit.clone()).unwrap_or_default();
        let has_units = parameters.iter().any(|p| p.unit.is_some());
        let mut table = Table::new(["parameter", "value"].into_iter().chain(has_units.then_some("unit")));
        if let Some(label) = &advice.called {
            table.push(["candidate".into(), label.as_str().into()].into_iter().chain(has_units.then_some("".into())).collect());
        }
        for (name, value) in &advice.values {
            let unit = has_units.then(|| unit(name).into());
            table.push([name.as_str().into(), value.to_string().into()].into_iter().chain(unit).collect());
        }
        page.table("recommendation", table);
        let setting = crate::advice::setting(&advice.values);
        let answer = json!({ "candidate": advice.called, "setting": setting, "lower": advice.lower, "upper": advice.upper, "gap": advice.gap, "label": advice.label() });
        page.folded("As JSON", &answer.to_string());
        let shell = |text: String| format!("'{}'", text.replace('\'', r"'\''"));
        let name = |name: &str| name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>();
        let lines = advice.values.iter().map(|(n, value)| format!("export SIGMABAR_PARAM_{}={}", name(n), shell(value.to_string())));
        page.folded_lines("As variables for a shell", &lines.collect::<Vec<_>>());
    }

    fn words(&self, advice: &Advice) -> Vec<String> {
        let sure = number(100.0 * (1.0 - self.study.spec().problem().delta()));
        let best = if self.maximises() { "larger" } else { "smaller" };
        let mut words = Vec::new();
        if self.contradiction().is_some() {
            words.push(format!("What to do: {}.", crate::advice::MEND));
        }
        words.push(match advice.label() {
            Label::Certified => format!(
                "Certified: with probability at least {sure} %, the true value at this setting is in the interval and no other setting has a true value {best} by more than the \
                 gap. This is a theorem under the assumptions listed below; if those are wrong, it is not."
            ),
            _ => {
                "Estimated: interval and gap are what the model expects. They are about right if the model is; no theorem covers them."
                    .to_owned()
            }
        });
        words.extend(advice.certificate.terms().into_iter().map(|term| sentence(&term)));
        let weak = advice.certificate.weak_premises();
        if !weak.is_empty() && self.contradiction().is_none() {
            words.push(format!("Why it is not certified: {}.", weak.join("; ")));
        }
        words.extend(crate::advice::warning(advice).map(|warning| format!("Beware: {warning}.")));
        let wanted = self.status.wanted();
        let wanted = wanted.map(|(gap, among)| format!("wanted {}gap of {}", if among { "candidate " } else { "" }, number(gap)));
        match wanted {
            Some(wanted) if self.status.is_gap_reached => words.push(format!("The {wanted} is reached: there is no need to go on.")),
            Some(wanted) if self.status.is_finished => words.push(format!("The budget is spent and the {wanted} was not reached.")),
            _ if self.status.is_finished => words.push("The study is finished.".to_owned()),
            _ => words.push("The study is not finished: these are the claims after its last closed batch.".to_owned()),
        }
        words
    }

    /// All pictures; gives the certificate behind the slices back.
    fn pictures(&self, page: &mut Page) -> Result<Option<Certificate>> {
        let model = StudyModel::new(self.run)?;
        let model = model.as_ref();
        page.heading("How it got there");
        self.history(page, model)?;
        let plates = plates(self.study, model, self.response())?;
        for plate in &plates {
            page.picture(plate.picture(&plates));
        }
        let Some(model) = model else { return Ok(None) };
        page.heading("What the model says");
        let through = self.advice.as_ref().map(Through::from);
        let certificate = self.model(page, model, through.as_ref())?;
        page.heading("Can the model be trusted?");
        trust(page, &held_out(model)?, self.response());
        Ok(certificate)
    }

    /// Progress, elimination and rivals.
    pub fn history(&self, page: &mut Page, model: Option<&StudyModel<'_>>) -> Result<()> {
        let space = self.study.spec().space();
        let progress = self.progress();
        if progress.values.is_empty() {
            page.paragraph("There is nothing to draw before the first measurement.");
        } else {
            page.picture(progress.picture());
        }
        if let Some(elimination) = elimination(space, &self.batches, &self.trials, self.advice.as_ref()) {
            page.picture(elimination.picture());
        }
        if let Some(advice) = &self.advice {
            page.picture(plot::rivals(&self.rivals(advice, model)?, self.response()));
        }
        Ok(())
    }

    /// Slices, effects and the map of the two largest; gives the certificate behind the slices back.
    pub fn model(&self, page: &mut Page, model: &StudyModel<'_>, through: Option<&Through>) -> Result<Option<Certificate>> {
        let space = self.study.spec().space();
        let mut certificate = None;
        if let Some(through) = through {
            let (slices, behind) = model.slices(space, through, &self.dots(), self.response())?;
            certificate = behind;
            if slices.slices.is_empty() {
                page.paragraph("The constraints fix every parameter once the others are chosen: there are no slices to show.");
            } else {
                page.picture(slices.picture());
            }
        }
        let effects = model.effects(space)?;
        if !effects.is_empty() {
            page.picture(plot::effects(&effects, self.response()));
        }
        if let Some(through) = through {
            let map = model.mean_map(space, through, &effects, &self.dots(), self.response())?;
            map.into_iter().for_each(|map| page.picture(map.picture()));
        }
        Ok(certificate)
    }

    fn dots(&self) -> Dots<'_> {
        let earlier = |row: &'_ ImportedRow| match row.result {
            TrialResult::Value { value, .. } => Some(value),
            TrialResult::Failed { .. } => None,
        };
        Dots {
            own: self.trials.iter().filter_map(|row| Some((Some(row.id), row.values.as_slice(), row.value?))).collect(),
            imported: self.imported.iter().filter_map(|row| Some((None, row.values.as_slice(), earlier(row)?))).collect(),
        }
    }

    fn progress(&self) -> Progress {
        let mut evaluations = 0;
        let wanted = self.status.wanted();
        let among_candidates = wanted.is_some_and(|(_, among_candidates)| among_candidates);
        let mut end = |batch: &BatchRow| {
            evaluations += batch.report.measured;
            BatchEnd { evaluations, gap: batch.report.candidate_gap.filter(|_| among_candidates).or(batch.report.gap) }
        };
        let label = self.batches.iter().rev().find_map(|batch| batch.report.certificate.as_ref().map(Certificate::label));
        Progress {
            response: self.response().to_owned(),
            maximise: self.maximises(),
            gap_label: label.map_or_else(|| "none is claimed".to_owned(), |label| label.to_string()),
            among_candidates,
            wanted_gap: wanted.map(|(gap, _)| gap),
            batches: self.batches.iter().map(&mut end).collect(),
            values: self.trials.iter().filter_map(|row| row.value).collect(),
            trials: self.trials.iter().filter(|row| row.value.is_some()).map(|row| row.id).collect(),
            failures: self.failures(),
        }
    }

    /// After how many measurements evaluations failed, and which.
    fn failures(&self) -> Vec<(usize, u64)> {
        let (mut measured, mut failures) = (0, Vec::new());
        for row in &self.trials {
            measured += usize::from(row.value.is_some());
            failures.extend((row.state == TrialStatus::Failed).then_some((measured, row.id)));
        }
        failures
    }

    fn tables(&self, page: &mut Page) {
        if !self.batches.is_empty() {
            page.heading("Batches");
            page.table("batches", batch_table(&self.batches));
        }
        page.heading("Trials");
        page.table("trials", trial_table(self.study.spec().space(), &self.trials, &self.imported));
    }

    /// A name for each column that the strategy sees: a list's words have one column each.
    fn columns(&self) -> Vec<String> {
        let space = self.study.spec().space();
        space.parameters().iter().enumerate().flat_map(|(i, p)| space.columns_of(i).map(|_| p.name.clone())).collect()
    }

    fn grounds(&self, page: &mut Page, certificate: Option<&Certificate>) {
        page.heading("What it rests on");
        let mut list = match self.run.policy() {
            Policy::Auto(auto) if auto.assumed().len() > 0 => {
                auto.assumed().last().map_or_else(Vec::new, |last| assumed(last, &self.columns()))
            }
            _ => declared(self.study.spec().problem(), self.advice.as_ref().map(|advice| &advice.certificate), &self.columns()),
        };
        if self.study.spec().pilot() > 0 {
            let pilot = counted(self.study.spec().pilot(), "evaluation");
            list.push(format!("All of this was fixed after a pilot of {pilot}, which the pictures show and none of which is in a claim."));
        }
        list.push(format!("Strategy: {}.", self.status.strategy));
        let lost = self.status.count(TrialStatus::Failed) + self.status.count(TrialStatus::Missing);
        if lost > 0 {
            let lost = counted(lost, "measurement");
            list.push(format!("{lost} failed or did not arrive: claims hold if that does not depend on the noise."));
        }
        let (imported, used) = (self.status.imported, self.status.imported_in_time);
        if imported > 0 {
            list.push(format!(
                "{imported} results are from before the study; {used} of them came before its first batch and were given to the strategy."
            ));
            list.extend(use_of_imports(self.run));
        }
        let late = self.status.count(TrialStatus::Late);
        if late > 0 {
            list.push(format!("{late} results came after their batch was closed: they are shown and enter no claim."));
        }
        page.list(&list);
        if let Some(advice) = &self.advice {
            page.paragraph("The certificate of the recommendation:");
            page.verbatim(&advice.certificate.to_string());
            page.folded("The same as JSON", &json!(advice.certificate).to_string());
        }
        if let Some(certificate) = certificate {
            page.paragraph("The band of the slices has a certificate of its own, about all measurements at once:");
            page.verbatim(&certificate.to_string());
        }
    }

    fn again(&self, page: &mut Page) {
        page.heading("How to run it again, and how to cite it");
        let file = self.file();
        page.verbatim(&format!(
            "sigmabar status {file}\nsigmabar report {file}\n# sigmabar {}, seed {}",
            env!("CARGO_PKG_VERSION"),
            self.study.spec().problem().seed()
        ));
        page.paragraph(
            "The method: S. Vakili, J. Scarlett, D. Shiu and A. Bernacchia, Improved Convergence Rates for Sparse Approximation Methods in Kernel-Based Learning, ICML 2022, with the \
             corrections E1–E16 of sigmabar's algorithm notes. The same study file, seed and values give the same run.",
        );
        page.paragraph("The study file:");
        page.verbatim(&self.study.spec().to_toml());
    }
}

/// Calibration and residuals, or why there are none.
pub(super) fn trust(page: &mut Page, checks: &[plot::HeldOut], response: &str) {
    if checks.is_empty() {
        page.paragraph(&format!(
            "Nothing here was checked on measurements that the model had not seen: that takes {FEWEST} of them or more, with noise."
        ));
        return;
    }
    let how = "each predicted by a model fitted to nine tenths of the measurements, itself not among them";
    page.paragraph(&plot::verdict(checks));
    page.picture(plot::calibration(checks, how));
    page.picture(plot::residuals(checks, response, how));
}

/// Words as a sentence.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// What a strategy that speaks of its own data only does with results from before the study; `None` for those whose model includes them.
fn use_of_imports(run: &Strategy) -> Option<String> {
    let words = match run.policy() {
        Policy::Sbpe(sbpe) if sbpe.rules() == Rules::Certified && run.ledger().fixed_before().next().is_some() => {
            "counts results from before the study into its first batch where they were declared not to be chosen by looking at responses, and plans and \
             claims without the others; the model in the pictures includes all that were given to it"
        }
        Policy::Sbpe(_) => "plans and claims without results from before the study; the model in the pictures includes those given to it",
        Policy::GpThreds(_) | Policy::Rips(_) | Policy::SupKernelUcb(_) | Policy::Random(_) | Policy::Sobol(_) => {
            "plans without results from before the study; what is recommended, and the model in the pictures, include those given to it"
        }
        _ => return None,
    };
    Some(format!("The strategy {} {words}.", run.policy().name()))
}
