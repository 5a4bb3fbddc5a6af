//! `sigmabar predict MODEL DATA`: mean, standard deviation and both intervals for each row.

use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::data::{Categories, Column, Frame, Numbers, Options, ParquetWriter, Selection, Table, Wanted, is_parquet};
use crate::failure::{Ending, Failure};
use crate::memory;
use crate::model::{self, Model};
use crate::model_file;
use crate::output::{self, Over};
use crate::quantity::{finite, grouped};
use crate::sheet::{CsvWriter, Sheet};
use crate::which_study::quoted;
use serde_json::{Value, json};
use sigmabar::Points;
use sigmabar::certificate::Answer;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A model saved by sigmabar fit
    model: PathBuf,
    /// A table with the model's columns: CSV (also .gz; - for standard input), Parquet, Excel (.xlsx, first sheet) or .npy; with --out also several files, patterns and folders
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Write a file (.parquet or .pq, else CSV) instead of standard output, a batch of rows at a time: any number of rows
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
    /// Miss probability of each interval
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Repeat the columns that were predicted from
    #[arg(long)]
    inputs: bool,
    /// Pass over rows with a missing value, and say how many; with --inputs, which show what is left
    #[arg(long, requires = "inputs")]
    drop_missing: bool,
    /// Say of each row whether the function is above or below this, all rows at once, and up to which norm and noise that stands; for a model with a declared norm bound and noise
    #[arg(long, value_name = "VALUE", conflicts_with = "out", allow_hyphen_values = true, value_parser = finite)]
    threshold: Option<f64>,
}

/// The columns that a threshold adds.
const STANDS: [&str; 3] = ["side", "stands_to_norm", "stands_to_noise"];

/// Rows answered at a time.
const BATCH: usize = 65_536;

/// Names of the columns that are written.
const COLUMNS: [&str; 6] = ["mean", "std", "mean_lower", "mean_upper", "prediction_lower", "prediction_upper"];

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let model = model_file::load(&arguments.model)?;
    let names: Vec<String> = model.about.features.iter().map(|column| column.name.clone()).collect();
    answered(arguments, &model, &names, console).map_err(|failure| failure.naming(&names))
}

fn answered(arguments: &Arguments, model: &Model, names: &[String], console: &Console) -> Outcome {
    let categories = Categories::Known(model.about.features.clone());
    let selection = Selection {
        wanted: Wanted::Named(names.to_vec()),
        categories,
        memory: memory::available(),
        options: Options::Predict,
        drop_missing: arguments.drop_missing,
    };
    let table = Table::open(&arguments.data)?;
    if let Some(out) = &arguments.out {
        return streamed(model, &table, &selection, out, arguments, console);
    }
    let frame = Frame::read_table(&table, &selection)?;
    console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
    console.warn_cut(&frame.cut);
    console.warn_dropped(frame.dropped);
    let points = Points::new(frame.values, model.about.features.len())?;
    let mut answer = model.answers(arguments.delta)?.at(points.view())?;
    let concluded = arguments.threshold.map(|threshold| concluded(model, &points, &mut answer, threshold)).transpose()?;
    console.say(model::words(&answer));
    write(model, &points, &answer, (arguments.inputs, concluded), console)?;
    console.next(format_args!("sigmabar report {}", quoted(&arguments.model)));
    Ok(Ending::Done)
}

/// On which side of a threshold each row is, and up to which norm and noise, in the data's scale; the certificate has the range of all of it.
fn concluded(model: &Model, points: &Points, answer: &mut Answer, threshold: f64) -> Outcome<Vec<Column>> {
    if model.about.norm_bound.is_none() || model.about.noise.is_none() {
        let remedy = "fit it with --kernel, --norm-bound and --noise: what stands for a range of norms begins with one";
        return Err(Failure::usage("the model has no norm bound and no noise, and so nothing to conclude from", remedy));
    }
    let found = model.posterior.breakdown(points.view(), &model.claim(answer.certificate.delta)?, threshold)?;
    if answer.certificate.contradiction.is_none() {
        // What is concluded about all rows is one sentence, from intervals that hold at all of them at once.
        answer.mean = found.intervals.mean().to_vec();
        answer.function = found.intervals.lower().iter().copied().zip(found.intervals.upper().iter().copied()).collect();
        answer.certificate = found.certificate;
    }
    let unit = model.posterior.prior().unit();
    let side = |(end, norm): (&(f64, f64), &Option<f64>)| match norm {
        Some(_) if end.0 > threshold => "above",
        Some(_) => "below",
        None => "",
    };
    let numbers =
        |ends: &[Option<f64>], unit: f64| Column::Numbers(ends.iter().map(|end| end.map_or(f64::NAN, |end| unit * end)).collect());
    let sides = answer.function.iter().zip(&found.norms).map(side).map(str::to_owned).collect();
    Ok(vec![Column::Text(sides), numbers(&found.norms, 1.0), numbers(&found.levels, unit)])
}

/// Reads, answers and writes batch after batch.
fn streamed(model: &Model, table: &Table, selection: &Selection, out: &Path, arguments: &Arguments, console: &Console) -> Outcome {
    let inputs: Vec<&Path> = table.parts.iter().map(|part| part.file.as_path()).chain([arguments.model.as_path()]).collect();
    output::check_writable(out, &inputs, Over::by(arguments.force))?;
    let answers = model.answers(arguments.delta)?;
    let (dim, bar) = (model.about.features.len(), console.progress("predicting", table.rows()));
    let (mut words, mut failure, mut rows, mut dropped, mut cut) = (None, None, 0, 0, Vec::new());
    let mut each = |take: &mut dyn FnMut(&Points, &Answer) -> std::io::Result<()>| -> Outcome<()> {
        for chunk in table.chunks() {
            let mut numbers = Numbers::new(table.chunk(chunk)?, selection)?;
            loop {
                let mut values = Vec::with_capacity(BATCH * dim);
                while values.len() < BATCH * dim && numbers.next_row(&mut values)?.is_some() {
                    let last = values.len() - dim;
                    if values[last..].iter().any(|value| value.is_nan()) {
                        values.truncate(last);
                        dropped += 1;
                    }
                }
                if values.is_empty() {
                    cut.extend(numbers.reader().ends_open().then(|| numbers.reader().file().to_owned()));
                    break;
                }
                let points = Points::new(values, dim)?;
                let answer = answers.at(points.view())?;
                words.get_or_insert_with(|| model::words(&answer));
                take(&points, &answer).map_err(Failure::file(out, "write"))?;
                rows += points.len();
                bar.inc(points.len() as u64);
            }
        }
        Ok(())
    };
    output::replace(out, |file| {
        let mut kept = |result: Outcome<()>| {
            result.map_err(|problem| {
                let said = std::io::Error::other(problem.to_string());
                failure = Some(problem);
                said
            })
        };
        if is_parquet(out) {
            let repeated = model.about.features.iter().filter(|_| arguments.inputs).map(|c| (c.name.as_str(), c.is_words()));
            let mut writer = ParquetWriter::new(file, repeated.chain(COLUMNS.map(|name| (name, false))))?;
            kept(each(&mut |points, answer| writer.write(&columns(model, points, answer, arguments.inputs))))?;
            return writer.finish();
        }
        let mut writer = CsvWriter::new(file, &sheet(model, arguments.inputs).columns)?;
        kept(each(&mut |points, answer| writer.write(&cells(model, points, answer, arguments.inputs))))?;
        writer.finish()
    })
    .map_err(|outer| failure.take().unwrap_or(outer))?;
    bar.finish_and_clear();
    if let Some(words) = words {
        console.say(words);
    }
    console.warn_dropped(dropped);
    console.warn_cut(&cut);
    console.say(format_args!("{} rows predicted; wrote {}", grouped(rows), out.display()));
    Ok(Ending::Done)
}

/// What is written of some rows, column by column; categories by their names, dates as dates.
fn columns(model: &Model, points: &Points, answer: &Answer, inputs: bool) -> Vec<Column> {
    let repeated = model.about.features.iter().enumerate().filter(|_| inputs).map(|(c, column)| {
        let values = points.view().rows().map(|row| row[c]);
        if column.is_words() { Column::Text(values.map(|value| column.word(value)).collect()) } else { Column::Numbers(values.collect()) }
    });
    let ends = |of: &[(f64, f64)]| [of.iter().map(|end| end.0).collect(), of.iter().map(|end| end.1).collect()];
    let [low, high] = ends(&answer.function);
    let [new_low, new_high] = ends(&answer.response);
    let found = [answer.mean.clone(), answer.std_dev.clone(), low, high, new_low, new_high];
    repeated.chain(found.map(Column::Numbers)).collect()
}

/// The names of what is written.
fn sheet(model: &Model, inputs: bool) -> Sheet {
    let repeated = model.about.features.iter().filter(|_| inputs).map(|column| column.name.as_str());
    Sheet::new(repeated.chain(COLUMNS))
}

/// The same row by row.
fn cells(model: &Model, points: &Points, answer: &Answer, inputs: bool) -> Vec<Vec<Value>> {
    let columns = columns(model, points, answer, inputs);
    (0..points.len()).map(|i| columns.iter().map(|column| cell(column, i)).collect()).collect()
}

/// A number that is none is an empty cell.
fn cell(column: &Column, i: usize) -> Value {
    match column {
        Column::Numbers(values) => json!(values[i]),
        Column::Text(words) => json!(words[i]),
    }
}

fn write(model: &Model, points: &Points, answer: &Answer, (inputs, more): (bool, Option<Vec<Column>>), console: &Console) -> Outcome<()> {
    let mut sheet = sheet(model, inputs);
    sheet.rows = cells(model, points, answer, inputs);
    if let Some(columns) = more {
        sheet.columns.extend(STANDS.map(str::to_owned));
        sheet.rows.iter_mut().enumerate().for_each(|(i, row)| row.extend(columns.iter().map(|column| cell(column, i))));
    }
    if console.format(Format::Csv) != Format::Json {
        return console.sheet(&sheet, Format::Csv);
    }
    let rows: Value = sheet.objects().collect();
    let certificate = json!({ "function": answer.certificate, "response": answer.response_certificate });
    let document = json!({ "target": model.about.target, "delta": answer.certificate.delta, "label": answer.label(), "response_label": answer.response_certificate.label(), "certificate": certificate, "rows": rows });
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{document:#}")?;
    Ok(out.flush()?)
}
