//! How far passes over many rows have come: a bar in a terminal, and now and then a line in the log of a batch system.

use super::{Console, left};
use crate::args::Format;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// A log gets a line this often.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// All passes of a piece of work.
pub(crate) struct Passes<'a> {
    console: &'a Console,
    /// How many there will be, where that is known.
    of: Option<usize>,
    begun: Cell<usize>,
    /// Seconds that those after the present one will take, where they can be told.
    later: Cell<Option<f64>>,
    between_lines: Duration,
}

/// One of them.
pub(crate) struct Pass<'a> {
    passes: &'a Passes<'a>,
    what: String,
    rows: Option<u64>,
    bar: ProgressBar,
    begun: Instant,
    spoken: Cell<Instant>,
}

impl<'a> Passes<'a> {
    pub fn new(console: &'a Console, of: Option<usize>) -> Self {
        // For tests, which cannot wait.
        let said = std::env::var("SIGMABAR_PROGRESS_SECONDS").ok().and_then(|text| text.parse().ok());
        let between_lines = said.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(BETWEEN_LINES);
        Self { console, of, begun: Cell::new(0), later: Cell::new(None), between_lines }
    }

    /// Says how long what follows the next pass will take.
    pub fn expect(&self, seconds: f64) {
        self.later.set(Some(seconds));
    }

    /// Begins the next pass over so many rows.
    pub fn next(&'a self, what: &str, rows: Option<u64>) -> Pass<'a> {
        let number = self.begun.get() + 1;
        self.begun.set(number);
        if self.of == Some(number) {
            self.later.set(Some(0.0));
        }
        let what = match self.of {
            Some(1) => what.to_owned(),
            Some(of) => format!("pass {number} of {of}: {what}"),
            None => format!("pass {number}: {what}"),
        };
        let bar = self.console.progress(&what, rows);
        let later = self.later.get();
        if let (Some(_), Ok(style)) = (rows, ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}{left}")) {
            bar.set_style(style.with_key("left", move |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| match later {
                Some(0.0) => left(state, out),
                _ if state.eta().is_zero() => {}
                later => drop(write!(out, ", {}", words(state.eta().as_secs_f64(), later))),
            }));
        }
        Pass { passes: self, what, rows, bar, begun: Instant::now(), spoken: Cell::new(Instant::now()) }
    }
}

impl Pass<'_> {
    /// So many rows more are done.
    pub fn inc(&self, rows: u64) {
        self.bar.inc(rows);
        let Passes { console, between_lines, later, .. } = self.passes;
        let is_read_by_programs = matches!(console.format, Some(Format::Json | Format::Jsonl));
        if self.spoken.get().elapsed() < *between_lines || io::stderr().is_terminal() || is_read_by_programs {
            return;
        }
        self.spoken.set(Instant::now());
        let done = self.bar.position();
        match self.rows.filter(|all| done <= *all && *all > 0) {
            Some(all) => {
                let seconds = self.begun.elapsed().as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
                console.say(format_args!("{}: {} %, {}", self.what, 100 * done / all, words(seconds, later.get())));
            }
            None => console.say(format_args!("{}: {} rows", self.what, crate::quantity::grouped(done as usize))),
        }
    }

    /// Seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// How long is left: in all where that is known.
fn words(seconds: f64, later: Option<f64>) -> String {
    let shown = |seconds: f64| HumanDuration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    later.map_or_else(|| format!("{:#} left of this pass", shown(seconds)), |later| format!("{:#} left in all", shown(seconds + later)))
}
