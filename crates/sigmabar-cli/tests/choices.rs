//! A chemist with a column of solvents: premises learnt from a table, from an earlier study and from a pilot, each to a certificate with its range.

use crate::premises::ends;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const SPACE: &str = "response = \"yield / %\"\n\n[parameters.temperature]\ntype = \"float\"\nlow = 20\nhigh = 80\nstep = 5\n\n\
                     [parameters.solvent]\ntype = \"categorical\"\nchoices = [\"dmso\", \"thf\", \"dmf\"]\n";

/// DMSO is best at 60 °C, DMF nearly as good there, THF at 45 °C and by 15 worse; an error of 1 or so.
fn measure(temperature: f64, solvent: &str, trial: u64) -> f64 {
    let (best, height) = match solvent {
        "dmso" => (60.0, 25.0),
        "dmf" => (60.0, 21.0),
        _ => (45.0, 10.0),
    };
    let uniform = |k: u64| (0.754_877_666 * (trial + 1) as f64 * (trial + k) as f64).fract().max(1e-9);
    let normal = (-2.0 * uniform(3).ln()).sqrt() * (std::f64::consts::TAU * uniform(8)).cos();
    50.0 + height * (-((temperature - best) / 25.0).powi(2)).exp() + normal
}

/// Asks for so many and answers; `first` keeps the noise of one study apart from another's.
fn answer(path: &Path, file: &str, count: &str, first: u64) -> usize {
    let (asked, _) = ends(path, &["ask", file, "--count", count, "--format", "json"], "", 0);
    let trials: Vec<Value> = serde_json::from_str(&asked).unwrap();
    for trial in &trials {
        let (id, solvent) = (trial["trial"].as_u64().unwrap(), trial["solvent"].as_str().unwrap());
        let value = measure(trial["temperature"].as_f64().unwrap(), solvent, first + id);
        ends(path, &["tell", &id.to_string(), &value.to_string(), "--study", file], "", 0);
    }
    trials.len()
}

/// To the end, which is a certificate with its range about a setting that is really so good.
fn finish(path: &Path, file: &str, first: u64) {
    while answer(path, file, "100", first) > 0 {}
    let (said, _) = ends(path, &["recommend", file, "--format", "json"], "", 0);
    let advice: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(advice["label"], "certified", "{advice}");
    assert!(advice["stands"].as_str().unwrap().contains("for every function of norm up to the learnt"), "{advice}");
    let range = &advice["certificate"]["range"];
    let number = |key: &str| range[key].as_f64().unwrap();
    assert!(number("least_norm") < number("norm_breakdown") && number("noise_breakdown") > 0.0, "{range}");
    let (t, solvent) = (advice["setting"]["temperature"].as_f64().unwrap(), advice["setting"]["solvent"].as_str().unwrap());
    let truth = |t: f64, solvent: &str| measure(t, solvent, 0) - measure(0.0, "dmso", 0) + 50.0;
    let best = (4..=16).map(|i| truth(5.0 * f64::from(i), "dmso")).fold(0.0, f64::max);
    let gap = advice["gap"].as_f64().unwrap();
    println!("{file}: {solvent} at {t}, gap {gap:.2}, truly {:.2}, {}", best - truth(t, solvent), advice["stands"]);
    assert!(best - truth(t, solvent) <= gap, "{advice}");
}

#[test]
fn a_table_with_solvents_teaches_premises() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let mut table = "temperature,solvent,result\n".to_owned();
    for i in 0..30_u32 {
        let (t, solvent) = (20.0 + 5.0 * f64::from(i * 7 % 13), ["dmso", "thf", "dmf"][i as usize % 3]);
        writeln!(table, "{t},{solvent},{:.4}", measure(t, solvent, 500 + u64::from(i))).unwrap();
    }
    fs::write(path.join("pilot.csv"), &table).unwrap();
    fs::write(path.join("study.toml"), format!("budget = 60\nbatches = 3\n{SPACE}")).unwrap();
    let (_, said) = ends(path, &["premises", "study.toml", "--from", "pilot.csv"], "", 0);
    assert!(said.contains("learnt the premises from 30 results of pilot.csv") && said.contains("Could yours look like these?"), "{said}");
    let file = fs::read_to_string(path.join("study.toml")).unwrap();
    println!("{file}");
    assert!(file.contains("\"solvent\" = ") && file.contains("# values under two choices of solvent correlate by 0."), "{file}");
    assert!(file.contains("they exclude norms below"), "{file}");
    let picture = fs::read_to_string(path.join("study.premises.svg")).unwrap();
    for words in ["solvent = dmso", "solvent = thf", "solvent = dmf", "share of the range of temperature", "earlier results suggest"] {
        assert!(picture.contains(words), "{words}");
    }
    // Said again, the same numbers are judged.
    let (_, judged) = ends(path, &["premises", "study.toml", "--from", "pilot.csv"], "", 0);
    let norm = |words: &str| words.split("exclude norms below ").nth(1).unwrap().split([';', '\n']).next().unwrap().to_owned();
    assert_eq!(norm(&judged), norm(&file));
    finish(path, "study.toml", 0);

    // A solvent that the study does not have is refused by its name.
    fs::write(path.join("wrong.csv"), table.replace("dmf", "water")).unwrap();
    fs::write(path.join("wrong.toml"), format!("budget = 60\n{SPACE}")).unwrap();
    let (_, refused) = ends(path, &["premises", "wrong.toml", "--from", "wrong.csv"], "", 1);
    assert!(refused.contains("solvent") && refused.contains("water"), "{refused}");
}

#[test]
fn an_earlier_study_with_solvents_teaches_the_next() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("old.toml"), format!("budget = 30\nstrategy = \"sobol\"\n{SPACE}")).unwrap();
    assert_eq!(answer(path, "old.toml", "30", 1000), 30);
    fs::write(path.join("new.toml"), format!("budget = 60\nbatches = 3\n{SPACE}")).unwrap();
    let (_, said) = ends(path, &["premises", "new.toml", "--from", "old.db"], "", 0);
    assert!(said.contains("learnt the premises from 30 results of old.db"), "{said}");
    finish(path, "new.toml", 0);
}

#[test]
fn a_pilot_with_solvents_fixes_the_premises_of_its_study() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), format!("budget = 90\nbatches = 3\npilot = 30\n{SPACE}")).unwrap();
    assert_eq!(answer(path, "study.toml", "30", 0), 30);
    let (_, said) = ends(path, &["premises", "study.toml"], "", 0);
    assert!(said.contains("learnt the premises from 30 results of the pilot") && said.contains("amended: kernel, noise"), "{said}");
    finish(path, "study.toml", 0);
}
