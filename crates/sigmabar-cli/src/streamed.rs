//! Rows that do not stay in memory: each pass reads them again, chunk by chunk, and keeps sums.

use crate::Outcome;
use crate::console::Passes;
use crate::data::{Categories, Chunk, ColumnInfo, Numbers, Objections, Options, Selection, Table, Wanted};
use crate::failure::Failure;
use crate::model::training::Rows;
use crate::model::{About, Model, ScoreSums, Scores};
use serde::{Deserialize, Serialize};
use sigmabar::Points;
use sigmabar::accumulator::{Accumulator, Digest, Picked, Plan, RowPlace, RowSample, SumsError};
use sigmabar::certificate::Answer;
use sigmabar::evidence::{Slope, SlopeSums};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

/// What takes the rows of a chunk: points and responses.
type Batches<'a> = &'a mut dyn FnMut(&[f64], &[f64]) -> sigmabar::Result<()>;

/// Rows handed on at a time.
const BATCH: usize = 4096;
const HELD_OUT: u64 = 0x686f_6c64_6f75_7431;
const CALIBRATING: u64 = 0x6361_6c69_6272_6131;

/// What a plan file says beside the plan itself: where the rows are, and what the model will be about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub about: About,
    pub table: Table,
    /// Rows to score on.
    pub held: Option<Picked>,
    /// Rows to calibrate on.
    pub calibrating: Option<Picked>,
    /// The column of categories that groups them.
    pub by: Option<usize>,
    pub drop_missing: bool,
    /// The mean of $s_1^2$ over the rows learnt on.
    pub mean_residual: f64,
    /// Rows that will be summed: those left out and those with a missing value taken off.
    #[serde(default)]
    pub rows: u64,
    /// Passes over all rows that were made for the plan.
    #[serde(default)]
    pub passes: u64,
    /// The folder that names of files are relative to.
    pub folder: PathBuf,
}

/// What the first pass finds.
pub(crate) struct Survey {
    /// The columns with all their categories, the target last.
    pub columns: Vec<ColumnInfo>,
    /// Rows of each chunk.
    pub chunks: Vec<Option<u64>>,
    /// What they are.
    pub digests: Vec<Digest>,
    /// Rows to learn on.
    pub sample: Rows,
    /// All of them, as a set.
    pub sampled: Option<Picked>,
    pub calibration: Rows,
    pub calibrating: Option<Picked>,
    pub held: Option<Picked>,
    pub has_decimal_commas: bool,
    /// Files whose last line has no end.
    pub cut: Vec<PathBuf>,
    /// Rows that the table marks, and why nobody can vouch for how they were collected.
    pub doubted: usize,
    pub objections: Objections,
    /// How long the look took.
    pub seconds: f64,
    /// Rows that may be fitted: those held out, calibrated on or missing values taken off.
    pub rows: u64,
}

/// How many rows each use takes.
pub(crate) struct Shares<'a> {
    pub sample: usize,
    /// Rows to calibrate on, of so many that may be fitted: how many these are is known after the pass.
    pub calibration: &'a dyn Fn(usize) -> usize,
    /// At most so many, which stay in memory.
    pub most_calibrating: usize,
    pub held_out: f64,
    pub seed: u64,
    /// Whether the rows learnt on are left out afterwards: then at most half of all.
    pub apart: bool,
}

/// Reads everything once: categories, rows of each chunk, a sample to learn on and one to calibrate on.
pub(crate) fn survey(table: &Table, selection: &Selection, shares: &Shares<'_>, passes: &Passes<'_>) -> Outcome<Survey> {
    let held = Picked::share(shares.seed ^ HELD_OUT, shares.held_out);
    let mut found = Survey {
        columns: Vec::new(),
        chunks: Vec::new(),
        digests: Vec::new(),
        sample: Rows::default(),
        sampled: None,
        calibration: Rows::default(),
        calibrating: None,
        held,
        has_decimal_commas: false,
        cut: Vec::new(),
        doubted: 0,
        objections: Objections::default(),
        seconds: 0.0,
        rows: 0,
    };
    let kept = (shares.calibration)(table.rows().map_or(usize::MAX, |rows| rows as usize)).min(shares.most_calibrating);
    let mut samples: Option<(RowSample, RowSample)> = None;
    let bar = passes.next("looking at every row", table.rows());
    for (number, chunk) in table.chunks().into_iter().enumerate() {
        let mut numbers = Numbers::new(table.chunk(chunk)?, &selection.knowing(&found.columns))?;
        let width = numbers.columns().len();
        let (learning, calibrating) = samples.get_or_insert_with(|| {
            let sample = |seed, size| RowSample::new(seed, size, width, held.into_iter().collect());
            (sample(shares.seed, shares.sample), sample(shares.seed ^ CALIBRATING, kept))
        });
        let (mut row, mut digest, mut values) = (0, Digest::default(), Vec::with_capacity(width));
        while numbers.next_row(&mut values)?.is_some() {
            let place = RowPlace { chunk: number as u64, row };
            if let Some((response, point)) = values.split_last() {
                digest.add(point, *response);
            }
            learning.offer(place, &values)?;
            if kept > 0 {
                calibrating.offer(place, &values)?;
            }
            values.clear();
            row += 1;
            if row % BATCH as u64 == 0 {
                bar.inc(BATCH as u64);
            }
        }
        bar.inc(row % BATCH as u64);
        found.columns = numbers.columns().to_vec();
        found.has_decimal_commas |= numbers.reader().has_decimal_commas();
        found.cut.extend(numbers.reader().ends_open().then(|| numbers.reader().file().to_owned()));
        found.doubted += numbers.doubted;
        found.objections.join(&numbers.objections);
        found.chunks.push(Some(row));
        found.digests.push(digest);
    }
    found.seconds = bar.seconds();
    bar.finish();
    let Some((mut learning, mut calibrating)) = samples else { return Ok(found) };
    found.rows = learning.seen();
    let calibration = (shares.calibration)(found.rows as usize);
    if calibration.min(kept) > 0 {
        calibrating.shrink(calibration);
        let (x, y, picked) = calibrating.finish();
        found.rows -= y.len() as u64;
        (found.calibration, found.calibrating) = (Rows { x, y }, picked);
    }
    if let Some(picked) = &found.calibrating {
        learning.drop_picked(picked);
    }
    if shares.apart {
        learning.shrink(found.rows as usize / 2);
    }
    let (x, y, sampled) = learning.finish();
    (found.sample, found.sampled) = (Rows { x, y }, sampled);
    Ok(found)
}

impl Job {
    fn selection(&self) -> Selection {
        let names = self.about.features.iter().map(|column| column.name.clone()).chain([self.about.target.clone()]);
        Selection {
            wanted: Wanted::Named(names.collect()),
            categories: Categories::Known(self.about.features.clone()),
            memory: None,
            options: Options::None,
            drop_missing: self.drop_missing,
        }
    }

    /// Calls `take(points, responses)` for the rows of a chunk, batch by batch.
    fn each_batch(&self, table: &Table, chunk: Chunk, mut take: impl FnMut(&[f64], &[f64]) -> sigmabar::Result<()>) -> Outcome<()> {
        // The last row groups of a file would otherwise be left out without a word.
        table.check_groups(chunk.part)?;
        let mut numbers = Numbers::new(table.chunk(chunk)?, &self.selection())?;
        let dim = self.about.features.len();
        let (mut x, mut y, mut row) = (Vec::with_capacity(BATCH * dim), Vec::with_capacity(BATCH), Vec::with_capacity(dim + 1));
        loop {
            row.clear();
            let more = numbers.next_row(&mut row)?.is_some();
            if more {
                x.extend_from_slice(&row[..dim]);
                y.push(row[dim]);
            }
            if y.len() == BATCH || (!more && !y.is_empty()) {
                take(&x, &y).map_err(|problem| self.named(problem))?;
                x.clear();
                y.clear();
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Seconds to read a row, from the first of the first chunk that has so many.
    pub fn seconds_to_read(&self, most: usize) -> Outcome<f64> {
        let (table, mut row, begun, mut read) = (self.table.seen_from(&self.folder), Vec::new(), Instant::now(), 0);
        for chunk in table.chunks() {
            if read == most {
                break;
            }
            let mut numbers = Numbers::new(table.chunk(chunk)?, &self.selection())?;
            while read < most && numbers.next_row(&mut row)?.is_some() {
                row.clear();
                read += 1;
            }
        }
        Ok(begun.elapsed().as_secs_f64() / read.max(1) as f64)
    }

    /// The sums of some chunks, added up as they come.
    pub fn sums(&self, plan: &Plan, wanted: &[u64], passes: &Passes<'_>) -> Outcome<Accumulator> {
        let mut sums = Accumulator::empty(plan);
        self.each_chunk("summing rows", plan, wanted, passes, |number, rows| {
            let mut leaf = plan.leaf(number)?;
            rows(&mut |x, y| leaf.add(x, y))?;
            Ok(sums.merge(leaf.finish()?)?)
        })?;
        Ok(sums)
    }

    /// The shares of some chunks in the gradient of the evidence.
    pub fn slopes(&self, plan: &Plan, slope: &Slope, wanted: &[u64], passes: &Passes<'_>) -> Outcome<SlopeSums> {
        let mut sums = SlopeSums::empty(plan);
        self.each_chunk("the gradient over all rows", plan, wanted, passes, |number, rows| {
            let mut leaf = slope.leaf(plan, number)?;
            rows(&mut |x, y| leaf.add(x, y))?;
            Ok(sums.merge(leaf.finish()?)?)
        })?;
        Ok(sums)
    }

    /// Calls `take(number, rows)` for each chunk that is wanted; `rows` hands its rows on, batch by batch.
    fn each_chunk(
        &self,
        what: &str,
        plan: &Plan,
        wanted: &[u64],
        passes: &Passes<'_>,
        mut take: impl FnMut(u64, &mut dyn FnMut(Batches<'_>) -> Outcome<()>) -> Outcome<()>,
    ) -> Outcome<()> {
        let (table, chunks) = (self.table.seen_from(&self.folder), self.table.chunks());
        let rows: Option<u64> = wanted.iter().map(|&chunk| plan.chunks().get(chunk as usize).copied().flatten()).sum();
        let bar = passes.next(what, rows);
        for &number in wanted {
            let missing = SumsError::NoChunk { chunk: number, chunks: chunks.len() as u64 };
            let chunk = *chunks.get(number as usize).ok_or(missing).map_err(sigmabar::Error::from)?;
            let named = |failure| match failure {
                Failure::Core(problem) => self.named(problem),
                other => other,
            };
            take(number, &mut |batch| {
                self.each_batch(&table, chunk, |x, y| {
                    bar.inc(y.len() as u64);
                    batch(x, y)
                })
            })
            .map_err(named)?;
        }
        bar.finish();
        Ok(())
    }

    /// A refusal with the name of the file in the place of the chunk's number.
    pub fn named(&self, problem: sigmabar::Error) -> Failure {
        let sigmabar::Error::Sums(sums) = &problem else { return problem.into() };
        let chunks = self.table.chunks();
        let chunk = match sums {
            SumsError::Twice { chunk }
            | SumsError::Missing { chunk, .. }
            | SumsError::Rows { chunk, .. }
            | SumsError::Changed { chunk }
            | SumsError::TooLarge { chunk, .. }
            | SumsError::NotFinite { chunk, .. } => *chunk,
            _ => return problem.into(),
        };
        match chunks.get(chunk as usize) {
            Some(found) => Failure::refused(self.table.name(*found), sums.to_string()),
            None => problem.into(),
        }
    }

    /// Scores the model on the rows held out, which are read again; and what it answered to the last of them.
    pub fn scored(&self, model: &mut Model, plan: &Plan, delta: f64, passes: &Passes<'_>) -> Outcome<Option<(Scores, Answer)>> {
        let Some(held) = self.held else { return Ok(None) };
        let (mut sums, mut last) = (ScoreSums::new(model.noise_level()), None);
        let answers = model.answers(delta)?;
        let bar = passes.next("scoring the rows held out", plan.chunks().iter().copied().sum());
        let (dim, table) = (self.about.features.len(), self.table.seen_from(&self.folder));
        for (number, chunk) in table.chunks().into_iter().enumerate() {
            let (mut row, mut digest, mut kept) = (0, Digest::default(), Rows::default());
            self.each_batch(&table, chunk, |x, y| {
                for (point, response) in x.chunks_exact(dim).zip(y) {
                    digest.add(point, *response);
                    let is_whole = point.iter().chain([response]).all(|value| value.is_finite());
                    if is_whole && held.contains(RowPlace { chunk: number as u64, row }) {
                        kept.x.extend_from_slice(point);
                        kept.y.push(*response);
                    }
                    row += 1;
                }
                bar.inc(y.len() as u64);
                if kept.len() >= BATCH {
                    last = Some(answered(&answers, &mut sums, std::mem::take(&mut kept), dim)?);
                }
                Ok(())
            })?;
            plan.check_rows(number as u64, row, digest).map_err(|problem| self.named(problem))?;
            if !kept.is_empty() {
                last = Some(answered(&answers, &mut sums, kept, dim)?);
            }
        }
        bar.finish();
        let Some(last) = last else { return Ok(None) };
        let scores = sums.finish(delta);
        drop(answers);
        model.about.scores = Some(scores.clone());
        Ok(Some((scores, last)))
    }

    /// The files, seen from here.
    pub fn files(&self) -> Vec<PathBuf> {
        self.table.seen_from(&self.folder).parts.into_iter().map(|part| part.file).collect()
    }

    /// The chunks of files. A file of the same name elsewhere is another file.
    pub fn chunks_of(&self, files: &[PathBuf]) -> Outcome<Vec<u64>> {
        let planned: Vec<Option<PathBuf>> = self.files().iter().map(|file| file.canonicalize().ok()).collect();
        let mut of = BTreeSet::new();
        for file in files {
            let full = file.canonicalize().ok();
            let place = planned.iter().position(|planned| full.is_some() && *planned == full).ok_or_else(|| {
                Failure::usage(
                    format!("{} is none of the {} files of the plan", file.display(), self.table.parts.len()),
                    "name files that were planned, or plan again",
                )
            })?;
            of.insert(place);
        }
        Ok(self.table.chunks().iter().enumerate().filter(|(_, chunk)| of.contains(&chunk.part)).map(|(i, _)| i as u64).collect())
    }
}

fn answered(answers: &sigmabar::certificate::Answers<'_>, sums: &mut ScoreSums, rows: Rows, dim: usize) -> sigmabar::Result<Answer> {
    let answer = answers.at(Points::new(rows.x, dim)?.view())?;
    sums.add(&answer, &rows.y);
    Ok(answer)
}
