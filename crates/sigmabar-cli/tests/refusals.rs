//! Everything that can be wrong with a file, a directory or a disk: a clear error, the right exit code, nothing lost.

use crate::support;
use assert_cmd::Command;
use std::fs;
use std::path::Path;

const STUDY: &str = "budget = 8\nbatches = 2\n\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";

fn sigmabar(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").env("NO_COLOR", "1");
    command
}

/// Runs a command that must fail with this code, and gives what it said.
fn refused(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = sigmabar(directory, arguments).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    assert!(!words.contains("panicked"), "{words}");
    support::options_exist(arguments[0], &words);
    words
}

fn done(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(sigmabar(directory, arguments).assert().success().get_output().stdout.clone()).unwrap()
}

fn begun() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("study.toml"), STUDY).unwrap();
    done(directory.path(), &["ask", "study.toml", "-n", "2"]);
    done(directory.path(), &["tell", "0", "1.5"]);
    directory
}

fn fitted() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let rows: String = (0..40).map(|i| format!("{},{}\n", f64::from(i) / 40.0, (f64::from(i) / 6.0).sin())).collect();
    fs::write(directory.path().join("data.csv"), format!("x,y\n{rows}")).unwrap();
    let fit = ["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", "model.sbm"];
    done(directory.path(), &fit);
    directory
}

#[test]
fn model_files_that_are_not_ours_cut_damaged_or_newer() {
    let directory = fitted();
    let path = directory.path().join("model.sbm");
    let whole = fs::read(&path).unwrap();
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(directory.path(), &["predict", "model.sbm", "data.csv"], 1)
    };
    assert!(said(b"").contains("not a sigmabar model"));
    assert!(said(b"PK\x03\x04 something else").contains("not a sigmabar model"));
    assert!(said(&whole[..20]).contains("the file was cut"));
    assert!(said(&whole[..whole.len() - 1]).contains("the file was cut"));
    assert!(said(&[&whole[..], b"x"].concat()).contains("something was appended"));
    for place in [70, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        assert!(said(&damaged).contains("checksum does not match"), "byte {place}");
    }
    let mut newer = whole.clone();
    newer[8] += 1;
    assert!(said(&newer).contains(&format!("written in format {}", newer[8])));
    assert!(refused(directory.path(), &["predict", "none.sbm", "data.csv"], 1).contains("cannot read"));
    fs::write(&path, &whole).unwrap();
    assert_eq!(done(directory.path(), &["predict", "model.sbm", "data.csv"]).lines().count(), 41);
}

#[test]
fn study_databases_that_are_not_ours_cut_or_damaged() {
    let directory = begun();
    let path = directory.path().join("study.db");
    let whole = fs::read(&path).unwrap();
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        for left in ["study.db-wal", "study.db-shm"] {
            drop(fs::remove_file(directory.path().join(left)));
        }
        refused(directory.path(), &["status", "study.db"], 1)
    };
    assert!(said(b"not a database at all, but long enough to look like one").contains("not an SQLite database"));
    assert!(said(&whole[..whole.len() / 3]).contains("study.db"));
    let mut newer = whole.clone();
    // The user version of SQLite's header.
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    assert!(said(&newer).contains("newer"), "{}", said(&newer));
    fs::write(&path, &whole).unwrap();
    assert!(done(directory.path(), &["trials", "study.db", "--format", "csv"]).contains("0,1,done"));
    assert!(refused(directory.path(), &["status", "other.db"], 1).contains("no such file"));
}

#[test]
fn tables_name_the_place() {
    let directory = fitted();
    let said = |text: &str, target: &str| {
        fs::write(directory.path().join("bad.csv"), text).unwrap();
        refused(directory.path(), &["fit", "bad.csv", "--target", target], 1)
    };
    assert!(said("x,y\n1,2\n3\n", "y").contains("bad.csv, line 3: 1 cells where the header has 2"));
    assert!(said("x,y\n1,2\n3,inf\n", "y").contains("line 3, column \"y\": inf"));
    assert!(said("x,y\n1,2\n,4\n", "y").contains("line 3, column \"x\": an empty cell"));
    assert!(said("x,y\n", "y").contains("there are no rows"));
    assert!(said("", "y").contains("it is empty"));
    assert!(said("x,x\n1,2\n", "x").contains("both called \"x\""));
    fs::write(directory.path().join("bad.csv"), b"x,y\n1,\xff\n").unwrap();
    assert!(refused(directory.path(), &["fit", "bad.csv", "--target", "y"], 1).contains("line 2, column 2: not UTF-8"));
    fs::write(directory.path().join("bad.parquet"), b"PAR1 nothing").unwrap();
    assert!(refused(directory.path(), &["fit", "bad.parquet", "--target", "y"], 1).contains("not a readable Parquet file"));
    fs::write(directory.path().join("bad.npy"), b"\x93NUMPY\x01\x00").unwrap();
    assert!(refused(directory.path(), &["fit", "bad.npy", "--target", "c0"], 1).contains("not a readable NumPy file"));
    fs::write(directory.path().join("bad.csv.gz"), b"not gzip").unwrap();
    assert!(refused(directory.path(), &["fit", "bad.csv.gz", "--target", "y"], 1).contains("bad.csv.gz"));
    let small = ["fit", "data.csv", "--target", "y", "--memory", "100"];
    assert!(refused(directory.path(), &small, 1).contains("raise --memory"));
    let fit = |memory: &'static str| ["fit", "data.csv", "--target", "y", "--no-save", "--memory", memory];
    let said = refused(directory.path(), &fit("1M"), 2);
    assert!(said.contains("raise --memory"));
    // What is said to be the least is enough.
    let (_, least) = said.split_once("need at least ").unwrap();
    let least: String = least.split(',').next().unwrap().replace(' ', "");
    done(directory.path(), &fit(Box::leak(least.into_boxed_str())));
}

#[test]
fn numpy_and_compressed_tables_are_read() {
    let directory = fitted();
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (30, 2), }".to_vec();
    bytes.resize(127, b' ');
    bytes.push(b'\n');
    (0..30).flat_map(|i| [f64::from(i) / 30.0, (f64::from(i) / 5.0).cos()]).for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
    fs::write(directory.path().join("a.npy"), &bytes).unwrap();
    let scores = done(directory.path(), &["fit", "a.npy", "--target", "c1", "--lengthscale", "0.3", "--tau", "0.1", "--format", "json"]);
    let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
    assert_eq!((scores["rows"].as_u64().unwrap() + scores["held_out"].as_u64().unwrap_or(0), scores["target"].as_str()), (30, Some("c1")));
    let mut whole = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }".to_vec();
    whole.resize(127, b' ');
    whole.push(b'\n');
    [1_i64, 2, 3, (1 << 53) + 1].iter().for_each(|v| whole.extend_from_slice(&v.to_le_bytes()));
    fs::write(directory.path().join("ids.npy"), &whole).unwrap();
    let said = refused(directory.path(), &["fit", "ids.npy", "--target", "c0"], 1);
    assert!(said.contains("row 2, column c1: 9007199254740993 is a whole number that 64-bit floats cannot tell"), "{said}");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut fs::File::open(directory.path().join("data.csv")).unwrap(), &mut gz).unwrap();
    fs::write(directory.path().join("data.csv.gz"), gz.finish().unwrap()).unwrap();
    let plain = done(directory.path(), &["predict", "model.sbm", "data.csv"]);
    assert_eq!(done(directory.path(), &["predict", "model.sbm", "data.csv.gz"]), plain);
    let piped =
        sigmabar(directory.path(), &["predict", "model.sbm", "-"]).pipe_stdin(directory.path().join("data.csv")).unwrap().output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), plain);
}

#[test]
fn an_objective_that_speaks_nonsense_is_a_failed_trial() {
    let directory = tempfile::tempdir().unwrap();
    let objective = "\n[objective]\nprocess = \"while read line; do echo not json; done\"\ntimeout = 2.0\n";
    fs::write(directory.path().join("study.toml"), format!("{STUDY}{objective}")).unwrap();
    let output = sigmabar(directory.path(), &["run", "study.toml", "--no-report"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("not a reply") && words.contains("\"value\""), "{words}");
    assert!(!words.contains("panicked"), "{words}");
    assert!(done(directory.path(), &["status", "study.toml", "--format", "json"]).contains("\"budget\": 8"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let directory = fitted();
    let rows: String = (0..20_000).map(|i| format!("{},0\n", f64::from(i) / 20_000.0)).collect();
    fs::write(directory.path().join("many.csv"), format!("x,y\n{rows}")).unwrap();
    let script = format!("{} predict model.sbm many.csv 2> words | head -1", env!("CARGO_BIN_EXE_sigmabar"));
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(directory.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("mean,std"));
    assert!(!fs::read_to_string(directory.path().join("words")).unwrap().contains("error"));
}

#[test]
#[cfg(unix)]
fn the_first_interrupt_leaves_a_study_that_resumes() {
    let directory = tempfile::tempdir().unwrap();
    let objective = "\n[objective]\ncommand = \"sleep 0.1; echo {x}\"\n";
    fs::write(directory.path().join("study.toml"), format!("{STUDY}{objective}")).unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    let child = child.args(["run", "study.toml", "--quiet", "--no-report"]).current_dir(directory.path()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    done(directory.path(), &["run", "study.toml", "--no-report"]);
    assert_eq!(done(directory.path(), &["trials", "study.db", "--state", "done", "--format", "csv"]).lines().count(), 9);
}

/// Whoever started the command reads no more of what it says: its pipe is full, and the second interrupt ends it all the same.
#[test]
#[cfg(unix)]
fn the_second_interrupt_ends_a_command_that_nobody_listens_to() {
    use std::io::{BufRead, BufReader, Write};
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let objective = "\n[objective]\ncommand = \"sleep 30; echo {x}\"\n";
    fs::write(directory.path().join("study.toml"), format!("{STUDY}{objective}")).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(["run", "study.toml", "--no-report"]).current_dir(directory.path()).env("SIGMABAR_NUM_THREADS", "1");
    let mut child = command.stderr(writer.try_clone().unwrap()).spawn().unwrap();
    let mut lines = BufReader::new(reader).lines();
    assert!(lines.any(|line| line.unwrap().contains("planned")));
    // Fills the pipe, whatever its size; the thread ends when the reader goes.
    let filler = std::thread::spawn(move || while writer.write_all(&[b'.'; 1024]).is_ok() {});
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(20) {
        assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(300));
    }
    drop(child.kill());
    let status = child.wait().unwrap();
    drop(lines);
    filler.join().unwrap();
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_spent_budget_without_the_wanted_gap_exits_with_3() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 6\nstop_when = \"gap < 0.000001\"\nnorm_bound = 2.0\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.3 }\n\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n\n[objective]\ncommand = \"echo {x}\"\n";
    fs::write(directory.path().join("study.toml"), text).unwrap();
    assert!(refused(directory.path(), &["run", "study.toml", "--no-report"], 3).contains("is not reached"));
}

/// A space of four columns is searched through candidates that stand for it: the gap among these can be wanted, and is said everywhere.
#[test]
fn a_wanted_candidate_gap_is_said_reached_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let parameters: String =
        ["a", "b", "c", "d"].map(|name| format!("[parameters.{name}]\ntype = \"float\"\nlow = 0\nhigh = 1\n")).concat();
    let study = |name: &str, wanted: &str| {
        let text = format!(
            "budget = 12\nbatches = 2\nstop_when = \"candidate_gap < {wanted}\"\nnorm_bound = 2.0\nnoise = 0.1\n\
             kernel = {{ name = \"se\", lengthscale = 0.8 }}\nstrategy = {{ name = \"s-bpe\", candidates = 60 }}\n{parameters}\
             [objective]\ncommand = \"echo {{a}}\"\n"
        );
        fs::write(directory.path().join(format!("{name}.toml")), text).unwrap();
    };
    study("never", "0.000001");
    let words = refused(directory.path(), &["run", "never.toml", "--no-report"], 3);
    assert!(words.contains("the wanted candidate gap of") && words.contains("among the candidates"), "{words}");
    study("soon", "2.0");
    let words = done(directory.path(), &["run", "soon.toml"]);
    assert!(words.contains("candidate gap: at most"), "{words}");
    let status: serde_json::Value = serde_json::from_str(&done(directory.path(), &["status", "soon.toml", "--format", "json"])).unwrap();
    assert_eq!((&status["wanted_candidate_gap"], &status["gap_reached"]), (&2.0.into(), &true.into()));
    assert!(status["candidate_gap"].as_f64().unwrap() <= 2.0 && status["gap"].as_f64().unwrap() > 2.0, "{status}");
    assert!(status["planned"].as_u64().unwrap() < 12, "it stopped early: {status}");
    let page = fs::read_to_string(directory.path().join("soon-report.html")).unwrap();
    assert!(page.contains("The wanted candidate gap of 2 is reached") && page.contains("candidate gap (certified)"));
}

/// Whatever shows a model or a study says first that the data refute its premises, with a remedy, and with the code of `ask`.
#[test]
fn premises_that_the_data_refute_are_the_headline() {
    let directory = fitted();
    let model =
        ["--kernel", "matern-2.5", "--lengthscale", "0.2", "--noise", "gaussian:0.001", "--norm-bound", "0.1", "--out", "refuted.sbm"];
    let words = refused(directory.path(), &[&["fit", "data.csv", "--target", "y"], &model[..]].concat(), 3);
    let remedy = "next: sigmabar fit data.csv --target y --prior-mean MEAN --unit UNIT --norm-bound C";
    assert!(words.contains("and 0.1 was declared") && words.contains(remedy) && !words.contains("sigmabar predict"), "{words}");
    assert!(refused(directory.path(), &["report", "refuted.sbm"], 3).contains(remedy));
    let page = fs::read_to_string(directory.path().join("refuted-model.html")).unwrap();
    assert!(page.contains("<p class=\"headline\">Stop: the data contradict the premises"), "{page}");
    let text = "budget = 16\nnorm_bound = 2.0\nnoise = { gaussian = 0.05 }\nkernel = { name = \"se\", lengthscale = 0.4 }\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo 80\"\n";
    fs::write(directory.path().join("yield.toml"), text).unwrap();
    let goes_on = "next: sigmabar run yield.toml --despite-contradiction";
    for verb in ["run", "recommend", "report", "status"] {
        let words = refused(directory.path(), &[verb, "yield.toml"], 3);
        assert!(words.contains("and 2 was declared") && words.contains("mend prior_mean") && words.contains(goes_on), "{words}");
    }
    let page = fs::read_to_string(directory.path().join("yield-report.html")).unwrap();
    assert!(page.contains("<p class=\"headline\">Stop: the data contradict the premises") && !page.contains(">Use x"), "{page}");
    assert!(page.contains("sigmabar run yield.db --despite-contradiction"));
}

/// Closing the batch whose results refute the premises says so in the words of `ask`.
#[test]
fn closing_a_batch_that_refutes_the_premises_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 16\nnorm_bound = 2.0\nnoise = { gaussian = 0.05 }\nkernel = { name = \"se\", lengthscale = 0.4 }\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    fs::write(directory.path().join("study.toml"), text).unwrap();
    done(directory.path(), &["ask", "study.toml", "-n", "2"]);
    done(directory.path(), &["tell", "0", "61", "--sure"]);
    done(directory.path(), &["tell", "1", "83"]);
    let words = refused(directory.path(), &["close-batch", "study.toml"], 3);
    assert!(words.contains("the batch is closed") && words.contains("mend prior_mean"), "{words}");
    assert!(words.contains("next: sigmabar ask study.toml --despite-contradiction"), "{words}");
}

/// A file without an end is not read to its end.
#[test]
#[cfg(unix)]
fn what_is_no_saved_file_is_refused_by_its_beginning() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t.csv"), "x\n1\n").unwrap();
    for arguments in [
        &["predict", "/dev/zero", "t.csv"][..],
        &["report", "/dev/zero"],
        &["merge", "/dev/zero", "-o", "m.sbm"],
        &["accumulate", "--plan", "/dev/zero", "--part", "1/1", "-o", "s.sba"],
    ] {
        // Without the check memory ends first, and this fails by its limit.
        let line = format!("ulimit -v 4000000; exec \"$0\" {}", arguments.join(" "));
        let output = Command::new("sh").args(["-c", &line, env!("CARGO_BIN_EXE_sigmabar")]).current_dir(directory.path()).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && words.contains("/dev/zero") && words.lines().count() < 4, "{arguments:?}: {words}");
    }
}

/// Where the budget is spent nothing goes on, whatever is promised.
#[test]
fn refuted_premises_at_the_end_of_a_study_lead_to_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let text = "budget = 2\nnorm_bound = 2.0\nnoise = { gaussian = 0.05 }\nkernel = { name = \"se\", lengthscale = 0.4 }\n\
                [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[objective]\ncommand = \"echo 80\"\n";
    fs::write(directory.path().join("study.toml"), text).unwrap();
    sigmabar(directory.path(), &["run", "study.toml"]).output().unwrap();
    for verb in ["status", "recommend", "report"] {
        let words = refused(directory.path(), &[verb, "study.toml"], 3);
        assert!(words.contains("next: sigmabar export study.toml -o results.csv"), "{verb}: {words}");
        assert!(!words.contains("--despite-contradiction"), "{verb}: {words}");
    }
    let page = fs::read_to_string(directory.path().join("study-report.html")).unwrap();
    assert!(page.contains("sigmabar export study.db -o results.csv") && !page.contains("--despite-contradiction"), "{page}");
    done(directory.path(), &["export", "study.toml", "-o", "results.csv"]);
}

/// Root may write everywhere: then a directory that nobody can write to is one of /proc.
#[test]
#[cfg(unix)]
fn directories_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let directory = fitted();
    fs::write(directory.path().join("study.toml"), STUDY).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let probe = fs::write(directory.path().join("probe"), "x");
    if probe.is_ok() {
        println!("skipped in part: this user may write to read-only directories");
        drop(fs::remove_file(directory.path().join("probe")));
        let out = ["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", "/proc/model.sbm"];
        assert!(refused(directory.path(), &out, 1).contains("/proc/model.sbm: cannot write"));
    } else {
        let out = ["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", "other.sbm"];
        assert!(refused(directory.path(), &out, 1).contains("other.sbm: cannot write"));
        assert!(refused(directory.path(), &["ask", "study.toml"], 1).contains("study.db"));
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A disk of half a megabyte: needs the right to mount one.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_nothing() {
    let directory = fitted();
    let disk = directory.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: a small disk cannot be mounted by this user");
        return;
    }
    let result = std::panic::catch_unwind(|| on_a_small_disk(directory.path(), &disk));
    assert!(std::process::Command::new("umount").arg(&disk).status().unwrap().success());
    result.unwrap();
}

fn on_a_small_disk(directory: &Path, disk: &Path) {
    fs::write(disk.join("study.toml"), STUDY).unwrap();
    done(disk, &["ask", "study.toml", "-n", "4"]);
    done(disk, &["tell", "0", "1.5"]);
    // Fill it up.
    let mut filler = fs::File::create(disk.join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[0; 1024]).is_ok() {}
    drop(filler);
    let words = refused(disk, &["tell", "1", "2.5"], 1);
    assert!(words.contains("disk is full") || words.contains("study.db"), "{words}");
    let out = disk.join("model.sbm");
    let fit = ["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--out", out.to_str().unwrap()];
    assert!(refused(directory, &fit, 1).contains("model.sbm: cannot write"));
    assert!(!out.exists() && fs::read_dir(disk).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().contains("part")));
    fs::remove_file(disk.join("filler")).unwrap();
    done(disk, &["tell", "1", "2.5"]);
    let trials = done(disk, &["trials", "study.db", "--format", "csv"]);
    assert!(trials.contains("1.5") && trials.contains("2.5"), "{trials}");
}

#[test]
fn what_cannot_fit_into_memory_is_refused_before_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["theory", "--points", "1000000"][..], &["bench", "--budget", "1000000000", "--problems", "branin"]] {
        let words = refused(directory.path(), arguments, 1);
        assert!(words.contains("would take") && words.contains("at most") && words.contains("fit"), "{words}");
    }
    if cfg!(target_os = "linux") {
        let words = refused(directory.path(), &["fit", "/dev/zero", "--target", "y"], 1);
        assert!(words.contains("zero bytes"), "{words}");
        let endless = format!("yes x | tr -d '\\n' | {} fit - --target y", env!("CARGO_BIN_EXE_sigmabar"));
        let output = std::process::Command::new("sh").args(["-c", &endless]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("more than 64 MB") && output.status.code() == Some(1));
    }
}

#[test]
fn where_a_model_goes_is_found_out_before_the_work_and_it_always_goes_somewhere() {
    let directory = fitted();
    let fit = |more: &[&str], data: &str| -> Vec<String> {
        let usual = ["fit", data, "--target", "y", "--lengthscale", "0.2", "--tau", "0.1"];
        usual.iter().chain(more).map(|&word| word.to_owned()).collect()
    };
    let words = |arguments: Vec<String>, code| refused(directory.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>(), code);
    // The data are not there either: what is said first was looked at first.
    assert!(words(fit(&["--out", "nowhere/m.sbm"], "missing.csv"), 1).contains("nowhere"));
    fs::create_dir(directory.path().join("folder")).unwrap();
    assert!(words(fit(&["--out", "folder"], "missing.csv"), 2).contains("folder"));
    for _ in 0..2 {
        done(directory.path(), &fit(&[], "data.csv").iter().map(String::as_str).collect::<Vec<_>>());
    }
    done(directory.path(), &["predict", "data-2.sbm", "data.csv"]);
    done(directory.path(), &fit(&["--no-save"], "data.csv").iter().map(String::as_str).collect::<Vec<_>>());
    assert!(directory.path().join("data.sbm").exists() && !directory.path().join("data-3.sbm").exists());
}

/// What is said next can be typed.
#[test]
fn a_name_that_begins_with_a_dash_is_no_option() {
    let directory = fitted();
    fs::rename(directory.path().join("data.csv"), directory.path().join("-x.csv")).unwrap();
    let said = refused(directory.path(), &["fit", "./-x.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1"], 0);
    assert!(said.contains("saved -x.sbm") && said.contains("next: sigmabar predict ./-x.sbm NEW.csv"), "{said}");
}

/// Nobody knows which ends first; both models are there.
#[test]
fn two_fits_at_the_same_time_make_two_models() {
    let directory = fitted();
    let begin = |seed: &str| {
        let arguments = ["fit", "data.csv", "--target", "y", "--lengthscale", "0.2", "--tau", "0.1", "--seed", seed];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
        command.args(arguments).current_dir(directory.path()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let said = ["1", "2", "3"].map(begin).map(|child| String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap());
    for name in ["data.sbm", "data-2.sbm", "data-3.sbm"] {
        assert_eq!(said.iter().filter(|said| said.contains(&format!("saved {name} "))).count(), 1, "{said:?}");
        assert!(directory.path().join(name).exists());
    }
}

#[test]
fn studies_side_by_side_have_pages_of_their_own_and_paths_that_can_be_typed() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("{STUDY}\n[objective]\ncommand = \"echo {{x}}\"\n");
    for name in ["first.toml", "second try.toml"] {
        fs::write(directory.path().join(name), &text).unwrap();
    }
    done(directory.path(), &["run", "first.toml"]);
    assert!(directory.path().join("first-report.html").exists());
    let output = sigmabar(directory.path(), &["run", "second try.toml"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("open 'second try-report.html'"), "{words}");
    assert!(directory.path().join("second try-report.html").exists());
    // Typed from elsewhere, a page lies beside what it is about.
    fs::create_dir(directory.path().join("far")).unwrap();
    fs::write(directory.path().join("far/third.toml"), &text).unwrap();
    let output = sigmabar(directory.path(), &["run", "far/third.toml"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("next: open far/third-report.html"));
    let page = directory.path().join("far/third-report.html");
    for name in ["far/third.toml", "far/third.db"] {
        fs::remove_file(&page).unwrap();
        done(directory.path(), &["report", name]);
    }
    let model = fitted();
    fs::rename(model.path().join("model.sbm"), directory.path().join("far/model.sbm")).unwrap();
    done(directory.path(), &["report", "far/model.sbm"]);
    assert!(page.exists() && directory.path().join("far/model-model.html").exists());
    assert!(!directory.path().join("third-report.html").exists() && !directory.path().join("model-model.html").exists());
}

#[test]
fn programs_read_lists_numbers_and_kernels() {
    let directory = begun();
    done(directory.path(), &["ask", "study.toml", "-n", "9", "--worker", "other"]);
    assert_eq!(done(directory.path(), &["ask", "study.toml", "--worker", "third", "--format", "json"]).trim(), "[]");
    let lengths = done(directory.path(), &["theory", "--points", "20", "--budget", "100", "--format", "json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&lengths).unwrap();
    let row = rows.iter().find(|row| row["quantity"] == "batch lengths").unwrap();
    assert_eq!(row["proved"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 100);
    let directory = fitted();
    let fit =
        ["fit", "data.csv", "--target", "y", "--kernel", "rbf", "--lengthscale", "0.2", "--tau", "0.1", "--format", "json", "--no-save"];
    let model: serde_json::Value = serde_json::from_str(&done(directory.path(), &fit)).unwrap();
    assert_eq!((&model["kernel"]["name"], &model["kernel"]["lengthscale"]["x"]), (&"squared-exponential".into(), &0.2.into()));
}

#[test]
#[cfg(unix)]
fn an_interrupt_calls_planning_off() {
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let mut text =
        "budget = 40000\nstrategy = \"s-bpe\"\nnorm_bound = 2.0\nnoise = 0.1\nkernel = { name = \"matern\", lengthscale = 0.05 }\n"
            .to_owned();
    text += "\n[objective]\ncommand = \"echo 1\"\n";
    for name in ["a", "b", "c", "d", "e"] {
        text += &format!("\n[parameters.{name}]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    }
    fs::write(directory.path().join("study.toml"), text).unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    let mut child = child.args(["run", "study.toml", "--quiet", "--no-report"]).current_dir(directory.path()).spawn().unwrap();
    while !directory.path().join("study.db").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(1000));
    assert!(child.try_wait().unwrap().is_none(), "it is still planning");
    let begun = Instant::now();
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(done(directory.path(), &["status", "study.toml", "--format", "json"]).contains("\"budget\": 40000"));
}

/// Ctrl-C ends a fit at once, and leaves neither a model nor a part of one.
#[test]
#[cfg(unix)]
fn an_interrupt_ends_a_fit_and_leaves_nothing() {
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let row = |i: u32| {
        let x = |k: u32| f64::from((i * 7919 + k * 104_729) % 10_007) / 10_007.0;
        format!("{},{},{},{}\n", x(1), x(2), x(3), x(1) * x(2))
    };
    fs::write(directory.path().join("d.csv"), format!("a,b,c,y\n{}", (0..60_000).map(row).collect::<String>())).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(["fit", "d.csv", "--target", "y", "--out", "m.sbm", "--quiet"]).current_dir(directory.path());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "it is still fitting");
    let begun = Instant::now();
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["d.csv"]);
}

/// Rows come from a pipe that stays open: the file is being written for as long as we like.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_no_part_of_predictions() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let directory = fitted();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(["predict", "model.sbm", "-", "-o", "i.csv"]).current_dir(directory.path());
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let part_is_there = || {
        let files = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name());
        files.into_iter().any(|name| name.to_string_lossy().starts_with("i.csv.") && name.to_string_lossy().ends_with(".part"))
    };
    // The first part only tries whether the file can be written.
    let is_held = || {
        let was_there = part_is_there();
        std::thread::sleep(Duration::from_millis(200));
        was_there && part_is_there()
    };
    while !is_held() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
    }
    // Waiting would close it, and end the command by itself.
    let _input = child.stdin.take();
    // One that no suite runs with ignored.
    assert!(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!part_is_there() && !directory.path().join("i.csv").exists());
}

/// Begins a command and gives it with what it says, line by line.
#[cfg(unix)]
fn begin(directory: &Path, arguments: &[&str]) -> (std::process::Child, impl Iterator<Item = String> + use<>) {
    use std::io::{BufRead, BufReader};
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("NO_COLOR", "1").stdout(std::process::Stdio::null());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

/// Six factors, of which next to nothing is ruled out: judging the claim under other premises takes longer than measuring.
#[cfg(unix)]
const LONG_ENDING: &str = "budget = 60\nbatches = 1\nstrategy = { name = \"s-bpe\", candidates = 6000 }\nnorm_bound = 6.0\n\
                           noise = { gaussian = 0.1 }\nkernel = { name = \"matern\", lengthscale = 0.4 }\n";

/// When everything is measured, range, map and page are worked out: whoever wants to go then may, too, and nothing is lost or half written.
#[test]
#[cfg(unix)]
fn an_interrupt_ends_the_last_phase_of_a_run() {
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let mut text = LONG_ENDING.to_owned();
    for name in ["a", "b", "c", "d", "e", "f"] {
        text += &format!("\n[parameters.{name}]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    }
    fs::write(directory.path().join("study.toml"), text + "\n[objective]\nbuiltin = \"hartmann-6\"\nnoise = 0.1\n").unwrap();
    let interrupt =
        |id: u32, signal: &str| assert!(std::process::Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
    for (verb, signal) in [("run", "-INT"), ("run", "-TERM"), ("recommend", "-INT"), ("status", "-INT"), ("report", "-TERM")] {
        let (mut child, mut lines) = begin(directory.path(), &[verb, "study.toml"]);
        if verb == "run" {
            assert!(lines.any(|line| line.contains("60 of 60 measured") || line.contains("resumed")));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{verb} is at work");
        let begun = Instant::now();
        interrupt(child.id(), signal);
        let status = child.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(3), "{verb}: {:?}", begun.elapsed());
        let said: Vec<String> = lines.collect();
        if verb == "run" {
            assert_eq!(status.code(), Some(130), "{said:?}");
            assert!(said.iter().any(|line| line.contains("interrupted: everything told is kept")), "{said:?}");
        } else {
            assert!(!status.success());
        }
        assert!(!directory.path().join("study-report.html").exists());
    }
    let left = done(directory.path(), &["trials", "study.db", "--state", "done", "--format", "csv"]);
    assert_eq!(left.lines().count(), 61);
}
