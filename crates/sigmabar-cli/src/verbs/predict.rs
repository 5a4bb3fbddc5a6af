//! `sigmabar predict MODEL DATA`: mean, standard deviation and both intervals for each row.

use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::data::{Categories, Column, DataError, Frame, Numbers, Options, ParquetWriter, Selection, Table, Wanted, is_parquet};
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
    let rows = Rows { model, table: &table, selection: &selection, arguments, console };
    if let Some(out) = &arguments.out {
        return rows.written(out);
    }
    // What is claimed or concluded about all rows, and how wide a table for people is, takes all of them.
    if arguments.threshold.is_some() || model.about.norm_bound.is_some() || console.format(Format::Csv) == Format::Table {
        rows.at_once()?;
    } else {
        rows.printed()?;
    }
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

/// Rows that are to be answered, by whom, and for whom.
struct Rows<'a> {
    model: &'a Model,
    table: &'a Table,
    selection: &'a Selection,
    arguments: &'a Arguments,
    console: &'a Console,
}

impl Rows<'_> {
    /// Reads and answers batch after batch, each with whether what its commas mean is still to be seen; the number of rows.
    fn each_batch(&self, mut take: impl FnMut(&Points, &Answer, bool) -> Outcome<()>) -> Outcome<usize> {
        let (model, console) = (self.model, self.console);
        let answers = model.answers(self.arguments.delta)?;
        // A bar would stand among the answers where both are on the screen.
        let bar = self.arguments.out.as_ref().map(|_| console.progress("predicting", self.table.rows()));
        let dim = model.about.features.len();
        let (mut rows, mut dropped, mut cut, mut is_contradicted) = (0, 0, Vec::new(), false);
        for part in 0..self.table.parts.len() {
            let mut numbers = Numbers::new(self.table.part(part)?, self.selection)?;
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
                    let reader = numbers.reader();
                    cut.extend(reader.ends_open().then(|| reader.file().to_owned()));
                    console.say_decimal_commas(reader.file(), reader.has_decimal_commas());
                    break;
                }
                let points = Points::new(values, dim)?;
                let answer = answers.at(points.view())?;
                // What refutes the premises may stand in any row.
                let refutes = answer.certificate.contradiction.is_some();
                if rows == 0 || refutes && !is_contradicted {
                    self.say(&answer);
                }
                is_contradicted |= refutes;
                take(&points, &answer, numbers.reader().is_doubtful())?;
                rows += points.len();
                bar.iter().for_each(|bar| bar.inc(points.len() as u64));
            }
        }
        bar.iter().for_each(|bar| bar.finish_and_clear());
        console.warn_cut(&cut);
        console.warn_dropped(dropped);
        Ok(rows)
    }

    /// What the answers rest on, and where there are none.
    fn say(&self, answer: &Answer) {
        self.console.say(model::words(answer));
        self.model.too_few(self.arguments.delta).iter().for_each(|words| self.console.warn(words));
    }

    /// Into a file.
    fn written(&self, out: &Path) -> Outcome {
        let Self { model, table, arguments, .. } = *self;
        let inputs: Vec<&Path> = table.parts.iter().map(|part| part.file.as_path()).chain([arguments.model.as_path()]).collect();
        if !is_parquet(out) {
            output::check_csv(out)?;
        }
        output::check_writable(out, &inputs, Over::by(arguments.force))?;
        output::tidy_when_interrupted(out);
        let (mut failure, mut rows) = (None, 0);
        output::publish(out, Over::by(arguments.force), |file| {
            let mut kept = |answered: Outcome<usize>| {
                let answered = answered.map_err(|problem| {
                    let said = std::io::Error::other(problem.to_string());
                    failure = Some(problem);
                    said
                });
                answered.map(|answered| rows = answered)
            };
            let failed = |problem| Failure::file(out, "write")(problem);
            if is_parquet(out) {
                let repeated = model.about.features.iter().filter(|_| arguments.inputs).map(|c| (c.name.as_str(), c.is_words()));
                let mut writer = ParquetWriter::new(file, repeated.chain(COLUMNS.map(|name| (name, false))))?;
                kept(self.each_batch(|points, answer, _| writer.write(&columns(model, points, answer, arguments.inputs)).map_err(failed)))?;
                return writer.finish();
            }
            let mut writer = CsvWriter::new(file, &sheet(model, arguments.inputs).columns)?;
            kept(self.each_batch(|points, answer, _| writer.write(&self.cells(points, answer, Format::Csv)).map_err(failed)))?;
            writer.finish()
        })
        .map_err(|outer| failure.take().unwrap_or(outer))?;
        self.console.say(format_args!("{} rows predicted; wrote {}", grouped(rows), out.display()));
        Ok(Ending::Done)
    }

    /// On standard output.
    fn printed(&self) -> Outcome<()> {
        let format = self.console.format(Format::Csv);
        let names = sheet(self.model, self.arguments.inputs).columns;
        let (mut out, mut printer, mut held) = (Some(std::io::BufWriter::new(std::io::stdout().lock())), None, Vec::new());
        let rows = self.each_batch(|points, answer, is_doubtful| {
            held.extend(self.cells(points, answer, format));
            // Commas that may stand before thousands are refused at the end of the table, and nothing may be known of its rows then.
            if is_doubtful {
                return Ok(());
            }
            // Only now: a table that is refused at its beginning has no answers, not even their names.
            if let Some(out) = out.take() {
                printer = Some(Printer::new(out, format, &names, || document(self.model, answer, json!([])))?);
            }
            Ok(printer.as_mut().map_or(Ok(()), |printer| printer.write(std::mem::take(&mut held)))?)
        })?;
        if rows == 0 {
            let file = if self.table.is_rereadable() { self.table.parts[0].file.clone() } else { "standard input".into() };
            return Err(DataError::Empty { file }.into());
        }
        Ok(printer.map_or(Ok(()), Printer::finish)?)
    }

    /// On standard output, when all rows are answered.
    fn at_once(&self) -> Outcome<()> {
        let (model, console) = (self.model, self.console);
        let frame = Frame::read_table(self.table, self.selection)?;
        console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
        console.warn_cut(&frame.cut);
        console.warn_dropped(frame.dropped);
        let points = Points::new(frame.values, model.about.features.len())?;
        let mut answer = model.answers(self.arguments.delta)?.at(points.view())?;
        let more = self.arguments.threshold.map(|threshold| concluded(model, &points, &mut answer, threshold)).transpose()?;
        self.say(&answer);
        let (mut sheet, format) = (sheet(model, self.arguments.inputs), console.format(Format::Csv));
        sheet.rows = self.cells(&points, &answer, format);
        if let Some(columns) = more {
            sheet.columns.extend(STANDS.map(str::to_owned));
            sheet.rows.iter_mut().enumerate().for_each(|(i, row)| row.extend(columns.iter().map(|column| cell(column, i, format))));
        }
        if format != Format::Json {
            return console.sheet(&sheet, Format::Csv);
        }
        console.answer(format_args!("{:#}", document(model, &answer, sheet.objects().collect())))
    }

    /// What is written of some rows, row by row.
    fn cells(&self, points: &Points, answer: &Answer, format: Format) -> Vec<Vec<Value>> {
        let columns = columns(self.model, points, answer, self.arguments.inputs);
        (0..points.len()).map(|i| columns.iter().map(|column| cell(column, i, format)).collect()).collect()
    }
}

/// The answers to all rows as one JSON document.
fn document(model: &Model, answer: &Answer, rows: Value) -> Value {
    let certificate = json!({ "function": answer.certificate, "response": answer.response_certificate });
    json!({ "target": model.about.target, "delta": answer.certificate.delta, "label": answer.label(), "response_label": answer.response_certificate.label(), "certificate": certificate, "rows": rows })
}

/// Rows on standard output, some at a time.
enum Printer<W: Write> {
    Csv(Box<CsvWriter<W>>),
    /// An object for each row, and what follows the last one where all are one document.
    Json {
        out: W,
        names: Vec<String>,
        end: Option<String>,
        is_first: bool,
    },
}

impl<W: Write> Printer<W> {
    /// Begins, with a document that has no rows yet where one is asked for.
    fn new(mut out: W, format: Format, names: &[String], document: impl FnOnce() -> Value) -> std::io::Result<Self> {
        if format == Format::Csv {
            return CsvWriter::new(out, names).map(|writer| Self::Csv(Box::new(writer)));
        }
        let document = (format == Format::Json).then(|| format!("{:#}", document()));
        let parts = document.as_deref().and_then(|document| document.rsplit_once(NO_ROWS));
        if let Some((start, _)) = parts {
            write!(out, "{start}{}", NO_ROWS.trim_end_matches(']'))?;
        }
        Ok(Self::Json { out, names: names.to_vec(), end: parts.map(|(_, end)| end.to_owned()), is_first: true })
    }

    fn write(&mut self, rows: Vec<Vec<Value>>) -> std::io::Result<()> {
        let (out, names, end, is_first) = match self {
            Self::Csv(writer) => return writer.write(&rows),
            Self::Json { out, names, end, is_first } => (out, names, end, is_first),
        };
        for object in (Sheet { columns: names.clone(), rows }).objects() {
            if end.is_none() {
                writeln!(out, "{object}")?;
                continue;
            }
            let comma = if std::mem::take(is_first) { "" } else { "," };
            write!(out, "{comma}\n    {}", format!("{object:#}").replace('\n', "\n    "))?;
        }
        Ok(())
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Csv(writer) => writer.finish(),
            Self::Json { mut out, end, .. } => {
                end.map_or(Ok(()), |end| writeln!(out, "\n  ]{end}"))?;
                out.flush()
            }
        }
    }
}

/// Where the rows of a document go, behind everything else.
const NO_ROWS: &str = "\"rows\": []";

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

/// A number that is none is an empty cell. An end that is not there is infinite where that can be written, and nothing in JSON, which cannot.
fn cell(column: &Column, i: usize, format: Format) -> Value {
    match column {
        Column::Numbers(values) if values[i].is_infinite() && matches!(format, Format::Csv | Format::Table) => json!(values[i].to_string()),
        Column::Numbers(values) => json!(values[i]),
        Column::Text(words) => json!(words[i]),
    }
}
