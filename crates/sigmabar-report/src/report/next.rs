//! What a study's page says beside the answer: what to do next, which settings come next, and the recommended one against the luckiest.

use super::error::Result;
use super::page::Page;
use super::parameter::{called_words, has_labels, value_words};
use super::study::Content;
use super::study_model::StudyModel;
use crate::advice::measuring;
use crate::plot::{Cell, Rival, Table, number};
use sigmabar::Points;
use sigmabar_study::{Advice, BestObserved, TrialRow};

/// Settings shown after the recommended one.
const RUNNERS_UP: usize = 5;

impl Content<'_> {
    /// Settings that come next, how often to measure the recommended one again, and the next command.
    pub fn runners_up(&self, page: &mut Page) -> Result<()> {
        let (Some(advice), Some(model)) = (&self.advice, StudyModel::new(self.run)?) else { return Ok(()) };
        page.heading("What to do next");
        let file = self.file();
        if self.contradiction().is_some() {
            if self.status.is_finished {
                page.paragraph("To take the results into a new study, with other premises:");
                page.verbatim(&format!("sigmabar export {file} -o results.csv"));
            } else {
                page.paragraph("To go on without a promise:");
                page.verbatim(&measuring(self.study, &self.status, &format!(" {file}")));
            }
            return Ok(());
        }
        let noise = model.noise_at(0.5 * (advice.lower + advice.upper));
        let width = advice.upper - advice.lower;
        if width > 0.0 && noise > 0.0 {
            // So many that the standard error of their mean is a quarter of the interval.
            let count = ((4.0 * noise / width).powi(2).ceil() as usize).clamp(2, 12);
            page.paragraph(&format!(
                "To confirm it, measure the recommended setting {count} more times: their mean should lie between {} and {}, give or take {}.",
                number(advice.lower),
                number(advice.upper),
                number(noise / (count as f64).sqrt())
            ));
            page.paragraph(
                "They are measurements of your own: a study hands out what it planned, and its claims rest on that alone. Keep them with it as a table of the settings and a \
                 column result, one row for each:",
            );
            let names = self.study.spec().space().parameters().iter().map(|p| p.name.as_str()).chain(["result"]);
            page.verbatim(&format!(
                "# confirmed.csv: {}\nsigmabar import confirmed.csv --study {file}",
                names.collect::<Vec<_>>().join(",")
            ));
            page.paragraph("Then:");
        }
        page.verbatim(&if self.status.is_finished {
            format!("sigmabar recommend {file}")
        } else {
            measuring(self.study, &self.status, &format!(" {file}"))
        });
        let rivals = self.next_best(advice, &model)?;
        if !rivals.rows().is_empty() {
            let label = advice.label();
            page.paragraph(&format!(
                "Runners-up among the measured settings, by the lower end of what the model says about them. The recommended setting above is {label}; these intervals are the \
                 model's estimates, each about its own setting."
            ));
            page.table("runners-up", rivals);
        }
        Ok(())
    }

    /// Measured settings other than the recommended one, the best first.
    fn next_best(&self, advice: &Advice, model: &StudyModel<'_>) -> Result<Table> {
        let space = self.study.spec().space();
        let mut settings: Vec<(&[sigmabar_study::Value], usize)> = Vec::new();
        for row in self.trials.iter().filter(|row| row.value.is_some()) {
            match settings.iter_mut().find(|(known, _)| known.iter().zip(&row.values).all(|(a, b)| a.same(b))) {
                Some((_, count)) => *count += 1,
                None => settings.push((&row.values, 1)),
            }
        }
        settings.retain(|(values, _)| !values.iter().zip(&advice.values).all(|(a, (_, b))| a.same(b)));
        let placed: Vec<_> = settings.into_iter().filter_map(|(values, count)| Some((space.point(values).ok()?, values, count))).collect();
        let label = has_labels(space).then(|| "label".to_owned());
        let names = space.names();
        let mut table = Table::new(
            label.into_iter().chain(names).chain(["model's mean", "model's lower", "model's upper", "measured"].map(str::to_owned)),
        );
        if placed.is_empty() {
            return Ok(table);
        }
        let points: Vec<&[f64]> = placed.iter().map(|(point, ..)| point.as_slice()).collect();
        let says = model.predict(Points::from_rows(&points)?.view())?;
        let sign = if self.maximises() { 1.0 } else { -1.0 };
        let mut order: Vec<usize> = (0..placed.len()).collect();
        order.sort_by(|&a, &b| (sign * says[b].0 - says[b].1).total_cmp(&(sign * says[a].0 - says[a].1)));
        for &i in order.iter().take(RUNNERS_UP) {
            let (mean, deviation) = says[i];
            let mut row: Vec<Cell> = if has_labels(space) { vec![space.label(placed[i].1).unwrap_or_default().into()] } else { Vec::new() };
            row.extend(placed[i].1.iter().map(|value| Cell::from(value_words(value))));
            row.extend([mean.into(), (mean - 1.96 * deviation).into(), (mean + 1.96 * deviation).into(), placed[i].2.into()]);
            table.push(row);
        }
        Ok(table)
    }

    pub fn rivals(&self, advice: &Advice, model: Option<&StudyModel<'_>>) -> Result<Vec<Rival>> {
        let space = self.study.spec().space();
        let at = |values: &[(String, sigmabar_study::Value)]| -> Vec<(u64, f64)> {
            let same = |row: &&TrialRow| row.values.iter().zip(values).all(|(a, (_, b))| a.same(b));
            self.trials.iter().filter(same).filter_map(|row| Some((row.id, row.value?))).collect()
        };
        let says = |point: &[f64]| model.map(|model| model.view(Points::from_rows(&[point.to_vec()])?.view())).transpose();
        let mut rivals = vec![Rival {
            name: "recommended".to_owned(),
            setting: self.called(&advice.values),
            measured: at(&advice.values),
            mean: says(&advice.point)?.map(|view| view.mean[0]),
            interval: Some((advice.lower, advice.upper)),
            label: advice.label().to_string(),
        }];
        let is_same = |best: &BestObserved| best.values.iter().zip(&advice.values).all(|((_, a), (_, b))| a.same(b));
        if advice.best_observed.as_ref().is_some_and(is_same) {
            rivals[0].name = "recommended, and best measured".to_owned();
        } else if let Some(best) = &advice.best_observed {
            let values: Vec<_> = best.values.iter().map(|(_, value)| value.clone()).collect();
            let view = space.point(&values).ok().map(|point| says(&point)).transpose()?.flatten();
            rivals.push(Rival {
                name: "best measured".to_owned(),
                setting: self.called(&best.values),
                measured: at(&best.values),
                mean: view.as_ref().map(|view| view.mean[0]),
                interval: view.as_ref().map(|view| view.interval[0]),
                label: view.map_or_else(|| "no interval is claimed".to_owned(), |view| view.label.to_string()),
            });
        }
        Ok(rivals)
    }

    /// A setting in words, after what it is called.
    fn called(&self, setting: &[(String, sigmabar_study::Value)]) -> String {
        called_words(self.study.spec().space(), &setting.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>())
    }
}
