//! Which files, and which of their rows: none is passed over without a word.

use crate::many_rows::{done, refused};
use sigmabar_cli::data::ParquetWriter;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

const GIVEN: &str = "--target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 5 --holdout 0 --calibrate 0";

/// A table of so many rows that begin at `first`.
fn text(first: usize, rows: usize, between: char) -> String {
    let mut text = format!("x{between}y\n");
    for i in first..first + rows {
        let x = i as f64 / 100.0;
        writeln!(text, "{x}{between}{}", (6.0 * x).sin()).unwrap();
    }
    text
}

fn parquet(file: &Path, first: usize, rows: usize) {
    let x: Vec<f64> = (first..first + rows).map(|i| i as f64 / 100.0).collect();
    let y = x.iter().map(|x| (6.0 * x).sin()).collect();
    let mut out = ParquetWriter::of_numbers(File::create(file).unwrap(), &["x", "y"].map(str::to_owned)).unwrap();
    out.write_numbers(&[x, y]).unwrap();
    out.finish().unwrap();
}

/// What each verb that takes tables says to one that it must refuse.
fn refused_by_all(at: &Path, data: &str) -> Vec<String> {
    done(at, &format!("fit model.csv {GIVEN} -o m.sbm --force"));
    let lines = [
        format!("fit {data} {GIVEN} --no-save"),
        format!("fit {data} {GIVEN} --no-save --stream"),
        format!("plan {data} --target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 5 -o p.sbp"),
        format!("predict m.sbm {data} -o out.csv"),
    ];
    lines.iter().map(|line| refused(at, line)).collect()
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_no_file_less() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("model.csv"), text(0, 40, ',')).unwrap();
    for folder in ["days", "all"] {
        fs::create_dir(at.join(folder)).unwrap();
        fs::write(at.join(folder).join("day-1.csv"), text(0, 40, ',')).unwrap();
        std::os::unix::fs::symlink("gone.csv", at.join(folder).join("day-2.csv")).unwrap();
    }
    for data in ["days/day-*.csv", "all"] {
        for said in refused_by_all(at, data) {
            assert!(said.contains("day-2.csv: cannot open"), "{data}: {said}");
        }
    }
}

#[test]
fn a_folder_that_matches_a_pattern_gives_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    parquet(&at.join("day-1.parquet"), 0, 40);
    fs::create_dir(at.join("day-2.parquet")).unwrap();
    parquet(&at.join("day-2.parquet/part-0.parquet"), 40, 30);
    fs::write(at.join("day-2.parquet/_SUCCESS"), "").unwrap();
    fs::write(at.join("day-2.parquet/.part-0.parquet.crc"), "crc").unwrap();
    let said = done(at, &format!("fit day-*.parquet {GIVEN} --no-save --stream"));
    assert!(said.contains("70 rows in 2 chunks of 2 files"), "{said}");
    fs::create_dir(at.join("day-3.parquet")).unwrap();
    let said = refused(at, &format!("fit day-*.parquet {GIVEN} --no-save"));
    assert!(said.contains("day-3.parquet: there are no tables"), "{said}");
}

#[test]
fn a_folder_gives_all_its_tables_or_says_which_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("model.csv"), text(0, 40, ',')).unwrap();
    fs::create_dir(at.join("t")).unwrap();
    fs::write(at.join("t/a.csv"), text(0, 40, ',')).unwrap();
    fs::write(at.join("t/b.tsv"), text(40, 30, '\t')).unwrap();
    for beside in ["README.md", "_SUCCESS", "_committed_17", ".DS_Store", "._a.csv", "old.sbm"] {
        fs::write(at.join("t").join(beside), "no rows").unwrap();
    }
    fs::create_dir_all(at.join("t/.ipynb_checkpoints")).unwrap();
    fs::write(at.join("t/.ipynb_checkpoints/a.csv"), text(0, 40, ',')).unwrap();
    let said = done(at, &format!("fit t {GIVEN} --no-save --stream"));
    assert!(said.contains("70 rows in 2 chunks of 2 files"), "{said}");
    for strange in ["d.txt", "_b.csv", ".b.csv", "d.json", "c.csv.bak", "part-00000"] {
        fs::write(at.join("t").join(strange), text(70, 10, ',')).unwrap();
        for said in refused_by_all(at, "t") {
            assert!(said.contains(&format!("{strange} would be left out, and may hold rows")), "{strange}: {said}");
        }
        fs::remove_file(at.join("t").join(strange)).unwrap();
    }
    parquet(&at.join("t/a.parquet"), 0, 40);
    for said in refused_by_all(at, "t") {
        assert!(said.contains("a.csv, ") && said.contains("a.parquet are tables of different kinds"), "{said}");
    }
    fs::create_dir(at.join("p")).unwrap();
    parquet(&at.join("p/d.pq"), 0, 40);
    parquet(&at.join("p/e.parquet"), 40, 20);
    let said = done(at, &format!("fit p {GIVEN} --no-save --stream"));
    assert!(said.contains("60 rows in 2 chunks of 2 files"), "{said}");
    done(at, &format!("fit model.csv {GIVEN} -o m.sbm --force"));
    done(at, "predict m.sbm p -o out.pq");
    assert!(fs::read(at.join("out.pq")).unwrap().starts_with(b"PAR1"));
}

/// Root may read everything, and therefore asks as nobody.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_no_folder_less() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (program, here) = (env!("CARGO_BIN_EXE_sigmabar"), at.join("sigmabar"));
    fs::hard_link(program, &here).or_else(|_| fs::copy(program, &here).map(drop)).unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(at, 0o755);
    for day in ["day-1", "day-2"] {
        fs::create_dir(at.join(day)).unwrap();
        fs::write(at.join(day).join("a.csv"), text(0, 40, ',')).unwrap();
    }
    allow(&at.join("day-2"), 0o000);
    let mut command = std::process::Command::new(here);
    if at.metadata().unwrap().uid() == 0 {
        command.uid(65_534);
    }
    let found = command.args(format!("fit day-*/*.csv {GIVEN} --no-save").split_whitespace()).current_dir(at).output().unwrap();
    allow(&at.join("day-2"), 0o755);
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(!found.status.success() && said.contains("day-2: cannot open: "), "{said}");
}

/// Rows that calibrate the intervals.
fn calibrating(said: &str) -> usize {
    let line = said.lines().find(|line| line.contains("of the rows held out calibrate")).unwrap_or_else(|| panic!("{said}"));
    line.split(" of the rows").next().unwrap().chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn a_table_without_a_count_calibrates_on_the_same_share_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("u.csv"), text(0, 6000, ',')).unwrap();
    parquet(&at.join("u.parquet"), 0, 6000);
    let given = "--target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 20 --no-save";
    for (share, expected) in [("", 540), ("--calibrate 0.3", 1620), ("--holdout 0", 600), ("--holdout 0 --calibrate 0.01", 60)] {
        // Each row is drawn by itself: within four standard deviations.
        let most = 4.0 * (expected as f64).sqrt();
        for road in ["u.csv", "u.csv --stream", "u.parquet --stream"] {
            let found = calibrating(&done(at, &format!("fit {road} {given} {share}")));
            assert!((found as f64 - f64::from(expected)).abs() < most, "{road} {share}: {found}");
        }
        let streamed = ["u.csv", "u.parquet"].map(|file| calibrating(&done(at, &format!("fit {file} --stream {given} {share}"))));
        assert_eq!(streamed[0], streamed[1], "{share}");
    }
}

/// Rows for each folder, whose name says a value.
fn partitions(at: &Path, values: &[&str]) {
    for (i, value) in values.iter().enumerate() {
        let place = at.join(format!("data/city={value}/half=1"));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("part.csv"), text(40 * i, 40, ',')).unwrap();
    }
}

#[test]
fn folders_say_their_values_however_the_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    partitions(at, &["New%20York", "Rome", "007"]);
    let given = format!("{GIVEN} --categorical city --ignore half");
    let inputs =
        ["data", "data/city=*/half=1/*.csv", "data/city=*", "data/city=007 data/city=New%20York/half=1 data/city=Rome/half=1/part.csv"];
    let mut answers = Vec::new();
    for input in inputs {
        for road in ["", "--stream"] {
            done(at, &format!("fit {input} {given} {road} -o m.sbm --force"));
            answers.push(done(at, "predict m.sbm data --inputs --format csv"));
        }
    }
    assert!(["\nNew York,", "\nRome,", "\n007,"].iter().all(|city| answers[0].contains(&city[1..])), "{}", answers[0]);
    let column = |answer: &str| answer.lines().filter_map(|line| line.split(',').nth(2)?.parse::<f64>().ok()).collect::<Vec<_>>();
    for answer in &answers {
        let off = column(answer).iter().zip(column(&answers[0])).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(column(answer).len() == 120 && off < 1e-6, "{off}");
    }
    // A part of them is predicted by itself.
    assert_eq!(column(&done(at, "predict m.sbm data/city=Rome --inputs --format csv")).len(), 40);
    fs::write(at.join("other.csv"), text(0, 40, ',')).unwrap();
    let said = refused(at, &format!("fit data/city=Rome other.csv {given} --no-save"));
    assert!(said.contains("other.csv are no parts of one table") && said.contains("city and half, those of the second nothing"), "{said}");
}

#[test]
fn a_folder_that_says_missing_has_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    partitions(at, &["Rome", "__HIVE_DEFAULT_PARTITION__"]);
    for road in ["", "--stream"] {
        let fit = format!("fit data {GIVEN} --categorical city --ignore half --no-save {road}");
        let said = refused(at, &fit);
        assert!(said.contains("column \"city\": an empty cell"), "{said}");
        let said = done(at, &format!("{fit} --drop-missing"));
        assert!(said.contains("40 rows with a missing value were dropped"), "{said}");
    }
}

#[test]
fn a_table_beside_its_packed_copy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("model.csv"), text(0, 40, ',')).unwrap();
    fs::create_dir(at.join("t")).unwrap();
    fs::write(at.join("t/a.csv"), text(0, 40, ',')).unwrap();
    fs::write(at.join("t/a.csv.gz"), "packed").unwrap();
    for data in ["t", "t/a*"] {
        for said in refused_by_all(at, data) {
            assert!(said.contains("t/a.csv, t/a.csv.gz are one table, plain and packed"), "{data}: {said}");
        }
    }
}

/// One column, written in two ways in two files.
#[test]
fn what_files_write_differently_is_one_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = |name: &str, header: &str, cell: &dyn Fn(usize) -> String| {
        let rows: String = (0..40).map(|i| format!("{},{},{}\n", cell(i), f64::from(i as u32) / 40.0, i % 7)).collect();
        fs::write(at.join(name), format!("{header},x,y\n{rows}")).unwrap();
    };
    file("one.csv", "k", &|i| (i % 2).to_string());
    file("same.csv", "k", &|i| (i % 2).to_string());
    file("points.csv", "k", &|i| format!("{}.0", i % 2));
    for road in ["", "--stream"] {
        let predicted = ["same.csv", "points.csv"].map(|other| {
            done(at, &format!("fit one.csv {other} {GIVEN} --categorical k {road} -o m.sbm --force"));
            done(at, "predict m.sbm points.csv --format csv")
        });
        assert_eq!(predicted[0], predicted[1]);
    }
    file("days.csv", "d", &|i| format!("2024-01-{:02}", 1 + i % 28));
    file("whole.csv", "d", &|i| (20_240_101 + i % 28).to_string());
    for road in ["", "--stream"] {
        let said = refused(at, &format!("fit days.csv whole.csv {GIVEN} {road} --no-save"));
        assert!(said.contains("whole.csv, line 2, column \"d\": 20240101 is a plain number, and the column holds dates"), "{said}");
        let said = refused(at, &format!("fit whole.csv days.csv {GIVEN} {road} --no-save"));
        assert!(said.contains("days.csv, line 2, column \"d\": 2024-01-01 is a date, and the column holds plain numbers"), "{said}");
    }
    done(at, &format!("fit days.csv {GIVEN} -o days.sbm"));
    done(at, "predict days.sbm days.csv");
    assert!(refused(at, "predict days.sbm whole.csv").contains("20240101 is a plain number"));
}

#[test]
fn a_last_line_without_an_end_is_spoken_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let whole = text(0, 60, ',');
    fs::write(at.join("whole.csv"), &whole).unwrap();
    fs::write(at.join("cut.csv"), &whole[..whole.len() - 4]).unwrap();
    done(at, &format!("fit whole.csv {GIVEN} -o m.sbm"));
    let plan = "plan cut.csv --target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 5 -o p.sbp";
    for line in [
        &format!("fit cut.csv {GIVEN} --no-save"),
        &format!("fit cut.csv {GIVEN} --no-save --stream"),
        plan,
        "predict m.sbm cut.csv",
        "predict m.sbm cut.csv -o p.csv",
    ] {
        let said = done(at, line);
        assert!(said.contains("note: cut.csv: its last line has no end"), "{line}: {said}");
        assert!(
            !done(at, &line.replace("cut.csv", "whole.csv").replace("p.sbp", "w.sbp").replace("p.csv", "w.csv")).contains("no end"),
            "{line}"
        );
    }
}

#[test]
fn fewer_rows_calibrate_than_were_asked_for_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    parquet(&at.join("u.parquet"), 0, 24_000);
    let fit = "fit u.parquet --target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 5 --holdout 0 --no-save --calibrate 0.5";
    let said = done(at, &format!("{fit} --stream"));
    assert!(said.contains("10 000 rows calibrate, not the 12 000 of --calibrate") && calibrating(&said) == 10_000, "{said}");
    assert!(!done(at, fit).contains("rows calibrate, not the"));
}
