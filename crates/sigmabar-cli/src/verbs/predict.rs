//! `sigmabar predict MODEL DATA`: mean, standard deviation and both intervals for each row.

use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::data::{Categories, Frame, Numbers, ParquetWriter, Selection, Table, Wanted};
use crate::failure::Ending;
use crate::memory;
use crate::model::{self, Model};
use crate::model_file;
use crate::output;
use crate::quantity::grouped;
use crate::sheet::Sheet;
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
    /// Write a file (.parquet, else CSV) instead of standard output, a batch of rows at a time: any number of rows
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Miss probability of each interval
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Repeat the columns that were predicted from
    #[arg(long)]
    inputs: bool,
}

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
        has_options: false,
        drop_missing: false,
    };
    let table = Table::open(&arguments.data)?;
    if let Some(out) = &arguments.out {
        return streamed(model, &table, &selection, out, arguments, console);
    }
    let frame = Frame::read_table(&table, &selection)?;
    console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
    let points = Points::new(frame.values, model.about.features.len())?;
    let answer = model.answers(arguments.delta)?.at(points.view())?;
    console.say(model::words(&answer));
    write(model, &points, &answer, arguments.inputs, console)?;
    console.next(format_args!("sigmabar report {}", quoted(&arguments.model)));
    Ok(Ending::Done)
}

/// Reads, answers and writes batch after batch.
fn streamed(model: &Model, table: &Table, selection: &Selection, out: &Path, arguments: &Arguments, console: &Console) -> Outcome {
    let inputs: Vec<&Path> = table.parts.iter().map(|part| part.file.as_path()).chain([arguments.model.as_path()]).collect();
    output::check_writable(out, &inputs)?;
    let answers = model.answers(arguments.delta)?;
    let (dim, bar) = (model.about.features.len(), console.progress("predicting", table.rows()));
    let repeated = model.about.features.iter().filter(|_| arguments.inputs).map(|column| column.name.clone());
    let names: Vec<String> = repeated.chain(COLUMNS.map(str::to_owned)).collect();
    let is_parquet = out.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet"));
    let (mut words, mut failure, mut rows) = (None, None, 0);
    let mut each = |take: &mut dyn FnMut(&[Vec<f64>]) -> std::io::Result<()>| -> Outcome<()> {
        for chunk in table.chunks() {
            let mut numbers = Numbers::new(table.chunk(chunk)?, selection)?;
            loop {
                let mut values = Vec::with_capacity(BATCH * dim);
                while values.len() < BATCH * dim && numbers.next_row(&mut values)?.is_some() {}
                if values.is_empty() {
                    break;
                }
                let points = Points::new(values, dim)?;
                let answer = answers.at(points.view())?;
                words.get_or_insert_with(|| model::words(&answer));
                let mut columns: Vec<Vec<f64>> = if arguments.inputs {
                    (0..dim).map(|c| points.view().rows().map(|row| row[c]).collect()).collect()
                } else {
                    Vec::new()
                };
                let ends = |pick: fn(&(f64, f64)) -> f64, of: &[(f64, f64)]| of.iter().map(pick).collect::<Vec<f64>>();
                columns.extend([answer.mean.clone(), answer.std_dev.clone()]);
                columns.extend([ends(|e| e.0, &answer.function), ends(|e| e.1, &answer.function)]);
                columns.extend([ends(|e| e.0, &answer.response), ends(|e| e.1, &answer.response)]);
                take(&columns)?;
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
        if is_parquet {
            let mut writer = ParquetWriter::new(file, &names)?;
            kept(each(&mut |columns| writer.write(columns)))?;
            return writer.finish();
        }
        writeln!(file, "{}", names.join(","))?;
        kept(each(&mut |columns| {
            for i in 0..columns[0].len() {
                let line: Vec<String> = columns.iter().map(|column| column[i].to_string()).collect();
                writeln!(file, "{}", line.join(","))?;
            }
            Ok(())
        }))
    })
    .map_err(|outer| failure.take().unwrap_or(outer))?;
    bar.finish_and_clear();
    if let Some(words) = words {
        console.say(words);
    }
    console.say(format_args!("{} rows predicted; wrote {}", grouped(rows), out.display()));
    Ok(Ending::Done)
}

fn write(model: &Model, points: &Points, answer: &Answer, inputs: bool, console: &Console) -> Outcome<()> {
    let mut sheet = Sheet::new(if inputs { model.about.features.iter().map(|c| c.name.as_str()).collect() } else { Vec::new() });
    sheet.columns.extend(COLUMNS.map(str::to_owned));
    for i in 0..points.len() {
        let mut row: Vec<Value> = Vec::with_capacity(sheet.columns.len());
        if inputs {
            row.extend(points.row(i).iter().zip(&model.about.features).map(|(value, column)| match &column.categories {
                Some(names) => json!(names.get(*value as usize)),
                None => json!(value),
            }));
        }
        let ((low, high), (new_low, new_high)) = (answer.function[i], answer.response[i]);
        row.extend([answer.mean[i], answer.std_dev[i], low, high, new_low, new_high].map(Value::from));
        sheet.rows.push(row);
    }
    if console.format(Format::Csv) != Format::Json {
        return console.sheet(&sheet, Format::Csv);
    }
    let rows: Vec<Value> = sheet.rows.into_iter().map(|row| Value::Object(sheet.columns.iter().cloned().zip(row).collect())).collect();
    let certificate = json!({ "function": answer.certificate, "response": answer.response_certificate });
    let document = json!({ "target": model.about.target, "delta": answer.certificate.delta, "label": answer.label(), "response_label": answer.response_certificate.label(), "certificate": certificate, "rows": rows });
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{document:#}")?;
    Ok(out.flush()?)
}
