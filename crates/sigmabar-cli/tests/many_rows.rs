//! Rows that do not fit, or are not here: several files, passes that read them again, sums that are merged, and refusals by name.

use sigmabar_cli::data::{Frame, ParquetWriter, Reader, Selection, Wanted};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn sigmabar(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(line.split_whitespace()).current_dir(folder).env("SIGMABAR_NUM_THREADS", "2").stdin(Stdio::null()).output().unwrap()
}

fn done(folder: &Path, line: &str) -> String {
    let found = sigmabar(folder, line);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{line}: {said}");
    said + &String::from_utf8_lossy(&found.stdout)
}

fn refused(folder: &Path, line: &str) -> String {
    let found = sigmabar(folder, line);
    assert!(!found.status.success(), "{line} should be refused");
    String::from_utf8_lossy(&found.stderr).into_owned()
}

/// Six files of two row groups each, in folders that say the year; 6000 rows.
fn make(folder: &Path) {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for file in 0..6 {
        let place = folder.join(format!("data/year={}", 2020 + file % 2));
        fs::create_dir_all(&place).unwrap();
        let names = ["a", "b", "y"].map(str::to_owned);
        let mut out = ParquetWriter::new(File::create(place.join(format!("part-{file}.parquet"))).unwrap(), &names).unwrap();
        for rows in [400, 600] {
            let (a, b): (Vec<f64>, Vec<f64>) = (0..rows).map(|_| (uniform(), uniform())).unzip();
            let y = a.iter().zip(&b).map(|(a, b)| 5.0 + (4.0 * a).sin() + b + 0.1 * (uniform() - 0.5)).collect();
            out.write(&[a, b, y]).unwrap();
        }
        out.finish().unwrap();
    }
    fs::write(data_marker(folder), "engines leave such files").unwrap();
}

fn data_marker(folder: &Path) -> std::path::PathBuf {
    folder.join("data/_SUCCESS")
}

const GIVEN: &str = "--target y --ignore year --kernel matern-2.5 --lengthscale 0.5 --tau 0.1 --inducing 40 --prior-mean 5.5 --norm-bound 20 --noise gaussian:0.1 --collected fixed";

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

    // The rows explained worst become inducing points of the next plan.
    let said = done(at, &format!("plan data {GIVEN} -o next.sbp --extend all.sba"));
    assert!(said.contains("inducing points more") || said.contains("saved next.sbp"), "{said}");

    // Other data under the same names are noticed.
    fs::copy(at.join("data/year=2021/part-1.parquet"), at.join("data/year=2020/part-0.parquet")).unwrap();
    let mut out =
        ParquetWriter::new(File::create(at.join("data/year=2020/part-2.parquet")).unwrap(), &["a", "b", "y"].map(str::to_owned)).unwrap();
    out.write(&[vec![0.5; 7], vec![0.5; 7], vec![1.0; 7]]).unwrap();
    out.write(&[vec![0.5; 600], vec![0.5; 600], vec![1.0; 600]]).unwrap();
    out.finish().unwrap();
    let changed = refused(at, "accumulate data/year=2020/part-2.parquet --plan plan.sbp -o x.sba");
    assert!(changed.contains("has 7 rows, where the plan says 400"), "{changed}");
}

#[test]
fn what_does_not_fit_is_read_again_and_scored_by_sums() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let learnt = "--target y --lengthscale 0.5 --tau 0.1 --inducing 30";
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
    let all = format!("fit data {learnt} --ignore year --holdout 0 --calibrate 0");
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
        has_options: false,
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
