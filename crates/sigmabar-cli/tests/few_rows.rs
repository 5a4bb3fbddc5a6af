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
