//! Plans over many rows: parts without rows, more inducing points, kernels learnt on other rows or on all, machines that differ.

use crate::many_rows::{CURVE, GIVEN, done, make, refused, sigmabar, two_files};
use sigmabar::Posterior;
use sigmabar::accumulator::{Accumulator, Plan};
use sigmabar::sealed::{self, Kind};
use std::fs;
use std::path::Path;
use std::process::Command;

/// An array job may have more tasks than there are chunks: those that have nothing to do do not fail.
#[test]
fn a_part_without_chunks_is_empty_and_merges() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_files(at);
    done(at, &format!("plan a.csv b.csv {CURVE} -o p.sbp"));
    let said = done(at, "accumulate --plan p.sbp --part 1/5 -o 1.sba");
    assert!(said.contains("none of the 2 chunks of the plan is in this part: its sums are empty"), "{said}");
    (2..=5).for_each(|part| drop(done(at, &format!("accumulate --plan p.sbp --part {part}/5 -o {part}.sba"))));
    done(at, "merge 1.sba 2.sba 3.sba 4.sba 5.sba -o parts.sbm");
    done(at, "accumulate --plan p.sbp -o all.sba");
    done(at, "merge all.sba -o one.sbm");
    assert!(fs::read(at.join("parts.sbm")).unwrap() == fs::read(at.join("one.sbm")).unwrap());
    let said = refused(at, "merge 1.sba -o none.sbm");
    assert!(said.contains("a.csv: chunk 0 is missing, and one more: sum it and merge again"), "{said}");
    done(at, "merge 1.sba -o nothing.sba");
    done(at, "merge nothing.sba all.sba -o again.sbm");
    assert!(fs::read(at.join("again.sbm")).unwrap() == fs::read(at.join("one.sbm")).unwrap());
    let said = refused(at, "merge none-*.sba -o none.sbm");
    assert!(said.contains("none-*.sba: there are no sums to merge: name files that sigmabar accumulate wrote"), "{said}");
}

/// Runs what a command suggests, by a shell and as it stands.
fn follow(at: &Path, said: &str) -> String {
    let line = said.lines().find_map(|line| line.strip_prefix("next: ")).unwrap_or_else(|| panic!("nothing is suggested: {said}"));
    let command = Path::new(env!("CARGO_BIN_EXE_sigmabar")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(command).chain(std::env::split_paths(&others))).unwrap();
    let found = Command::new("sh").args(["-c", line]).current_dir(at).env("PATH", path).output().unwrap();
    let words = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{line}: {words}");
    words + &String::from_utf8_lossy(&found.stdout)
}

/// From the plan to the page, each step as the one before it suggests, with names that a shell would take for something else.
#[test]
fn what_merge_and_those_around_it_suggest_works_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_files(at);
    follow(at, &done(at, &format!("plan a.csv b.csv {CURVE} -o p&q.sbp")));
    done(at, "accumulate --plan p&q.sbp --part 2/2 -o 2.sba");
    assert!(done(at, "merge 2.sba -o half.sba").contains("next: sigmabar merge half.sba ... -o model.sbm"), "a chunk is missing");
    let merged = follow(at, &done(at, "merge 1.sba 2.sba -o all&.sba"));
    assert!(merged.contains("saved model.sbm"), "{merged}");
    fs::copy(at.join("a.csv"), at.join("NEW.csv")).unwrap();
    let rows = fs::read_to_string(at.join("NEW.csv")).unwrap().lines().count();
    let predicted = follow(at, &merged);
    assert!(predicted.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit() || c == '-')).count() >= rows - 1, "{predicted}");
    follow(at, &predicted);
    assert!(at.join("model-model.html").exists());
    // New rows come as the old ones did.
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    done(at, &format!("plan data {GIVEN} -o p.sbp"));
    let merged = follow(at, &done(at, "accumulate --plan p.sbp -o s.sba"));
    fs::copy(at.join("data/year=2020/part-0.parquet"), at.join("NEW.parquet")).unwrap();
    assert!(follow(at, &merged).contains("certified"));
}

/// What needs single rows means nothing for sums: it is refused rather than passed over.
#[test]
fn what_needs_rows_at_hand_is_refused_by_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    two_files(folder.path());
    for option in ["--holdout 0.2", "--calibrate 0.1", "--keep-rows", "--stream", "--no-save"] {
        let said = refused(folder.path(), &format!("plan a.csv {CURVE} {option}"));
        let name = option.split(' ').next().unwrap();
        assert!(said.contains(&format!("{name} is for sigmabar fit, which has the rows at hand")), "{said}");
    }
    assert!(!folder.path().join("a.sbp").exists());
}

fn inducing(at: &Path, plan: &str) -> usize {
    Plan::from_bytes_with(&fs::read(at.join(plan)).unwrap()).unwrap().0.features().len()
}

/// What the next plan says is honoured, or refused by name; and it explains more of the very rows.
#[test]
fn a_plan_is_extended_by_the_rows_that_it_explained_worst() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let given =
        "--target y --ignore year --kernel matern-2.5 --lengthscale 0.5 --tau 0.1 --inducing 20 --norm-bound 50 --noise gaussian:0.001";
    let said = done(at, &format!("plan data {given} -o first.sbp"));
    assert!(said.contains("the first: the inducing points miss more than the noise hides"), "{said}");
    done(at, "accumulate --plan first.sbp -o first.sba");
    let said = done(at, "plan data --target y --inducing 22 -o capped.sbp --extend first.sba");
    assert!(said.contains("2 inducing points more, of 64 rows that were explained worst"), "{said}");
    done(at, "plan data --target y -o next.sbp --extend first.sba");
    let (before, capped, after) = (inducing(at, "first.sbp"), inducing(at, "capped.sbp"), inducing(at, "next.sbp"));
    assert!((before, capped) == (20, 22) && after > capped, "{before} {capped} {after}");
    done(at, "accumulate --plan next.sbp -o next.sba");
    let missed = |plan: &str, sums: &str| {
        let plan = Plan::from_bytes_with(&fs::read(at.join(plan)).unwrap()).unwrap().0;
        Accumulator::from_bytes(&plan, &fs::read(at.join(sums)).unwrap()).unwrap().mean_residual()
    };
    let (first, next) = (missed("first.sbp", "first.sba"), missed("next.sbp", "next.sba"));
    assert!(next < first, "{first} {next}");
    for (line, why) in [
        ("plan data --target y --extend first.sba --kernel se -o x.sbp", "'--kernel <KERNEL>'"),
        ("plan data --target y --extend first.sba --learn-apart -o x.sbp", "'--learn-apart'"),
        ("plan data --target y --extend first.sba --collected fixed -o x.sbp", "'--collected <HOW>'"),
        ("plan data --target a --extend first.sba -o x.sbp", "--target is a, and these sums were planned to predict y"),
        ("plan data/year=2020 --target y --extend first.sba -o x.sbp", "is a file of the plan and is not named"),
        ("plan data --target y --inducing 20 --extend first.sba -o x.sbp", "it has 20 inducing points, and at most 20 were asked for"),
        ("plan data --target y --extend first.sba -o first.sba --force", "first.sba is what this command reads"),
    ] {
        let said = refused(at, line);
        assert!(said.contains(why) && said.contains("cannot be used with") == why.starts_with('\''), "{line}: {said}");
    }
    fs::copy(at.join("data/year=2020/part-0.parquet"), at.join("data/year=2020/part-9.parquet")).unwrap();
    let said = refused(at, "plan data --target y --extend first.sba -o x.sbp");
    assert!(said.contains("part-9.parquet is no file of the plan"), "{said}");
    assert!(!at.join("x.sbp").exists());
}

/// The most wanted combination: a kernel learnt on rows that the claim leaves out, with a declared bound on the norm under it.
#[test]
fn a_kernel_learnt_apart_with_a_norm_bound_is_certified_on_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let given = "--target y --ignore year --inducing 40 --prior-mean 5.5 --norm-bound 200 --noise gaussian:0.1 --collected fixed";
    let said = refused(at, &format!("fit data {given} --no-save"));
    assert!(said.contains("this one would be learnt") && said.contains("--learn-apart"), "{said}");
    let said = refused(at, &format!("fit data {given} --no-save --learn-on all"));
    assert!(said.contains("this one would be learnt"), "{said}");
    let found = sigmabar(at, &format!("fit data {given} --learn-apart --holdout 0 -o one.sbm --format json"));
    let words = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{words}");
    assert!(words.contains("kernel learnt"), "{words}");
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["label"], "certified");
    let premises = &found["certificate"]["premises"];
    assert!(premises["kernel"].to_string().contains("learnt_elsewhere"), "{premises}");
    assert!(premises["norm_bound"].to_string().contains("declared"), "{premises}");
    assert_eq!(found["rows"], 3000, "half of the rows were learnt on, and are left out");
    // The same by parts, to the byte; and where no row is left out it is no theorem.
    done(at, &format!("plan data {given} --learn-apart -o p.sbp"));
    done(at, "accumulate --plan p.sbp --part 1/2 -o 1.sba");
    done(at, "accumulate --plan p.sbp --part 2/2 -o 2.sba");
    done(at, "merge 2.sba 1.sba -o many.sbm");
    assert!(fs::read(at.join("one.sbm")).unwrap() == fs::read(at.join("many.sbm")).unwrap());
    done(at, "plan data --target y --ignore year --inducing 40 --prior-mean 5.5 --collected fixed -o here.sbp");
    done(at, "accumulate --plan here.sbp -o here.sba");
    let said = done(at, "merge here.sba -o here.sbm --norm-bound 200 --noise gaussian:0.1 --format json");
    assert!(said.contains("\"label\": \"estimated\""), "{said}");
}

/// Nobody knows a unit that was learnt: what is declared at the merge is said as the target is measured, and means there what it means in `fit`.
#[test]
fn premises_declared_at_the_merge_are_in_the_unit_of_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |i: usize| {
        let (x, noise) = ((i as f64 * 0.618_034) % 1.0, ((i as f64 * 12.9898).sin() * 43_758.545_3).fract());
        format!("{x},{}\n", 0.05 * (6.0 * x).sin() + 0.05 * noise)
    };
    fs::write(at.join("a.csv"), format!("x,y\n{}", (0..2000).map(row).collect::<String>())).unwrap();
    done(at, "plan a.csv --target y --kernel se --inducing 30 --learn-apart --collected fixed -o p.sbp");
    done(at, "accumulate --plan p.sbp -o s.sba");
    let merged = |noise: &str| {
        let said = done(at, &format!("merge s.sba -o m.sbm --force --norm-bound 28 --noise {noise} --format json"));
        serde_json::from_str::<serde_json::Value>(&said[said.find('{').unwrap()..]).unwrap()
    };
    for noise in ["gaussian:0.05", "bounded:0.05"] {
        let said = merged(noise);
        assert!((said["noise"].as_f64().unwrap() - 0.05).abs() < 1e-12, "{said}");
    }
}

/// A table that came twice has taught the model the rows that would calibrate it: neither road calls that a theorem.
#[test]
fn a_table_given_twice_calibrates_nothing_whether_its_rows_are_kept_or_summed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |i: usize| {
        let (x, noise) = ((i as f64 * 0.618_034) % 1.0, ((i as f64 * 12.9898).sin() * 43_758.545_3).fract());
        format!("{x},{}\n", (6.0 * x).sin() + noise)
    };
    let table = format!("x,y\n{}", (0..1000).map(row).collect::<String>());
    ["a.csv", "b.csv"].iter().for_each(|name| fs::write(at.join(name), &table).unwrap());
    let given = "--target y --collected exchangeable --kernel matern-1.5 --lengthscale 0.02 --tau 0.05 --inducing 300 --calibrate 0.1";
    for (files, road, label) in
        [("a.csv", "--stream", "conformal"), ("a.csv b.csv", "--stream", "estimated"), ("a.csv b.csv", "", "estimated")]
    {
        let said = done(at, &format!("fit {files} {given} {road} -o m.sbm --force --format json"));
        assert!(said.contains(&format!("\"response_label\": \"{label}\"")), "{files} {road}: {said}");
    }
}

fn elbo(path: &Path) -> f64 {
    Posterior::from_bytes_with(&fs::read(path).unwrap()).unwrap().0.elbo()
}

/// The evidence of all rows is at least what the kernel of the sample had over the same inducing points, and the model says that it was learnt here.
#[test]
fn learning_on_all_rows_gains_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |i: usize| {
        let (x, z) = ((i as f64 * 0.618_034) % 1.0, (i as f64 * 0.414_214) % 1.0);
        let noise = ((i as f64 * 12.9898).sin() * 43_758.545_3).fract();
        format!("{x},{z},{}\n", (7.0 * x).sin() + 0.2 * z + 0.3 * noise)
    };
    for (name, rows) in [("a.csv", 0..9000), ("b.csv", 9000..14_000)] {
        fs::write(at.join(name), format!("x,z,y\n{}", rows.map(row).collect::<String>())).unwrap();
    }
    let given = "--target y --kernel matern-1.5 --inducing 60 --holdout 0 --calibrate 0";
    done(at, &format!("fit a.csv b.csv {given} --stream -o sample.sbm"));
    let said = done(at, &format!("fit a.csv b.csv {given} --learn-on all -o all.sbm"));
    assert!(said.contains("on all rows: ") && said.contains("times two passes"), "{said}");
    // Both in the unit of the target, which varies by 0.7.
    let noise = |line: &str| -> f64 {
        let line = said.lines().find(|said| said.contains(line)).unwrap();
        line.split("; noise ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    };
    let (sample, all) = (noise("kernel learnt: "), noise("on all rows: "));
    assert!((0.9..1.1).contains(&(all / sample)), "{said}");
    let (sample, all) = (elbo(&at.join("sample.sbm")), elbo(&at.join("all.sbm")));
    assert!(all > sample + 1.0, "{sample} {all}");
    // By parts it is the same model.
    done(at, &format!("plan a.csv b.csv {given} --learn-on all -o p.sbp"));
    done(at, "accumulate --plan p.sbp --part 2/2 -o 2.sba");
    done(at, "accumulate --plan p.sbp --part 1/2 -o 1.sba");
    done(at, "merge 1.sba 2.sba -o parts.sbm");
    assert!(fs::read(at.join("all.sbm")).unwrap() == fs::read(at.join("parts.sbm")).unwrap());
    for (more, why) in [
        ("--learn-apart", "--learn-on all leaves no rows apart from those learnt on"),
        ("--lengthscale 0.3 --tau 0.1", "--learn-on all, and --lengthscale declares the kernel"),
    ] {
        let said = refused(at, &format!("fit a.csv b.csv {given} --no-save --learn-on all {more}"));
        assert!(said.contains(why), "{said}");
    }
}

/// Bits may differ between vector instructions: whoever merges is told.
#[test]
fn sums_of_machines_that_differ_merge_with_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_files(at);
    done(at, &format!("plan a.csv b.csv {CURVE} -o p.sbp"));
    done(at, "accumulate a.csv --plan p.sbp -o a.sba");
    done(at, "accumulate b.csv --plan p.sbp -o b.sba");
    let said = done(at, "merge a.sba b.sba -o same.sbm");
    assert!(!said.contains("vector instructions"), "{said}");
    // The file of another machine: its name in the place of ours.
    let bytes = fs::read(at.join("b.sba")).unwrap();
    let opened = sealed::open(Kind::Sums, &bytes).unwrap();
    let ours = sigmabar::linalg::instructions();
    let place = opened.content.windows(ours.len()).position(|text| text == ours.as_bytes()).unwrap();
    let mut content = opened.content.to_vec();
    content[place..place + ours.len()].copy_from_slice("another one".chars().cycle().take(ours.len()).collect::<String>().as_bytes());
    fs::write(at.join("b.sba"), sealed::seal(Kind::Sums, opened.remark, &content)).unwrap();
    let said = done(at, "merge a.sba b.sba -o other.sbm");
    assert!(
        said.contains("different vector instructions (another one") && said.contains(ours) && said.contains("to rounding, not to the bit"),
        "{said}"
    );
}
