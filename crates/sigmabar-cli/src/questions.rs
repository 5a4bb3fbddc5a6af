//! The questions of `sigmabar new`, and the study file that comes of the answers.

mod levels;

use crate::Outcome;
use crate::console::Console;
use crate::failure::Failure;
use crate::plate::Plate;
use levels::{Apart, Factor, Levels, Made, levels, with_unit};
use sigmabar::theory::norm_of_hills;
use sigmabar::{Expansion, Kernel, Points};
use sigmabar_study::{FAILURES, Parameter, Space, Value, choice_length};
use std::io::BufRead;

/// The answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answers {
    pub description: String,
    pub minimize: bool,
    pub factors: Vec<(String, Factor)>,
    pub wells: Option<usize>,
    pub batches: usize,
    pub per_batch: usize,
}

/// Asks until the answers make a study.
pub(crate) fn ask(input: &mut dyn BufRead, console: &Console) -> Outcome<Answers> {
    let mut asker = Asker::new(input, console);
    let description = asker.line("What is measured?", "result")?;
    let minimize = asker.until("Should it be large or small?", "large", |text| match text {
        "large" | "l" | "max" | "maximize" => Ok(false),
        "small" | "s" | "min" | "minimize" => Ok(true),
        _ => Err("answer large or small".to_owned()),
    })?;
    console.say("Name the factors you can set, one at a time; an empty line ends the list.");
    let mut factors: Vec<(String, Factor)> = Vec::new();
    loop {
        let typed = asker.line(&format!("Factor {}:", factors.len() + 1), "")?;
        if typed.is_empty() && !factors.is_empty() {
            break;
        }
        let (name, unit) = with_unit(&typed);
        // The same that study files ask of a name, and what would have to be escaped in a command.
        if name.contains(['[', ']', '(', ')', '\'', '<', '>']) {
            console.say("a name has no brackets, quotes or equals signs");
            continue;
        }
        if let Some(reason) = sigmabar_study::wrong_name(&name).filter(|_| !name.is_empty()) {
            console.say(format_args!("a factor cannot be called \"{name}\": {reason}"));
            continue;
        }
        if name.is_empty() || factors.iter().any(|(known, _)| *known == name) {
            console.say("a factor needs a name of its own");
            continue;
        }
        let levels = asker.until(
            &format!("Levels of {name} (20..80, or 20..80 step 5, or 20..80 digits 1, or 1..1000 log, or 1..64 int, or 1, 2, 4, 8 h, or dmso, thf):"),
            "",
            levels,
        )?;
        factors.push((name, Factor { unit: levels.unit.or(unit.filter(|_| !matches!(levels.levels, Levels::Names(_)))), ..levels }));
    }
    let wells = asker.until("Wells of a plate (24, 96, 384; 0 without plates):", "96", |text| match text.parse::<usize>() {
        Ok(0) => Ok(None),
        Ok(wells) if Plate::with_wells(wells).is_some() => Ok(Some(wells)),
        _ => Err("plates have 6, 12, 24, 48, 96, 384 or 1536 wells".to_owned()),
    })?;
    let positive = |text: &str| text.parse::<usize>().ok().filter(|n| *n > 0).ok_or_else(|| "a whole number, at least 1".to_owned());
    let batches = asker.until(if wells.is_some() { "How many plates?" } else { "How many rounds?" }, "3", positive)?;
    let per_batch = match wells {
        Some(wells) => wells,
        None => asker.until("How many measurements in a round?", "20", positive)?,
    };
    Ok(Answers { description, minimize, factors, wells, batches, per_batch })
}

/// What somebody believes about a function before measuring it (algorithm notes 13.4).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beliefs {
    /// The value that is usual.
    pub usual: f64,
    /// How far values stray from it.
    pub stray: f64,
    /// Hills and valleys that fit into the range.
    pub hills: usize,
    /// How far one must go to see a change, as a share of a factor's range.
    pub change: f64,
    /// By how much two measurements of one setting usually differ.
    pub repeat: f64,
    /// How much values under two choices of a factor correlate, where a factor has choices.
    pub alike: Option<f64>,
}

/// Behind the remark of the kernel where a factor has choices: how far, and how alike.
const CHOICES: (&str, &str) = ("in shares of the range: ", "; two choices are alike by ");
/// How alike they are until somebody says otherwise.
const ALIKE: f64 = 0.5;

/// The remarks behind the lines that answers give, in the order of the keys: by these they are known again.
pub(crate) struct Said {
    pub heading: &'static str,
    pub failures: &'static str,
    pub remarks: [&'static str; 5],
}

pub(crate) const SAID: Said = Said {
    heading: "# What you said is assumed",
    failures: "# failures = ",
    remarks: [
        "# the usual value",
        "# how far settings stray from it",
        "# 1.5 times the root of",
        "# two measurements usually differ by",
        "# so far to a clear change",
    ],
};

impl Beliefs {
    /// The answers behind the premises of a study file, as far as its lines still say them.
    pub(crate) fn said(text: &str) -> Option<Self> {
        let line = |i: usize| text.lines().find(|line| line.contains(SAID.remarks[i]));
        let value = |i: usize| line(i)?.split_once('=')?.1.split_once('#')?.0.trim().parse::<f64>().ok();
        let remark = |i: usize| {
            let words = line(i)?.split_once(SAID.remarks[i])?.1.trim_start();
            words.split(|c: char| c.is_whitespace() || c == ':').next()?.parse::<f64>().ok()
        };
        let both = line(4)?.split_once(CHOICES.0).and_then(|(_, both)| both.split_once(CHOICES.1));
        let (change, alike) = match both {
            Some((change, alike)) => (change.trim().parse().ok()?, Some(alike.trim().parse().ok()?)),
            None => (line(4)?.split_once("lengthscale =")?.1.split_once('}')?.0.trim().parse().ok()?, None),
        };
        Some(Self { usual: value(0)?, stray: value(1)?, hills: remark(2)? as usize, change, repeat: remark(3)?, alike })
    }

    /// Asks; what was said before stands unless something else is said now. How alike choices are is asked where a factor has them.
    pub(crate) fn ask(asker: &mut Asker<'_>, space: &Space, earlier: Option<Self>) -> Outcome<Self> {
        let Self { usual, stray, hills, change, repeat, alike } =
            earlier.unwrap_or(Self { usual: 0.0, stray: 1.0, hills: 4, change: 0.3, repeat: 0.1, alike: None });
        let number = |text: &str| {
            let pointed = text.replacen(',', ".", 1);
            let said = if pointed != text && pointed.parse::<f64>().is_ok() {
                format!("write decimals with a point: {pointed}")
            } else {
                "a number, such as 50".to_owned()
            };
            text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or(said)
        };
        let positive = |text: &str| number(text).and_then(|v| if v > 0.0 { Ok(v) } else { Err("a number above 0".to_owned()) });
        let usual = asker.until("Which value is usual, before you know anything about a setting?", &usual.to_string(), number)?;
        let stray = asker.until("How far from it do good and bad settings stray?", &stray.to_string(), positive)?;
        let hills = asker.until("How many hills and valleys fit into the whole range?", &hills.to_string(), |text| {
            text.parse::<usize>().ok().filter(|n| *n > 0).ok_or_else(|| "a whole number, at least 1".to_owned())
        })?;
        let share =
            |text: &str| positive(text).and_then(|v| if v <= 10.0 { Ok(v) } else { Err("a share of the range, such as 0.3".to_owned()) });
        let way = "How far must one go along a factor, as a share of its range, to see a clear change?";
        let change = asker.until(way, &change.to_string(), share)?;
        let repeat = asker.until("By how much do two measurements of one setting usually differ?", &repeat.to_string(), positive)?;
        let Some(factor) = space.parameters().iter().find(|parameter| parameter.is_choice()) else {
            return Ok(Self { usual, stray, hills, change, repeat, alike: None });
        };
        let question = format!(
            "How alike are results under two choices of {}, from 0 (one tells nothing about another) to 1 (they are the same)?",
            factor.name
        );
        let inside = |text: &str| {
            number(text).and_then(|v| if v > 0.0 && v < 1.0 { Ok(v) } else { Err("a number between 0 and 1, such as 0.5".to_owned()) })
        };
        let alike = asker.until(&question, &alike.unwrap_or(ALIKE).to_string(), inside)?;
        Ok(Self { usual, stray, hills, change, repeat, alike: Some(alike) })
    }

    /// The kernel along one factor.
    fn kernel(&self) -> Outcome<Kernel> {
        Ok(Kernel::matern(2.5, self.change, 1.0)?)
    }

    /// $\mathbb E|\varepsilon-\varepsilon'| = 2\sigma/\sqrt\pi$ for normal noise, in units of the stray.
    fn noise(&self) -> f64 {
        self.repeat * std::f64::consts::PI.sqrt() / 2.0 / self.stray
    }

    /// The keys of a study file, with where each comes from.
    pub(crate) fn to_toml(&self, space: &Space) -> Outcome<String> {
        let Self { usual, stray, hills, change, repeat, alike } = self;
        let norm = norm_of_hills(1.0, *hills)?;
        let (lengths, remark) = match alike {
            Some(alike) => {
                let choice = format!("{:.6}", choice_length(space.candidates().is_some(), *alike)?);
                let length = |parameter: &Parameter| if parameter.is_choice() { choice.clone() } else { format!("{change:?}") };
                let named = space.parameters().iter().map(|parameter| format!("{} = {}", quoted(&parameter.name), length(parameter)));
                (format!("{{ {} }}", named.collect::<Vec<_>>().join(", ")), format!("{}{change:?}{}{alike:?}", CHOICES.0, CHOICES.1))
            }
            None => (format!("{change:?}"), "in shares of the range".to_owned()),
        };
        Ok(format!(
            "# What you said is assumed; if it is wrong, so may be the answer, which says for which norms it stands.\n\
             prior_mean = {usual:?}  # the usual value\n\
             unit = {stray:?}  # how far settings stray from it: norm and noise count in these\n\
             norm_bound = {norm:.4}  # 1.5 times the root of {hills} hills and valleys\n\
             noise = {{ about = {:.6} }}  # two measurements usually differ by {repeat}: a guess that plans; replicates bound it\n\
             kernel = {{ name = \"matern\", nu = 2.5, lengthscale = {lengths} }}  # so far to a clear change, {remark}\n\
             {FAILURES}\n",
            self.noise()
        ))
    }

    /// Three functions with so many hills and valleys along one factor, each at so many choices of another if there are any, in the data's scale.
    pub(crate) fn functions(&self, choices: usize, seed: u64) -> Outcome<Vec<Vec<Vec<f64>>>> {
        let lines = choices.max(1);
        let between = -1.0 / self.alike.unwrap_or(ALIKE).ln();
        let kernel = self.kernel()?.columns(vec![0])? * Kernel::hamming(between, 1.0)?.columns(vec![1])?;
        let one = |which: u64| -> Outcome<Vec<Vec<f64>>> {
            // Centres at equal steps, turned by the golden ratio from function to function.
            let centre = |i: usize| [((i as f64 + 0.5) / self.hills as f64 + 0.618 * (which as f64 + 1.0)).fract(), (i % lines) as f64];
            let centres = Points::from_rows(&(0..self.hills).map(centre).collect::<Vec<_>>())?;
            let norm = norm_of_hills(1.0, self.hills)? / 1.5;
            let function = Expansion::random(kernel.clone(), centres, norm, seed.wrapping_add(which))?;
            let along = |line: usize| -> Outcome<Vec<f64>> {
                let steps: Vec<[f64; 2]> = (0..=200).map(|i| [f64::from(i) / 200.0, line as f64]).collect();
                Ok(function.values(Points::from_rows(&steps)?.view())?.into_iter().map(|v| self.usual + self.stray * v).collect())
            };
            (0..lines).map(along).collect()
        };
        (0..3).map(one).collect()
    }
}

/// Who asks.
pub(crate) struct Asker<'a> {
    input: &'a mut dyn BufRead,
    console: &'a Console,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead, console: &'a Console) -> Self {
        Self { input, console }
    }

    /// One answer; the default for an empty line.
    fn line(&mut self, question: &str, default: &str) -> Outcome<String> {
        let hint = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        self.console.say(format_args!("{question}{hint}"));
        let mut text = String::new();
        let read =
            self.input.read_line(&mut text).map_err(|error| Failure::usage(format!("cannot read the answer: {error}"), "try again"))?;
        if read == 0 {
            return Err(Failure::usage("the answers ended before the questions", "nothing was written; start again"));
        }
        let text = text.trim();
        Ok(if text.is_empty() { default.to_owned() } else { text.to_owned() })
    }

    /// Asks again until the answer can be used.
    pub(crate) fn until<T>(&mut self, question: &str, default: &str, understand: impl Fn(&str) -> Result<T, String>) -> Outcome<T> {
        loop {
            let text = self.line(question, default)?;
            match understand(&text) {
                Ok(answer) => return Ok(answer),
                Err(remedy) => self.console.say(remedy),
            }
        }
    }
}

/// A TOML string: JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Answers {
    /// The study file.
    pub(crate) fn to_toml(&self, seed: u64) -> String {
        let mut text = String::from("# Written by sigmabar new; `sigmabar schema` describes every key.\n");
        let mut line = |words: String| text += &(words + "\n");
        let number = Value::Float;
        line(format!("response = {}   # what is measured, for axes and tables", quoted(&self.description)));
        line(format!("direction = \"{}\"", if self.minimize { "minimize" } else { "maximize" }));
        match self.wells {
            Some(wells) => {
                line(format!("plate = {wells}\nplates = {}", self.batches));
                line("# replicates = 2   # wells of every setting, at random places".to_owned());
                line("# controls = 4   # wells of every plate that hold controls".to_owned());
                line("# blocked = [\"A1\"]   # wells that stay empty".to_owned());
            }
            None => line(format!("budget = {}\nbatches = {}", self.batches * self.per_batch, self.batches)),
        }
        line(format!("seed = {seed}"));
        line(
            "# What you know for certain makes the answer certified; without it, it is \"estimated\". `sigmabar premises` asks for it."
                .to_owned(),
        );
        line("# norm_bound = 2.0\n# noise = { gaussian = 0.1 }\n# kernel = { name = \"matern\", lengthscale = 0.3 }".to_owned());
        line(FAILURES.to_owned());
        for (name, factor) in &self.factors {
            line(format!("\n[parameters.{}]", quoted(name)));
            match &factor.levels {
                Levels::Range(low, high, made) => {
                    line(format!("type = \"float\"\nlow = {}\nhigh = {}", number(*low), number(*high)));
                    line(match made {
                        Made::Step(step) => format!("step = {}", number(*step)),
                        Made::Digits(digits) => format!("digits = {digits}   # decimals that can be set"),
                    });
                }
                Levels::Ratios(low, high, digits) => {
                    line(format!("type = \"float\"\nlow = {}\nhigh = {}", number(*low), number(*high)));
                    line("log = true   # equal ratios are equally far apart".to_owned());
                    line(format!("digits = {digits}   # significant digits that can be set"));
                }
                Levels::Whole(low, high, apart) => {
                    line(format!("type = \"int\"\nlow = {low}\nhigh = {high}"));
                    match apart {
                        Apart::Step(1) => {}
                        Apart::Step(step) => line(format!("step = {step}")),
                        Apart::Ratios => line("log = true   # equal ratios are equally far apart".to_owned()),
                    }
                }
                Levels::Numbers(numbers) => {
                    let numbers: Vec<String> = numbers.iter().map(|value| number(*value).to_string()).collect();
                    line(format!("type = \"ordinal\"\nchoices = [{}]", numbers.join(", ")));
                }
                Levels::Names(names) => {
                    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                    line(format!("type = \"categorical\"\nchoices = [{}]", names.join(", ")));
                }
            }
            if let Some(unit) = &factor.unit {
                line(format!("unit = {}", quoted(unit)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read_back_from_the_file() {
        let number = "budget = 9\n[parameters.t]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
        let choice = format!("{number}[parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\"]\n");
        let list = "budget = 9\ncandidates = { columns = [\"t\", \"solvent\"], rows = [[0, \"dmso\"], [0, \"thf\"], [1, \"thf\"]] }\n";
        for (study, alike) in [(number, None), (&choice, Some(0.25)), (list, Some(0.25))] {
            let read = |text: &str| sigmabar_study::StudySpec::from_toml(text, std::path::Path::new(".")).unwrap();
            let beliefs = Beliefs { usual: 50.0, stray: 20.0, hills: 3, change: 0.4, repeat: 2.5, alike };
            let written = beliefs.to_toml(read(study).space()).unwrap();
            assert_eq!(Beliefs::said(&written), Some(beliefs));
            // What was said about choices is what the kernel of the study says.
            let spec = read(&format!("{written}{study}"));
            let at = |word: &str| spec.space().point(&[Value::Float(0.0), Value::Choice(word.into())]).unwrap();
            if let Some(alike) = alike {
                let found = spec.problem().kernel().unwrap().value.value(&at("dmso"), &at("thf"));
                assert!((found - alike).abs() < 1e-4, "{found}");
            }
        }
        assert_eq!(Beliefs::said("prior_mean = 3\n"), None);
    }

    #[test]
    fn the_file_that_is_written_can_be_read() {
        let answers = [
            ("temperature", "20..80 step 2.5"),
            ("dose", "1, 2.5 ml"),
            ("solvent", "dmso, thf"),
            ("rate", "1e-5..1e-1 log"),
            ("depth", "1..64 int log"),
            ("trees", "10..90 int step 10"),
            ("stars", "1e300-1e308"),
            ("hours", "1h, 2h, 4h"),
        ];
        let factors = answers.map(|(name, text)| (name.to_owned(), levels(text).unwrap())).to_vec();
        for wells in [None, Some(24)] {
            let answers = Answers {
                description: "yield, \"dry\"".into(),
                minimize: true,
                factors: factors.clone(),
                wells,
                batches: 2,
                per_batch: 24,
            };
            let spec = sigmabar_study::StudySpec::from_toml(&answers.to_toml(3), std::path::Path::new(".")).unwrap();
            assert_eq!((spec.space().parameters().len(), spec.problem().budget(), spec.problem().seed()), (8, 48, 3));
            if wells.is_some() {
                // What plates can hold besides stands there, to be taken by removing a sign.
                let text = ["replicates", "controls", "blocked"]
                    .iter()
                    .fold(answers.to_toml(3), |text, key| text.replace(&format!("# {key} ="), &format!("{key} =")));
                let spec = sigmabar_study::StudySpec::from_toml(&text, std::path::Path::new(".")).unwrap();
                assert_eq!((spec.replicates(), spec.controls(), spec.blocked_wells().len()), (2, 4, 1));
            }
        }
    }
}
