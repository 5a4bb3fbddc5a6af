//! `sigmabar import FILE`: results from before the study.

use crate::Outcome;
use crate::args::{self, Global};
use crate::console::Console;
use crate::data::{Cell, DataError, Provenance, Reader};
use crate::failure::{Ending, Failure};
use crate::plate::{REMEDY, REPLICATES, RESULT, STANDARD_ERROR, is_blank};
use crate::quantity::counted;
use crate::setting;
use crate::verbs::status::say_next;
use crate::which_study::{StudyOption, quoted};
use sigmabar::Collected;
use sigmabar_study::{ImportedRow, NO_RESULT, Parameter, Space, TrialResult};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A table with one column for each parameter and one for the result
    file: PathBuf,
    /// Names of the study and of the table that mean the same, such as result=yield,temperature=T
    #[arg(long, value_name = "NAME=COLUMN", value_delimiter = ',', value_parser = pair)]
    map: Vec<(String, String)>,
    /// How the settings were chosen: only "fixed" ones that come before the first ask enter certificates
    #[arg(long, value_name = "HOW", default_value = Collected::Undeclared.name(), value_parser = args::collected())]
    collected: Collected,
    /// Check everything and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    study: StudyOption,
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, column)) if !name.trim().is_empty() && !column.trim().is_empty() => {
            Ok((name.trim().to_owned(), column.trim().to_owned()))
        }
        _ => Err("a mapping is NAME=COLUMN, such as result=yield"),
    }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    // Everything is checked before a study is begun.
    let (spec, begun) = place.declared()?;
    let columns = Columns::new(spec.space(), &arguments.map)?;
    if is_study(&arguments.file) {
        let remedy = format!("sigmabar export {} > results.csv, and import that", quoted(&arguments.file));
        return Err(Failure::usage(format!("{} is a study, not a table", arguments.file.display()), remedy));
    }
    let mut reader = Reader::open(&arguments.file)?;
    let Rows { told: rows, lines, empty, objection } = columns.read(&mut reader).map_err(|error| match &error {
        DataError::NoColumn { name, .. } => {
            Failure::usage(error.to_string(), format!("--map {name}=COLUMN says under which name it stands in the table"))
        }
        _ => error.into(),
    })?;
    if let Some((line, why)) = objection.filter(|_| arguments.collected.is_fixed()) {
        return Err(Failure::refused(format!("{}, {} {line}: {why}", arguments.file.display(), reader.line_word()), UNVOUCHED));
    }
    console.say_decimal_commas(&arguments.file, reader.has_decimal_commas());
    for (row, line) in rows.iter().zip(&lines) {
        // Every row is checked here, so that the error names the line of the file.
        spec.space().point(&row.values).map_err(|error| {
            Failure::refused(
                format!("{}, line {line}: {error}", arguments.file.display()),
                "correct the row or take it out; nothing was imported",
            )
        })?;
    }
    if !empty.is_empty() {
        let what = format!("{} without a result", counted(empty.len(), "row"));
        console.say(format_args!("{what}: kept as lost, because a value may be missing for what it was"));
    }
    if arguments.dry_run {
        match &begun {
            Some(study) => study.check_import(&rows, arguments.collected)?,
            None => spec.could_import(&rows, arguments.collected)?,
        }
        console.say(format_args!("{} can be imported; nothing was written (--dry-run)", counted(rows.len(), "row")));
        console.next(format_args!("the same without --dry-run"));
        return Ok(Ending::Done);
    }
    let (study, _) = place.open_or_begin(global.seed)?;
    let imported = study.import_as(&rows, arguments.collected)?;
    console.say(format_args!("imported {} from {}", counted(imported, "row"), arguments.file.display()));
    let status = study.status()?;
    if status.imported_in_time < status.imported {
        let late = counted(status.imported - status.imported_in_time, "row");
        console.warn(format_args!("{late} came after the first batch was planned: kept and shown, but the strategy does not see them"));
    }
    say_next(&place, &study, &status, console)?;
    Ok(Ending::Done)
}

/// Whether a file begins as databases do.
fn is_study(file: &Path) -> bool {
    let mut begin = [0; 15];
    File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"SQLite format 3"
}

/// What to do about rows that nobody can declare fixed.
pub(crate) const UNVOUCHED: &str =
    "a certificate would not say so: leave out --collected; where the column means something else, give it another name";

/// Rows of a table and their lines, the lines of those without a result, and the first line that nobody can declare fixed, with why.
#[derive(Default)]
pub(crate) struct Rows {
    pub told: Vec<ImportedRow>,
    pub lines: Vec<u64>,
    pub empty: Vec<u64>,
    pub objection: Option<(u64, String)>,
}

/// Where parameters and results stand in the table.
pub(crate) struct Columns<'a> {
    /// Each with the name of its column.
    parameters: Vec<(&'a Parameter, String)>,
    /// Where `--map` says that results stand.
    result: Option<String>,
    standard_error: Option<String>,
    replicates: Option<String>,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(space: &'a Space, map: &[(String, String)]) -> Outcome<Self> {
        let names: Vec<String> = space.names().collect();
        let is_result = |name: &str| [RESULT, "value", "y"].contains(&name) && !names.iter().any(|known| known == name);
        for (name, _) in map {
            if !names.contains(name) && !is_result(name) && ![STANDARD_ERROR, REPLICATES].contains(&name.as_str()) {
                let what = format!("--map names \"{name}\"{}", crate::data::closest(name, names.iter().map(String::as_str)));
                return Err(Failure::usage(
                    what,
                    format!("the study has {}, besides {RESULT}, {STANDARD_ERROR} and {REPLICATES}", names.join(", ")),
                ));
            }
        }
        let mapped = |name: &str| map.iter().find(|(known, _)| known == name).map(|(_, column)| column.clone());
        let result = map.iter().find(|(name, _)| is_result(name)).map(|(_, column)| column.clone());
        let column = |parameter: &Parameter| mapped(&parameter.name).unwrap_or_else(|| parameter.name.clone());
        let parameters = space.parameters().iter().map(|parameter| (parameter, column(parameter))).collect();
        Ok(Self { parameters, result, standard_error: mapped(STANDARD_ERROR), replicates: mapped(REPLICATES) })
    }

    /// Every row.
    pub(crate) fn read(&self, reader: &mut Reader) -> Result<Rows, DataError> {
        let headed = |parameter: &Parameter| reader.names().iter().position(|name| parameter.is_headed(name));
        let exact: Vec<usize> = self.parameters.iter().filter_map(|(parameter, _)| headed(parameter)).collect();
        let place = |(parameter, name): &(&'a Parameter, String)| {
            if *name != parameter.name {
                return Ok((*parameter, reader.column(name)?));
            }
            // In another case, as people type names, unless that is another parameter's.
            let title = parameter.title();
            let found = headed(parameter).map_or_else(
                || reader.column_in_any_case(name, &exact).or_else(|error| reader.column_in_any_case(&title, &exact).map_err(|_| error)),
                Ok,
            );
            Ok((*parameter, found?))
        };
        let parameters = self.parameters.iter().map(place).collect::<Result<Vec<_>, DataError>>()?;
        let in_use: Vec<usize> = parameters.iter().map(|(_, column)| *column).collect();
        // What `export` wrote has its results under "value", and says in "state" which of them failed.
        let result = match &self.result {
            Some(name) => reader.column(name)?,
            None => reader.column(RESULT).or_else(|error| reader.column_in_any_case("value", &in_use).map_err(|_| error))?,
        };
        let beside = |name: &str| reader.column_in_any_case(name, &in_use).ok();
        let (provenance, reason) = (Provenance::of(reader, &in_use), beside("reason"));
        let optional = |mapped: &Option<String>, usual: &str| match mapped {
            Some(name) => reader.column(name).map(Some),
            None => Ok(beside(usual)),
        };
        let error = optional(&self.standard_error, STANDARD_ERROR)?;
        let replicates = optional(&self.replicates, REPLICATES)?;
        parameters.iter().for_each(|&(parameter, column)| setting::keep_choices(reader, parameter, column));
        let (mut rows, mut cells) = (Rows::default(), Vec::new());
        while let Some(line) = reader.next_row(&mut cells)? {
            let wrong = |column: usize, remedy: &str| reader.wrong_cell(line, column, &cells[column], remedy);
            let standard_error = match error.map(|column| (column, &cells[column])) {
                None => None,
                Some((_, cell)) if is_blank(cell) => None,
                Some((_, Cell::Number(number))) if number.is_finite() && *number > 0.0 => Some(*number),
                Some((column, _)) => return Err(wrong(column, "a positive standard error belongs there, or nothing")),
            };
            let replicates = match replicates.map(|column| (column, &cells[column])) {
                None => None,
                Some((_, cell)) if is_blank(cell) => None,
                Some((_, Cell::Number(number))) if number.fract() == 0.0 && (1.0..1e6).contains(number) => Some(*number as u32),
                Some((column, _)) => return Err(wrong(column, "the number of replicates of a mean belongs there, or nothing")),
            };
            let result = match &cells[result] {
                cell if is_blank(cell) && provenance.has_failed(&cells) => {
                    let why = reason.map(|column| cells[column].to_string()).filter(|words| !words.is_empty());
                    TrialResult::Failed { reason: why.unwrap_or_else(|| "failed".to_owned()) }
                }
                cell if is_blank(cell) => {
                    rows.empty.push(line);
                    TrialResult::Failed { reason: NO_RESULT.to_owned() }
                }
                Cell::Number(value) if value.is_finite() => TrialResult::Value { value: *value, standard_error, replicates },
                Cell::Text(text) if text.to_lowercase().starts_with("fail") => TrialResult::Failed { reason: text.clone() },
                _ => return Err(wrong(result, REMEDY)),
            };
            let mut values = Vec::with_capacity(parameters.len());
            for &(parameter, column) in &parameters {
                let value = setting::value(&cells[column], parameter);
                values.push(value.ok_or_else(|| wrong(column, "the setting that was measured belongs there"))?);
            }
            rows.objection = rows.objection.or_else(|| provenance.objection(&cells, Collected::DeclaredFixed).map(|why| (line, why)));
            rows.told.push(ImportedRow { values, result, mark: provenance.mark(&cells) });
            rows.lines.push(line);
        }
        Ok(rows)
    }
}
