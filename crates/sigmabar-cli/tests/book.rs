//! What the book shows and no transcript runs: lines for many files, study files, and every verb and flag it names.

use crate::many_rows::{done, sigmabar};
use sigmabar_cli::data::ParquetWriter;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every page of the book, and the README.
fn pages() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("docs")];
    let mut found = vec![root().join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|ending| ending == "md") {
                found.push(entry);
            }
        }
    }
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// Command lines inside `code` and in blocks, from the verb on.
fn lines(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));
    let blocks = text.lines().filter(|line| line.starts_with("    ") || line.starts_with("$ "));
    let after = |line: &str| Some(line.split_once("sigmabar ")?.1.split(" #").next()?.to_owned());
    let starts = |line: &&str| ["sigmabar ", "$ sigmabar "].iter().any(|start| line.trim_start().starts_with(start));
    spans.chain(blocks).filter(starts).filter_map(after).collect()
}

#[test]
fn every_verb_and_flag_named_in_the_book_exists() {
    let here = std::env::temp_dir();
    let verbs: Vec<String> = done(&here, "--help")
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    let helps: BTreeMap<&str, String> = verbs.iter().map(|verb| (verb.as_str(), done(&here, &format!("{verb} --help")))).collect();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (path, text) in pages() {
        for line in lines(&text) {
            // What is quoted is another program's.
            let own: String = line.split('\'').step_by(2).collect();
            let mut words = own.split_whitespace();
            let verb = words.next().unwrap_or_default().trim_end_matches([',', '.', ';']);
            let Some(help) = helps.get(verb) else {
                if verb.starts_with(|c: char| c.is_ascii_lowercase()) {
                    wrong.push(format!("{}: sigmabar {line}: no verb {verb}", path.display()));
                }
                continue;
            };
            seen += 1;
            let flags =
                words.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap().trim_end_matches([',', ']', '…']));
            let unknown = flags.filter(|flag| !help.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).any(|word| word == *flag));
            wrong.extend(unknown.map(|flag| format!("{}: sigmabar {line}: no flag {flag}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} command lines were found");
}

/// Three files of a few rows, in a folder and beside it.
fn parts(folder: &Path) {
    fs::create_dir(folder.join("data")).unwrap();
    for part in 0..3 {
        let name = format!("part-{part}.parquet");
        let names = ["a", "b", "y"].map(str::to_owned);
        let mut out = ParquetWriter::of_numbers(File::create(folder.join(&name)).unwrap(), &names).unwrap();
        let a: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 40 + part) / 40.0).collect();
        let b: Vec<f64> = (0..40).map(|i| f64::from(i * 11 % 40 - part) / 40.0).collect();
        let y: Vec<f64> = a.iter().zip(&b).enumerate().map(|(i, (a, b))| (6.0 * a).sin() + b + 0.1 * (i as f64 * 1.7).cos()).collect();
        out.write_numbers(&[a, b, y]).unwrap();
        out.finish().unwrap();
        fs::copy(folder.join(&name), folder.join("data").join(&name)).unwrap();
    }
}

#[test]
fn lines_for_many_files_run_as_the_book_has_them() {
    let page = page("docs/rows.md");
    let shown: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("    sigmabar ")?.split(" #").next())
        .filter(|line| !line.contains('$'))
        .map(|line| line.replace('\'', "").trim().to_owned())
        .collect();
    assert_eq!(shown.len(), 6, "{shown:#?}");
    for lines in [&shown[..3], &shown[3..]] {
        let folder = tempfile::tempdir().unwrap();
        parts(folder.path());
        for line in lines {
            // One line stands for all parts.
            let all = if line.contains("--part 3/16") { 1..=16 } else { 3..=3 };
            for part in all {
                done(folder.path(), &line.replace("3/16", &format!("{part}/16")).replace("3.sba", &format!("{part}.sba")));
            }
        }
        assert!(folder.path().join("model.sbm").exists(), "{lines:?}");
    }
}

#[test]
fn study_files_of_the_book_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let page = page("docs/studies.md");
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    fs::write(folder.path().join("yield.toml"), blocks[0]).unwrap();
    let asked = done(folder.path(), "ask yield.toml --count 2");
    assert!(asked.contains("solvent"), "{asked}");
    let counts = "[parameters.threads]\ntype = \"int\"\nlow = 1\nhigh = 4\n[parameters.cache]\ntype = \"int\"\nlow = 1\nhigh = 4\n";
    fs::write(folder.path().join("tuning.toml"), format!("budget = 4\nbatches = 1\n{counts}{}", blocks[1])).unwrap();
    fs::write(folder.path().join("bench.sh"), "#!/bin/sh\necho starting\necho $(($1 + $2))\n").unwrap();
    std::process::Command::new("chmod").args(["+x", "bench.sh"]).current_dir(folder.path()).status().unwrap();
    let ran = sigmabar(folder.path(), "run tuning.toml --no-report");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
