//! The questions of `sigmabar new`, and the study file that comes of the answers.

use crate::Outcome;
use crate::console::Console;
use crate::failure::Failure;
use crate::plate::Plate;
use sigmabar::theory::norm_of_hills;
use sigmabar::{Expansion, Kernel, Points};
use std::io::BufRead;

/// What a factor can be set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels {
    /// Any number from low to high, perhaps in steps, or to so many decimals.
    Range(f64, f64, Made),
    /// The same with equal ratios equally far apart, to so many significant digits.
    Ratios(f64, f64, usize),
    /// Whole numbers, perhaps with equal ratios equally far apart, else in steps.
    Whole(i64, i64, Apart),
    /// These numbers.
    Numbers(Vec<f64>),
    /// These names.
    Names(Vec<String>),
}

/// Which whole numbers of a range there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Apart {
    /// Every so many.
    Step(u64),
    /// All, and equal ratios are equally far apart.
    Ratios,
}

/// Significant digits on a logarithmic scale, unless said.
const SIGNIFICANT: usize = 3;

/// What of a range can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Made {
    /// Steps of this size from the lower end on.
    Step(f64),
    /// So many decimals.
    Digits(usize),
}

impl Made {
    /// Decimals that cut a range into some thousand parts.
    fn usual(low: f64, high: f64) -> Self {
        Self::Digits((500.0 / (high - low)).log10().ceil().clamp(0.0, 12.0) as usize)
    }
}

/// The levels of a factor, and the unit they were given in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    pub levels: Levels,
    pub unit: Option<String>,
}

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
}

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
        let change = line(4)?.split_once("lengthscale =")?.1.split_once('}')?.0.trim().parse().ok()?;
        Some(Self { usual: value(0)?, stray: value(1)?, hills: remark(2)? as usize, change, repeat: remark(3)? })
    }

    /// Asks; what was said before stands unless something else is said now.
    pub(crate) fn ask(asker: &mut Asker<'_>, earlier: Option<Self>) -> Outcome<Self> {
        let Self { usual, stray, hills, change, repeat } =
            earlier.unwrap_or(Self { usual: 0.0, stray: 1.0, hills: 4, change: 0.3, repeat: 0.1 });
        let number = |text: &str| text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| "a number, such as 50".to_owned());
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
        Ok(Self { usual, stray, hills, change, repeat })
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
    pub(crate) fn to_toml(&self) -> Outcome<String> {
        let Self { usual, stray, hills, change, repeat } = self;
        let norm = norm_of_hills(1.0, *hills)?;
        Ok(format!(
            "# What you said is assumed; if it is wrong, so may be the answer, which says for which norms it stands.\n\
             prior_mean = {usual:?}  # the usual value\n\
             unit = {stray:?}  # how far settings stray from it: norm and noise count in these\n\
             norm_bound = {norm:.4}  # 1.5 times the root of {hills} hills and valleys\n\
             noise = {{ about = {:.6} }}  # two measurements usually differ by {repeat}: a guess that plans; replicates bound it\n\
             kernel = {{ name = \"matern\", nu = 2.5, lengthscale = {change:?} }}  # so far to a clear change, in shares of the range\n\
             # failures = \"unrelated\"  # take the first # away if a lost measurement says nothing about its value; else one of them makes the answer an estimate\n",
            self.noise()
        ))
    }

    /// Three functions with so many hills and valleys along one factor, in the data's scale.
    pub(crate) fn functions(&self, seed: u64) -> Outcome<Vec<Vec<f64>>> {
        let steps = Points::on_line((0..=200).map(|i| f64::from(i) / 200.0).collect())?;
        let one = |which: u64| -> Outcome<Vec<f64>> {
            // Centres at equal steps, turned by the golden ratio from function to function.
            let centre = |i: usize| ((i as f64 + 0.5) / self.hills as f64 + 0.618 * (which as f64 + 1.0)).fract();
            let centres = Points::on_line((0..self.hills).map(centre).collect())?;
            let norm = norm_of_hills(1.0, self.hills)? / 1.5;
            let function = Expansion::random(self.kernel()?, centres, norm, seed + which)?;
            Ok(function.values(steps.view())?.into_iter().map(|v| self.usual + self.stray * v).collect())
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

/// A name, and the unit that people put behind it: `temperature (°C)`, `time [h]`.
fn with_unit(typed: &str) -> (String, Option<String>) {
    let split = |open: char, close: char| {
        let (name, unit) = typed.strip_suffix(close)?.rsplit_once(open)?;
        // P(O2) is a name, and no unit.
        name.ends_with(' ').then(|| (name.trim().to_owned(), Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty())))
    };
    split('(', ')').or_else(|| split('[', ']')).unwrap_or_else(|| (typed.to_owned(), None))
}

fn levels(text: &str) -> Result<Factor, String> {
    const WRONG: &str = "give a range such as 20..80 or 20 to 80, or at least two levels such as 10, 20, 40";
    const RANGE: &str = "a range goes from a smaller to a larger number, such as 20..80, 20..80 step 5, 20..80 digits 1, 1..1000 log (above 0, without steps) or 1..64 int";
    let has_decimal_comma = text.as_bytes().windows(3).any(|w| w[1] == b',' && w[0].is_ascii_digit() && w[2].is_ascii_digit());
    let pointed = text.replace(',', ".");
    if has_decimal_comma && ends(&pointed).is_some_and(|(low, rest)| range(low, rest).is_some()) {
        return Err(format!("write decimals with a point: {pointed}"));
    }
    if let Some((low, rest)) = ends(text) {
        return range(low, rest).ok_or_else(|| RANGE.to_owned());
    }
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let differ = (0..names.len()).all(|i| !names[..i].contains(&names[i]));
    if names.len() < 2 || !differ {
        return Err(WRONG.to_owned());
    }
    Ok(match measured(&names) {
        Some((mut numbers, unit)) => {
            numbers.sort_by(f64::total_cmp);
            Factor { levels: Levels::Numbers(numbers), unit }
        }
        None => Factor { levels: Levels::Names(names.into_iter().map(str::to_owned).collect()), unit: None },
    })
}

/// A range from `low` to the beginning of `rest`, which may go on with step, digits, log and int.
fn range(low: &str, rest: &str) -> Option<Factor> {
    let (rest, is_log, is_whole) = scales(rest);
    let (rest, digits) = rest.split_once("digits").map_or((rest.as_str(), None), |(high, digits)| (high, Some(digits)));
    let digits = digits.map_or(Some(None), |digits| digits.trim().parse::<usize>().ok().filter(|digits| *digits <= 12).map(Some))?;
    let (high, step) = rest.split_once("step").map_or((rest, None), |(high, step)| (high, Some(step)));
    let parts: Vec<&str> = [low, high].into_iter().chain(step).collect();
    let (numbers, unit) = measured(&parts)?;
    let (low, high, step) = (numbers[0], numbers[1], numbers.get(2).copied());
    let is_sound = low < high && step.is_none_or(|step| step > 0.0) && (digits.is_none() || (step.is_none() && !is_whole));
    if !is_sound || (is_log && (low <= 0.0 || step.is_some() || digits == Some(0))) {
        return None;
    }
    let whole = |value: f64| (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64);
    let levels = match (is_whole, is_log) {
        (true, true) => Levels::Whole(whole(low)?, whole(high)?, Apart::Ratios),
        (true, false) => Levels::Whole(whole(low)?, whole(high)?, Apart::Step(whole(step.unwrap_or(1.0))?.unsigned_abs())),
        (false, true) => Levels::Ratios(low, high, digits.unwrap_or(SIGNIFICANT)),
        (false, false) => {
            Levels::Range(low, high, step.map(Made::Step).or(digits.map(Made::Digits)).unwrap_or_else(|| Made::usual(low, high)))
        }
    };
    Some(Factor { levels, unit })
}

/// The rest of a range without the words log and int, and whether each was there: everything else may be a unit.
fn scales(rest: &str) -> (String, bool, bool) {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_log = |word: &&str| matches!(word.to_lowercase().trim_matches(','), "log" | "logarithmic");
    let is_whole = |word: &&str| matches!(word.to_lowercase().trim_matches(','), "int" | "integer" | "integers" | "whole");
    let kept: Vec<&str> = words.iter().copied().filter(|word| !is_log(word) && !is_whole(word)).collect();
    (kept.join(" "), words.iter().any(is_log), words.iter().any(is_whole))
}

/// The two ends of a range, as people write it: `20..80`, `20 to 80`, `20-80`.
fn ends(text: &str) -> Option<(&str, &str)> {
    let dashes =
        text.char_indices().skip(1).filter(|(_, c)| matches!(c, '-' | '–' | '—')).map(|(at, c)| (&text[..at], &text[at + c.len_utf8()..]));
    let high = |rest: &str| {
        let (rest, ..) = scales(rest);
        rest.split("step").flat_map(|part| part.split("digits")).next().is_some_and(|high| measured(&[high]).is_some())
    };
    text.split_once("..")
        .map(|(low, rest)| (low, rest.trim_start_matches('.')))
        .or_else(|| text.split_once(" to ").filter(|(low, rest)| measured(&[low]).is_some() && high(rest)))
        .or_else(|| dashes.into_iter().find(|(low, rest)| measured(&[low]).is_some() && high(rest)))
}

/// Numbers, with the unit that follows the last of them or several: one unit at most.
fn measured(texts: &[&str]) -> Option<(Vec<f64>, Option<String>)> {
    let mut unit: Option<&str> = None;
    let mut numbers = Vec::with_capacity(texts.len());
    for text in texts.iter().map(|text| text.trim()) {
        let place =
            (0..=text.len()).rev().filter(|&end| text.is_char_boundary(end)).find(|&end| text[..end].trim_end().parse::<f64>().is_ok())?;
        let (number, rest) = (text[..place].trim_end().parse::<f64>().ok().filter(|v| v.is_finite())?, text[place..].trim());
        // 3-ethyl is no length of three ethyls, 2b no two of b.
        let is_unit = rest.is_empty()
            || (!rest.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | ','))
                && (text[..place].ends_with(' ') || text[place..].starts_with(' ') || rest.starts_with(['%', '°', 'µ'])));
        if !is_unit || unit.is_some_and(|known| !rest.is_empty() && known != rest) {
            return None;
        }
        unit = unit.or(Some(rest).filter(|rest| !rest.is_empty()));
        numbers.push(number);
    }
    Some((numbers, unit.map(str::to_owned)))
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
        line(format!("response = {}   # what is measured, for axes and tables", quoted(&self.description)));
        line(format!("direction = \"{}\"", if self.minimize { "minimize" } else { "maximize" }));
        match self.wells {
            Some(wells) => line(format!("plate = {wells}\nplates = {}", self.batches)),
            None => line(format!("budget = {}\nbatches = {}", self.batches * self.per_batch, self.batches)),
        }
        line(format!("seed = {seed}"));
        line(
            "# What you know for certain makes the answer certified; without it, it is \"estimated\". `sigmabar premises` asks for it."
                .to_owned(),
        );
        line("# norm_bound = 2.0\n# noise = { gaussian = 0.1 }\n# kernel = { name = \"matern\", lengthscale = 0.3 }".to_owned());
        for (name, factor) in &self.factors {
            line(format!("\n[parameters.{}]", quoted(name)));
            match &factor.levels {
                Levels::Range(low, high, made) => {
                    line(format!("type = \"float\"\nlow = {low}\nhigh = {high}"));
                    line(match made {
                        Made::Step(step) => format!("step = {step}"),
                        Made::Digits(digits) => format!("digits = {digits}   # decimals that can be set"),
                    });
                }
                Levels::Ratios(low, high, digits) => {
                    line(format!("type = \"float\"\nlow = {low}\nhigh = {high}\nlog = true   # equal ratios are equally far apart"));
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
                    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
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
    fn levels_are_understood() {
        let read = |text: &str| levels(text).map(|factor| (factor.levels, factor.unit.unwrap_or_default()));
        let range = |low, high, made| Levels::Range(low, high, made);
        for text in ["20..80", "20-80", "20 - 80", "20 – 80", "20 to 80"] {
            assert_eq!(read(text), Ok((range(20.0, 80.0, Made::Digits(1)), String::new())), "{text}");
        }
        assert_eq!(read("20-80 °C step 5"), Ok((range(20.0, 80.0, Made::Step(5.0)), "°C".into())));
        assert_eq!(read("20..80 step 5"), Ok((range(20.0, 80.0, Made::Step(5.0)), String::new())));
        assert_eq!(read("4 to 9 pH digits 2"), Ok((range(4.0, 9.0, Made::Digits(2)), "pH".into())));
        assert_eq!(read("-1 .. 1.5"), Ok((range(-1.0, 1.5, Made::Digits(3)), String::new())));
        assert_eq!(read("-5--1"), Ok((range(-5.0, -1.0, Made::Digits(3)), String::new())));
        assert_eq!(read("1e-3-1e-1"), Ok((range(1e-3, 1e-1, Made::Digits(4)), String::new())));
        assert_eq!(read("40, 10,20"), Ok((Levels::Numbers(vec![10.0, 20.0, 40.0]), String::new())));
        assert_eq!(read("1, 2, 4, 8 h"), Ok((Levels::Numbers(vec![1.0, 2.0, 4.0, 8.0]), "h".into())));
        assert_eq!(read("5%, 10%"), Ok((Levels::Numbers(vec![5.0, 10.0]), "%".into())));
        for names in [["dmso", "thf"], ["2-propanol", "3-pentanol"], ["1 h", "2 d"], ["5-HT", "dmso"]] {
            assert_eq!(read(&names.join(", ")), Ok((Levels::Names(names.map(str::to_owned).to_vec()), String::new())));
        }
        // Words for the scale are no units, and everything else still is.
        assert_eq!(read("1..1000 log"), Ok((Levels::Ratios(1.0, 1000.0, 3), String::new())));
        assert_eq!(read("1 to 1000 nM log"), Ok((Levels::Ratios(1.0, 1000.0, 3), "nM".into())));
        assert_eq!(read("1e-5-1e-1 log digits 2"), Ok((Levels::Ratios(1e-5, 1e-1, 2), String::new())));
        assert_eq!(read("1..64 int log"), Ok((Levels::Whole(1, 64, Apart::Ratios), String::new())));
        assert_eq!(read("1..64 integer"), Ok((Levels::Whole(1, 64, Apart::Step(1)), String::new())));
        assert_eq!(read("2-64 trees int step 2"), Ok((Levels::Whole(2, 64, Apart::Step(2)), "trees".into())));
        assert_eq!(read("1..10 logs"), Ok((range(1.0, 10.0, Made::Digits(2)), "logs".into())));
        let is_pointed = |text: &str| levels(text).is_err_and(|said| said.contains(&text.replace(',', ".")));
        assert!(["20,5 - 80,5", "20,5-80", "0..1,5", "0,1 to 0,9"].iter().all(|text| is_pointed(text)));
        assert!(levels("0-10, 10-20").is_ok_and(|factor| matches!(factor.levels, Levels::Names(_))));
        let refused =
            ["0..10 log", "1..10 log step 2", "0.5..3 int", "1..9 int digits 1", "80..20", "80-20", "2..8 step x", "a", "a, a", ""];
        assert!(refused.iter().all(|text| levels(text).is_err()));
    }

    #[test]
    fn what_was_said_is_read_back_from_the_file() {
        let beliefs = Beliefs { usual: 50.0, stray: 20.0, hills: 3, change: 0.4, repeat: 2.5 };
        assert_eq!(Beliefs::said(&beliefs.to_toml().unwrap()), Some(beliefs));
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
            assert_eq!((spec.space().parameters().len(), spec.problem().budget(), spec.problem().seed()), (6, 48, 3));
        }
    }
}
