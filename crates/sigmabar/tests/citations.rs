//! Words that point somewhere: every citation of the algorithm notes resolves in `docs/notes`, every link between documents leads to something, every
//! test that a document names exists, and nothing names a path outside the repository.

use crate::citations_support;

use citations_support::reference::{bare_corrections, citations};
use citations_support::tree::{File, anchors, files, root};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn notes(files: &[File]) -> BTreeSet<String> {
    files.iter().filter(|file| file.path.starts_with("docs/notes")).flat_map(|file| anchors(&file.text)).collect()
}

/// One line for each citation of `file` that has no anchor, with how many citations were seen.
fn unresolved(file: &File, known: &BTreeSet<String>) -> (Vec<String>, usize) {
    let mut seen = citations(&file.text);
    if file.path.starts_with("crates/sigmabar") {
        seen.extend(bare_corrections(&file.text));
    }
    let missing = |anchor: &&String| !known.contains(*anchor);
    let lines = seen.iter().flat_map(|c| c.anchors.iter().filter(missing).map(|a| format!("{}:{}: {a}", file.path.display(), c.line)));
    (lines.collect(), seen.len())
}

#[test]
fn every_citation_of_the_notes_resolves() {
    let files = files();
    let known = notes(&files);
    let (lost, seen): (Vec<_>, Vec<_>) = files.iter().map(|file| unresolved(file, &known)).unzip();
    let lost = lost.concat();
    assert!(lost.is_empty(), "citations without an anchor in docs/notes:\n{}", lost.join("\n"));
    assert!(seen.iter().sum::<usize>() > 150, "the scanner saw only {} citations", seen.iter().sum::<usize>());
}

#[test]
fn citations_are_read_in_all_their_forms() {
    let read = |text: &str| citations(text).into_iter().flat_map(|citation| citation.anchors).collect::<Vec<_>>();
    assert_eq!(read("the band (algorithm notes 8.5.1)."), ["n8-5-1"]);
    assert_eq!(read("Max-variance (algorithm notes 0.2, 0.5 and 9.5; the paper's Section 4.1)"), ["n0-2", "n0-5", "n9-5"]);
    assert_eq!(read("cells (notes 9.3–9.6)"), ["n9-3", "n9-4", "n9-5", "n9-6", "n9-6"]);
    assert_eq!(read("the rules (algorithm notes 12 P4, P7)"), ["n12", "p4", "p7"]);
    assert_eq!(read("/// (correction E1/E2, algorithm\n    /// notes 0.4): sharp"), ["e1", "e2", "n0-4"]);
    assert_eq!(read("//! corrections E14–E16 are proved"), ["e14", "e15", "e16", "e16"]);
    assert_eq!(read("Algorithm notes 6.2 (b): weights"), ["n6-2"]);
    assert_eq!(read("algorithm notes 1, 2, 4 and 8.4."), ["n1", "n2", "n4", "n8-4"]);
    assert_eq!(read("Invariant 10 and E8: exact"), ["n11-10", "n11-8"]);
    assert!(read("kept: 2 notes 3 wells; a correction of 5 %").is_empty());
    assert_eq!(bare_corrections("rests on E1, E2 and\n`E4`; 1E10 is a number").iter().map(|c| c.line).collect::<Vec<_>>(), [1, 1, 2]);
}

/// The scanner can fail: made-up citations are caught, one of them inside a range whose ends exist.
#[test]
fn made_up_citations_are_caught() {
    let known: BTreeSet<String> = ["n8-5", "n8-7", "e11"].map(str::to_owned).into();
    let text = "/// As in algorithm notes 8.5.9.\n/// Between algorithm notes 8.5–8.7.\n/// By correction E11, not E17.".to_owned();
    let file = File { path: "crates/sigmabar/src/made_up.rs".into(), text };
    let at = |line: usize, anchor: &str| format!("crates/sigmabar/src/made_up.rs:{line}: {anchor}");
    assert_eq!(unresolved(&file, &known).0, [at(1, "n8-5-9"), at(2, "n8-6"), at(3, "e17")]);
}

/// A document without its code and formulas, where brackets mean something else.
fn prose(text: &str) -> String {
    let words: Vec<&str> = text.split('`').step_by(2).collect();
    words.join("…").split('$').step_by(2).collect::<Vec<_>>().join("…")
}

/// What stands in `](…)` and `]: …`.
fn targets(prose: &str) -> Vec<&str> {
    let inline = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let defined = prose.lines().filter_map(|line| line.strip_prefix('[')?.split_once(']')?.1.strip_prefix(": ").map(str::trim));
    inline.chain(defined).filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// `path` without `..`; `None` where it leaves the repository.
fn inside(directory: &Path, path: &str) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir => found.pop().then_some(())?,
            Component::Normal(name) => found.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(found)
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is("md")) {
        for target in targets(&prose(&file.text)) {
            let (path, id) = target.split_once('#').unwrap_or((target, ""));
            let linked = if path.is_empty() { Some(file.path.clone()) } else { inside(file.directory(), path) };
            let exists = linked.as_ref().is_some_and(|path| root().join(path).exists());
            let has_id = || {
                linked.as_ref().is_some_and(|path| anchors(&std::fs::read_to_string(root().join(path)).unwrap_or_default()).contains(id))
            };
            if !exists || !id.is_empty() && !has_id() {
                broken.push(format!("{}: {target}", file.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// Cross-references of the notes, `[8.4]`, are links only where the file defines them.
#[test]
fn cross_references_of_the_notes_are_defined() {
    let is_reference = |text: &str| {
        let numbers = text.trim_start_matches(['E', 'P']);
        numbers.starts_with(|c: char| c.is_ascii_digit()) && numbers.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let mut undefined = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("docs/notes")) {
        for piece in prose(&file.text).split('[').skip(1) {
            let Some((name, rest)) = piece.split_once(']') else { continue };
            if is_reference(name) && !rest.starts_with(['(', ':']) && !file.text.contains(&format!("\n[{name}]: ")) {
                undefined.push(format!("{}: [{name}]", file.path.display()));
            }
        }
    }
    assert!(undefined.is_empty(), "cross-references without a definition at the end of the file:\n{}", undefined.join("\n"));
}

/// `file::function` in a document is a test of this crate, and stands for evidence: it must exist.
#[test]
fn tests_named_in_documents_exist() {
    let files = files();
    let mut named = 0;
    for file in files.iter().filter(|file| file.is("md")) {
        for code in file.text.split('`').skip(1).step_by(2) {
            let Some((module, function)) = code.split_once("::") else { continue };
            let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_name(module) && is_name(function) {
                let source = files.iter().find(|file| file.path == Path::new("crates/sigmabar/tests").join(module).with_extension("rs"));
                assert!(
                    source.is_some_and(|source| source.text.contains(&format!("fn {function}("))),
                    "{}: no test `{code}`",
                    file.path.display()
                );
                named += 1;
            }
        }
    }
    assert!(named > 20, "only {named} tests are named");
}

/// The first path of a line that leaves the repository: an absolute one that is not part of the operating system, or one that climbs too far.
fn outside<'a>(file: &File, line: &'a str) -> Option<&'a str> {
    const SYSTEM: [&str; 6] = ["bin", "dev", "etc", "proc", "sys", "usr"];
    // What looks like a path there is an address of the server.
    let serves = file.path.starts_with("crates/sigmabar-serve")
        || file.path.ends_with("docs/serve.md")
        || ["_remote.py", "test_remote.py"].iter().any(|name| file.path.ends_with(name));
    let quoted = line.split(['"', '\'', '`', '(', ')', ' ', '=', ',', '<', '>']);
    quoted.into_iter().find(|word| {
        let is_absolute = word.strip_prefix('/').and_then(|rest| rest.split_once('/')).is_some_and(|(first, _)| {
            !first.is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric()) && !SYSTEM.contains(&first) && !serves
        });
        let from = if line.contains("CARGO_MANIFEST_DIR") { file.path.iter().take(2).collect() } else { file.directory().to_owned() };
        is_absolute || word.starts_with("~/") || word.starts_with("../") && inside(&from, word).is_none()
    })
}

#[test]
fn no_file_names_a_path_outside_the_repository() {
    let files = files();
    let found = files
        .iter()
        .flat_map(|file| file.text.lines().filter_map(move |line| Some(format!("{}: {}", file.path.display(), outside(file, line)?))));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "paths outside the repository:\n{}", found.join("\n"));
    let example = File { path: "crates/sigmabar/examples/made_up.rs".into(), text: String::new() };
    for line in [
        "File::open(\"/data/set/a.csv\")",
        "Path::new(env!(\"CARGO_MANIFEST_DIR\")).join(\"../../../data\")",
        "include_str!(\"../../../../data\")",
        "`~/data`",
    ] {
        assert!(outside(&example, line).is_some(), "{line}");
    }
    for line in [
        "include_str!(\"../../../katex.html\")",
        "join(\"../../docs\") // CARGO_MANIFEST_DIR",
        "\"/proc/self/stat\"",
        "a/b/c",
        "// R/τ / (1 + r)",
    ] {
        assert!(outside(&example, line).is_none(), "{line}");
    }
}
