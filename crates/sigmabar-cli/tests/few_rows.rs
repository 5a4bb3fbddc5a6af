//! Tables of few rows and many columns: a model learnt on all of them is too sure of itself, and leaving rows out under the same kernel does not show it.

use crate::many_rows::done;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const ROWS: usize = 36;
const COLUMNS: usize = 15;
const NEW: usize = 200;

/// A table to fit, points to ask about, and the responses there: two columns matter by themselves and two together, and half of the variance is noise.
fn make(folder: &Path, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let names: Vec<String> = (0..COLUMNS).map(|c| format!("c{c}")).collect();
    let (mut table, mut points, mut new) = (format!("{},y\n", names.join(",")), format!("{}\n", names.join(",")), Vec::new());
    for row in 0..ROWS + NEW {
        // Twelve uniform numbers have variance 1 together.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let x: Vec<f64> = (0..COLUMNS).map(|_| normal()).collect();
        let y = x[0] + 0.7 * x[1] + 0.5 * x[2] * x[3] + normal();
        let cells: Vec<String> = x.iter().map(f64::to_string).collect();
        if row < ROWS {
            writeln!(table, "{},{y}", cells.join(",")).unwrap();
        } else {
            writeln!(points, "{}", cells.join(",")).unwrap();
            new.push(y);
        }
    }
    fs::write(folder.join("t.csv"), table).unwrap();
    fs::write(folder.join("new.csv"), points).unwrap();
    new
}

/// What was said, and the share of new responses within their intervals.
fn held(folder: &Path, new: &[f64], options: &str) -> (String, f64) {
    let said = done(folder, &format!("fit t.csv --target y --delta 0.1 --holdout 0 {options} --force -o m.sbm"));
    done(folder, "predict m.sbm new.csv --delta 0.1 --force -o p.csv");
    let table = fs::read_to_string(folder.join("p.csv")).unwrap();
    let ends = table.lines().skip(1).map(|line| {
        let mut last = line.rsplit(',').map(|cell| cell.parse::<f64>().unwrap());
        (last.next().unwrap(), last.next().unwrap())
    });
    let within = ends.zip(new).filter(|((upper, lower), y)| lower <= y && *y <= upper).count();
    (said, within as f64 / new.len() as f64)
}

#[test]
fn of_few_rows_all_learn_and_all_calibrate() {
    let folder = tempfile::tempdir().unwrap();
    let (at, mut by_parts, mut by_model) = (folder.path(), 0.0, 0.0);
    for seed in 0..4 {
        let new = make(at, seed);
        let (said, share) = held(at, &new, "");
        assert!(said.contains("response_label  conformal") && said.contains("in 5 parts with a model for each"), "{said}");
        by_parts += share / 4.0;
        let (said, share) = held(at, &new, "--calibrate 0");
        assert!(said.contains("response_label  estimated"), "{said}");
        by_model += share / 4.0;
    }
    println!("of 0.9: {by_parts:.3} by parts, {by_model:.3} by the model alone");
    assert!(by_parts > 0.85, "{by_parts} of 0.9 held");
    // What stood there before.
    assert!(by_model < 0.75, "{by_model} of 0.9 held by the model alone");
}

/// Every row three times is no table of so many: .51 held where .92 was printed.
#[test]
fn rows_that_stand_there_three_times_prove_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let new = make(folder.path(), 0);
    let table = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let mut lines = table.lines();
    let mut tripled = format!("{}\n", lines.next().unwrap());
    lines.for_each(|line| (0..3).for_each(|_| writeln!(tripled, "{line}").unwrap()));
    fs::write(folder.path().join("t.csv"), tripled).unwrap();
    let (said, _) = held(folder.path(), &new, "");
    assert!(said.contains("response_label  estimated"), "{said}");
    let (said, _) = held(folder.path(), &new, "--distinct-rows");
    assert!(said.contains("response_label  conformal"), "whoever declares it answers for it: {said}");
}

/// Rows that are too few for a small delta still say how far the model is off.
#[test]
fn a_smaller_delta_gives_no_narrower_interval() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 1);
    done(folder.path(), "fit t.csv --target y --holdout 0 -o m.sbm");
    let mut before = vec![0.0; 2 * NEW];
    for delta in ["0.2", "0.05", "0.03", "0.02", "0.01", "0.001"] {
        let said = done(folder.path(), &format!("predict m.sbm new.csv --delta {delta} --force -o p.csv"));
        assert_eq!(said.contains("there are 35 in all"), delta.parse::<f64>().unwrap() < 0.027, "{delta}: {said}");
        let table = fs::read_to_string(folder.path().join("p.csv")).unwrap();
        let ends = table.lines().skip(1).flat_map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            [cells[3] - cells[2], cells[5] - cells[4]]
        });
        let widths: Vec<f64> = ends.collect();
        assert!(widths.iter().zip(&before).all(|(width, before)| *width >= before - 1e-9), "at {delta}");
        before = widths;
    }
}

/// Where no group has rows enough, nothing is calibrated, and that is the reason that is given.
#[test]
fn groups_that_are_all_too_few_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 2);
    let table = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let mut grouped = String::new();
    for (i, line) in table.lines().enumerate() {
        writeln!(grouped, "{},{line}", if i == 0 { "k" } else { ["p", "q", "r"][i % 3] }).unwrap();
    }
    fs::write(folder.path().join("t.csv"), grouped).unwrap();
    let said = done(folder.path(), "fit t.csv --target y --categorical k --by k --holdout 0 -o m.sbm");
    assert!(!said.contains("calibrate the intervals") && said.contains("for any k"), "{said}");
}
