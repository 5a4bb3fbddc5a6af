//! Words that somebody reads who knows nothing of the inside: what to type next, what was wrong, what was understood.

use crate::premises::ends;
use serde_json::Value;
use std::fs;

const STUDY: &str = "budget = 4\nbatches = 2\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";

#[test]
fn a_factor_that_cannot_be_called_so_is_asked_for_again() {
    let place = tempfile::tempdir().unwrap();
    let answers = "yield\nlarge\nvalue\nWell\ndose\n1..1000 nM log\nlayers\n1..64 int log\n\n0\n2\n10\n";
    let (_, said) = ends(place.path(), &["new", "study.toml", "--questions"], answers, 0);
    assert!(said.contains("a factor cannot be called \"value\": plates") && said.contains("called \"Well\""), "{said}");
    let file = fs::read_to_string(place.path().join("study.toml")).unwrap();
    assert!(file.contains("[parameters.\"dose\"]\ntype = \"float\"\nlow = 1\nhigh = 1000\nlog = true"), "{file}");
    assert!(file.contains("type = \"int\"\nlow = 1\nhigh = 64\nlog = true"), "{file}");
}

#[test]
fn where_all_failed_the_next_step_is_to_mend_and_try_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), format!("{STUDY}\n[objective]\ncommand = \"exit 3\"\n")).unwrap();
    ends(path, &["run", "study.toml", "--no-report", "--at-most", "1"], "", 1);
    for verb in ["status", "recommend"] {
        let (_, said) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(said.contains("next: sigmabar run study.toml --retry-failed   or   sigmabar trials study.toml"), "{verb}: {said}");
    }
    fs::write(path.join("hand.toml"), STUDY.replace("batches = 2", "batches = 1")).unwrap();
    ends(path, &["ask", "hand.toml", "-n", "4"], "", 0);
    for trial in ["0", "1", "2", "3"] {
        ends(path, &["tell", trial, "--failed", "--study", "hand.toml"], "", 0);
    }
    let (_, said) = ends(path, &["status", "hand.toml"], "", 0);
    assert!(said.contains("next: sigmabar trials hand.toml   (all of them failed)"), "{said}");
}

#[test]
fn what_is_handed_out_is_told_next() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), STUDY).unwrap();
    ends(path, &["ask", "study.toml", "-n", "2"], "", 0);
    for verb in ["status", "recommend"] {
        let (_, said) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(
            said.contains("next: sigmabar tell TRIAL VALUE --study study.toml") && !said.contains("next: sigmabar ask"),
            "{verb}: {said}"
        );
    }
    let plate = "plate = 6\nplates = 1\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    fs::write(path.join("plate.toml"), plate).unwrap();
    ends(path, &["ask", "plate.toml", "--plate", "6", "-o", "first.csv"], "", 0);
    assert!(ends(path, &["status", "plate.toml"], "", 0).1.contains("next: sigmabar tell first.csv --study plate.toml"));
    fs::remove_file(path.join("first.csv")).unwrap();
    assert!(ends(path, &["status", "plate.toml"], "", 0).1.contains("next: sigmabar tell SHEET --study plate.toml"));
}

/// A round by hand without plates: one sheet for all of it, told as it is; and a study is no table.
#[test]
fn a_round_is_a_sheet_that_can_be_filled_in() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), STUDY).unwrap();
    let (_, said) = ends(path, &["ask", "study.toml", "-o", "round1.csv"], "", 0);
    assert!(said.contains("fill in the column result") && said.contains("next: sigmabar tell round1.csv --study study.toml"), "{said}");
    let sheet = fs::read_to_string(path.join("round1.csv")).unwrap();
    let mut lines = sheet.lines();
    assert_eq!(lines.next(), Some("trial,batch,x,result"));
    let filled: Vec<String> = lines.enumerate().map(|(i, line)| format!("{line}{}", 0.5 + 0.1 * i as f64)).collect();
    assert!(filled.len() > 1, "a round has more than one setting: {sheet}");
    fs::write(path.join("round1.csv"), format!("trial,batch,x,result\n{}\n", filled.join("\n"))).unwrap();
    let (_, said) = ends(path, &["tell", "round1.csv", "--study", "study.toml"], "", 0);
    assert!(said.contains(&format!("{} values", filled.len())) && !said.contains("not kept"), "{said}");
    let (_, said) = ends(path, &["import", "study.db", "--study", "study.toml"], "", 2);
    assert!(said.contains("study.db is a study, not a table") && said.contains("sigmabar export study.db"), "{said}");
}

/// Trials of a study that has none yet are asked for, not judged.
#[test]
fn the_next_step_after_trials_and_void_is_one_that_can_be_taken() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), STUDY).unwrap();
    ends(path, &["new", "study.toml"], "", 0);
    assert!(ends(path, &["trials", "study.toml"], "", 0).1.contains("next: sigmabar ask study.toml"));
    ends(path, &["ask", "study.toml", "-n", "2"], "", 0);
    let (_, said) = ends(path, &["tell", "0", "1.5", "--study", "study.toml"], "", 0);
    assert!(said.contains("next: sigmabar tell TRIAL VALUE --study study.toml"), "one is still handed out: {said}");
    let (_, said) = ends(path, &["void", "0", "--note", "the wrong vial", "--study", "study.toml"], "", 0);
    assert!(said.contains("next: sigmabar tell TRIAL VALUE --study study.toml"), "{said}");
}

/// Whoever closes a batch without a result hears at once what that costs, and the answer agrees.
#[test]
fn what_a_missing_result_costs_is_said_when_the_batch_is_closed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let premises = "norm_bound = 4\nnoise = { gaussian = 0.1 }\nkernel = { name = \"SE\", lengthscale = 0.5 }\n";
    for (file, declared, words, label) in [
        ("silent.toml", "", "the study does not declare failures = \"unrelated\"", "estimated"),
        ("declared.toml", "failures = \"unrelated\"\n", "valid if missing does not depend on the noise", "certified"),
    ] {
        fs::write(path.join(file), format!("{premises}{declared}{}", STUDY.replace("batches = 2", "batches = 1"))).unwrap();
        ends(path, &["ask", file, "-n", "4"], "", 0);
        for trial in ["0", "1", "2"] {
            ends(path, &["tell", trial, "0.5", "--study", file], "", 0);
        }
        let (_, said) = ends(path, &["close-batch", file], "", 0);
        assert!(said.contains(words), "{file}: {said}");
        let (json, _) = ends(path, &["recommend", file, "--format", "json"], "", 0);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["label"], label, "{file}: {json}");
    }
}

#[test]
fn nothing_to_recommend_is_null_and_no_failure() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), STUDY).unwrap();
    ends(path, &["ask", "study.toml"], "", 0);
    let (answer, _) = ends(path, &["recommend", "--format", "json"], "", 0);
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), Value::Null);
}

#[test]
fn values_that_are_no_numbers_are_refused_in_plain_words() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("study.toml"), STUDY).unwrap();
    ends(path, &["ask", "study.toml", "-n", "2", "-o", "sheet.csv"], "", 0);
    assert!(ends(path, &["tell", "0", "six"], "", 2).1.contains("six is not a number"));
    assert!(ends(path, &["tell", "0", "inf"], "", 2).1.contains("inf is not a measurement"));
    fs::write(path.join("filled.csv"), "trial,result\n0,6 %\n").unwrap();
    let (_, said) = ends(path, &["tell", "filled.csv"], "", 1);
    assert!(said.contains("\"6 %\" is a number with something behind it") && !said.contains("finite"), "{said}");
    fs::write(path.join("filled.csv"), "trial,result\n0,six\n").unwrap();
    assert!(ends(path, &["tell", "filled.csv"], "", 1).1.contains("\"six\" is not a number"));
}

/// A certified answer has nothing that keeps it from being certified: no empty row says so.
#[test]
fn a_certified_answer_shows_no_empty_row() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let premises = "norm_bound = 4\nnoise = { gaussian = 0.1 }\nkernel = { name = \"SE\", lengthscale = 0.5 }\n";
    fs::write(path.join("study.toml"), format!("{premises}{STUDY}\n[objective]\ncommand = \"echo {{x}}\"\ntimeout = \"30s\"\n")).unwrap();
    ends(path, &["run", "study.toml", "--no-report", "-q"], "", 0);
    let (shown, _) = ends(path, &["recommend", "study.toml"], "", 0);
    assert!(shown.contains("certified") && !shown.contains("reasons"), "{shown}");
    let (json, _) = ends(path, &["recommend", "study.toml", "--format", "json"], "", 0);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["reasons"], Value::Array(Vec::new()));
}

/// The target cannot be left out: nobody is advised to.
#[test]
fn a_hole_in_the_target_is_not_left_out_with_its_column() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    fs::write(path.join("a.csv"), "a,y\n1,2\n3,\n").unwrap();
    let (_, said) = ends(path, &["fit", "a.csv", "--target", "y"], "", 1);
    assert!(said.contains("this is the target") && said.contains("--drop-missing") && !said.contains("--ignore"), "{said}");
    assert!(ends(path, &["fit", "a.csv", "--target", "y", "--ignore", "y"], "", 2).1.contains("y, which is the target"));
}

/// A unit is typed once, stands wherever a person reads, and nowhere that a program does.
#[test]
fn units_are_shown_to_people_and_read_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    let answers = "yield\nlarge\ntemperature (°C)\n20..80 step 5\nhours\n1, 2, 4, 8 h\nsolvent (polar)\ndmso, thf\n\n6\n1\n";
    ends(path, &["new", "study.toml", "--questions"], answers, 0);
    let file = fs::read_to_string(path.join("study.toml")).unwrap();
    ends(path, &["premises", "study.toml", "--questions"], "50\n20\n4\n0.5\n1\n0.3\n", 0);
    ends(path, &["premises", "study.toml", "--questions"], "3\n20\n9\n0.5\n1\n\n", 0);
    assert!(file.matches("unit = ").count() == 2 && file.contains("unit = \"°C\"") && file.contains("unit = \"h\""), "{file}");
    ends(path, &["ask", "study.toml", "--plate", "6", "-o", "plate.csv", "--map", "map.csv"], "", 0);
    let sheet = fs::read_to_string(path.join("plate.csv")).unwrap();
    // With the mark by which spreadsheets know the letters.
    assert!(sheet.starts_with("\u{feff}well,trial,temperature (°C),hours (h),solvent,result"), "{sheet}");
    assert!(fs::read_to_string(path.join("map.csv")).unwrap().contains("\ntemperature (°C),A,"));
    let filled: Vec<String> =
        sheet.lines().enumerate().map(|(i, line)| if i == 0 { line.into() } else { line.replace(",,,", &format!(",{i}.5,,")) }).collect();
    // With the heading as it was written, or with the name alone.
    let plain = filled.join("\n").replace("temperature (°C)", "temperature");
    fs::write(path.join("sorted.csv"), plain.replace("temperature,hours (h)", "hours,temperature")).unwrap();
    ends(path, &["tell", "sorted.csv", "--study", "study.toml"], "", 1);
    for (name, text, said) in [("plate.csv", filled.join("\n"), "6 values"), ("plain.csv", plain, "there already: 6")] {
        fs::write(path.join(name), text).unwrap();
        let (_, found) = ends(path, &["tell", name, "--study", "study.toml"], "", 0);
        assert!(found.contains(said) && !found.contains("not kept"), "{found}");
    }
    for verb in ["status", "recommend"] {
        let (table, _) = ends(path, &[verb, "study.toml"], "", 0);
        assert!(table.contains(" °C, hours = ") && table.contains(" h, solvent = "), "{table}");
        let json = ends(path, &[verb, "study.toml", "--format", "json"], "", 0).0;
        assert!(!json.contains("°C"), "{json}");
    }
    ends(path, &["report", "study.toml", "-o", "page.html"], "", 0);
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    assert!(
        page.contains("temperature (°C)</text>") && page.contains("hours (h)</text>") && page.contains("Use temperature = "),
        "axes and headline"
    );
    // What is exported has plain names, and comes back.
    ends(path, &["export", "study.toml", "-o", "all.csv"], "", 0);
    assert!(fs::read_to_string(path.join("all.csv")).unwrap().starts_with("trial,batch,state,temperature,hours,solvent"));
    fs::copy(path.join("study.toml"), path.join("again.toml")).unwrap();
    for from in ["all.csv", "plate.csv"] {
        let (_, said) = ends(path, &["import", from, "--study", "again.toml", "--dry-run"], "", 0);
        assert!(said.contains("6 rows can be imported"), "{from}: {said}");
    }
}
