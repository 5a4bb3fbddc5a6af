//! What came of settings is not forgotten on the way through a table: lost or chosen by their noise, results make no certificate in another study or model.

use crate::support;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const LINE: &str = "[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
const PREMISES: &str =
    "budget = 6\nbatches = 1\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.5 }\nnorm_bound = 1.0\nnoise = { gaussian = 0.3 }\n";
const MODEL: [&str; 17] = [
    "--target",
    "value",
    "--features",
    "x",
    "--kernel",
    "se",
    "--lengthscale",
    "0.5",
    "--norm-bound",
    "1",
    "--noise",
    "gaussian:0.3",
    "--prior-mean",
    "0",
    "--unit",
    "1",
    "--drop-missing",
];

fn ends(directory: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    let output = command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").env("NO_COLOR", "1").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    if code != 0 {
        support::options_exist(arguments[0], &words);
    }
    (String::from_utf8_lossy(&output.stdout).into_owned(), words)
}

/// A study without a function in it: values are small, whatever was measured.
fn begin(path: &Path, name: &str, more: &str) -> String {
    let file = format!("{name}.toml");
    fs::write(path.join(&file), format!("{PREMISES}{more}{LINE}[objective]\ncommand = \"echo 0.0{{id}}\"\n")).unwrap();
    file
}

/// Imports a table as fixed, measures, and gives label and losses of what is recommended.
fn claimed(path: &Path, table: &str, name: &str, more: &str) -> (String, u64, String) {
    let file = begin(path, name, more);
    ends(path, &["import", table, "--study", &file, "--collected", "fixed"], 0);
    ends(path, &["run", &file, "--no-report"], 0);
    let advice: Value = serde_json::from_str(&ends(path, &["recommend", &file, "--format", "json"], 0).0).unwrap();
    let losses = &advice["certificate"]["premises"]["losses"];
    (advice["label"].as_str().unwrap().to_owned(), losses["value"].as_u64().unwrap(), losses["origin"].as_str().unwrap().to_owned())
}

/// A row without a result is a loss, whoever wrote the table: only who declares that losses have nothing to do with values keeps the certificate. That a table without such rows has all that
/// was measured is the word of who imports it.
#[test]
fn rows_without_a_result_are_losses() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("whole.csv"), "x,result\n0.2,0.11\n0.5,0.12\n0.7,0.13\n").unwrap();
    fs::write(path.join("holes.csv"), "x,result\n0.2,0.11\n0.4,\n0.5,0.12\n0.6,n/a\n0.7,0.13\n").unwrap();
    assert_eq!(claimed(path, "whole.csv", "whole", ""), ("certified".into(), 0, "declared".into()));
    assert_eq!(claimed(path, "holes.csv", "holes", ""), ("estimated".into(), 2, "unmet".into()));
    assert_eq!(claimed(path, "holes.csv", "vouched", "failures = \"unrelated\"\n"), ("certified".into(), 2, "declared".into()));
    let file = begin(path, "said", "");
    let said = ends(path, &["import", "holes.csv", "--study", &file], 0).1;
    assert!(said.contains("2 rows without a result: kept as lost") && said.contains("imported 5 rows"), "{said}");
    // What another study left missing is a loss as well.
    let file = begin(path, "left", "");
    ends(path, &["ask", &file, "-n", "6"], 0);
    for trial in ["1", "2", "4"] {
        ends(path, &["tell", trial, &format!("0.1{trial}"), "--sure", "--study", &file], 0);
    }
    ends(path, &["close-batch", &file], 0);
    ends(path, &["export", &file, "-o", "missing.csv"], 0);
    assert_eq!(claimed(path, "missing.csv", "missing", ""), ("estimated".into(), 3, "unmet".into()));
}

/// What was handed out again may have been measured until it pleased: its study says so, and so does what it exports, to studies and to models.
#[test]
fn results_measured_again_are_known_in_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = begin(path, "first", "");
    let ask = ["ask", &file, "-n", "6", "--worker", "w7", "--format", "json"];
    ends(path, &ask, 0);
    let tell = |trial: u64| ends(path, &["tell", &trial.to_string(), &format!("0.1{trial}"), "--sure", "--study", &file], 0);
    drop((tell(0), tell(1)));
    ends(path, &ask, 0);
    (2..6).for_each(|trial| drop(tell(trial)));
    ends(path, &["export", &file, "-o", "again.csv"], 0);
    let table = fs::read_to_string(path.join("again.csv")).unwrap();
    let marked: Vec<bool> = table.lines().map(|row| row.ends_with(",measured again")).collect();
    assert_eq!(marked, [false, false, false, true, true, true, true], "{table}");
    let second = begin(path, "second", "");
    let said = ends(path, &["import", "again.csv", "--study", &second, "--collected", "fixed"], 1).1;
    assert!(said.contains("again.csv, line 4: this result may not be the first"), "{said}");
    // Nor by way of a study that took them as nobody's word.
    ends(path, &["import", "again.csv", "--study", &second], 0);
    ends(path, &["export", &second, "-o", "twice.csv"], 0);
    let third = begin(path, "third", "");
    let said = ends(path, &["import", "twice.csv", "--study", &third, "--collected", "fixed"], 1).1;
    assert!(said.contains("twice.csv, line 2: the study that it comes from took this result as undeclared"), "{said}");
    let fit = |table: &str, more: &[&str], code: i32| ends(path, &[&["fit", table, "--no-save"], &MODEL[..], more].concat(), code);
    assert!(fit("again.csv", &["--collected", "fixed"], 1).1.contains("again.csv, line 4: this result may not be the first"));
    // In whichever piece of the table, without the other columns of an export, in other letters, or shown by `trials` the marks are known, and no declaration outdoes them.
    fs::write(path.join("plain.csv"), "x,value\n0.15,0.11\n0.25,0.12\n").unwrap();
    fs::write(path.join("marks.csv"), "X,value,Corrected\n0.3,0.1,\n0.4,0.2,Measured Again\n".replace('X', "x")).unwrap();
    fs::write(path.join("shown.csv"), ends(path, &["trials", &file, "--format", "csv"], 0).0).unwrap();
    assert!(fit("again.csv", &["--stream"], 2).1.contains("4 rows that sigmabar export marked"));
    assert!(fit("plain.csv", &["marks.csv", "--stream"], 2).1.contains("1 row that sigmabar export marked"));
    for declared in ["fixed", "exchangeable"] {
        for (table, line) in [("marks.csv", 3), ("shown.csv", 4), ("twice.csv", 2)] {
            let said = fit(table, &["--collected", declared], 1).1;
            assert!(said.contains(&format!("{table}, line {line}: ")), "{said}");
        }
    }
    // Nor are premises learnt from what came through, by way of a study that took it in.
    let gaps = begin(path, "gaps", "");
    fs::write(path.join("gaps.csv"), "x,result\n0.2,0.11\n0.4,\n0.5,0.12\n0.7,0.13\n").unwrap();
    ends(path, &["import", "gaps.csv", "--study", &gaps], 0);
    fs::write(path.join("new.toml"), format!("budget = 6\n{LINE}")).unwrap();
    let said = ends(path, &["premises", "new.toml", "--from", "gaps.db"], 1).1;
    assert!(said.contains("1 row without a result (imported row 2)"), "{said}");
    let (said, words) = fit("again.csv", &["--holdout", "0"], 0);
    assert!(format!("{said}{words}").contains("4 planned observations were lost"), "{said}{words}");
    fs::write(path.join("clean.csv"), table.replace(",measured again", ",")).unwrap();
    let (said, words) = fit("clean.csv", &["--holdout", "0", "--collected", "fixed"], 0);
    assert!(format!("{said}{words}").contains("certified"), "{said}{words}");
}

/// What is proved whatever chose the points rests on every result there is: on what is lost among those from before, too.
#[test]
fn losses_before_a_run_end_what_holds_for_all_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let rows = |cell: &str| format!("x,result,corrected\n0.2,0.11,\n0.4,{cell}\n0.5,0.12,\n0.7,0.13,\n");
    let stands = |name: &str, cell: &str| {
        let file = begin(path, name, "strategy = \"sobol\"\n").clone();
        fs::write(path.join(&file), fs::read_to_string(path.join(&file)).unwrap().replace("batches = 1\n", "")).unwrap();
        fs::write(path.join("old.csv"), rows(cell)).unwrap();
        ends(path, &["import", "old.csv", "--study", &file], 0);
        ends(path, &["run", &file, "--no-report"], 0);
        let advice: Value = serde_json::from_str(&ends(path, &["recommend", &file, "--format", "json"], 0).0).unwrap();
        !advice["stands"].is_null()
    };
    assert!(stands("whole", "0.14,"));
    for (name, cell) in [("hole", ","), ("failed", "failed,"), ("again", "0.14,measured again"), ("corrected", "0.14,after analysis")] {
        assert!(!stands(name, cell), "{name}");
    }
}

/// Whoever mends premises after seeing results that refute them has learnt from these.
#[test]
fn results_that_refuted_premises_prove_no_mended_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let study = |name: &str, norm: &str| {
        let file = format!("{name}.toml");
        let premises = PREMISES.replace("norm_bound = 1.0", &format!("norm_bound = {norm}"));
        fs::write(path.join(&file), format!("{premises}{LINE}[objective]\ncommand = \"echo 9.{{id}}\"\n")).unwrap();
        file
    };
    let first = study("first", "1");
    assert!(ends(path, &["run", &first, "--no-report"], 3).1.contains("where nothing certified rests on them"));
    ends(path, &["export", &first, "-o", "r.csv"], 0);
    // So are results from before the study that did it, or helped.
    let carried = study("carried", "1");
    fs::write(path.join("old.csv"), "x,result\n0.1,9.1\n0.5,9.2\n0.9,9.3\n").unwrap();
    ends(path, &["import", "old.csv", "--study", &carried, "--collected", "fixed"], 0);
    ends(path, &["run", &carried, "--no-report"], 3);
    let rows = ends(path, &["export", &carried], 0).0;
    let imported: Vec<&str> = rows.lines().filter(|line| line.contains("imported")).collect();
    assert!(imported.len() == 3 && imported.iter().all(|line| line.contains("refuted premises")), "{rows}");
    let mended = study("mended", "30");
    let said = ends(path, &["import", "r.csv", "--study", &mended, "--collected", "fixed"], 1).1;
    assert!(said.contains("refuted the premises of their study"), "{said}");
    ends(path, &["import", "r.csv", "--study", &mended, "--collected", "adaptive"], 0);
    ends(path, &["run", &mended, "--no-report"], 0);
    let said: Value = serde_json::from_str(&ends(path, &["recommend", &mended, "--format", "json"], 0).0).unwrap();
    assert_eq!(
        (&said["label"], &said["certificate"]["premises"]["observations"]["value"]),
        (&"certified".into(), &6.into()),
        "its own alone"
    );
}

/// Of an export, the settings predict the result, and the numbers of trials do not.
#[test]
fn a_model_of_an_export_is_one_of_its_settings() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = begin(path, "line", "");
    ends(path, &["run", &file, "--no-report"], 0);
    ends(path, &["export", &file, "-o", "all.csv"], 0);
    let words = ends(path, &["fit", "all.csv", "--target", "value", "--holdout", "0", "-o", "m.sbm"], 0).1;
    assert!(words.contains("read 6 rows of 2 columns") && words.contains("trial, batch, state"), "{words}");
}
