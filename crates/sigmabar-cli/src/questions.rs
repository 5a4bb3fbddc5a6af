//! The questions of `sigmabar new`, and the study file that comes of the answers.

use crate::Outcome;
use crate::console::Console;
use crate::failure::Failure;
use crate::plate::Plate;
use std::io::BufRead;

/// What a factor can be set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels {
    /// Any number from low to high, perhaps in steps.
    Range(f64, f64, Option<f64>),
    /// These numbers.
    Numbers(Vec<f64>),
    /// These names.
    Names(Vec<String>),
}

/// The answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answers {
    pub description: String,
    pub minimize: bool,
    pub factors: Vec<(String, Levels)>,
    pub wells: Option<usize>,
    pub batches: usize,
    pub per_batch: usize,
}

/// Asks until the answers make a study.
pub(crate) fn ask(input: &mut dyn BufRead, console: &Console) -> Outcome<Answers> {
    let mut asker = Asker { input, console };
    let description = asker.line("What is measured?", "result")?;
    let minimize = asker.until("Should it be large or small?", "large", |text| match text {
        "large" | "l" | "max" | "maximize" => Ok(false),
        "small" | "s" | "min" | "minimize" => Ok(true),
        _ => Err("answer large or small".to_owned()),
    })?;
    console.say("Name the factors you can set, one at a time; an empty line ends the list.");
    let mut factors: Vec<(String, Levels)> = Vec::new();
    loop {
        let name = asker.line(&format!("Factor {}:", factors.len() + 1), "")?;
        if name.is_empty() && !factors.is_empty() {
            break;
        }
        // The same that study files ask of a name.
        if name.contains(['{', '}', '[', ']', '(', ')', '"', '\'', '=', '<', '>']) || name.contains(char::is_control) {
            console.say("a name has no brackets, quotes or equals signs");
            continue;
        }
        if name.is_empty() || factors.iter().any(|(known, _)| *known == name) {
            console.say("a factor needs a name of its own");
            continue;
        }
        let levels = asker.until(&format!("Levels of {name} (20..80, or 20..80 step 5, or 10, 20, 40, or dmso, thf):"), "", levels)?;
        factors.push((name, levels));
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

struct Asker<'a> {
    input: &'a mut dyn BufRead,
    console: &'a Console,
}

impl Asker<'_> {
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
    fn until<T>(&mut self, question: &str, default: &str, understand: impl Fn(&str) -> Result<T, String>) -> Outcome<T> {
        loop {
            let text = self.line(question, default)?;
            match understand(&text) {
                Ok(answer) => return Ok(answer),
                Err(remedy) => self.console.say(remedy),
            }
        }
    }
}

fn levels(text: &str) -> Result<Levels, String> {
    const WRONG: &str = "give a range such as 20..80, or at least two levels such as 10, 20, 40";
    let number = |text: &str| text.trim().trim_matches('.').parse::<f64>().ok().filter(|v| v.is_finite());
    if let Some((low, rest)) = text.split_once("..") {
        let (high, step) = rest.split_once("step").map_or((rest, None), |(high, step)| (high, Some(number(step))));
        return match (number(low), number(high), step) {
            (Some(low), Some(high), None) if low < high => Ok(Levels::Range(low, high, None)),
            (Some(low), Some(high), Some(Some(step))) if low < high && step > 0.0 => Ok(Levels::Range(low, high, Some(step))),
            _ => Err("a range goes from a smaller to a larger number, such as 20..80 or 20..80 step 5".to_owned()),
        };
    }
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let differ = (0..names.len()).all(|i| !names[..i].contains(&names[i]));
    if names.len() < 2 || !differ {
        return Err(WRONG.to_owned());
    }
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse::<f64>().ok().filter(|v| v.is_finite())).collect();
    Ok(match numbers {
        Some(mut numbers) => {
            numbers.sort_by(f64::total_cmp);
            Levels::Numbers(numbers)
        }
        None => Levels::Names(names),
    })
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
        line(format!("description = {}", quoted(&self.description)));
        line(format!("direction = \"{}\"", if self.minimize { "minimize" } else { "maximize" }));
        match self.wells {
            Some(wells) => line(format!("plate = {wells}\nplates = {}", self.batches)),
            None => line(format!("budget = {}\nbatches = {}", self.batches * self.per_batch, self.batches)),
        }
        line(format!("seed = {seed}"));
        line("# What you know for certain makes the answer certified; without it, it is \"estimated\".".to_owned());
        line("# norm_bound = 2.0\n# noise = { gaussian = 0.1 }\n# kernel = { name = \"matern\", lengthscale = 0.3 }".to_owned());
        for (name, levels) in &self.factors {
            line(format!("\n[parameters.{}]", quoted(name)));
            match levels {
                Levels::Range(low, high, step) => {
                    line(format!("type = \"float\"\nlow = {low}\nhigh = {high}"));
                    step.iter().for_each(|step| line(format!("step = {step}")));
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
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_understood() {
        assert_eq!(levels("20..80"), Ok(Levels::Range(20.0, 80.0, None)));
        assert_eq!(levels("20..80 step 5"), Ok(Levels::Range(20.0, 80.0, Some(5.0))));
        assert_eq!(levels("-1 .. 1.5"), Ok(Levels::Range(-1.0, 1.5, None)));
        assert_eq!(levels("40, 10,20"), Ok(Levels::Numbers(vec![10.0, 20.0, 40.0])));
        assert_eq!(levels("dmso, thf"), Ok(Levels::Names(vec!["dmso".into(), "thf".into()])));
        assert!(
            levels("80..20").is_err()
                && levels("2..8 step x").is_err()
                && levels("a").is_err()
                && levels("a, a").is_err()
                && levels("").is_err()
        );
    }

    #[test]
    fn the_file_that_is_written_can_be_read() {
        let factors = vec![
            ("temperature".to_owned(), Levels::Range(20.0, 80.0, Some(2.5))),
            ("dose in ml".to_owned(), Levels::Numbers(vec![1.0, 2.5])),
            ("solvent".to_owned(), Levels::Names(vec!["dmso".into(), "thf".into()])),
        ];
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
            assert_eq!((spec.space().parameters().len(), spec.problem().budget(), spec.problem().seed()), (3, 48, 3));
        }
    }
}
