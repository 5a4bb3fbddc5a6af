//! `sigmabar predict MODEL DATA`: mean, standard deviation and both intervals for each row.

use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::data::{Categories, Frame, Reader, Selection, Wanted};
use crate::failure::Ending;
use crate::memory;
use crate::model::{self, Model};
use crate::model_file;
use crate::sheet::Sheet;
use crate::which_study::quoted;
use serde_json::{Value, json};
use sigmabar::Points;
use sigmabar::certificate::Answer;
use std::io::Write;
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A model saved by sigmabar fit
    model: PathBuf,
    /// A table with the model's columns: CSV (also .gz; - for standard input), Parquet or .npy
    data: PathBuf,
    /// Miss probability of each interval
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Repeat the columns that were predicted from
    #[arg(long)]
    inputs: bool,
}

/// Names of the columns that are written.
const COLUMNS: [&str; 6] = ["mean", "std", "mean_lower", "mean_upper", "prediction_lower", "prediction_upper"];

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let model = model_file::load(&arguments.model)?;
    let names = model.about.features.iter().map(|column| column.name.clone()).collect();
    let categories = Categories::Known(model.about.features.clone());
    let selection = Selection { wanted: Wanted::Named(names), categories, memory: memory::available(), has_options: false };
    let frame = Frame::read(Reader::open(&arguments.data)?, &selection)?;
    console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
    let points = Points::new(frame.values, model.about.features.len())?;
    let answer = model.answers(arguments.delta)?.at(points.view())?;
    console.say(model::words(&answer));
    write(&model, &points, &answer, arguments.inputs, console)?;
    console.next(format_args!("sigmabar report {}", quoted(&arguments.model)));
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
