//! The two voices of the command: data on stdout in the format asked for, words on stderr.

mod passes;
mod table;
mod watch;

pub(crate) use passes::Passes;
pub(crate) use watch::Watch;

use crate::Outcome;
use crate::args::{Format, Global};
use crate::failure::Failure;
use crate::quantity::{grouped, short};
use crate::sheet::Sheet;
pub(crate) use crate::sheet::{plain, write_csv};
use anstyle::{AnsiColor, Style};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::{Map, Value};
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

const BAD: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// Raises a flag when it goes, even by a panic: the thread that waits for it must not wait for ever.
struct RaiseAtEnd<'a>(&'a AtomicBool);

impl Drop for RaiseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where the command writes, and how much it says.
#[derive(Clone, Debug)]
pub struct Console {
    format: Option<Format>,
    quiet: bool,
    verbose: bool,
}

impl Console {
    pub(crate) fn new(global: &Global) -> Self {
        Self { format: global.format, quiet: global.quiet, verbose: global.verbose > 0 }
    }

    /// One that says nothing.
    pub(crate) fn silent() -> Self {
        Self { format: None, quiet: true, verbose: false }
    }

    /// The format of data on stdout.
    pub(crate) fn format(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    /// Words for people, on stderr.
    pub(crate) fn say(&self, words: impl Display) {
        if !self.quiet {
            drop(writeln!(anstream::stderr(), "{words}"));
        }
    }

    /// Words for those who want to know more (`-v`).
    pub(crate) fn detail(&self, words: impl Display) {
        if self.verbose {
            self.say(words);
        }
    }

    /// Something that should not be overlooked.
    pub(crate) fn warn(&self, words: impl Display) {
        self.say(format_args!("{BAD}note:{BAD:#} {words}"));
    }

    /// That a table's numbers have decimal commas: 1,234 might have been meant as a thousand.
    pub(crate) fn say_decimal_commas(&self, file: &Path, has_them: bool) {
        if has_them {
            self.say(format_args!("{}: commas are read as decimal points (1,234 is 1.234)", file.display()));
        }
    }

    /// That a table may have been cut: what is left of its last number is a number too.
    pub(crate) fn warn_cut(&self, files: &[PathBuf]) {
        for file in files {
            self.warn(format_args!("{}: its last line has no end: if the file was cut, its last number is wrong", file.display()));
        }
    }

    /// How many rows were passed over because a value was missing.
    pub(crate) fn warn_dropped(&self, rows: usize) {
        if rows > 0 {
            self.warn(format_args!("{} rows with a missing value were dropped", grouped(rows)));
        }
    }

    /// The next command to type.
    pub(crate) fn next(&self, command: impl Display) {
        self.say(format_args!("next: {HINT}{command}{HINT:#}"));
    }

    /// Why the command failed: said even when quiet.
    pub(crate) fn complain(&self, failure: &Failure) {
        drop(writeln!(anstream::stderr(), "{BAD}error:{BAD:#} {failure}"));
    }

    /// A bar that counts to `length`, or a spinner; nothing where stderr is not a terminal.
    pub(crate) fn progress(&self, what: &str, length: Option<u64>) -> ProgressBar {
        let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        if self.quiet || !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
            return bar;
        }
        let template = match length {
            Some(_) => "{msg} {wide_bar} {pos} of {len}{left}",
            None => "{spinner} {msg} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", left));
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }

    /// Something takes a while: a spinner, or a line where stderr is not a terminal. Nothing for programs that read JSON.
    pub(crate) fn busy(&self, what: &str) -> ProgressBar {
        if !io::stderr().is_terminal() && !matches!(self.format, Some(Format::Json | Format::Jsonl)) {
            self.say(format_args!("{what} …"));
        }
        self.progress(what, None)
    }

    /// A bar over evaluations, with what is known of them so far; nothing where stderr is not a terminal.
    pub(crate) fn watched(&self, watch: &Watch, length: usize) -> ProgressBar {
        let bar = self.progress("measuring", Some(length as u64));
        let watch = watch.clone();
        if let Ok(style) = ProgressStyle::with_template("{watch} {wide_bar}") {
            bar.set_style(style.with_key("watch", move |state: &ProgressState, out: &mut dyn fmt::Write| watch.write(state, out)));
        }
        bar
    }

    /// Does work that is expected to take so many seconds, with a bar that follows the clock; a spinner where nothing is known.
    pub(crate) fn timed<T>(&self, what: &str, seconds: Option<f64>, work: impl FnOnce() -> T) -> T {
        if let Some(seconds) = seconds {
            self.say(format_args!("{what}: about {seconds:.0} s"));
        }
        let bar = self.progress(what, seconds.map(|seconds| (1000.0 * seconds) as u64 + 1));
        // It counts milliseconds, which nobody wants to read.
        if let (Some(_), Ok(style)) = (seconds, ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %{left}")) {
            bar.set_style(style.with_key("left", left));
        }
        let done = AtomicBool::new(false);
        let begun = Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    bar.set_position(bar.length().unwrap_or(0).min(begun.elapsed().as_millis() as u64));
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
            let _raised = RaiseAtEnd(&done);
            work()
        });
        bar.finish_and_clear();
        result
    }

    /// Writes a sheet to stdout.
    pub(crate) fn sheet(&self, sheet: &Sheet, default: Format) -> Outcome<()> {
        let mut out = io::BufWriter::new(anstream::stdout().lock());
        let mut missing = Vec::new();
        match self.format(default) {
            Format::Table => {
                let rows: Vec<Vec<String>> = sheet.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
                let (table, left_out) = table::drawn(&sheet.columns, &rows, table::terminal_width(false));
                writeln!(out, "{table}")?;
                missing = left_out;
            }
            Format::Csv => write_csv(sheet, &mut out)?,
            Format::Jsonl => {
                for object in sheet.objects() {
                    writeln!(out, "{object}")?;
                }
            }
            Format::Json => writeln!(out, "{:#}", sheet.objects().collect::<Value>())?,
        }
        out.flush()?;
        if !missing.is_empty() {
            self.say(format_args!("too narrow for {}: --format csv has everything", missing.join(", ")));
        }
        Ok(())
    }

    /// An empty list, for programs that read one.
    pub(crate) fn nothing(&self) -> Outcome<()> {
        if self.format(Format::Table) == Format::Json { self.answer("[]") } else { Ok(()) }
    }

    /// An answer in words, on stdout: what was asked for is data.
    pub(crate) fn answer(&self, words: impl Display) -> Outcome<()> {
        Ok(writeln!(anstream::stdout().lock(), "{words}")?)
    }

    /// Writes one record to stdout: a line for each field in tables, one object or row elsewhere.
    pub(crate) fn record(&self, fields: &[(&str, Value)], default: Format) -> Outcome<()> {
        let names = || fields.iter().map(|(name, _)| *name);
        let values: Vec<Value> = fields.iter().map(|(_, value)| value.clone()).collect();
        match self.format(default) {
            Format::Table => {
                let width = names().map(UnicodeWidthStr::width).max().unwrap_or(0);
                let mut out = anstream::stdout().lock();
                let room = table::terminal_width(false).map_or(usize::MAX, |terminal| terminal.saturating_sub(width + 2));
                for (name, value) in fields {
                    let mut name = *name;
                    for line in table::wrapped(&cell(value), room) {
                        writeln!(out, "{name:<width$}  {line}")?;
                        name = "";
                    }
                }
                Ok(out.flush()?)
            }
            Format::Json => {
                let mut out = anstream::stdout().lock();
                let object: Map<String, Value> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
                writeln!(out, "{:#}", Value::Object(object))?;
                Ok(out.flush()?)
            }
            Format::Csv => {
                let (columns, row) = flat(fields).into_iter().unzip();
                self.sheet(&Sheet { columns, rows: vec![row] }, Format::Csv)
            }
            other => self.sheet(&Sheet { columns: names().map(str::to_owned).collect(), rows: vec![values] }, other),
        }
    }
}

/// How long it will take, once there is something to judge by.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    let eta = state.eta();
    if !eta.is_zero() {
        let _ = write!(out, ", {:#} left", HumanDuration(eta));
    }
}

/// Fields for a row of plain cells: what has names inside becomes a column for each, such as `setting.temperature`.
fn flat(fields: &[(&str, Value)]) -> Vec<(String, Value)> {
    let mut row = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Object(inner) => {
                let inner: Vec<(String, Value)> = inner.iter().map(|(key, value)| (format!("{name}.{key}"), value.clone())).collect();
                row.extend(flat(&inner.iter().map(|(key, value)| (key.as_str(), value.clone())).collect::<Vec<_>>()));
            }
            other => row.push(((*name).to_owned(), other.clone())),
        }
    }
    row
}

/// A cell for people.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or_else(String::new, short),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => fields.iter().map(|(name, value)| format!("{name} = {}", cell(value))).collect::<Vec<_>>().join(", "),
        other => plain(other),
    }
}
