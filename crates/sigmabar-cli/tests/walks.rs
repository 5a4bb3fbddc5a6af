//! What somebody meets who follows the commands that each command suggests.

use crate::support::ends;
use std::fs;

fn with(study: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("study.toml"), study).unwrap();
    directory
}

const PLATES: &str =
    "plate = 24\nplates = 2\nreplicates = 2\n[parameters.Acid]\ntype = \"float\"\nlow = 0\nhigh = 1\ndigits = 2\nunit = \"mM\"\n";

/// The sheet with these results of its lines, in their order; empty after the last.
fn filled(sheet: &str, results: &[&str]) -> String {
    let line = |(i, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        if i == 0 { "trial,result\n".to_owned() } else { format!("{},{}\n", cells[1], results.get(i - 1).unwrap_or(&"")) }
    };
    sheet.lines().enumerate().map(line).collect()
}

/// Wells are counted as wells, a plate whose sheet is lost is named, and a bare number for two wells is said to be somebody's word.
#[test]
fn wells_without_a_result_are_counted_and_a_lost_sheet_is_written_again() {
    let directory = with(PLATES);
    let path = directory.path();
    ends(path, &["ask", "study.toml", "--plate", "24", "-o", "plate1.csv"], 0);
    let sheet = fs::read_to_string(path.join("plate1.csv")).unwrap();
    fs::remove_file(path.join("plate1.csv")).unwrap();
    let said = ends(path, &["ask", "study.toml", "--plate", "24", "-o", "other.csv"], 0);
    assert!(said.contains("written again by: sigmabar ask study.toml --plate 24 -o plate1.csv"), "{said}");
    ends(path, &["ask", "study.toml", "--plate", "24", "-o", "plate1.csv"], 0);
    assert_eq!(fs::read_to_string(path.join("plate1.csv")).unwrap(), sheet);
    // Those of three settings stay empty, in two wells each.
    let mut seen = Vec::<&str>::new();
    let trials: Vec<&str> = sheet.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    trials.iter().for_each(|trial| {
        if !seen.contains(trial) {
            seen.push(trial)
        }
    });
    let values: Vec<String> = (0..trials.len()).map(|i| format!("{}.5", 20 + i * 7 % 5)).collect();
    let results: Vec<&str> =
        trials.iter().zip(&values).map(|(trial, value)| if seen[..3].contains(trial) { "" } else { value.as_str() }).collect();
    fs::write(path.join("told.csv"), filled(&sheet, &results)).unwrap();
    let said = ends(path, &["tell", "told.csv", "--study", "study.toml"], 0);
    assert!(said.contains("6 wells without a result in the file"), "{said}");
    let said = ends(path, &["tell", seen[0], "21.5", "--study", "study.toml"], 0);
    assert!(said.contains("the mean of all 2 replicates, by your word"), "{said}");
    // One well failed, the other is empty.
    let of = trials.iter().position(|trial| *trial == seen[1]).unwrap();
    let results: Vec<&str> = (0..trials.len()).map(|i| if i == of { "failed" } else { "" }).collect();
    fs::write(path.join("told.csv"), filled(&sheet, &results)).unwrap();
    assert!(ends(path, &["tell", "told.csv", "--study", "study.toml"], 1).contains("has a result in 1 of its 2 wells"));
    let said = ends(path, &["tell", "told.csv", "--study", "study.toml", "--sure"], 0);
    assert!(
        said.contains("some wells failed and the others are empty: told as failed") && !said.contains("only some replicates"),
        "{said}"
    );
}

/// What the import refuses the dry run refuses; names are read in another case; later batches were chosen by looking.
#[test]
fn an_import_is_tried_by_the_rules_of_the_import() {
    let directory = with("budget = 8\nstrategy = \"sobol\"\n[parameters.Acid]\ntype = \"float\"\nlow = 0\nhigh = 1\nunit = \"mM\"\n");
    let path = directory.path();
    fs::write(path.join("old.csv"), "acid (mm),result,batch\n0.1,1.5,1\n0.2,2.5,1\n0.1,1.5,2\n").unwrap();
    fs::write(path.join("first.csv"), "ACID,result\n0.1,1.5\n0.2,2.5\n").unwrap();
    fs::write(path.join("nameless.csv"), "ph,result\n0.1,1.5\n").unwrap();
    let fixed = ["--study", "study.toml", "--collected", "fixed"];
    let said = ends(path, &[&["import", "old.csv"], &fixed[..]].concat(), 1);
    assert!(said.contains("old.csv, line 4: batch 2, whose settings were chosen by looking at earlier results"), "{said}");
    fs::write(path.join("twice.csv"), "Acid,result\n0.1,1.5\n0.1,1.5\n").unwrap();
    for more in [&["--dry-run"][..], &[]] {
        let said = ends(path, &[&["import", "twice.csv"], &fixed[..], more].concat(), 1);
        assert!(said.contains("row 2") && said.contains("written down twice"), "{said}");
        let said = ends(path, &[&["import", "nameless.csv"], &fixed[..], more].concat(), 2);
        assert!(said.contains("--map Acid=COLUMN"), "{said}");
    }
    let said = ends(path, &[&["import", "first.csv"], &fixed[..]].concat(), 0);
    assert!(said.contains("imported 2 rows") && said.contains("next: sigmabar ask study.toml"), "{said}");
    for more in [&["--dry-run"][..], &[]] {
        assert!(ends(path, &[&["import", "first.csv"], &fixed[..], more].concat(), 1).contains("written down twice"));
    }
}

/// A study with an objective goes on by running, and one on plates by its next plate, whatever is asked.
#[test]
fn every_command_suggests_the_same_next_step() {
    let plates = with(&PLATES.replace("replicates = 2\n", ""));
    let path = plates.path();
    fs::write(path.join("old.csv"), "Acid,result\n0.1,1.5\n0.2,2.5\n").unwrap();
    let next = "sigmabar ask study.toml --plate 24 -o plate1.csv";
    assert!(ends(path, &["import", "old.csv", "--study", "study.toml"], 0).contains(next));
    assert!(ends(path, &["status", "study.toml"], 0).contains(next));
    assert!(ends(path, &["amend", "study.toml"], 0).contains(next));
    let premises = "norm_bound = 1\nnoise = { gaussian = 0.01 }\nkernel = { name = \"matern\", lengthscale = 0.5 }\n";
    let refuted = format!(
        "budget = 20\nbatches = 2\n{premises}[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo 80\"\n"
    );
    let refuted = with(&refuted);
    let path = refuted.path();
    let on = "sigmabar run study.toml --despite-contradiction";
    for arguments in [&["run", "study.toml", "--no-report"][..], &["status", "study.toml"], &["recommend", "study.toml"]] {
        assert!(ends(path, arguments, 3).contains(on), "{arguments:?}");
    }
    ends(path, &["report", "study.toml", "-o", "page.html"], 3);
    assert!(fs::read_to_string(path.join("page.html")).unwrap().contains("sigmabar run study.db --despite-contradiction"));
}

/// An outage: which failures are evaluated again, and which stay.
#[test]
fn a_run_says_which_failures_it_evaluates_again() {
    let directory = with(
        "budget = 18\nbatches = 3\nstrategy = \"auto\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"sh value.sh {x}\"\n",
    );
    let path = directory.path();
    fs::write(path.join("value.sh"), "[ -e down ] && exit 9\necho $1\n").unwrap();
    ends(path, &["run", "study.toml", "--no-report", "--at-most", "6"], 0);
    fs::write(path.join("down"), "").unwrap();
    let said = ends(path, &["run", "study.toml", "--no-report"], 1);
    assert!(said.contains("all evaluations of batch 2") && said.contains("run --retry-failed"), "{said}");
    assert!(ends(path, &["status", "study.toml"], 0).contains("sigmabar run study.toml --retry-failed"));
    fs::remove_file(path.join("down")).unwrap();
    let said = ends(path, &["run", "study.toml", "--no-report", "--retry-failed", "--at-most", "3"], 0);
    assert!(said.contains("6 failed settings of batch 2 evaluated again"), "{said}");
}

/// The line that declares losses to be harmless waits in a new study file, and decimals are written with a point everywhere.
#[test]
fn premises_after_a_pilot_offer_the_word_about_failures() {
    let directory = with(
        "budget = 24\nbatches = 1\npilot = 12\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"sh value.sh {x} {seed}\"\n",
    );
    let path = directory.path();
    fs::write(path.join("value.sh"), "awk -v x=$1 -v s=$2 'BEGIN { srand(s); print 5 + 3 * sin(6 * x) + 0.1 * rand() }'\n").unwrap();
    ends(path, &["run", "study.toml", "--no-report"], 0);
    let said = ends(path, &["premises", "study.toml"], 0);
    assert!(said.contains("sigmabar run study.toml"), "{said}");
    let text = fs::read_to_string(path.join("study.toml")).unwrap();
    assert!(text.contains("# failures = \"unrelated\"  # take the first # away"), "{text}");
    fs::write(path.join("study.toml"), text.replace("# failures =", "failures =")).unwrap();
    assert!(ends(path, &["amend", "study.toml"], 0).contains("amended: failures"));
}
