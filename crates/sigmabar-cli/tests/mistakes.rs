//! Commands typed once too often or with the wrong file: nothing is lost, and what is wrong is named.

use crate::support;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const STUDY: &str = "budget = 8\nbatches = 2\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";

fn sigmabar(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").env("NO_COLOR", "1").output().unwrap()
}

/// Runs a command that must end with this code, and gives what it wrote and said.
fn ends(directory: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = sigmabar(directory, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    assert!(!words.contains("panicked"), "{words}");
    if code != 0 {
        support::options_exist(arguments[0], &words);
    }
    (String::from_utf8_lossy(&output.stdout).into_owned(), words)
}

fn with(study: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("study.toml"), study).unwrap();
    directory
}

/// Excel opens no CSV under the name of a spreadsheet, and pandas no CSV under that of a Parquet file.
#[test]
fn a_table_is_not_written_under_the_name_of_another_format() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml"], 0);
    let verbs =
        [&["ask", "study.toml"][..], &["export", "study.toml"], &["design", "study.toml", "-n", "3"], &["bench", "--problems", "branin"]];
    for (verb, name) in verbs.into_iter().flat_map(|verb| ["a.xlsx", "a.PARQUET"].map(|name| (verb, name))) {
        let said = ends(path, &[verb, &["-o", name]].concat(), 2).1;
        assert!(said.contains(&format!("{name} would hold CSV")) && said.contains("call it a.csv"), "{verb:?}: {said}");
        assert!(!path.join(name).exists());
    }
}

#[test]
fn outputs_never_replace_a_study_or_a_model() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml", "-n", "2"], 0);
    ends(path, &["tell", "0", "1.5"], 0);
    fs::write(path.join("model.sbm"), b"sbmodl\r\nand more").unwrap();
    let before = fs::read(path.join("study.db")).unwrap();
    for target in ["study.db", "./study.toml", "model.sbm", "study.db-wal"] {
        assert!(ends(path, &["export", "study.toml", "-o", target], 2).1.contains("would be lost"), "{target}");
        assert!(ends(path, &["report", "study.toml", "-o", target], 2).1.contains("would be lost"), "{target}");
        assert!(ends(path, &["run", "study.toml", "--report", target], 2).1.contains("would be lost"), "{target}");
        ends(path, &["ask", "study.toml", "-o", target], 2);
    }
    assert!(ends(path, &["design", "study.toml", "-n", "3", "-o", "study.toml"], 2).1.contains("would be lost"));
    assert_eq!(fs::read(path.join("study.db")).unwrap(), before);
    assert_eq!(fs::read_to_string(path.join("study.toml")).unwrap(), STUDY);
    // What people typed is not there twice: a sheet of ask, whatever a spreadsheet made of it.
    let sheets = ["trial,batch,x,result\n0,1,0.5,1.5\n", "\u{feff}\"Trial\";\"x\";\"Result\"\n0;0,5;1,5\n", "PK\u{3}\u{4} and more"];
    for (i, sheet) in sheets.iter().enumerate() {
        let name = format!("sheet-{i}.csv");
        fs::write(path.join(&name), sheet).unwrap();
        for verb in [&["export", "study.toml"][..], &["report", "study.toml"], &["design", "study.toml", "-n", "3"]] {
            let said = ends(path, &[verb, &["-o", name.as_str()]].concat(), 2).1;
            assert!(said.contains("sheet") && said.contains("and would be lost"), "{verb:?}: {said}");
        }
        assert_eq!(fs::read_to_string(path.join(&name)).unwrap(), *sheet);
    }
    // Nothing that is there goes without a word; pages take the place of pages.
    let theirs = "x,yield\n0.5,1.5\n";
    fs::write(path.join("rows.csv"), theirs).unwrap();
    let verbs = [&["export", "study.toml"][..], &["design", "study.toml", "-n", "3"], &["bench", "--problems", "branin", "--seeds", "1"]];
    for verb in verbs {
        let said = ends(path, &[verb, &["-o", "rows.csv"]].concat(), 1).1;
        assert!(said.contains("rows.csv: is there already; choose another name, or say --force to replace it"), "{verb:?}: {said}");
    }
    assert!(ends(path, &["report", "study.toml", "-o", "rows.csv"], 2).1.contains("rows.csv is no page and would be lost"));
    assert!(ends(path, &["ask", "study.toml", "--plate", "6", "-o", "plate.csv", "--map", "rows.csv"], 2).1.contains("is there already"));
    assert!(fs::read_to_string(path.join("rows.csv")).unwrap() == theirs && !path.join("plate.csv").exists());
    ends(path, &["export", "study.toml", "-o", "rows.csv", "--force"], 0);
    assert!(fs::read_to_string(path.join("rows.csv")).unwrap().contains("0,1,done"));
    fs::write(path.join("empty.csv"), "").unwrap();
    ends(path, &["export", "study.toml", "-o", "empty.csv"], 0);
    (0..2).for_each(|_| drop(ends(path, &["report", "study.toml", "-o", "page.html"], 0)));
    assert!(fs::read_dir(path).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().ends_with(".part")));
}

#[test]
fn a_plate_that_was_sorted_is_refused_as_a_whole() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml", "--plate", "6", "-o", "plate.csv"], 0);
    let sheet = fs::read_to_string(path.join("plate.csv")).unwrap();
    let rows: Vec<Vec<&str>> = sheet.lines().map(|line| line.split(',').collect()).collect();
    let tell = |rows: &[Vec<String>], code: i32| {
        let text: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        fs::write(path.join("filled.csv"), text).unwrap();
        ends(path, &["tell", "filled.csv", "--study", "study.toml"], code).1
    };
    let mut filled: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect();
    filled[1..].iter_mut().for_each(|row| row[3] = "1.0".into());
    let mut swapped = filled.clone();
    (swapped[1][2], swapped[2][2]) = (filled[2][2].clone(), filled[1][2].clone());
    assert!(tell(&swapped, 1).contains("filled.csv, line 2, column \"x\""));
    let mut moved = filled.clone();
    (moved[1][0], moved[2][0]) = (filled[2][0].clone(), filled[1][0].clone());
    assert!(tell(&moved, 1).contains("line 2, column \"well\""));
    let without: Vec<Vec<String>> = filled.iter().map(|row| [&row[..2], &row[3..]].concat()).collect();
    assert!(tell(&without, 1).contains("the column \"x\" of the plate is gone"));
    assert_eq!(ends(path, &["trials", "study.toml", "--state", "done", "--format", "csv"], 0).0.lines().count(), 1);
    for row in &mut filled[1..] {
        let rounded: f64 = row[2].parse().unwrap();
        (row[0], row[2]) = (row[0].to_lowercase(), format!("{rounded:.8}"));
    }
    assert!(tell(&filled, 0).contains("written down: 4 values"));
}

#[test]
fn a_batch_that_nobody_saw_is_not_closed() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["new", "study.toml"], 0);
    for force in [&[][..], &["--force"]] {
        assert!(ends(path, &[&["close-batch", "study.toml"], force].concat(), 1).1.contains("nothing was planned yet"));
    }
    assert!(ends(path, &["trials", "study.toml", "--format", "csv"], 0).0.lines().count() == 1, "nothing was planned by it");
    ends(path, &["ask", "study.toml", "-n", "2"], 0);
    ends(path, &["tell", "0", "1"], 0);
    ends(path, &["close-batch", "study.toml"], 0);
    assert!(ends(path, &["close-batch", "study.toml"], 1).1.contains("nothing of batch 2 was handed out yet"));
    ends(path, &["close-batch", "study.toml", "--force"], 0);
    assert!(ends(path, &["close-batch", "study.toml", "--force"], 0).1.contains("the study is finished, and nothing was changed"));
}

#[test]
fn an_ask_without_a_file_to_write_leases_nothing() {
    let directory = with(STUDY);
    let path = directory.path();
    for count in ["ask study.toml -n 0", "run study.toml --parallel 0", "run study.toml --at-most 0", "design study.toml --count 0"] {
        assert!(ends(path, &count.split(' ').collect::<Vec<_>>(), 2).1.contains("at least 1"), "{count}");
    }
    ends(path, &["ask", "study.toml"], 0);
    assert!(ends(path, &["ask", "study.toml", "-n", "3", "-o", "none/plate.csv"], 1).1.contains("none/plate.csv: cannot write"));
    fs::write(path.join("there.csv"), "x").unwrap();
    ends(path, &["ask", "study.toml", "-n", "3", "-o", "there.csv"], 2);
    assert_eq!(ends(path, &["trials", "study.toml", "--state", "leased", "--format", "csv"], 0).0.lines().count(), 2);
    assert_eq!(ends(path, &["recommend", "study.toml", "--format", "json"], 0).0, "null\n");
}

#[test]
fn a_study_may_be_moved() {
    let directory = with(&format!("{STUDY}\n[objective]\ncommand = \"cat offset && echo {{x}}\"\n"));
    let path = directory.path();
    fs::write(path.join("offset"), "1\n").unwrap();
    ends(path, &["run", "study.toml", "--at-most", "1", "--parallel", "4", "--no-report"], 0);
    assert_eq!(ends(path, &["trials", "study.toml", "--state", "done", "--format", "csv"], 0).0.lines().count(), 2);
    let moved = path.join("moved");
    fs::create_dir(&moved).unwrap();
    for name in ["study.toml", "study.db", "offset"] {
        fs::rename(path.join(name), moved.join(name)).unwrap();
    }
    let (answer, _) = ends(path, &["run", "moved/../moved/study.toml", "--no-report"], 0);
    assert!(answer.starts_with("recommended: x = "), "{answer}");
    assert_eq!(ends(&moved, &["trials", "--state", "done", "--format", "csv"], 0).0.lines().count(), 9);
}

#[test]
fn a_run_that_measured_nothing_has_failed() {
    let directory = with(&format!("{STUDY}\n[objective]\ncommand = \"echo broken >&2; exit 3\"\n"));
    let words = ends(directory.path(), &["run", "study.toml"], 1).1;
    assert!(words.contains("nothing was measured: all 5 evaluations") && words.contains("broken"), "{words}");
}

#[test]
fn imports_are_checked_before_a_study_is_begun() {
    let directory = with("budget = 4\n[parameters.n]\ntype = \"categorical\"\nchoices = [\"10\", \"20\"]\n");
    let path = directory.path();
    fs::write(path.join("old.csv"), "n,result\n10,1.5\n20,n/a\n20,2.5\n").unwrap();
    fs::write(path.join("bad.csv"), "n,result\n30,1.5\n").unwrap();
    assert!(ends(path, &["import", "old.csv", "--study", "study.toml", "--dry-run"], 0).1.contains("3 rows can be imported"));
    assert!(ends(path, &["import", "bad.csv", "--study", "study.toml"], 1).1.contains("bad.csv, line 2"));
    assert!(!path.join("study.db").exists());
    ends(path, &["import", "old.csv", "--study", "study.toml"], 0);
    let (export, _) = ends(path, &["export", "study.toml"], 0);
    assert!(export.contains(",,imported,10,1.5") && export.contains(",,imported,20,2.5"), "{export}");
    ends(path, &["ask", "study.toml"], 0);
    assert!(ends(path, &["import", "old.csv", "--study", "study.toml"], 1).1.contains("written down twice"));
    fs::write(path.join("more.csv"), "n,result\n10,1.25\n").unwrap();
    assert!(ends(path, &["import", "more.csv", "--study", "study.toml"], 0).1.contains("the strategy does not see them"));
}

/// Results that were corrected after they were analysed make an estimate; by way of a table they made a certificate.
#[test]
fn corrections_are_not_lost_in_a_table() {
    let directory = with("budget = 4\nstrategy = \"sobol\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let path = directory.path();
    fs::copy(path.join("study.toml"), path.join("again.toml")).unwrap();
    ends(path, &["ask", "study.toml", "-n", "4"], 0);
    for trial in ["0", "1", "2", "3"] {
        ends(path, &["tell", trial, &format!("1.{trial}"), "--sure", "--study", "study.toml"], 0);
    }
    ends(path, &["export", "study.toml", "-o", "before.csv"], 0);
    assert!(!fs::read_to_string(path.join("before.csv")).unwrap().contains("corrected"));
    ends(path, &["tell", "2", "1.25", "--replace", "--note", "misread", "--sure", "--study", "study.toml"], 0);
    ends(path, &["export", "study.toml", "-o", "after.csv"], 0);
    let rows = fs::read_to_string(path.join("after.csv")).unwrap();
    let marked: Vec<bool> = rows.lines().map(|row| row.ends_with(",after analysis")).collect();
    assert!(rows.lines().next().unwrap().ends_with(",corrected") && marked == [false, false, false, true, false], "{rows}");
    let said = ends(path, &["import", "after.csv", "--study", "again.toml", "--collected", "fixed"], 1).1;
    assert!(said.contains("after.csv, line 4: this result was corrected after it was analysed"), "{said}");
    assert!(!path.join("again.db").exists(), "nothing is begun");
    ends(path, &["import", "before.csv", "--study", "again.toml", "--collected", "fixed", "--dry-run"], 0);
    ends(path, &["import", "after.csv", "--study", "again.toml"], 0);
}

/// Failures, replicates and the mark of a correction come through a study that they are imported into: what it exports is what it was given.
#[test]
fn what_was_imported_is_exported_as_it_was() {
    let directory = with("budget = 4\nstrategy = \"sobol\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let path = directory.path();
    let rows = "x,result,std,replicates,state,reason,corrected\n\
                0.25,1.5,0.1,3,done,,after analysis\n0.5,,,,failed,clogged,\n0.75,2.5,,,done,,\n";
    fs::write(path.join("old.csv"), rows).unwrap();
    for (from, study, to) in [("old.csv", "study", "one.csv"), ("one.csv", "again", "two.csv")] {
        if study == "again" {
            fs::copy(path.join("study.toml"), path.join("again.toml")).unwrap();
        }
        let file = format!("{study}.toml");
        assert!(ends(path, &["import", from, "--study", &file], 0).1.contains("imported 3 rows"), "{from}");
        ends(path, &["export", &file, "-o", to], 0);
    }
    let [one, two] = ["one.csv", "two.csv"].map(|name| fs::read_to_string(path.join(name)).unwrap());
    assert_eq!(one, two);
    let kept = [
        ",imported,0.25,1.5,0.1,,,,,,3,undeclared,after analysis",
        ",failed,0.5,,,,,clogged,,,,undeclared,",
        ",imported,0.75,2.5,,,,,,,,undeclared,",
    ];
    assert!(kept.iter().all(|row| two.lines().any(|line| line.ends_with(row))), "{two}");
    fs::copy(path.join("study.toml"), path.join("third.toml")).unwrap();
    let said = ends(path, &["import", "two.csv", "--study", "third.toml", "--collected", "fixed"], 1).1;
    assert!(said.contains("two.csv, line 2: this result was corrected after it was analysed"), "{said}");
}

#[test]
fn problems_of_one_family_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let bench = ["bench", "--problems", "se-2,matern-2", "--strategies", "random", "--seeds", "1", "--budget", "6", "--format", "csv"];
    let (table, _) = ends(directory.path(), &bench, 0);
    assert!(table.contains("\nse-2,random,1") && table.contains("\nmatern-2,random,1"), "{table}");
}

/// The page of a comparison has the command that made it, defaults and all: typed again, it makes the same rows.
#[test]
fn the_command_on_a_comparison_makes_its_rows_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let bench = ["bench", "--problems", "branin", "--strategies", "random,ei:batch_len=3", "--seeds", "2", "--budget", "9"];
    ends(path, &[&bench[..], &["--seed", "5", "-o", "first rows.csv", "--report", "bench.html"]].concat(), 0);
    let html = fs::read_to_string(path.join("bench.html")).unwrap();
    let (_, rest) = html.split_once("<pre>sigmabar bench ").unwrap();
    let line = rest.split_once("</pre>").unwrap().0.replace("&#39;", "'").replace("first rows", "again");
    let script = format!("{} bench {line}", env!("CARGO_BIN_EXE_sigmabar"));
    assert!(Command::new("sh").args(["-c", &script]).current_dir(path).output().unwrap().status.success(), "{script}");
    let rows = |name: &str| {
        let text = fs::read_to_string(path.join(name)).unwrap();
        let seconds = text.lines().next().unwrap().split(',').position(|column| column == "seconds").unwrap();
        let without =
            |line: &str| line.split(',').enumerate().filter(|(i, _)| *i != seconds).map(|(_, cell)| cell.to_owned()).collect::<Vec<_>>();
        text.lines().map(without).collect::<Vec<_>>()
    };
    assert_eq!(rows("first rows.csv"), rows("again.csv"));
}

#[test]
fn a_gap_that_only_the_model_reaches_is_not_passed_off_as_certified() {
    let open = "stop_when = \"gap < 100\"\n".to_owned() + STUDY + "\n[objective]\ncommand = \"test {id} = 0 && exit 1; echo {x}\"\n";
    let declared = "strategy = \"s-bpe\"\ninformative_failures = true\nnorm_bound = 2.0\nnoise = 0.1\n\
                    kernel = { name = \"matern\", lengthscale = 0.3 }\n";
    let directory = with(&open);
    let (answer, words) = ends(directory.path(), &["run", "study.toml", "--no-report"], 0);
    assert!(answer.contains("by the model") && !answer.contains("from the best there is"), "{answer}");
    assert!(words.contains("by the model: what was learnt"), "{words}");
    let directory = with(&(declared.to_owned() + &open));
    let (answer, words) = ends(directory.path(), &["run", "study.toml", "--no-report"], 3);
    assert!(answer.contains("by the model") && words.contains("is not certified"), "{answer}{words}");
}

#[test]
fn of_two_studies_in_one_file_the_one_of_the_study_file_is_meant() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["new", "study.toml", "--name", "other"], 0);
    ends(path, &["new", "study.toml"], 0);
    let status = |arguments: &[&str]| ends(path, &[&["status", "study.db", "--format", "json"], arguments].concat(), 0).0;
    assert!(status(&[]).contains("\"study\": \"study\""), "{}", status(&[]));
    assert!(status(&["--name", "other"]).contains("\"study\": \"other\""));
}

#[test]
fn a_model_replaces_models_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let rows: String = (0..20).map(|i| format!("{i},{}\n", f64::from(i).sin())).collect();
    fs::write(path.join("data.csv"), format!("x,y\n{rows}")).unwrap();
    let fit = |out: &str, force: bool, code: i32| {
        let mut arguments = vec!["fit", "data.csv", "--target", "y", "--lengthscale", "2", "--tau", "0.1", "--out", out];
        arguments.extend(force.then_some("--force"));
        ends(path, &arguments, code).1
    };
    fs::write(path.join("thesis.txt"), "ten years of work").unwrap();
    for force in [false, true] {
        assert!(fit("thesis.txt", force, 2).contains("thesis.txt is there and is no sigmabar model"));
        assert!(fit("data.csv", force, 2).contains("would be lost"));
        assert!(fit(".", force, 2).contains("no sigmabar model"));
    }
    assert_eq!(fs::read_to_string(path.join("thesis.txt")).unwrap(), "ten years of work");
    fs::write(path.join("empty"), "").unwrap();
    fit("empty", true, 0);
    if cfg!(unix) {
        assert!(fit("/dev/null", false, 0).contains("saved /dev/null"), "a device is written to");
    }
    fit("model.sbm", false, 0);
    assert!(fit("model.sbm", false, 1).contains("--force"));
    fit("model.sbm", true, 0);
}

#[test]
fn remarks_come_back_and_columns_that_are_not_kept_are_named() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml", "--plate", "6", "-o", "plate.csv"], 0);
    let sheet = fs::read_to_string(path.join("plate.csv")).unwrap();
    let filled: String = sheet
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("{line},Comments,operator\n"),
            1 => format!("{},1.5,,cloudy,\"warm, too\",Ann\n", line.trim_end_matches(",,,")),
            2 => format!("{},failed,,spilt,,Bob\n", line.trim_end_matches(",,,")),
            _ => format!("{},,,not done,,\n", line.trim_end_matches(",,,")),
        })
        .collect();
    fs::write(path.join("plate.csv"), filled).unwrap();
    let said = ends(path, &["tell", "plate.csv"], 0).1;
    assert!(said.contains("the column operator of the file: not kept") && said.contains("kept: "), "{said}");
    let rows = ends(path, &["export", "study.toml"], 0).0;
    assert!(rows.lines().any(|row| row.contains(",1.5,") && row.contains("cloudy; warm, too")), "{rows}");
    assert!(rows.lines().any(|row| row.contains("failed") && row.contains("spilt")), "{rows}");
    assert!(rows.contains("not done"), "{rows}");
    // Told again, nothing changes.
    ends(path, &["tell", "plate.csv"], 0);
    assert_eq!(ends(path, &["export", "study.toml"], 0).0, rows);
    let one = ends(path, &["trials", "study.toml", "--format", "jsonl"], 0).0;
    assert!(one.contains("\"note\":\"cloudy; warm, too\""), "{one}");
}

#[test]
fn a_failure_may_be_remarked_upon_later_and_remarks_stay_as_written() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml"], 0);
    let tell = |rows: &str| {
        fs::write(path.join("results.csv"), format!("trial;Result;Std;Note\n{rows}")).unwrap();
        ends(path, &["tell", "results.csv", "--study", "study.toml"], 0).1
    };
    tell("0;failed;;\n");
    assert!(tell("0;failed;;00412\n").contains("there already: 1 result"));
    ends(path, &["ask", "study.toml", "-n", "3"], 0);
    let said = tell("0;failed;;1e5\n1;2.5;0.25;12,5\n2;failed;;cell died\n");
    assert!(said.contains("there already: 1 result") && !said.contains("decimal points"), "{said}");
    ends(path, &["tell", "3", "1.5", "--note", "007", "--study", "study.toml"], 0);
    let trials = ends(path, &["trials", "study.toml", "--format", "json"], 0).0;
    let trials: serde_json::Value = serde_json::from_str(&trials).unwrap();
    let notes: Vec<&str> = trials.as_array().unwrap().iter().filter_map(|row| row["note"].as_str()).collect();
    assert_eq!(notes, ["1e5", "12,5", "cell died", "007"]);
    assert_eq!((trials[1]["std"].as_f64(), trials[2]["reason"].as_str()), (Some(0.25), Some("cell died")));
}

#[test]
fn choices_that_look_like_numbers_come_back_from_spreadsheets() {
    let directory = with(
        "budget = 6\nstrategy = \"sobol\"\n\n[parameters.layers]\ntype = \"categorical\"\nchoices = [\"64,32\", \"007\", \"16\"]\n\n\
         [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n",
    );
    let path = directory.path();
    let asked = ends(path, &["ask", "study.toml", "-n", "6", "--format", "json"], 0).0;
    let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
    let rows: String = asked
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{};{};{};1.5\n", row["trial"], row["layers"].as_str().unwrap(), row["x"]))
        .collect();
    assert!(rows.contains("64,32"), "{rows}");
    fs::write(path.join("results.csv"), format!("trial;layers;x;result\n{rows}")).unwrap();
    assert!(ends(path, &["tell", "results.csv", "--study", "study.toml"], 0).1.contains("written down: 6 values"));
    fs::write(path.join("old.csv"), "layers;x;result\n64,32;0.5;1.5\n16.0;0.25;2\n").unwrap();
    assert!(ends(path, &["import", "old.csv", "--study", "study.toml"], 0).1.contains("imported 2 rows"));
    fs::write(path.join("old.csv"), "layers;x;result\n64,33;0.5;1.5\n").unwrap();
    assert!(ends(path, &["import", "old.csv", "--study", "study.toml"], 1).1.contains("64,33"));
    // Thousands or decimals: not guessed.
    fs::write(path.join("old.csv"), "layers;x;result\n007;0;1,500\n007;1;2,000\n").unwrap();
    let said = ends(path, &["import", "old.csv", "--study", "study.toml"], 1).1;
    assert!(said.contains("old.csv, line 2, column \"result\": \"1,500\" may mean 1500 or 1.500"), "{said}");
}

#[test]
fn a_recommendation_among_failures_is_given_with_a_warning() {
    let directory = with("budget = 6\nstrategy = \"random\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let path = directory.path();
    ends(path, &["ask", "study.toml", "-n", "6"], 0);
    ends(path, &["tell", "0", "1.5", "--note", "the only one"], 0);
    assert!(!ends(path, &["recommend"], 0).1.contains("nearest"));
    for trial in ["1", "2", "3", "4", "5"] {
        ends(path, &["tell", trial, "--failed", "--reason", "no light"], 0);
    }
    let warning = "4 of the 5 evaluations nearest to the recommended setting failed";
    let (advice, said) = ends(path, &["recommend", "--format", "json"], 0);
    assert!(said.contains(warning), "{said}");
    let advice: serde_json::Value = serde_json::from_str(&advice).unwrap();
    assert_eq!(advice["near_trials"], serde_json::json!({ "failed": 4, "of": 5 }));
    ends(path, &["report", "-o", "report.html"], 0);
    let page = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(page.contains(warning) && page.contains("the only one"));
}

/// Tables as spreadsheets save them all over the world: read, or refused with the place and what to do.
/// The norm of a study is one under its kernel: under another it bounds nothing.
#[test]
fn a_design_takes_no_norm_over_to_another_kernel() {
    let kernel = |more: &str| {
        format!(
            "budget = 20\nnorm_bound = 2\nnoise = 0.01\nkernel = {{ name = \"se\", lengthscale = 0.2{more} }}\n\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\nstep = 0.05\n"
        )
    };
    let said = |more: &str, options: &[&str], code: i32| {
        let directory = with(&kernel(more));
        ends(directory.path(), &[&["design", "study.toml", "--count", "8"], options].concat(), code).1
    };
    assert!(said("", &[], 0).contains("certified"));
    assert!(!said("", &["--lengthscale", "3"], 0).contains("certified"));
    assert!(said(", at_least = 0.1", &["--norm-bound", "2"], 2).contains("does not go with a study whose length-scales are"));
}

#[test]
fn all_columns_of_words_are_named_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.csv"), "name,t,solvent,y\nplate a,1,dmso,2\nplate b,2,thf,3\n").unwrap();
    let said = ends(path, &["fit", "t.csv", "--target", "y"], 1).1;
    let words = "column \"name\": \"plate a\" is not a number; 2 columns hold words there: put numbers there, leave the columns out (--ignore \"name,solvent\"), \
                 or declare them (--categorical \"name,solvent\")";
    assert!(said.contains(words), "{said}");
}

#[test]
fn rows_with_holes_are_predicted_without_them_where_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("t.csv"), "x,y\n0,1\n1,2\n2,4\n3,5\n").unwrap();
    ends(path, &["fit", "t.csv", "--target", "y", "--lengthscale", "1", "--tau", "0.1", "--holdout", "0", "-o", "m.sbm"], 0);
    fs::write(path.join("new.csv"), "x,z\n0.5,1\n,2\n2.5,3\n").unwrap();
    let said = ends(path, &["predict", "m.sbm", "new.csv"], 1).1;
    assert!(said.contains("line 3, column \"x\"") && said.contains("--drop-missing --inputs"), "{said}");
    ends(path, &["predict", "m.sbm", "new.csv", "--drop-missing"], 2);
    // Words are no holes, and no flag passes over them.
    fs::write(path.join("words.csv"), "x\n0.5\nmuch\n").unwrap();
    let said = ends(path, &["predict", "m.sbm", "words.csv"], 1).1;
    assert!(said.contains("line 3, column \"x\"") && !said.contains("--"), "{said}");
    let (out, said) = ends(path, &["predict", "m.sbm", "new.csv", "--drop-missing", "--inputs"], 0);
    assert!(out.lines().count() == 3 && out.contains("\n0.5,") && out.contains("\n2.5,"), "{out}");
    assert!(said.contains("1 rows with a missing value were dropped"), "{said}");
    let said = ends(path, &["predict", "m.sbm", "new.csv", "--drop-missing", "--inputs", "-o", "out.csv"], 0).1;
    assert!(said.contains("1 rows with a missing value were dropped") && said.contains("2 rows predicted"), "{said}");
    assert_eq!(fs::read_to_string(path.join("out.csv")).unwrap(), out);
}

#[test]
fn spreadsheets_of_every_kind_are_read_or_refused_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let fit = |bytes: &[u8], code: i32| {
        fs::write(path.join("t.csv"), bytes).unwrap();
        ends(path, &["fit", "t.csv", "--target", "y", "--lengthscale", "1", "--tau", "0.1", "--holdout", "0"], code).1
    };
    let good = "\u{feff}x (°C);y;;\r\n1,5;2,25;;\r\n2,5;3;;\r\n3,5;\"4,5\";;\r\n;;;\r\n";
    let said = fit(good.as_bytes(), 0);
    assert!(said.contains("read 3 rows of 2 columns") && said.contains("commas are read as decimal points"), "{said}");
    for (text, words) in [
        ("x,y\n1,\"1,234.5\"\n2,3\n", "line 2, column \"y\": \"1,234.5\" is not a number; write every number with a point"),
        (
            "x;y\n1,5;2\n2;1.234\n",
            "line 3, column \"y\": \"1.234\" does not belong there; numbers before it have decimal commas, and the table mixes both: write every number with a point",
        ),
        ("x,y\n01.11.2026,1\n02.11.2026,2\n", "line 2, column \"x\": \"01.11.2026\" is not a number"),
        ("x,y\n1,#DIV/0!\n", "line 2, column \"y\": \"#DIV/0!\""),
        ("x,x,y\n1,2,3\n", "columns 1 and 2 (counted from 1) are both called \"x\""),
        ("x,y\n1,2\n,\n3,4\n", "line 3: an empty row between others"),
        ("x,y,\n1,2,3\n", "column 3 (counted from 1): \"3\" stands below no name"),
        ("1,2\n3,4\n", "the first line must name the columns"),
    ] {
        let said = fit(text.as_bytes(), 1);
        assert!(said.contains(words), "{text:?}: {said}");
    }
    assert!(fit(b"PK\x03\x04\x14\x00", 1).contains("save the sheet as CSV"));
    assert!(fit(b"\xff\xfex\x00,\x00y\x00", 1).contains("UTF-16"));
    assert!(fit(b"x,y (\xb0C)\n1,2\n", 1).contains("UTF-8"));
}

#[test]
fn what_is_left_of_a_mixed_space_is_counted_and_never_a_share_above_one() {
    let directory = with(
        "budget = 12\nbatches = 2\nnorm_bound = 3\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.3 }\n\n\
         [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[parameters.s]\ntype = \"categorical\"\nchoices = [\"a\", \"b\"]\n\n\
         [objective]\ncommand = \"echo {x}\"\n",
    );
    let said = ends(directory.path(), &["run", "study.toml", "--no-report"], 0).1;
    assert!(said.contains("settings still possible") && !said.contains("% of the space"), "{said}");
}

#[test]
fn imported_results_are_in_the_report_under_their_own_mark() {
    let directory = with(
        "budget = 8\nbatches = 2\nnorm_bound = 3\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.3 }\n\n\
         [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[objective]\ncommand = \"echo {x}\"\n",
    );
    let path = directory.path();
    ends(path, &["run", "study.toml", "--report", "without.html"], 0);
    let legend = "imported: measured before the study";
    assert!(!fs::read_to_string(path.join("without.html")).unwrap().contains(legend));
    fs::remove_file(path.join("study.db")).unwrap();
    fs::write(path.join("old.csv"), "x,result\n0.125,0.2\n0.5,failed\n").unwrap();
    ends(path, &["import", "old.csv", "--study", "study.toml"], 0);
    ends(path, &["run", "study.toml", "--report", "with.html"], 0);
    let page = fs::read_to_string(path.join("with.html")).unwrap();
    assert!(page.contains(legend) && page.contains("plans and claims without results from before the study"));
    assert!(page.contains("2 results are from before the study; 2 of them came before its first batch"));
}

#[test]
fn the_report_says_what_the_strategy_does_with_imported_results() {
    let said = |strategy: &str| {
        let directory = with(&format!(
            "budget = 8\nstrategy = \"{strategy}\"\nnorm_bound = 3\nnoise = 0.1\nkernel = {{ name = \"matern\", lengthscale = 0.3 }}\n\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[objective]\ncommand = \"echo {{x}}\"\n"
        ));
        let path = directory.path();
        fs::write(path.join("old.csv"), "x,result\n0.125,0.2\n").unwrap();
        ends(path, &["import", "old.csv", "--study", "study.toml"], 0);
        ends(path, &["run", "study.toml"], 0);
        fs::read_to_string(path.join("study-report.html")).unwrap()
    };
    let random = said("random");
    assert!(random.contains("plans without results from before the study; what is recommended") && !random.contains("plans and claims"));
    assert!(!said("gp-ucb").contains("without results from before"));
    // Results that were declared fixed count in certified S-BPE.
    let directory = with(STUDY);
    let text = "budget = 8\nbatches = 2\nnorm_bound = 3\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.3 }\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo {x}\"\n";
    fs::write(directory.path().join("old.csv"), "x,result\n0.125,0.2\n").unwrap();
    let page = |collected: &[&str], name: &str| {
        let (file, html) = (format!("{name}.toml"), format!("{name}.html"));
        fs::write(directory.path().join(&file), text).unwrap();
        ends(directory.path(), &[&["import", "old.csv", "--study", &file], collected].concat(), 0);
        ends(directory.path(), &["run", &file, "--report", &html], 0);
        fs::read_to_string(directory.path().join(html)).unwrap()
    };
    let counts = "counts results from before the study into its first batch";
    let fixed = page(&["--collected", "fixed"], "fixed");
    assert!(fixed.contains(counts), "{fixed}");
    assert!(!fixed.contains("claims without results from before the study"));
    // Where nobody says, nobody vouches.
    assert!(!page(&[], "undeclared").contains(counts));
    assert!(!page(&["--collected", "exchangeable"], "exchangeable").contains(counts));
}

/// Eight processes that begin one fresh study at the same moment all get a setting of their own.
#[test]
fn many_processes_begin_one_study_at_once() {
    let directory = with(STUDY);
    let path = directory.path();
    let ask = |worker: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        command.args(["ask", "study.toml", "--format", "json", "--worker", &format!("worker-{worker}")]);
        command
            .current_dir(path)
            .env("SIGMABAR_NUM_THREADS", "1")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let started: Vec<_> = (0..8).map(ask).collect();
    let ended: Vec<Output> = started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let mut trials = Vec::new();
    for output in &ended {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        trials.extend(rows.as_array().into_iter().flatten().filter_map(|row| row["trial"].as_u64()));
    }
    trials.sort_unstable();
    // The first batch has four settings: the others are told to wait, which is no failure.
    assert_eq!(trials, [0, 1, 2, 3]);
}

/// A complete plate is analysed at once, so whoever typed it is asked before: nothing of it is written down, and saying that it was measured does.
#[test]
fn a_mistyped_well_is_asked_about_before_the_plate_is_analysed() {
    let premises = "plates = 1\nplate = 12\nstrategy = \"s-bpe\"\nprior_mean = 50\nunit = 20\nnorm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", lengthscale = 0.5 }\n";
    let directory = with(&format!("{premises}\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"));
    let path = directory.path();
    ends(path, &["ask", "study.toml", "--plate", "12", "-o", "plate.csv"], 0);
    let sheet = fs::read_to_string(path.join("plate.csv")).unwrap();
    let filled = |mistyped: &str| {
        let mut lines: Vec<String> = sheet.lines().map(str::to_owned).collect();
        for (i, line) in lines.iter_mut().enumerate().skip(1) {
            let mut cells: Vec<&str> = line.split(',').collect();
            let value = if i == 5 { mistyped.to_owned() } else { format!("{}", 60 + cells[1].parse::<u64>().unwrap()) };
            cells[3] = &value;
            *line = cells.join(",");
        }
        fs::write(path.join("plate.csv"), lines.join("\n")).unwrap();
    };
    filled("555");
    let said = ends(path, &["tell", "plate.csv"], 1).1;
    let words = "plate.csv, line 6: trial 3 (well B1) came to 555, and what was declared allows -6 to 106; nothing was written down";
    assert!(said.contains(words) && said.contains("the same command with --sure"), "{said}");
    assert!(ends(path, &["status", "--format", "json"], 0).0.contains("\"closed\": 0"));
    filled("");
    assert!(ends(path, &["tell", "plate.csv"], 0).1.contains("written down: 11 values"));
    // The one that completes the batch is asked about too, and so before the analysis.
    let said = ends(path, &["tell", "3", "555"], 1).1;
    assert!(said.contains("trial 3 (well B1) came to 555, and what was declared allows -6 to 106; nothing was written down"), "{said}");
    assert!(ends(path, &["status", "--format", "json"], 0).0.contains("\"closed\": 0"));
    ends(path, &["tell", "3", "63"], 0);
    let advice = ends(path, &["recommend", "--format", "json"], 0).0;
    assert!(advice.contains("\"certified\""), "nothing was corrected after the batch was analysed: {advice}");
}

/// What was measured is told, however odd, and is not asked about again.
#[test]
fn what_looks_mistyped_is_written_down_by_whoever_is_sure() {
    let directory = with("plates = 1\nplate = 12\nstrategy = \"sobol\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let path = directory.path();
    ends(path, &["ask", "study.toml", "--plate", "12", "-o", "plate.csv"], 0);
    let sheet = fs::read_to_string(path.join("plate.csv")).unwrap();
    let told = |i: usize, line: &str| {
        if i == 0 { line.to_owned() } else { line.replacen(",,,", &format!(",{},,", if i == 3 { 570 } else { 50 + i }), 1) }
    };
    fs::write(path.join("plate.csv"), sheet.lines().enumerate().map(|(i, line)| told(i, line) + "\n").collect::<String>()).unwrap();
    let said = ends(path, &["tell", "plate.csv"], 1).1;
    assert!(said.contains("trial 2 (well A3) came to 570, and all others lie between 51 and 62"), "{said}");
    assert!(ends(path, &["tell", "plate.csv", "--sure"], 0).1.contains("written down: 12 values"));
    assert!(ends(path, &["tell", "plate.csv"], 0).1.contains("there already: 12 results"));
}

/// A plate that is asked for again is the one on the bench: every well where it was, with what was told of it; and nothing is added to it.
#[test]
fn a_plate_asked_for_again_is_the_same_plate() {
    let directory = with(
        "plates = 2\nplate = 12\ncontrols = 2\nblocked = [\"C4\"]\nstrategy = \"sobol\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\ndigits = 3\n",
    );
    let path = directory.path();
    let ask = ["ask", "study.toml", "--plate", "12", "-o", "plate1.csv"];
    ends(path, &[&ask[..], &["--map", "map1.csv"]].concat(), 0);
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let (first, first_map) = (read("plate1.csv"), read("map1.csv"));
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = first.lines().skip(1).map(cells).collect();
    assert_eq!(rows.len(), 11, "nine settings and two controls");
    // Half of it is told, one well has failed; the file is gone.
    let filled: String = rows
        .iter()
        .enumerate()
        .map(|(i, row)| match i {
            0..5 => format!("{},{i}.5,,\n", row[..3].join(",")),
            5 if row[1] != "control" => format!("{},failed,,spilt\n", row[..3].join(",")),
            _ => format!("{},,,\n", row[..3].join(",")),
        })
        .collect();
    fs::write(path.join("filled.csv"), format!("well,trial,x,result,std,note\n{filled}")).unwrap();
    ends(path, &["tell", "filled.csv", "--study", "study.toml"], 0);
    fs::remove_file(path.join("plate1.csv")).unwrap();
    let said = ends(path, &[&ask[..], &["--map", "map2.csv"]].concat(), 0).1;
    assert!(said.contains("this plate lies on the bench already"), "{said}");
    let (again, again_map) = (read("plate1.csv"), read("map2.csv"));
    assert_eq!(again_map, first_map);
    for (before, now) in rows.iter().zip(again.lines().skip(1).map(cells)) {
        assert_eq!(before[..3], now[..3], "the well, its trial and its setting");
    }
    assert_eq!(again.lines().count(), first.lines().count());
    let told = rows[..5].iter().filter(|row| row[1] != "control").count();
    assert_eq!(again.lines().filter(|line| line.contains(".5,,")).count(), told, "{again}");
    // The sheet can be told as it is: nothing of it is new.
    assert!(ends(path, &["tell", "plate1.csv", "--study", "study.toml"], 0).1.contains("written down: 0 values and 0 failures"));
    fs::remove_file(path.join("plate1.csv")).unwrap();
    let said = ends(path, &["ask", "study.toml", "--plate", "24", "-o", "plate1.csv"], 2).1;
    assert!(said.contains("lie on a plate of 12 wells: ask for it with --plate 12"), "{said}");
    let leased = ends(path, &["trials", "study.toml", "--state", "leased", "--format", "csv"], 0).0;
    assert!(leased.lines().count() > 1, "what was refused gave nothing back: {leased}");
}

/// A few settings lie alike on plates of several sizes: the one that is asked for is meant.
#[test]
fn a_plate_that_is_hardly_filled_is_asked_for_again_by_its_own_size() {
    let directory = with("budget = 8\nstrategy = \"sobol\"\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\ndigits = 3\n");
    let path = directory.path();
    let sheet = || {
        ends(path, &["ask", "study.toml", "--plate", "96", "-o", "plate.csv"], 0);
        let text = fs::read_to_string(path.join("plate.csv")).unwrap();
        fs::remove_file(path.join("plate.csv")).unwrap();
        text
    };
    assert_eq!(sheet(), sheet());
}

/// A server says how a worker is started: with a command only where the study needs one, and then with its own parameters.
#[test]
#[cfg(unix)]
fn a_server_names_the_command_that_works() {
    use std::io::{BufRead, BufReader};
    let said = |study: &str| {
        let directory = with(study);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        command.args(["serve", "study.toml", "--port", "0"]).current_dir(directory.path()).env("NO_COLOR", "1");
        let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let next = lines.map_while(Result::ok).find(|line| line.starts_with("next: "));
        child.kill().unwrap();
        child.wait().unwrap();
        next.unwrap()
    };
    let built_in =
        said(&(STUDY.to_owned() + "[parameters.y]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\nbuiltin = \"hills\"\nnoise = 0.1\n"));
    assert!(built_in.starts_with("next: SIGMABAR_TOKEN=") && built_in.contains(" sigmabar worker --server http://"), "{built_in}");
    assert!(!built_in.contains("--command"), "{built_in}");
    let program = said(&(STUDY.to_owned() + "[objective]\ncommand = \"sh tune.sh {x}\"\n"));
    assert!(program.ends_with(" --command 'sh tune.sh {x}'"), "{program}");
    let by_hand = said(STUDY);
    assert!(by_hand.ends_with(" --command 'your program {x}'"), "{by_hand}");
}

/// What is wrong is said in the terms of whoever typed it: a number is not called none, columns have names, and no option is named that the verb lacks.
#[test]
fn words_are_about_what_was_typed() {
    let directory = with(STUDY);
    let path = directory.path();
    ends(path, &["ask", "study.toml", "-n", "2"], 0);
    let tell = |text: &str| {
        fs::write(path.join("r.csv"), text).unwrap();
        ends(path, &["tell", "r.csv", "--study", "study.toml"], 1).1
    };
    let said = tell("trial,result,std\n0,1,-6\n");
    assert!(said.contains("r.csv, line 2, column \"std\": -6 does not belong there; a positive standard error"), "{said}");
    let said = tell("trial,result\n0.5,6\n");
    assert!(said.contains("column \"trial\": 0.5 does not belong there") && !said.contains("finite"), "{said}");
    let rows: String = (0..40).map(|i| format!("{},{}\n", f64::from(i) / 40.0, f64::from(i).sin())).collect();
    fs::write(path.join("d.csv"), format!("speed,y\n{rows}")).unwrap();
    let fit = ["fit", "d.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", "m.sbm"];
    ends(path, &fit, 0);
    // predict has neither --ignore nor --categorical.
    fs::write(path.join("new.csv"), "speed\nfast\n").unwrap();
    let said = ends(path, &["predict", "m.sbm", "new.csv"], 1).1;
    assert!(said.contains("new.csv, line 2, column \"speed\": \"fast\"") && !said.contains("--"), "{said}");
    // A column that cannot be told apart at its length-scale has its name.
    let rows: String = (0..40).map(|i| format!("{},{}\n", 1e15 + f64::from(i), f64::from(i).sin())).collect();
    fs::write(path.join("far.csv"), format!("stamp,y\n{rows}")).unwrap();
    let said = ends(path, &["fit", "far.csv", "--target", "y", "--lengthscale", "0.01", "--tau", "0.1", "--no-save"], 1).1;
    assert!(said.contains("stamp") && !said.contains("counted from 0"), "{said}");
}
