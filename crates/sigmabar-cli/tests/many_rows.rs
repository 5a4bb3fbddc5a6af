//! Rows that do not fit, or are not here: several files, passes that read them again, sums that are merged, and refusals by name.

use sigmabar_cli::data::{Frame, Options, ParquetWriter, Reader, Selection, Wanted};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn sigmabar(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(line.split_whitespace()).current_dir(folder).env("SIGMABAR_NUM_THREADS", "2").stdin(Stdio::null()).output().unwrap()
}

pub fn done(folder: &Path, line: &str) -> String {
    let found = sigmabar(folder, line);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{line}: {said}");
    said + &String::from_utf8_lossy(&found.stdout)
}

pub fn refused(folder: &Path, line: &str) -> String {
    let found = sigmabar(folder, line);
    assert!(!found.status.success(), "{line} should be refused");
    String::from_utf8_lossy(&found.stderr).into_owned()
}

/// Six files of two row groups each, in folders that say the year; 6000 rows.
pub fn make(folder: &Path) {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for file in 0..6 {
        let place = folder.join(format!("data/year={}", 2020 + file % 2));
        fs::create_dir_all(&place).unwrap();
        let names = ["a", "b", "y"].map(str::to_owned);
        let mut out = ParquetWriter::of_numbers(File::create(place.join(format!("part-{file}.parquet"))).unwrap(), &names).unwrap();
        for rows in [400, 600] {
            let (a, b): (Vec<f64>, Vec<f64>) = (0..rows).map(|_| (uniform(), uniform())).unzip();
            let y = a.iter().zip(&b).map(|(a, b)| 5.0 + (4.0 * a).sin() + b + 0.1 * (uniform() - 0.5)).collect();
            out.write_numbers(&[a, b, y]).unwrap();
        }
        out.finish().unwrap();
    }
    fs::write(data_marker(folder), "engines leave such files").unwrap();
}

fn data_marker(folder: &Path) -> std::path::PathBuf {
    folder.join("data/_SUCCESS")
}

pub const GIVEN: &str = "--target y --ignore year --kernel matern-2.5 --lengthscale 0.5 --tau 0.1 --inducing 40 --prior-mean 5.5 --norm-bound 20 --noise gaussian:0.1 --collected fixed";

#[test]
fn one_process_or_many_the_model_is_the_same_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let said = done(at, &format!("fit data {GIVEN} --stream --holdout 0 -o one.sbm"));
    assert!(said.contains("6 000 rows in 12 chunks of 6 files"), "{said}");
    assert!(said.contains("certified"), "{said}");
    let table = done(at, &format!("plan data {GIVEN} -o plan.sbp"));
    for word in ["core-hours", "more rows buy nothing beyond", "memory of a worker", "Gram matrices"] {
        assert!(table.contains(word), "{table}");
    }
    let mut parts = Vec::new();
    for part in [3, 1, 4, 2, 5] {
        done(at, &format!("accumulate --plan plan.sbp --part {part}/5 -o {part}.sba"));
        parts.push(format!("{part}.sba"));
    }
    done(at, &format!("merge {} -o many.sbm", parts.join(" ")));
    assert!(fs::read(at.join("one.sbm")).unwrap() == fs::read(at.join("many.sbm")).unwrap(), "parts in any order");
    // By files, and merged in two steps.
    done(at, "accumulate data/year=2021/*.parquet --plan plan.sbp -o odd.sba");
    done(at, "accumulate data/year=2020/*.parquet --plan plan.sbp -o even.sba");
    done(at, "merge odd.sba even.sba -o all.sba");
    done(at, "merge all.sba -o files.sbm");
    assert!(fs::read(at.join("one.sbm")).unwrap() == fs::read(at.join("files.sbm")).unwrap(), "files in two steps");

    // What would count twice, or not at all, is refused by name.
    fs::copy(at.join("1.sba"), at.join("copy.sba")).unwrap();
    let doubled = refused(at, "merge 1.sba 2.sba copy.sba -o x.sbm");
    assert!(doubled.contains("copy.sba: data/year=2020/part-0.parquet, row group 0: chunk 0 is in both"), "{doubled}");
    let missing = refused(at, "merge 1.sba 2.sba 3.sba 5.sba -o x.sbm");
    assert!(missing.contains("is missing, and") && missing.contains(".parquet, row group"), "{missing}");
    done(at, &format!("plan data {} -o other.sbp", GIVEN.replace("0.5", "0.7")));
    done(at, "accumulate --plan other.sbp --part 1/5 -o other.sba");
    assert!(refused(at, "merge 2.sba other.sba -o x.sbm").contains("other.sba: these sums have another kernel"));
    let bytes = fs::read(at.join("2.sba")).unwrap();
    fs::write(at.join("cut.sba"), &bytes[..bytes.len() - 9]).unwrap();
    assert!(refused(at, "merge 1.sba cut.sba -o x.sbm").contains("cut.sba"), "a file that was cut");
    assert!(refused(at, "accumulate elsewhere.parquet --plan plan.sbp -o x.sba").contains("elsewhere.parquet"));
    assert!(!at.join("x.sbm").exists());

    // Other data under the same names are noticed.
    fs::copy(at.join("data/year=2021/part-1.parquet"), at.join("data/year=2020/part-0.parquet")).unwrap();
    let changed = refused(at, "accumulate data/year=2020/part-0.parquet --plan plan.sbp -o x.sba");
    assert!(changed.contains("part-0.parquet, row group 0: chunk 0 has other rows, or others first"), "{changed}");
    let table = |rows: &[usize]| {
        let file = File::create(at.join("data/year=2020/part-2.parquet")).unwrap();
        let mut out = ParquetWriter::of_numbers(file, &["a", "b", "y"].map(str::to_owned)).unwrap();
        rows.iter().for_each(|&n| out.write_numbers(&[vec![0.5; n], vec![0.5; n], vec![1.0; n]]).unwrap());
        out.finish().unwrap();
        refused(at, "accumulate data/year=2020/part-2.parquet --plan plan.sbp -o x.sba")
    };
    let changed = table(&[400, 600, 1]);
    assert!(changed.contains("part-2.parquet: has 3 row groups, where there were 2: the data have changed since the plan"), "{changed}");
    let changed = table(&[7, 600]);
    assert!(changed.contains("has 7 rows, where the plan says 400"), "{changed}");
}

#[test]
fn what_does_not_fit_is_read_again_and_scored_by_sums() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let learnt = "--target y --ignore year --lengthscale 0.5 --tau 0.1 --inducing 30";
    let said = done(at, &format!("fit data/year=2020/*.parquet data/year=2021 {learnt} -o a.sbm --stream --format json"));
    assert!(said.contains("read again for every pass") && said.contains("\"rmse\""), "{said}");
    let rmse = |said: &str| -> f64 {
        let (_, rest) = said.split_once("\"rmse\": ").unwrap();
        rest.split([',', '\n']).next().unwrap().trim().parse().unwrap()
    };
    assert!(rmse(&said) < 0.06, "{said}");
    let in_memory = done(at, &format!("fit data/year=2020/*.parquet data/year=2021 {learnt} -o b.sbm --format json"));
    assert!((rmse(&said) - rmse(&in_memory)).abs() < 0.01, "{said} {in_memory}");
    // Neither model keeps its rows, unless it is told to.
    let all = format!("fit data {learnt} --holdout 0 --calibrate 0");
    done(at, &format!("{all} -o c.sbm"));
    done(at, &format!("{all} -o d.sbm --keep-rows"));
    let size = |name: &str| fs::metadata(at.join(name)).unwrap().len();
    assert!(size("c.sbm") + 100_000 < size("d.sbm"), "{} {}", size("c.sbm"), size("d.sbm"));
    // Rows that were learnt on can be left out of the claim.
    let apart = done(
        at,
        "fit data --target y --kernel matern-2.5 --inducing 30 --ignore year --learn-apart --no-save --holdout 0 --calibrate 0 --format json",
    );
    assert!(apart.contains("learnt from other data") || apart.contains("learnt_elsewhere"), "{apart}");
    // Predictions stream from Parquet to Parquet, as they come to standard output.
    done(at, "predict a.sbm data/year=2020 data/year=2021 -o p.parquet");
    let names = ["mean", "std", "mean_lower", "mean_upper", "prediction_lower", "prediction_upper"].map(str::to_owned).to_vec();
    let selection = Selection {
        wanted: Wanted::Named(names),
        categories: sigmabar_cli::data::Categories::Collected(Vec::new()),
        memory: None,
        options: Options::None,
        drop_missing: false,
    };
    let written = Frame::read(Reader::open(&at.join("p.parquet")).unwrap(), &selection).unwrap();
    assert_eq!(written.len(), 6000);
    fs::write(at.join("p.csv"), sigmabar(at, "predict a.sbm data/year=2020 data/year=2021").stdout).unwrap();
    let plain = Frame::read(Reader::open(&at.join("p.csv")).unwrap(), &selection).unwrap();
    let off = written.values.iter().zip(&plain.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-9, "{off}");
}

#[test]
fn tables_as_they_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = String::from("day,wet,x,y\n");
    for i in 0..60 {
        let hole = if i % 20 == 7 { String::new() } else { format!("{}", f64::from(i) / 60.0) };
        text += &format!("2024-01-{:02},{},{hole},{}\n", 1 + i % 28, i % 2 == 0, f64::from(i % 28) + 0.1 * f64::from(i % 3));
    }
    fs::write(at.join("t.csv"), &text).unwrap();
    let refusal = refused(at, "fit t.csv --target y --no-save");
    assert!(refusal.contains("line 9, column \"x\"") && refusal.contains("--drop-missing"), "{refusal}");
    for stream in ["", "--stream"] {
        let said = done(at, &format!("fit t.csv --target y --no-save --drop-missing --holdout 0 --calibrate 0 {stream}"));
        assert!(said.contains("3 rows with a missing value were dropped"), "{said}");
    }
    assert!(refused(at, "fit *.parquet --target y --no-save").contains("there are no tables"));
    fs::create_dir(at.join("empty")).unwrap();
    assert!(refused(at, "fit empty --target y --no-save").contains("there are no tables"));
    // Compressed text on standard input is recognised by its first bytes.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(["fit", "-", "--target", "y", "--no-save", "--drop-missing"]).current_dir(at);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&packed.finish().unwrap()).unwrap();
    let found = child.wait_with_output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    assert!(refused(at, "fit - --target y --no-save --stream").contains("standard input can be read only once"));
}

/// Rows whose response is missing may have lost it because of its value, and rows that are there twice are no two measurements: neither is certified, whether the
/// rows are in memory or summed.
#[test]
fn lost_and_doubled_rows_certify_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |i: usize| (i as f64 / 400.0, (i as f64 / 60.0).sin() + 0.1 * (i as f64 * 12.9898).sin());
    let table = |cell: &dyn Fn(f64) -> String| {
        let lines = (0..400).map(row).map(|(x, y)| format!("{x},{}\n", cell(y)));
        format!("x,y\n{}", lines.collect::<String>())
    };
    fs::write(at.join("whole.csv"), table(&|y| y.to_string())).unwrap();
    fs::write(at.join("again.csv"), table(&|y| y.to_string())).unwrap();
    fs::write(at.join("once.csv"), format!("x,y\n{},{}\n", row(77).0, row(77).1)).unwrap();
    // A detector that is blind above 0.9.
    fs::write(at.join("blind.csv"), table(&|y| if y > 0.9 { String::new() } else { y.to_string() })).unwrap();
    let given = "--target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 30 --norm-bound 4 --noise gaussian:0.1 --collected fixed --holdout 0 --no-save";
    for stream in ["", "--stream"] {
        let said = |files: &str| done(at, &format!("fit {files} {given} --drop-missing {stream}"));
        assert!(said("whole.csv").contains("certified:"), "{stream}: {}", said("whole.csv"));
        assert!(said("blind.csv").contains("not met: 48 planned observations were lost"), "{stream}: {}", said("blind.csv"));
        assert!(
            said("whole.csv again.csv").contains("observations equal another in every number"),
            "{stream}: {}",
            said("whole.csv again.csv")
        );
        assert!(said("whole.csv once.csv").contains("1 observations equal another"), "{stream}: {}", said("whole.csv once.csv"));
        // Whoever knows that the instrument is coarse says so, and the certificate repeats it.
        let declared = said("whole.csv again.csv --distinct-rows");
        assert!(declared.contains("certified:") && declared.contains("measured again, not written down twice"), "{stream}: {declared}");
    }
    // A plan carries it to whoever sums and merges.
    let rows = "--target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 30 --norm-bound 4 --noise gaussian:0.1 --collected fixed --holdout 0";
    for (flag, label) in [("", "not met"), ("--distinct-rows", "certified:")] {
        let name = if flag.is_empty() { "plain" } else { "distinct" };
        done(at, &format!("plan whole.csv again.csv {rows} {flag} -o {name}.sbp"));
        done(at, &format!("accumulate --plan {name}.sbp -o {name}.sbs"));
        done(at, &format!("merge {name}.sbs -o {name}.sbm"));
        fs::write(at.join("new.csv"), "x\n0.5\n").unwrap();
        let said = done(at, &format!("predict {name}.sbm new.csv"));
        assert!(said.contains(label), "{name}: {said}");
    }
    assert!(refused(at, &format!("fit whole.csv w*.csv {given}")).contains("is named twice"));
}

/// Files that overlap put rows on both sides of the split: what is calibrated on them was learnt from them.
#[test]
fn files_that_overlap_are_not_conformal() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |i: usize| format!("{},{}\n", i as f64 / 900.0, (i as f64 / 60.0).sin() + 0.1 * (i as f64 * 12.9898).sin());
    let table = |rows: std::ops::Range<usize>| format!("x,y\n{}", rows.map(row).collect::<String>());
    fs::write(at.join("one.csv"), table(0..500)).unwrap();
    fs::write(at.join("two.csv"), table(500..900)).unwrap();
    fs::write(at.join("more.csv"), table(400..900)).unwrap();
    let said =
        |files: &str| done(at, &format!("fit {files} --target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 30 --stream --no-save"));
    assert!(said("one.csv two.csv").contains("conformal"), "{}", said("one.csv two.csv"));
    assert!(!said("one.csv more.csv").contains("conformal:"), "{}", said("one.csv more.csv"));
}

/// A column that only a later file has would be passed over without a word: rows of two ovens would be one.
#[test]
fn a_column_that_only_a_later_file_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows = |with: &str| (0..30).map(|i| format!("{},{with}{}\n", f64::from(i) / 30.0, (f64::from(i) / 9.0).sin())).collect::<String>();
    fs::write(at.join("jan.csv"), format!("x,y\n{}", rows(""))).unwrap();
    fs::write(at.join("feb.csv"), format!("x,oven,y\n{}", rows("2,"))).unwrap();
    for stream in ["", "--stream"] {
        let said = refused(at, &format!("fit jan.csv feb.csv --target y --no-save {stream}"));
        assert!(said.contains("feb.csv has a column \"oven\" that jan.csv has not"), "{said}");
        for choice in ["--features x", "--ignore oven"] {
            done(at, &format!("fit jan.csv feb.csv --target y {choice} --no-save --holdout 0 {stream}"));
        }
        assert!(
            refused(at, &format!("fit jan.csv feb.csv --target y --ignore oven,over --no-save {stream}")).contains("no column \"over\"")
        );
    }
}

/// Two files of a curve with noise, of 120 rows each.
pub fn two_files(at: &Path) -> [String; 2] {
    let row = |i: usize| (i as f64 / 240.0, (i as f64 / 40.0).sin() + 0.1 * (i as f64 * 12.9898).sin());
    let text = |from: usize| format!("x,y\n{}", (from..from + 120).map(row).map(|(x, y)| format!("{x},{y}\n")).collect::<String>());
    let tables = [text(0), text(120)];
    for (name, table) in ["a.csv", "b.csv"].iter().zip(&tables) {
        fs::write(at.join(name), table).unwrap();
    }
    tables
}

pub const CURVE: &str = "--target y --kernel se --lengthscale 0.3 --tau 0.1 --inducing 12";

/// A plan leaves rows out by their places: had the rows other places when they are summed, a kernel would be certified on rows that it was learnt from.
#[test]
fn data_that_changed_after_the_plan_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [_, table] = two_files(at);
    done(at, "plan a.csv b.csv --target y --kernel se --inducing 12 --learn-apart -o p.sbp");
    let mut turned: Vec<&str> = table.lines().skip(1).collect();
    turned.reverse();
    let moved =
        table.lines().skip(1).map(|line| line.split_once(',').unwrap()).map(|(x, y)| format!("{x},{}", y.parse::<f64>().unwrap() + 100.0));
    for other in [turned.join("\n"), moved.collect::<Vec<_>>().join("\n")] {
        fs::write(at.join("b.csv"), format!("x,y\n{other}\n")).unwrap();
        let said = refused(at, "accumulate --plan p.sbp -o s.sba");
        assert!(said.contains("b.csv: chunk 1 has other rows, or others first: the data have changed since the plan was made"), "{said}");
    }
    fs::write(at.join("b.csv"), table).unwrap();
    done(at, "accumulate --plan p.sbp -o s.sba");
    // Inducing points that are rows of the claim are no others' learning: their locations chose them, and no response.
    let said = |sums: &str| {
        let found = sigmabar(at, &format!("merge {sums} -o m.sbm --force --norm-bound 9 --noise gaussian:0.1 --format json"));
        let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
        found["certificate"]["premises"]["inducing"].to_string()
    };
    assert!(said("s.sba").contains("learnt_elsewhere"), "{}", said("s.sba"));
    done(at, "plan a.csv b.csv --target y --kernel se --inducing 2 --learn-apart -o few.sbp");
    done(at, "accumulate --plan few.sbp -o few.sba");
    done(at, "plan a.csv b.csv --target y -o more.sbp --extend few.sba");
    done(at, "accumulate --plan more.sbp -o more.sba");
    assert!(said("more.sba").contains("guaranteed"), "{}", said("more.sba"));
}

/// Whoever merges must not get the premises of the file that happens to come first.
#[test]
fn sums_of_different_plans_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_files(at);
    let planned = |name: &str, premises: &str| {
        done(at, &format!("plan a.csv b.csv {CURVE} --noise gaussian:0.1 {premises} -o {name}.sbp"));
        done(at, &format!("accumulate --plan {name}.sbp --part 1/2 -o {name}-1.sba"));
        done(at, &format!("accumulate --plan {name}.sbp --part 2/2 -o {name}-2.sba"));
    };
    planned("strict", "--norm-bound 5 --collected fixed");
    planned("loose", "--norm-bound 50 --collected fixed");
    planned("adaptive", "--norm-bound 5 --collected adaptive");
    let said = refused(at, "merge strict-1.sba loose-2.sba -o m.sbm");
    assert!(said.contains("loose-2.sba: these sums were planned with another norm bound than strict-1.sba"), "{said}");
    let said = refused(at, "merge strict-1.sba adaptive-2.sba -o m.sbm");
    assert!(said.contains("adaptive-2.sba: these sums have another ridge or prior, another way of choosing points"), "{said}");
    done(at, "merge strict-2.sba strict-1.sba -o all.sba");

    // Noise that is given is used, or refused.
    let found = done(at, "merge all.sba -o m.sbm --noise gaussian:0.25 --format json");
    assert!(found.contains("\"noise\": 0.25"), "{found}");
    let said = refused(at, "merge strict-1.sba strict-2.sba -o again.sba --noise gaussian:0.25");
    assert!(said.contains("when you merge into a model"), "{said}");
    done(at, &format!("plan a.csv b.csv {CURVE} -o open.sbp"));
    done(at, "accumulate --plan open.sbp -o open.sba");
    let said = refused(at, "merge open.sba -o n.sbm --noise gaussian:0.25");
    assert!(said.contains("--noise alone makes no claim"), "{said}");
}

/// Nothing is written over that is something else, or that the command reads, and nothing without --force; nor are rows read in vain.
#[test]
fn what_is_there_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [table, _] = two_files(at);
    done(at, &format!("plan a.csv b.csv {CURVE} -o p.sbp"));
    fs::write(at.join("study.db"), b"SQLite format 3\0 and what people measured").unwrap();
    done(at, "accumulate --plan p.sbp -o s.sba");
    for (line, why) in [
        ("accumulate --plan p.sbp -o a.csv --force", "a.csv is what this command reads and would be lost"),
        ("accumulate --plan p.sbp -o p.sbp --force", "p.sbp is what this command reads and would be lost"),
        ("accumulate --plan p.sbp -o study.db --force", "study.db is there and is no sigmabar model"),
        ("accumulate --plan p.sbp -o s.sba", "s.sba: is there already"),
        ("accumulate --plan p.sbp -o none/s.sba", "none/s.sba: cannot write"),
        ("merge s.sba -o study.db --force", "study.db is there and is no sigmabar model"),
        ("merge s.sba -o s.sba --force", "s.sba is what this command reads and would be lost"),
        ("merge s.sba -o p.sbp", "p.sbp: is there already"),
        ("merge s.sba -o none/m.sbm", "none/m.sbm: cannot write"),
    ] {
        let said = refused(at, line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert_eq!(fs::read_to_string(at.join("a.csv")).unwrap(), table);
    done(at, "accumulate --plan p.sbp -o s.sba --force");
    done(at, "merge s.sba -o m.sbm");
}

/// A file is the plan's by its place, not by its name; from another folder its full path says which it is.
#[test]
fn a_file_of_the_same_name_elsewhere_is_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_files(at);
    done(at, &format!("plan a.csv b.csv {CURVE} -o p.sbp"));
    fs::create_dir(at.join("other")).unwrap();
    fs::copy(at.join("a.csv"), at.join("other/b.csv")).unwrap();
    let said = refused(at, "accumulate other/b.csv --plan p.sbp -o x.sba");
    assert!(said.contains("other/b.csv is none of the 2 files of the plan"), "{said}");
    let other = at.join("other");
    let said = refused(&other, "accumulate b.csv --plan ../p.sbp -o x.sba");
    assert!(said.contains("b.csv is none of the 2 files of the plan"), "{said}");
    done(&other, &format!("accumulate {} --plan ../p.sbp -o b.sba", at.join("b.csv").display()));
    done(&other, "accumulate ../a.csv --plan ../p.sbp -o a.sba");
    done(&other, "merge a.sba b.sba -o m.sbm");
    done(at, &format!("fit a.csv b.csv {CURVE} --stream --holdout 0 --calibrate 0 -o one.sbm"));
    assert!(fs::read(other.join("m.sbm")).unwrap() == fs::read(at.join("one.sbm")).unwrap(), "wherever it is summed");
}

/// A file of predictions says what standard output says: names of categories, and quotes where a name has a comma.
#[test]
fn predictions_in_a_file_are_those_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |i: usize| format!("{},\"{}\",{}\n", i as f64 / 500.0, ["oak, red", "fir"][i % 2], (i as f64 / 70.0).sin());
    fs::write(at.join("t.csv"), format!("\"x, mm\",wood,y\n{}", (0..500).map(line).collect::<String>())).unwrap();
    done(at, "fit t.csv --target y --categorical wood --lengthscale 0.3 --tau 0.1 --inducing 10 -o m.sbm");
    let shown = String::from_utf8(sigmabar(at, "predict m.sbm t.csv --inputs").stdout).unwrap();
    assert!(shown.starts_with("\"x, mm\",wood,mean,") && shown.contains("\"oak, red\""), "{}", &shown[..200]);
    done(at, "predict m.sbm t.csv --inputs -o p.csv");
    assert_eq!(fs::read_to_string(at.join("p.csv")).unwrap(), shown);
    done(at, "predict m.sbm t.csv --inputs -o p.parquet");
    let selection = Selection {
        wanted: Wanted::AllBut(Vec::new()),
        categories: sigmabar_cli::data::Categories::Collected(vec!["wood".to_owned()]),
        memory: None,
        options: Options::None,
        drop_missing: false,
    };
    let [text, typed] = ["p.csv", "p.parquet"].map(|name| Frame::read(Reader::open(&at.join(name)).unwrap(), &selection).unwrap());
    assert_eq!((text.columns, text.values), (typed.columns, typed.values));
    if Path::new("/dev/full").exists() {
        let said = refused(at, "predict m.sbm t.csv --inputs -o /dev/full");
        assert!(said.contains("/dev/full: cannot write") && !said.contains("standard output"), "{said}");
    }
}

/// More rows than are answered at a time: every format has all of them, once, and the same numbers.
#[test]
fn answers_come_in_batches_and_are_whole_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = |rows: usize| (0..rows).map(|i| format!("{},{}\n", i as f64 / 500.0, (i as f64 / 70.0).sin())).collect::<String>();
    fs::write(at.join("t.csv"), format!("x,y\n{}", table(500))).unwrap();
    fs::write(at.join("many.csv"), format!("x,y\n{}", table(66_000))).unwrap();
    done(at, "fit t.csv --target y --lengthscale 0.3 --tau 0.1 --inducing 10 -o m.sbm");
    let shown = |format: &str| String::from_utf8(sigmabar(at, &format!("predict m.sbm many.csv --format {format}")).stdout).unwrap();
    let means = |rows: Vec<serde_json::Value>| rows.iter().map(|row| row["mean"].as_f64().unwrap()).collect::<Vec<_>>();
    let text: Vec<f64> = shown("csv").lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(text.len(), 66_000);
    assert_eq!(means(shown("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()), text);
    let document = shown("json");
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(format!("{value:#}\n"), document, "written as it always was");
    assert_eq!(means(value["rows"].as_array().unwrap().clone()), text);
    // What is refused at its beginning has no answers, not even their names.
    fs::write(at.join("wrong.csv"), "x\n1\nmany\n").unwrap();
    let wrong = sigmabar(at, "predict m.sbm wrong.csv");
    assert!(!wrong.status.success() && wrong.stdout.is_empty());
    // Nor has one that is refused at its end because its commas mean two things: until one of them is plain, nothing is known of any row.
    let thousands = "1,234;0\n".repeat(66_000);
    fs::write(at.join("two.csv"), format!("x;y\n{thousands}")).unwrap();
    fs::write(at.join("plain.csv"), format!("x;y\n{thousands}0,5;0\n")).unwrap();
    let [two, plain] = ["two", "plain"].map(|name| sigmabar(at, &format!("predict m.sbm {name}.csv")));
    assert!(!two.status.success() && two.stdout.is_empty() && String::from_utf8_lossy(&two.stderr).contains("1,234"));
    assert_eq!(plain.stdout.iter().filter(|byte| **byte == b'\n').count(), 66_002);
}

/// The row that refutes the premises is the last one, behind more than are answered at a time.
#[test]
fn premises_that_a_late_row_refutes_are_refuted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bump = |x: f64| if x == 0.5 { 0.65 } else { 0.0 };
    let rows: String = (0..=40).flat_map(|i| std::iter::repeat_n(f64::from(i) / 40.0, 60)).map(|x| format!("{x},{}\n", bump(x))).collect();
    fs::write(at.join("t.csv"), format!("x,y\n{rows}")).unwrap();
    fs::write(at.join("late.csv"), format!("x\n{}0.5\n", "0.1\n".repeat(66_000))).unwrap();
    let premises =
        "--kernel se --lengthscale 0.01 --norm-bound 0.4 --noise 0.3 --prior-mean 0 --unit 1 --collected fixed --distinct-rows --holdout 0";
    done(at, &format!("fit t.csv --target y {premises} -o m.sbm"));
    let said = |more: &str| String::from_utf8(sigmabar(at, &format!("predict m.sbm late.csv {more}")).stderr).unwrap();
    for more in ["", "--format json", "-o late.parquet"] {
        assert!(said(more).contains("contradict"), "{more}: {}", said(more));
    }
}

/// Four rows calibrate nothing: who fits and who predicts is told so by name, and an end that is not there is the same in every format that can say it.
#[test]
fn groups_without_an_interval_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |i: usize| {
        let x = (i as f64 * 0.618_034) % 1.0;
        format!("{x},{},{}\n", if i % 500 == 7 { "odd" } else { "usual" }, (5.0 * x).sin() + 0.1 * (i as f64 * 0.754_878).fract())
    };
    fs::write(at.join("t.csv"), format!("x,rare,y\n{}", (0..2000).map(line).collect::<String>())).unwrap();
    fs::write(at.join("new.csv"), "x,rare\n0.5,usual\n0.5,odd\n").unwrap();
    let told = "a group of rare is calibrated by 19 rows or more, and odd has ";
    let said = done(at, "fit t.csv --target y --categorical rare --by rare --lengthscale 0.3,1 --tau 0.1 --inducing 20 -o m.sbm");
    assert!(said.contains(told) && said.contains(": no interval for a new response there") && !said.contains("usual has"), "{said}");
    let shown = done(at, "predict m.sbm new.csv");
    assert!(shown.contains(told) && shown.contains(",-inf,inf\n") && shown.matches("inf").count() == 2, "{shown}");
    done(at, "predict m.sbm new.csv -o p.csv");
    done(at, "predict m.sbm new.csv -o p.parquet");
    for name in ["p.csv", "p.parquet"] {
        let (mut reader, mut cells) = (Reader::open(&at.join(name)).unwrap(), Vec::new());
        reader.next_row(&mut cells).unwrap();
        reader.next_row(&mut cells).unwrap();
        assert_eq!(cells[4..], [f64::NEG_INFINITY, f64::INFINITY].map(sigmabar_cli::data::Cell::Number), "{name}");
    }
    let document: serde_json::Value = serde_json::from_slice(&sigmabar(at, "predict m.sbm new.csv --format json").stdout).unwrap();
    assert!(document["rows"][0]["prediction_upper"].is_f64() && document["rows"][1]["prediction_upper"].is_null());
}

/// Squares of such responses are no numbers: the model was called certified, and its file could not be opened.
#[test]
fn responses_that_cannot_be_squared_are_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = |unit: f64, odd: Option<f64>| {
        let line =
            |i: usize| format!("{},{:e}\n", i as f64 / 300.0, if i == 200 { odd } else { None }.unwrap_or(unit * (i as f64 / 50.0).sin()));
        fs::write(at.join("t.csv"), format!("x,y\n{}", (0..300).map(line).collect::<String>())).unwrap();
    };
    let fit = "fit t.csv --target y --kernel se --lengthscale 0.3 --inducing 20 --noise gaussian:0.1 --norm-bound 5 --force -o m.sbm";
    for (unit, odd, line) in [(1.0, Some(1e200), 202), (1e153, None, 3)] {
        table(unit, odd);
        for stream in ["", "--stream"] {
            let said = refused(at, &format!("{fit} {stream}"));
            assert!(said.contains(&format!("t.csv, line {line}, column \"y\"")) && said.contains("beyond 1e100"), "{said}");
        }
        assert!(!at.join("m.sbm").exists());
    }
    table(1e90, None);
    let found = sigmabar(at, fit);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.code() == Some(3) && said.contains("the data contradict the premises"), "{said}");
    assert!(sigmabar(at, "predict m.sbm t.csv").status.success(), "what is saved can be opened");
}
