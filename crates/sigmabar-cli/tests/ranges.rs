//! Up to which norm and noise an answer of the command stands, and where it says nothing: by the command itself under other premises.

use crate::premises::ends;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(path: &Path, arguments: &[&str]) -> Value {
    let (written, _) = ends(path, &[arguments, &["--format", "json"]].concat(), "", 0);
    serde_json::from_str(&written).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {written}"))
}

/// One hill of norm 1 under the kernel that is declared, measured at 7 places with an error of 0.05 or so, in tens.
fn hill(path: &Path, norm_bound: f64, noise: f64, model: &str) {
    let wobble = |i: u32| (0.754_877_666 * f64::from(i + 1) * f64::from(i + 7)).fract() - 0.5;
    let value = |x: f64, i: u32| 50.0 + 10.0 * ((-(x - 0.5).powi(2) / 0.08).exp() + 0.17 * wobble(i));
    let rows: String = (0..7).map(|i| (f64::from(i) / 6.0, i)).map(|(x, i)| format!("{x},{}\n", value(x, i))).collect();
    fs::write(path.join("data.csv"), format!("x,y\n{rows}")).unwrap();
    let line = format!(
        "fit data.csv --target y --kernel se --lengthscale 0.2 --variance 1 --tau 0.05 --prior-mean 50 --unit 10 --norm-bound {norm_bound} --noise gaussian:{noise} \
         --collected fixed --holdout 0 --out {model} --force"
    );
    ends(path, &line.split_whitespace().collect::<Vec<_>>(), "", 0);
}

/// On which side each row is, by a model with these premises.
fn sides(path: &Path, norm_bound: f64, noise: f64) -> Vec<String> {
    hill(path, norm_bound, noise, "other.sbm");
    let found = json(path, &["predict", "other.sbm", "rows.csv", "--threshold", "55"]);
    found["rows"].as_array().unwrap().iter().map(|row| row["side"].as_str().unwrap().to_owned()).collect()
}

/// Top, foot, and the place where the hill is as high as the threshold: there nothing can be concluded. Fitted with what the certificate gives as its ends the conclusions are the same,
/// and a little farther one is lost.
#[test]
fn a_conclusion_says_how_far_it_stands() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("rows.csv"), "x\n0.58\n0.1\n0.735482\n").unwrap();
    hill(path, 1.5, 0.05, "model.sbm");
    let found = json(path, &["predict", "model.sbm", "rows.csv", "--threshold", "55"]);
    let (rows, certificate) = (&found["rows"], &found["certificate"]["function"]);
    assert_eq!((found["label"].as_str(), certificate["label"].as_str()), (Some("certified"), Some("certified")), "{found}");
    assert_eq!([0, 1, 2].map(|i| rows[i]["side"].as_str().unwrap()), ["above", "below", ""], "{rows}");
    assert!(rows[2]["stands_to_norm"].is_null() && rows[2]["stands_to_noise"].is_null(), "{rows}");
    let range = &certificate["range"];
    let side = &range["of"]["side"];
    assert_eq!((side["threshold"].as_f64(), side["above"].as_u64(), side["below"].as_u64()), (Some(55.0), Some(1), Some(1)), "{range}");
    assert!(range["least_norm"].as_f64().unwrap() > 0.3 && range["is_trivial"] == false, "what the data exclude: {range}");
    // C† and R† of all conclusions are the smallest, the latter in the model's scale.
    let smallest = |column: &str| [0, 1].map(|i| rows[i][column].as_f64().unwrap()).into_iter().fold(f64::INFINITY, f64::min);
    let (norm, noise) = (range["norm_breakdown"].as_f64().unwrap(), range["noise_breakdown"].as_f64().unwrap());
    assert_eq!((norm, noise), (smallest("stands_to_norm"), smallest("stands_to_noise") / 10.0), "{found}");
    assert!(norm > 1.6 && norm < 11.0 && noise > 0.06 && noise < 0.39, "ends that were found, not where the search ended: {norm}, {noise}");
    let concluded = ["above", "below", ""].map(str::to_owned);
    assert_eq!(sides(path, 0.999 * norm, 0.05), concluded);
    assert_ne!(sides(path, 1.05 * norm, 0.05), concluded, "farther than {norm}");
    assert_eq!(sides(path, 1.5, 0.999 * noise), concluded);
    assert_ne!(sides(path, 1.5, 1.05 * noise), concluded, "noisier than {noise}");
    let (_, said) = ends(path, &["predict", "model.sbm", "rows.csv", "--threshold", "55"], "", 0);
    assert!(
        said.contains("it is above 55 at 1 point and below it at 1 for every function of norm up to ") && !said.contains("alone"),
        "{said}"
    );
    // Where nothing can be concluded nothing stands; what the norm alone says is said to be that.
    fs::write(path.join("edge.csv"), "x\n0.735482\n").unwrap();
    let found = json(path, &["predict", "model.sbm", "edge.csv", "--threshold", "55"]);
    let range = &found["certificate"]["function"]["range"];
    assert!(range["norm_breakdown"].is_null() && range["noise_breakdown"].is_null() && range["is_trivial"] == false, "{range}");
    fs::write(path.join("far.csv"), "x\n9\n").unwrap();
    let (_, said) = ends(path, &["predict", "model.sbm", "far.csv", "--threshold", "90"], "", 0);
    assert!(
        said.contains("it is below 90 for every function of norm up to ") && said.contains("alone: the data add nothing to it"),
        "{said}"
    );
}

#[test]
fn a_conclusion_that_cannot_be_drawn_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    hill(path, 1.5, 0.05, "model.sbm");
    fs::write(path.join("rows.csv"), "x\n0.5\n").unwrap();
    for wrong in ["nan", "inf", "much"] {
        let (_, said) = ends(path, &["predict", "model.sbm", "rows.csv", "--threshold", wrong], "", 2);
        assert!(said.contains(&format!("'{wrong}' for '--threshold <VALUE>': it must be a finite number")), "{said}");
    }
    ends(path, &["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", "bare.sbm"], "", 0);
    let (_, said) = ends(path, &["predict", "bare.sbm", "rows.csv", "--threshold", "55"], "", 2);
    assert!(said.contains("no norm bound and no noise") && said.contains("--norm-bound"), "{said}");
}

/// A design of so many settings among 41, its error under a norm bound and a noise level, and what was said.
fn design(path: &Path, count: usize, (norm_bound, noise): (f64, f64), more: &str) -> (Value, String) {
    let rows: String = (0..=40).map(|i| format!("{}\n", f64::from(i) / 40.0)).collect();
    fs::write(path.join("space.csv"), format!("x\n{rows}")).unwrap();
    let line = format!(
        "design space.csv --count {count} --kernel se --lengthscale 0.3 --tau 0.1 --norm-bound {norm_bound} --noise gaussian:{noise} {more} --format json"
    );
    let (written, said) = ends(path, &line.split_whitespace().collect::<Vec<_>>(), "", 0);
    (serde_json::from_str(&written).unwrap(), said)
}

#[test]
fn the_error_of_a_design_says_how_far_it_stands() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let (found, said) = design(path, 60, (1.0, 0.05), "--error 0.4");
    let (range, error) = (&found["certificate"]["range"], |found: &Value| found["error"].as_f64().unwrap());
    assert_eq!((found["label"].as_str(), found["rows"].as_array().unwrap().len()), (Some("certified"), 60), "{found}");
    assert!(error(&found) < 0.4 && range["wanted"] == 0.4 && range["of"] == "error" && range["is_trivial"] == false, "{found}");
    assert_eq!(range["least_norm"], 0.0, "there are no data yet: {range}");
    assert!(said.contains("within 0.400, the error wanted, up to norm ") && !said.contains("alone"), "{said}");
    let (norm, noise) = (range["norm_breakdown"].as_f64().unwrap(), range["noise_breakdown"].as_f64().unwrap());
    assert!(norm > 1.05 && noise > 0.052 && range["noise_is_open"] == false, "{range}");
    for (factor, keeps) in [(0.999, true), (1.001, false)] {
        assert_eq!(error(&design(path, 60, (factor * norm, 0.05), "").0) <= 0.4, keeps, "{factor} of norm {norm}");
        assert_eq!(error(&design(path, 60, (1.0, factor * noise), "").0) <= 0.4, keeps, "{factor} of noise {noise}");
    }
    // What is not reached is said, and what needs no design at all.
    let (found, said) = design(path, 60, (1.0, 0.05), "--error 0.01");
    assert!(found["certificate"]["range"]["wanted"].is_null() && said.contains("the error that is wanted, 0.01, is not reached"), "{said}");
    let (found, said) = design(path, 1, (1.0, 0.05), "");
    assert!(found["certificate"]["range"]["is_trivial"] == true && said.contains("alone: so few measurements tell nothing"), "{said}");
}

#[test]
fn an_error_that_cannot_be_wanted_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("space.csv"), "x\n0\n0.5\n1\n").unwrap();
    let design = ["design", "space.csv", "--count", "2", "--kernel", "se", "--lengthscale", "0.3"];
    for wrong in ["-0.5", "0", "nan", "small"] {
        let (_, said) = ends(path, &[&design[..], &["--norm-bound", "1", "--noise", "0.1", "--error", wrong]].concat(), "", 2);
        assert!(said.contains(&format!("'{wrong}' for '--error <E>': it must be a finite number above 0")), "{said}");
    }
    let (_, said) = ends(path, &[&design[..], &["--error", "0.5"]].concat(), "", 0);
    assert!(said.contains("nothing is said about the error that is wanted: that takes --norm-bound C and --noise R"), "{said}");
}

/// Few and noisy measurements prove nothing beyond the norm, and every place that shows the claim says so; others prove something, and none says that they do not.
#[test]
fn a_claim_that_the_norm_makes_alone_is_said_to_be_that() {
    for (noise, budget, is_trivial) in [("3", 4, true), ("0.01", 24, false)] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        let study = format!(
            "budget = {budget}\nbatches = 1\nnorm_bound = 2\nnoise = {noise}\nkernel = {{ name = \"matern\", nu = 2.5, lengthscale = 0.3 }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {{x}}\"\n"
        );
        fs::write(path.join("study.toml"), study).unwrap();
        ends(path, &["run", "study.toml", "-q", "--no-report"], "", 0);
        let words = "follows from the norm alone: the data rule nothing out yet";
        for verb in ["status", "recommend"] {
            let (shown, _) = ends(path, &[verb, "study.toml", "--format", "csv"], "", 0);
            assert_eq!(shown.contains(words), is_trivial, "{verb}: {shown}");
            let answer = json(path, &[verb, "study.toml"]);
            let range = &answer["certificate"]["range"];
            assert_eq!(
                (answer["label"].as_str(), range["is_trivial"].as_bool()),
                (Some("certified"), Some(is_trivial)),
                "{verb}: {answer}"
            );
        }
        ends(path, &["report", "study.toml"], "", 0);
        assert_eq!(fs::read_to_string(path.join("study-report.html")).unwrap().contains(words), is_trivial);
    }
}

/// What a design says of a study it says in the study's terms: the norm as it was declared, whatever length-scales are possible, who said it, and all noise in the scale of the results.
#[test]
fn a_design_says_the_premises_of_its_study_as_they_were_said() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let write = |more: &str, kernel: &str| {
        let study = format!(
            "budget = 40\nnorm_bound = 2\nnoise = {{ gaussian = 0.1 }}\nunit = 10\n{more}kernel = {{ name = \"matern\", nu = 2.5, lengthscale = 0.8{kernel} }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\nstep = 0.05\n"
        );
        fs::write(path.join("study.toml"), study).unwrap();
        let (written, said) = ends(path, &["design", "study.toml", "--count", "40", "--format", "json"], "", 0);
        (serde_json::from_str::<Value>(&written).unwrap(), said)
    };
    let end =
        |said: &str| said.split("twice that, up to norm ").nth(1).unwrap().split([',', ';', ' ']).next().unwrap().parse::<f64>().unwrap();
    let (plain, said) = write("", "");
    assert!(said.contains("up to the declared 2;") && said.contains("(norm at most 2, ") && plain["label"] == "certified", "{said}");
    // The noise that is declared, and the one up to which it stands, in one scale.
    let noise = said.split("standard deviation ").find_map(|words| words.split(')').next()?.trim().parse::<f64>().ok()).unwrap();
    let farthest: f64 = said.split("up to noise ").nth(1).unwrap().split([' ', ',']).next().unwrap().parse().unwrap();
    let level = plain["certificate"]["range"]["noise_breakdown"].as_f64().unwrap();
    assert!((noise - 1.0).abs() < 1e-9 && (farthest / (10.0 * level) - 1.0).abs() < 0.01, "{said}");
    let (shorter, said) = write("", ", at_least = 0.2");
    let range = &shorter["certificate"]["range"];
    assert!(said.contains("up to the declared 2;") && said.contains("(norm at most 2, "), "{said}");
    assert!(
        (2.0 * end(&said) / range["norm_breakdown"].as_f64().unwrap() - 1.0).abs() < 0.01,
        "half in the norm that was declared: {said}"
    );
    assert_eq!(shorter["certificate"]["premises"]["lengthscales"]["value"]["norm_bound"], 2.0, "{shorter}");
    let (learnt, said) = write("learnt_from = \"old.csv\"\n", "");
    assert!(said.contains("up to the learnt 2;"), "{said}");
    for premise in ["kernel", "norm_bound", "noise", "prior"] {
        assert_eq!(learnt["certificate"]["premises"][premise]["origin"], "learnt_elsewhere", "{premise}");
    }
}
