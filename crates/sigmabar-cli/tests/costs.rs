//! What a plan says that it will cost, and what is promised of memory, against what the command then takes.
#![cfg(target_os = "linux")]

use crate::many_rows::{done, refused};
use sigmabar_cli::data::ParquetWriter;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Eight row groups of two columns and a response.
fn make(file: &Path, rows: usize) {
    let mut out = ParquetWriter::of_numbers(File::create(file).unwrap(), &["a", "b", "y"].map(str::to_owned)).unwrap();
    for group in 0..8 {
        let place = |i: usize, step: f64| ((group * rows / 8 + i) as f64 * step).fract();
        let a: Vec<f64> = (0..rows / 8).map(|i| place(i, 0.618_034)).collect();
        let b: Vec<f64> = (0..rows / 8).map(|i| place(i, 0.754_878)).collect();
        let y = a.iter().zip(&b).map(|(a, b)| (4.0 * a).sin() + b).collect();
        out.write_numbers(&[a, b, y]).unwrap();
    }
    out.finish().unwrap();
}

/// The most memory that a command held, in bytes, and its processor seconds; looked at until it ends, which it must do well.
fn taken(folder: &Path, line: &str) -> (u64, f64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(line.split_whitespace()).current_dir(folder).env("SIGMABAR_NUM_THREADS", "1");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (status, stat) = (format!("/proc/{}/status", child.id()), format!("/proc/{}/stat", child.id()));
    let (mut peak, mut ticks) = (0, 0.0);
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("");
        peak = peak.max(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024);
        let text = fs::read_to_string(&stat).unwrap_or_default();
        let fields: Vec<f64> = text.rsplit(") ").next().unwrap_or("").split(' ').filter_map(|field| field.parse().ok()).collect();
        // User and system time, in hundredths of a second; the state before them is no number.
        ticks = fields.get(10..12).map_or(ticks, |times| f64::max(ticks, times.iter().sum()));
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(ended.success(), "{line}");
    (peak, ticks / 100.0)
}

fn field(said: &str, name: &str) -> serde_json::Value {
    let record = &said[said.find("{\n").unwrap_or_else(|| panic!("{said}"))..];
    serde_json::from_str::<serde_json::Value>(record).unwrap()[name].clone()
}

/// A size such as 64 MB.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let unit = 1024_f64.powi(["B", "KB", "MB", "GB"].iter().position(|name| *name == unit).unwrap() as i32);
    number.parse::<f64>().unwrap() * unit
}

#[test]
fn a_plan_says_what_accumulate_takes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("a.parquet"), 400_000);
    let given = "--target y --inducing 60 --format json --kernel matern-2.5";
    let plans = [format!("{given} --lengthscale 0.5 --tau 0.1"), format!("{given} --learn-apart --memory 400M")];
    for (plan, is_apart) in plans.iter().zip([false, true]) {
        let said = done(at, &format!("plan a.parquet {plan} -o p.sbp --force"));
        let text = |name: &str| field(&said, name).as_str().unwrap_or_default().to_owned();
        let (rows, left_out) = (field(&said, "rows").as_u64().unwrap(), field(&said, "rows left out").as_u64().unwrap());
        assert!(rows + left_out == 400_000 && (left_out > 0) == is_apart, "{said}");
        assert_eq!(text("passes"), "1 to plan, 1 to sum");
        let (peak, seconds) = taken(at, "accumulate --plan p.sbp -o all.sba --force");
        let promised = bytes(&text("memory of a worker"));
        assert!(peak as f64 <= promised && promised < 3.0 * peak as f64, "{peak} where {promised} were said");
        let hours: f64 = text("core-hours").parse().unwrap();
        let ratio = seconds / (3600.0 * hours);
        assert!((0.1..10.0).contains(&ratio), "{seconds} s of the processor where {hours} hours were said");
        let (least, most) = text("size of its sums").split_once(" to ").map(|(least, most)| (bytes(least), bytes(most))).unwrap();
        let mut summed = 0;
        for part in 1..=3 {
            let said = done(at, &format!("accumulate --plan p.sbp --part {part}/3 -o {part}.sba --force --format json"));
            summed += field(&said, "rows").as_u64().unwrap();
            let size = fs::metadata(at.join(format!("{part}.sba"))).unwrap().len() as f64;
            assert!((0.8 * least..1.2 * most).contains(&size), "{size} where {least} to {most} were said");
        }
        assert_eq!(summed, rows);
        assert_eq!(text("rows a chunk should have"), "all 400 000: one is enough");
    }
}

/// Where sums are small, what tells of copies and of rows explained badly is most of the file.
#[test]
fn small_sums_have_the_size_that_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("a.parquet"), 20_000);
    let said = done(at, "plan a.parquet --target y --inducing 8 --kernel se --lengthscale 0.5 --tau 0.1 -o p.sbp --format json");
    let size = field(&said, "size of its sums").as_str().unwrap().to_owned();
    let (least, most) = size.split_once(" to ").map(|(least, most)| (bytes(least), bytes(most))).unwrap();
    done(at, "accumulate --plan p.sbp --part 1/2 -o 1.sba");
    let size = fs::metadata(at.join("1.sba")).unwrap().len() as f64;
    assert!((0.6 * least..1.1 * most).contains(&size), "{size} where {least} to {most} were said");
}

#[test]
fn passes_are_counted_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("a.parquet"), 4000);
    let said = done(at, "plan a.parquet --target y --inducing 8 --kernel se --learn-on all -o p.sbp --format json");
    let steps: u64 = said.split(" times two passes").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(field(&said, "passes"), format!("{} to plan, 1 to sum", 1 + 2 * steps));
    done(at, "accumulate --plan p.sbp -o a.sba");
    let said = done(at, "plan a.parquet --target y --extend a.sba -o q.sbp --format json");
    assert_eq!(field(&said, "passes"), format!("{} to plan, 1 to sum", 2 + 2 * steps));
    assert_eq!(field(&said, "rows"), 4000);
}

/// Kept to, or refused with what would do, which is then kept to.
#[test]
fn the_memory_that_was_stated_is_kept_to_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("a.parquet"), 160_000);
    let declared = "fit a.parquet --target y --kernel se --lengthscale 0.3 --tau 0.1 --no-save";
    for line in [format!("{declared} --stream"), format!("{declared} --norm-bound 5 --noise 0.1 --stream"), declared.to_owned()] {
        let said = refused(at, &format!("{line} --memory 8M"));
        let least =
            said.split("need at least ").nth(1).unwrap_or_else(|| panic!("{line}: {said}")).split(',').next().unwrap().replace(' ', "");
        let least = least.trim_end_matches('B');
        for limit in [least, "90M", "120M"] {
            let allowed = bytes(&limit.replace('M', " MB"));
            let (peak, _) = taken(at, &format!("{line} --memory {limit}"));
            assert!(peak as f64 <= allowed, "{line} --memory {limit} took {peak}");
        }
    }
}

/// What was answered is written and forgotten: four times as many rows take no more memory.
#[test]
fn answers_on_standard_output_do_not_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("few.parquet"), 80_000);
    make(&at.join("many.parquet"), 320_000);
    done(at, "fit few.parquet --target y --kernel se --lengthscale 0.5 --tau 0.1 --inducing 5 -o m.sbm");
    for format in ["csv", "jsonl", "json"] {
        let [few, many] = ["few", "many"].map(|name| taken(at, &format!("predict m.sbm {name}.parquet --format {format}")).0);
        assert!(many as f64 <= 1.3 * few as f64, "{format}: {few} and {many}");
    }
}

/// A batch system's log hears now and then how far it is.
#[test]
fn where_there_is_no_terminal_a_line_says_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(&at.join("a.parquet"), 80_000);
    let fit = |more: &str| {
        let line = format!("fit a.parquet --target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 5 --no-save --stream {more}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        let found = command.args(line.split_whitespace()).current_dir(at).env("SIGMABAR_PROGRESS_SECONDS", "0").output().unwrap();
        String::from_utf8_lossy(&found.stderr).into_owned()
    };
    let said = fit("");
    for words in
        ["pass 1 of 3: looking at every row: ", "pass 2 of 3: summing rows: 5", "pass 3 of 3: scoring the rows held out: ", " left in all"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    for silent in ["-q", "--format json"] {
        assert!(!fit(silent).contains(" of 3"), "{silent}");
    }
    assert!(fit("--holdout 0").contains("pass 2 of 2: summing rows"));
}
