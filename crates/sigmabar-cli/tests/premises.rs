//! As a new user would: from nothing but answers to questions to a certificate and the range of its premises.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn sigmabar(directory: &Path, arguments: &[&str], answers: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").env("NO_COLOR", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses at once does not wait for answers.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs a command that must end with this code, and gives what it wrote and said.
pub fn ends(directory: &Path, arguments: &[&str], answers: &str, code: i32) -> (String, String) {
    let output = sigmabar(directory, arguments, answers);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    assert!(!words.contains("panicked"), "{words}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), words)
}

/// What is measured, large, one factor from 0 to 60 in steps, no plates, two rounds of 20.
const STUDY: &str = "yield\nlarge\ntemperature\n0..60 step 2\n\n0\n2\n20\n";
/// Usually 50, straying by 20, three hills and valleys, a clear change after four tenths of the range, repeats 2 apart.
const BELIEFS: &str = "50\n20\n3\n0.4\n2\n";

/// A yield with one optimum, measured by a stranger with an error of 1.6 or so: two normal quantiles' worth of a quadratic sequence.
fn measure(temperature: f64, trial: u64) -> f64 {
    let uniform = |k: u64| (0.754_877_666 * (trial + 1) as f64 * (trial + k) as f64).fract().max(1e-9);
    let normal = (-2.0 * uniform(3).ln()).sqrt() * (std::f64::consts::TAU * uniform(8)).cos();
    50.0 + 18.0 * (-((temperature - 38.0) / 15.0).powi(2)).exp() + 1.6 * normal
}

#[test]
fn from_answers_to_a_certificate_with_its_range() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let (_, said) = ends(path, &["new", "study.toml", "--questions"], STUDY, 0);
    assert!(said.contains("sigmabar premises study.toml"), "{said}");
    let (_, said) = ends(path, &["premises", "study.toml", "--questions"], BELIEFS, 0);
    assert!(said.contains("Could yours look like these?"), "{said}");
    // Two rounds of 20 were asked for: what S-BPE makes of them is said before anything is measured, and how to have them alike.
    assert!(said.contains("batches by S-BPE's schedule: 9, 31") && said.contains("schedule = \"even\""), "{said}");
    let file = fs::read_to_string(path.join("study.toml")).unwrap();
    println!("{file}");
    for line in ["prior_mean = 50.0", "unit = 20.0", "norm_bound = 2.5981", "lengthscale = 0.4", "# two", "noise = { about = 0.0886"] {
        assert!(file.contains(line), "{line} is not in\n{file}");
    }
    assert!(fs::read_to_string(path.join("study.premises.svg")).unwrap().contains("</svg>"));
    // Asked again, what was said is the default, and only the lines written here are replaced.
    let (_, said) = ends(path, &["premises", "study.toml", "--questions"], "\n\n12\n\n\n", 0);
    assert!(said.contains("whole range? [3]") && said.contains("usually differ? [2]"), "{said}");
    let wilder = fs::read_to_string(path.join("study.toml")).unwrap();
    assert_eq!(wilder.lines().count(), file.lines().count(), "{wilder}");
    assert!(
        wilder.contains("norm_bound = 5.1962") && wilder.contains("prior_mean = 50.0") && wilder.contains("lengthscale = 0.4"),
        "{wilder}"
    );
    fs::write(path.join("study.toml"), wilder.replace("norm_bound = 5.1962", "norm_bound = 7 # mine\n#")).unwrap();
    assert!(ends(path, &["premises", "study.toml", "--questions"], BELIEFS, 2).1.contains("has a norm_bound already"));
    fs::write(path.join("study.toml"), &file).unwrap();

    for _ in 0..2 {
        let (asked, _) = ends(path, &["ask", "study.toml", "--count", "20", "--format", "json"], "", 0);
        let trials: Vec<Value> = serde_json::from_str(&asked).unwrap();
        for trial in trials {
            let value = measure(trial["temperature"].as_f64().unwrap(), trial["trial"].as_u64().unwrap());
            ends(path, &["tell", &trial["trial"].to_string(), &value.to_string()], "", 0);
        }
    }
    assert!(ends(path, &["status", "study.toml"], "", 0).0.contains("the noise level is not declared"));
    let (answer, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["label"], "certified", "{answer}");
    let range = &answer["certificate"]["range"];
    let number = |key: &str| range[key].as_f64().unwrap();
    assert!(number("least_norm") < 2.5981 && number("norm_breakdown") >= 2.598 && number("noise_breakdown") >= 0.0886, "{range}");
    assert!(answer["stands"].as_str().unwrap().contains("for every function of norm up to"), "{answer}");
    // In words too, with what finding the level of the noise cost; for programs the label stays one word.
    let spent = "degrees of freedom, on which all batches together spend 0.005 of delta = 0.05";
    for verb in ["status", "recommend"] {
        let (shown, _) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(shown.contains("stands") && shown.contains("certified; normal noise of one unknown level, at most "), "{shown}");
        assert!(shown.contains("by the chi-squared bound with ") && shown.contains(spent), "{shown}");
        let (written, _) = ends(path, &[verb, "study.toml", "--format", "json"], "", 0);
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!((written["label"].as_str(), written["terms"].as_array().map(Vec::len)), (Some("certified"), Some(1)));
    }
    ends(path, &["report", "study.toml"], "", 0);
    let page = fs::read_to_string(path.join("study-report.html")).unwrap();
    assert!(page.contains("What would have to be true for this to be wrong?") && page.contains(spent));
    // What the claim rests on is the bound by replicates, not the guess that planned them.
    assert!(page.contains("of one unknown level; at most") && !page.contains("standard deviation 0.0886"), "{page}");
    // Noise is said in the unit of the results, of which one of the model's is 20.
    let said = answer["stands"].as_str().unwrap();
    let noise: f64 = said.split("or up to noise ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((noise / (20.0 * number("noise_breakdown")) - 1.0).abs() < 0.02, "{said}");
    // Once it has begun, premises stay.
    fs::write(path.join("study.toml"), fs::read_to_string(path.join("study.toml")).unwrap().replace("prior_mean", "# prior_mean")).unwrap();
    assert!(ends(path, &["premises", "study.toml", "--questions"], BELIEFS, 2).1.contains("has begun"));
}

/// The norm below which words say that the data exclude all.
fn excluded(words: &str) -> &str {
    let number = words.split("exclude norms below ").nth(1).unwrap().split([';', '\n']).next().unwrap();
    assert!(number.parse::<f64>().unwrap() > 0.0, "{words}");
    number
}

/// An earlier study, by its file or its database, teaches the premises of the next one, and is in no claim of it.
#[test]
fn an_earlier_study_teaches_premises() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let space = "[parameters.temperature]\ntype = \"float\"\nlow = 0\nhigh = 60\nstep = 2\n";
    fs::write(path.join("old.toml"), format!("budget = 24\nstrategy = \"sobol\"\n{space}")).unwrap();
    let answered = |file: &str, count: &str| {
        let (asked, _) = ends(path, &["ask", file, "--count", count, "--format", "json"], "", 0);
        // Another study has other noise.
        let first = if file == "old.toml" { 1000 } else { 0 };
        for trial in serde_json::from_str::<Vec<Value>>(&asked).unwrap() {
            let value = measure(trial["temperature"].as_f64().unwrap(), first + trial["trial"].as_u64().unwrap());
            ends(path, &["tell", &trial["trial"].to_string(), &value.to_string(), "--study", file], "", 0);
        }
    };
    answered("old.toml", "24");
    let mut written = Vec::new();
    for from in ["old.toml", "old.db"] {
        fs::write(path.join("new.toml"), format!("budget = 40\nbatches = 2\n{space}")).unwrap();
        let (_, said) = ends(path, &["premises", "new.toml", "--from", from], "", 0);
        assert!(said.contains(&format!("learnt the premises from 24 results of {from}")), "{said}");
        let file = fs::read_to_string(path.join("new.toml")).unwrap();
        let (_, judged) = ends(path, &["premises", "new.toml", "--from", from], "", 0);
        // Said twice, it is one number; and what is declared is what is suggested.
        assert_eq!(excluded(&judged), excluded(&file), "{judged}\n{file}");
        let guesses = [file.contains("if noise is no larger than the guess"), judged.contains("the guess of the noise in the file")];
        assert_eq!(guesses, [file.contains("about = "); 2], "what is excluded under a guess says so: {judged}\n{file}");
        let number =
            |words: &str, before: &str| words.split(before).nth(1).unwrap().split([',', '\n']).next().unwrap().parse::<f64>().unwrap();
        assert!((number(&judged, "in the file: ") / number(&judged, "suggested: ") - 1.0).abs() < 1e-3, "{judged}");
        written.push(file.replace(from, "old"));
    }
    assert_eq!(written[0], written[1]);
    (0..2).for_each(|_| answered("new.toml", "40"));
    let (answer, _) = ends(path, &["recommend", "new.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let premises = &answer["certificate"]["premises"];
    assert_eq!(
        (answer["label"].as_str(), premises["kernel"]["origin"].as_str()),
        (Some("certified"), Some("learnt_elsewhere")),
        "{answer}"
    );
    assert_eq!(premises["observations"]["value"].as_u64(), Some(40), "{answer}");
    fs::write(path.join("other.toml"), format!("budget = 40\n{}", space.replace("temperature", "pressure"))).unwrap();
    assert!(ends(path, &["premises", "other.toml", "--from", "old.toml"], "", 1).1.contains("old.toml has no parameter pressure"));
}

/// Whoever knows only "not shorter than" gets a certificate in the norm that was declared: words, JSON and picture count alike.
#[test]
fn length_scales_that_are_at_least_some() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let study = "budget = 60\nnorm_bound = 2.5\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.4, at_least = 0.25 }\n\
                 [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {x}\"\n";
    fs::write(path.join("study.toml"), study).unwrap();
    ends(path, &["run", "study.toml", "-q"], "", 0);
    let (answer, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let certificate = &answer["certificate"];
    assert_eq!(
        (answer["label"].as_str(), certificate["premises"]["lengthscales"]["value"]["norm_bound"].as_f64()),
        (Some("certified"), Some(2.5))
    );
    // √(0.4/0.25) times as large is the norm under the shortest.
    let growth = 1.6_f64.sqrt();
    assert!((certificate["premises"]["norm_bound"]["value"].as_f64().unwrap() / (2.5 * growth) - 1.0).abs() < 1e-9);
    let said = answer["stands"].as_str().unwrap();
    let end = said.split("up to norm ").nth(1).unwrap().split([',', ';']).next().unwrap().parse::<f64>().unwrap();
    assert!(said.contains("up to the declared 2.5;") && said.ends_with(&format!("below {}", excluded(said))), "{said}");
    assert!((end / (certificate["range"]["norm_breakdown"].as_f64().unwrap() / growth) - 1.0).abs() < 0.01 && end >= 2.5, "{said}");
    let page = fs::read_to_string(path.join("study-report.html")).unwrap();
    assert!(page.contains("declared norm bound: C = 2.5") && page.contains("C† = "), "{page}");
    // The longest is what a norm is declared under, and no length-scale is longer than it.
    fs::write(path.join("wrong.toml"), study.replace("at_least = 0.25", "at_least = 0.5")).unwrap();
    assert!(ends(path, &["new", "wrong.toml"], "", 1).1.contains("no length-scale of the shortest longer"));
}

#[test]
fn a_pilot_teaches_premises_and_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    ends(path, &["new", "study.toml", "--questions"], STUDY, 0);
    let rows: String = (0..24).map(|i| format!("{},{}\n", 2 * (i % 31), measure(f64::from(2 * (i % 31)), 100 + i as u64))).collect();
    fs::write(path.join("pilot.csv"), format!("temperature,result\n{rows}")).unwrap();
    let (_, said) = ends(path, &["premises", "study.toml", "--from", "pilot.csv"], "", 0);
    assert!(said.contains("learnt the premises from 24 results"), "{said}");
    let file = fs::read_to_string(path.join("study.toml")).unwrap();
    assert!(file.contains("learnt_from = \"pilot.csv\"") && file.contains("exclude norms below"), "{file}");
    // What they say about premises that are there changes nothing.
    let (_, said) = ends(path, &["premises", "study.toml", "--from", "pilot.csv"], "", 0);
    assert!(said.contains("suggested") && excluded(&said) == excluded(&file), "the same number twice: {said}\n{file}");
    assert_eq!(fs::read_to_string(path.join("study.toml")).unwrap(), file);
    // Premises that somebody has and then changes because of a table are learnt from it: that is said, with what keeps it honest.
    let warned =
        "is learnt from pilot.csv, and its results must not be in what is claimed: take the premises out of the file and say this again";
    assert!(!said.contains(warned), "it is in the file already: {said}");
    let own = "budget = 40\nnorm_bound = 0.1\nnoise = { gaussian = 0.05 }\nprior_mean = 50\nunit = 10\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.3 }\n\
               [parameters.temperature]\ntype = \"float\"\nlow = 0\nhigh = 60\n";
    fs::write(path.join("own.toml"), own).unwrap();
    let (_, said) = ends(path, &["premises", "own.toml", "--from", "pilot.csv"], "", 0);
    assert!(said.contains("the norm bound 0.1 is excluded: write norm_bound = ") && said.contains(warned), "{said}");
    let (_, refused) = ends(path, &["import", "pilot.csv", "--study", "study.toml", "--collected", "fixed"], "", 1);
    assert!(refused.contains("were learnt from pilot.csv"), "{refused}");
    for _ in 0..2 {
        let (asked, _) = ends(path, &["ask", "study.toml", "--count", "20", "--format", "json"], "", 0);
        let trials: Vec<Value> = serde_json::from_str(&asked).unwrap();
        for trial in trials {
            let value = measure(trial["temperature"].as_f64().unwrap(), trial["trial"].as_u64().unwrap());
            ends(path, &["tell", &trial["trial"].to_string(), &value.to_string()], "", 0);
        }
    }
    let (answer, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (answer["label"].as_str(), answer["certificate"]["premises"]["kernel"]["origin"].as_str()),
        (Some("certified"), Some("learnt_elsewhere")),
        "{answer}"
    );
    fs::write(path.join("few.csv"), "temperature,result\n2,50\n4,51\n").unwrap();
    fs::write(path.join("other.toml"), "budget = 8\n\n[parameters.temperature]\ntype = \"float\"\nlow = 0\nhigh = 60\n").unwrap();
    assert!(ends(path, &["premises", "other.toml", "--from", "few.csv"], "", 1).1.contains("has 2 results"));
    // Rows that came to nothing may be missing because of what they would have been: what is learnt without them is somebody's word.
    let cell = |i: u32| match i {
        20 | 22 => "failed".to_owned(),
        21 | 23 => String::new(),
        _ => measure(2.0 * f64::from(i), 100).to_string(),
    };
    let holes: String = (0..24).map(|i| format!("{},{}\n", 2 * i, cell(i))).collect();
    fs::write(path.join("holes.csv"), format!("temperature,result\n{holes}")).unwrap();
    let (_, said) = ends(path, &["premises", "other.toml", "--from", "holes.csv"], "", 1);
    assert!(said.contains("holes.csv: 4 rows without a result (lines 22, 23, 24, 25)") && said.contains("--sure"), "{said}");
    ends(path, &["premises", "other.toml", "--from", "holes.csv", "--sure"], "", 0);
}

/// Whoever tells the results of the table again, where settings are the same, has told what taught the premises: that is no other data. Few digits may make an honest repeat look so,
/// and only a person can say it.
#[test]
fn results_that_taught_the_premises_are_no_other_data() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let row = |i: u64| (2.0 * (i % 31) as f64, measure(2.0 * (i % 31) as f64, 100 + i));
    let rows: String = (0..24).map(|i| format!("{},{}\n", row(i).0, row(i).1)).collect();
    fs::write(path.join("pilot.csv"), format!("temperature,result\n{rows}")).unwrap();
    let changed = |file: &str, again: usize, change: &dyn Fn(String) -> String, copied: &dyn Fn(f64) -> f64| {
        let space = "[parameters.temperature]\ntype = \"float\"\nlow = 0\nhigh = 60\nstep = 2\n";
        fs::write(path.join(file), format!("budget = 40\nbatches = 2\n{space}")).unwrap();
        ends(path, &["premises", file, "--from", "pilot.csv"], "", 0);
        fs::write(path.join(file), change(fs::read_to_string(path.join(file)).unwrap())).unwrap();
        let mut left = again;
        for _ in 0..2 {
            let (asked, _) = ends(path, &["ask", file, "--count", "40", "--format", "json"], "", 0);
            let trials: Vec<Value> = serde_json::from_str(&asked).unwrap();
            let told: String = trials
                .iter()
                .map(|trial| {
                    let (temperature, id) = (trial["temperature"].as_f64().unwrap(), trial["trial"].as_u64().unwrap());
                    let known = (0..24).map(row).find(|(t, _)| *t == temperature).filter(|_| left > 0);
                    left -= usize::from(known.is_some());
                    format!("{id},{}\n", known.map_or_else(|| measure(temperature, id), |(_, value)| copied(value)))
                })
                .collect();
            fs::write(path.join("told.csv"), format!("trial,result\n{told}")).unwrap();
            ends(path, &["tell", "told.csv", "--study", file], "", 0);
        }
        assert_eq!(left, 0, "as many of its settings are among those asked for");
        serde_json::from_str::<Value>(&ends(path, &["recommend", file, "--format", "json"], "", 0).0).unwrap()
    };
    let ended = |file: &str, again: usize| changed(file, again, &|text| text, &|value| value);
    // Nor does it help to write fewer digits, or to move the ends of the range, in shares of which a setting then is another.
    let rounded = |value: f64| (1e6 * value).round() / 1e6;
    for (file, from, to) in
        [("fewer.toml", "high = 60", "high = 60"), ("longer.toml", "high = 60", "high = 62"), ("lower.toml", "low = 0", "low = -2")]
    {
        let answer = changed(file, 2, &|text| text.replace(from, to), &rounded);
        let taught = answer["certificate"]["premises"]["taught"]["value"].as_u64();
        assert_eq!((answer["label"].as_str(), taught), (Some("estimated"), Some(2)), "{file}: {answer}");
    }
    let honest = ended("honest.toml", 0);
    assert_eq!((honest["label"].as_str(), honest["certificate"]["premises"]["taught"].as_u64()), (Some("certified"), None), "{honest}");
    // One is enough: the theorem knows nothing of few.
    for again in [1, 4] {
        let file = format!("again{again}.toml");
        let answer = ended(&file, again);
        let premises = &answer["certificate"]["premises"];
        assert_eq!((answer["label"].as_str(), premises["taught"]["value"].as_u64()), (Some("estimated"), Some(again as u64)), "{answer}");
        for premise in ["kernel", "prior", "norm_bound"] {
            assert_eq!(premises[premise]["origin"], "learnt_here", "{answer}");
        }
        assert!(answer["stands"].is_null() && answer["certificate"]["range"].is_null(), "{answer}");
        let words = "the same data cannot teach and prove (if measured anew, declare distinct_rows = true; if copied, begin a study of which everything is measured";
        for verb in ["status", "recommend"] {
            let (shown, _) = ends(path, &[verb, &file], "", 0);
            assert!(shown.contains(words) && !shown.contains("norm bound"), "{verb} says it in one sentence: {shown}");
            let reasons =
                serde_json::from_str::<Value>(&ends(path, &[verb, &file, "--format", "json"], "", 0).0).unwrap()["reasons"].clone();
            assert!(reasons.as_array().is_some_and(|all| all.len() == 1 && all[0].as_str().unwrap().contains(words)), "{verb}: {reasons}");
        }
        ends(path, &["report", &file], "", 0);
        assert!(fs::read_to_string(path.join(format!("again{again}-report.html"))).unwrap().contains(words));
    }
    assert!(!ends(path, &["status", "honest.toml"], "", 0).0.contains("reasons"));
    let text = fs::read_to_string(path.join("again4.toml")).unwrap();
    fs::write(path.join("again4.toml"), format!("distinct_rows = true\n{text}")).unwrap();
    assert!(ends(path, &["amend", "again4.toml"], "", 0).1.contains("amended: distinct_rows"));
    let answer: Value = serde_json::from_str(&ends(path, &["recommend", "again4.toml", "--format", "json"], "", 0).0).unwrap();
    let premises = &answer["certificate"]["premises"];
    assert_eq!((answer["label"].as_str(), premises["taught"]["origin"].as_str()), (Some("certified"), Some("declared")), "{answer}");
    // Fingerprints cannot be taken out once results are there, nor spelt otherwise.
    let without: String = text.lines().filter(|line| !line.starts_with("learnt_rows")).map(|line| format!("{line}\n")).collect();
    fs::write(path.join("again4.toml"), without).unwrap();
    assert!(ends(path, &["amend", "again4.toml"], "", 1).1.contains("learnt_rows cannot be changed"));
    fs::write(path.join("torn.toml"), text.replace("\"  # their fingerprints", "0\"  # their fingerprints")).unwrap();
    assert!(ends(path, &["new", "torn.toml"], "", 1).1.contains("16 hexadecimal digits for each result"));
    // A file that says where its premises come from and names no result is warned of.
    let unnamed: String = text.lines().filter(|line| !line.starts_with("learnt_rows")).map(|line| format!("{line}\n")).collect();
    fs::write(path.join("unnamed.toml"), unnamed).unwrap();
    ends(path, &["new", "unnamed.toml"], "", 0);
    let said = "the study file has no learnt_rows: a result of pilot.csv that was told here again is not noticed, and the answer is an estimate unless you declare distinct_rows = true";
    assert!(ends(path, &["status", "unnamed.toml"], "", 0).1.contains(said));
    assert!(!ends(path, &["status", "honest.toml"], "", 0).1.contains("no learnt_rows"));
    fs::write(path.join("torn.toml"), text.replace("learnt_from", "# learnt_from")).unwrap();
    assert!(ends(path, &["new", "torn.toml"], "", 1).1.contains("learnt_rows"));
}

/// Whoever exchanges the program that measures while results are there declares that it measures the same function: every place that shows the answer says so.
#[test]
fn an_exchanged_objective_is_said_wherever_the_answer_is() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let study = "budget = 24\nbatches = 2\nnorm_bound = 2\nnoise = 0.1\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.5 }\n\
                 [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {x}\"\n";
    fs::write(path.join("study.toml"), study).unwrap();
    ends(path, &["run", "study.toml", "-q", "--at-most", "8", "--no-report"], "", 0);
    fs::write(path.join("study.toml"), study.replace("echo {x}", "printf %s {x}")).unwrap();
    ends(path, &["amend", "study.toml"], "", 0);
    ends(path, &["run", "study.toml", "-q", "--no-report"], "", 0);
    let said = "the function stayed the same: objective.command amended after 8 results, declared to measure the same function";
    let said_as_sentence = said.trim_start_matches('t');
    for verb in ["status", "recommend"] {
        let (shown, _) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(shown.contains(said), "{verb}: {shown}");
        let answer: Value = serde_json::from_str(&ends(path, &[verb, "study.toml", "--format", "json"], "", 0).0).unwrap();
        assert_eq!((answer["label"].as_str(), answer["terms"][0].as_str()), (Some("certified"), Some(said)), "{verb}: {answer}");
    }
    ends(path, &["report", "study.toml"], "", 0);
    let page = fs::read_to_string(path.join("study-report.html")).unwrap();
    assert!(page.matches(said_as_sentence).count() >= 1, "the report says it");
}

/// One file, one study: a pilot, what it suggests, and a certificate about what was measured afterwards.
#[test]
fn a_pilot_inside_one_study() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let study = "budget = 64\nbatches = 2\npilot = 24\nresponse = \"yield / %\"\n\n[parameters.temperature]\ntype = \"float\"\nlow = 0\nhigh = 60\nstep = 2\n";
    fs::write(path.join("study.toml"), study).unwrap();
    let batch = |count: &str| {
        let (asked, said) = ends(path, &["ask", "study.toml", "--count", count, "--format", "json"], "", 0);
        let trials: Vec<Value> = serde_json::from_str(&asked).unwrap();
        for trial in &trials {
            let value = measure(trial["temperature"].as_f64().unwrap(), trial["trial"].as_u64().unwrap());
            ends(path, &["tell", &trial["trial"].to_string(), &value.to_string()], "", 0);
        }
        (trials.len(), said)
    };
    ends(path, &["ask", "study.toml", "--count", "1"], "", 0);
    assert!(ends(path, &["premises", "study.toml"], "", 2).1.contains("has 0 of 24 results"));
    assert_eq!(batch("24").0, 24);
    let (none, said) = batch("24");
    assert!(none == 0 && said.contains("the pilot is measured") && said.contains("sigmabar premises study.toml"), "{said}");
    let (shown, said) = ends(path, &["status", "study.toml"], "", 0);
    assert!(shown.contains("24 evaluations, measured") && said.contains("sigmabar premises study.toml"), "{shown}{said}");
    let (_, said) = ends(path, &["premises", "study.toml"], "", 0);
    assert!(said.contains("learnt the premises from 24 results of the pilot") && said.contains("amended: kernel, noise"), "{said}");
    let file = fs::read_to_string(path.join("study.toml")).unwrap();
    println!("{file}");
    assert!(file.contains("results of the pilot, which is left out") && !file.contains("learnt_from"), "{file}");
    // Looked at again, they are judged; what one knows better is taken over as long as nothing was planned.
    let (_, said) = ends(path, &["premises", "study.toml"], "", 0);
    assert!(said.contains("suggested") && excluded(&said) == excluded(&file) && !said.contains("sigmabar amend"), "{said}");
    let wider = file.replace("# 1.5 times", "# wider than 1.5 times").replace("norm_bound = ", "norm_bound = 1");
    fs::write(path.join("study.toml"), &wider).unwrap();
    assert!(ends(path, &["premises", "study.toml"], "", 0).1.contains("sigmabar amend study.toml"));
    assert!(ends(path, &["amend", "study.toml"], "", 0).1.contains("amended: norm_bound"));
    fs::write(path.join("study.toml"), &file).unwrap();
    assert!(ends(path, &["ask", "study.toml"], "", 1).1.contains("was changed after its study was begun"));
    ends(path, &["amend", "study.toml"], "", 0);

    assert!(batch("40").1.contains("of batch 2 are repeats"));
    // From here on premises stay, whichever way somebody tries.
    fs::write(path.join("study.toml"), &wider).unwrap();
    let (_, refused) = ends(path, &["amend", "study.toml"], "", 1);
    assert!(refused.contains("norm_bound cannot be changed") && refused.contains("after the pilot"), "{refused}");
    assert!(ends(path, &["premises", "study.toml"], "", 2).1.contains("is planned"));
    assert!(ends(path, &["premises", "study.toml", "--questions"], BELIEFS, 2).1.contains("is planned"));
    fs::write(path.join("study.toml"), &file).unwrap();
    batch("40");
    let (answer, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let premises = &answer["certificate"]["premises"];
    assert_eq!((answer["label"].as_str(), premises["pilot"]["value"].as_u64()), (Some("certified"), Some(24)), "{answer}");
    assert_eq!((premises["kernel"]["origin"].as_str(), premises["observations"]["value"].as_u64()), (Some("learnt_elsewhere"), Some(40)));
    assert!(answer["stands"].as_str().unwrap().contains("for every function of norm up to"), "{answer}");
    for verb in ["recommend", "status"] {
        let (shown, _) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(
            shown.contains("certified; premises fixed after a pilot of 24, which is in no claim; normal noise of one unknown level"),
            "{shown}"
        );
    }
    ends(path, &["report", "study.toml"], "", 0);
    let page = fs::read_to_string(path.join("study-report.html")).unwrap();
    assert!(page.contains("Premises fixed after a pilot of 24, which is in no claim."), "{page}");
    assert!(page.contains("a pilot of 24 evaluations") && page.contains("What would have to be true for this to be wrong?"));
    // The pilot's own rows, as a table that somebody declares fixed, are refused by a study that has a pilot.
    fs::write(path.join("rows.csv"), "temperature,result\n2,50\n").unwrap();
    let (_, refused) = ends(path, &["import", "rows.csv", "--study", "study.toml", "--collected", "fixed"], "", 1);
    assert!(refused.contains("pilot"), "{refused}");
}

#[test]
fn questions_that_cannot_be_asked_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    assert!(ends(path, &["premises", "study.json", "--questions"], "", 2).1.contains("not called .toml"));
    assert!(ends(path, &["premises", "none.toml", "--questions"], "", 1).1.contains("none.toml"));
    fs::write(path.join("study.toml"), "budget = 8\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n").unwrap();
    assert!(ends(path, &["premises", "study.toml"], "", 2).1.contains("--questions"));
    assert!(ends(path, &["premises", "study.toml", "--questions"], "50\n", 2).1.contains("ended before"));
    let (_, said) = ends(path, &["premises", "study.toml", "--questions"], "x\n50\n-1\n20\n0\n3\n0.4\n2\n", 0);
    assert!(said.contains("a number above 0") && said.contains("at least 1"), "{said}");
}

/// An objective with hardly any noise, from the command line to the certificate: the gap falls with the noise, and is never below the truth.
#[test]
fn the_less_noise_the_smaller_the_gap() {
    let place = tempfile::tempdir().unwrap();
    let mut last = f64::INFINITY;
    for noise in ["1e-3", "1e-5", "1e-8"] {
        let file = format!("echo-{noise}.toml");
        let study = format!(
            "budget = 60\nnorm_bound = 4\nnoise = {{ gaussian = {noise} }}\nkernel = {{ name = \"se\", lengthscale = 0.5 }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {{x}}\"\n"
        );
        fs::write(place.path().join(&file), study).unwrap();
        ends(place.path(), &["run", &file, "--no-report", "-q"], "", 0);
        let (said, _) = ends(place.path(), &["recommend", &file, "--format", "json"], "", 0);
        let advice: Value = serde_json::from_str(&said).unwrap();
        let (gap, best) = (advice["gap"].as_f64().unwrap(), advice["setting"]["x"].as_f64().unwrap());
        assert_eq!(advice["certificate"]["label"], "certified", "{said}");
        assert!(1.0 - best <= gap && gap < last, "noise {noise}: gap {gap}, truly {}", 1.0 - best);
        last = gap;
    }
    assert!(last <= 1e-4, "{last}");
}

/// A study of a command, with a pilot of twelve.
fn piloted(command: &str) -> String {
    format!(
        "budget = 44\nbatches = 2\npilot = 12\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 20\n\n[objective]\ncommand = \"{command}\"\n"
    )
}

/// Repeats that are all equal bound no level: where they are the study's own there is no noise, where values are rounded it hides, and in a table they may be one row written down twice.
#[test]
fn equal_repeats_of_a_pilot_say_no_more_than_they_show() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let learnt = |file: &str, command: &str| {
        fs::write(path.join(file), piloted(command).replace("pilot = 12", "pilot = 24")).unwrap();
        ends(path, &["run", file, "--no-report"], "", 0);
        ends(path, &["premises", file], "", 0);
        fs::read_to_string(path.join(file)).unwrap()
    };
    let written = learnt("exact.toml", "python3 -c 'import math; print(math.sin({x}))'");
    assert!(written.contains("noise = { about = ") && written.contains("write noise = 0 if no repeat can ever differ"), "{written}");
    // Only a person can say that there is no noise; who says it gets a certificate.
    let said = |line: &str| if line.starts_with("noise = ") { "noise = 0\n".to_owned() } else { format!("{line}\n") };
    fs::write(path.join("exact.toml"), written.lines().map(said).collect::<String>()).unwrap();
    assert!(ends(path, &["amend", "exact.toml"], "", 0).1.contains("amended: noise"));
    ends(path, &["run", "exact.toml", "--no-report", "-q"], "", 0);
    let (answer, _) = ends(path, &["recommend", "exact.toml", "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["label"], "certified", "{answer}");
    ends(path, &["status", "exact.toml"], "", 0);
    let written = learnt("rounded.toml", "printf '%.1f' {x}");
    assert!(written.contains("noise = { about = ") && written.contains("multiples of 0.1, which hides the noise"), "{written}");
    // A converter that reads in steps, an instrument that reads nothing below its limit, and too few repeats.
    let written = learnt("steps.toml", "python3 -c 'import math; print(round(50 * math.sin({x})) * 5 / 256)'");
    assert!(
        written.contains("noise = { about = ") && written.contains("where an instrument reads in steps, that hides the noise"),
        "{written}"
    );
    // A quiet one of 16 bits, whose few readings are many steps apart: nothing shows that it reads in steps.
    let written = learnt("quiet.toml", "python3 -c 'import math; print(round(30000 * math.sin({x})) * 10 / 65536)'");
    assert!(written.contains("noise = { about = ") && written.contains("reads in steps"), "{written}");
    let written = learnt("limit.toml", "python3 -c 'import math; print(max(0.0, math.sin({x} / 8 + 3)))'");
    assert!(written.contains("noise = { about = "), "{written}");
    // One line that was pasted twice.
    let rows: String = (0..12).map(|i| format!("{},{}\n", i, (f64::from(i) * 0.7).sin())).collect();
    fs::write(path.join("old.csv"), format!("x,result\n{rows}3,{}\n", (3.0 * 0.7_f64).sin())).unwrap();
    fs::write(path.join("new.toml"), "budget = 40\nbatches = 2\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 20\n").unwrap();
    ends(path, &["premises", "new.toml", "--from", "old.csv"], "", 0);
    let written = fs::read_to_string(path.join("new.toml")).unwrap();
    assert!(written.contains("noise = { about = ") && written.contains("a guess that plans"), "{written}");
}

/// Where somebody declares an unknown level all the same, the study says what happened and how to go on, and stays readable.
#[test]
fn equal_repeats_refute_an_unknown_level_and_lose_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let study = "budget = 40\nbatches = 2\nnorm_bound = 4\nnoise = { about = 0.001 }\nkernel = { name = \"se\", lengthscale = 0.5 }\n\n\
                 [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[objective]\ncommand = \"echo {x}\"\n";
    fs::write(path.join("study.toml"), study).unwrap();
    for verb in ["run", "status", "recommend", "report", "ask"] {
        let (_, said) = ends(path, &[verb, "study.toml"], "", 3);
        assert!(said.contains("equal to the last digit") && said.contains("--despite-contradiction"), "{verb}: {said}");
    }
    let (answer, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 3);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((answer["label"].as_str(), answer["gap"].as_f64()), (Some("estimated"), None), "{answer}");
    let (before, _) = ends(path, &["trials", "study.toml", "--state", "done", "--format", "csv"], "", 0);
    assert!(before.lines().count() == 10, "{before}");
    ends(path, &["run", "study.toml", "--despite-contradiction", "--no-report"], "", 3);
    let (after, _) = ends(path, &["trials", "study.toml", "--state", "done", "--format", "csv"], "", 0);
    assert!(after.lines().count() == 41 && after.starts_with(&before), "{after}");
}

/// A strategy that needs premises does not keep anybody from being asked for them, and every seed draws.
#[test]
fn questions_are_asked_where_the_strategy_needs_their_answers() {
    for (strategy, seed) in [("\"s-bpe\"", "0"), ("{ name = \"s-bpe\", plan_factor = 2.0 }", "18446744073709551615")] {
        let place = tempfile::tempdir().unwrap();
        let text = format!("budget = 40\nstrategy = {strategy}\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
        fs::write(place.path().join("study.toml"), text).unwrap();
        let (_, said) = ends(place.path(), &["premises", "study.toml", "--questions", "--seed", seed], BELIEFS, 0);
        assert!(said.contains("wrote the premises into study.toml") && place.path().join("study.premises.svg").exists(), "{said}");
    }
}
