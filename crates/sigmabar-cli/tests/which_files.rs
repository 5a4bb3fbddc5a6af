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
