//! What several tests of the command look at.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

/// What `sigmabar VERB --help` says, by its verb.
static HELP: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

fn help(verb: &str) -> String {
    let mut known = HELP.lock().unwrap();
    let ask = || {
        let said = Command::new(env!("CARGO_BIN_EXE_sigmabar")).args([verb, "--help"]).output().unwrap();
        if said.status.success() { String::from_utf8_lossy(&said.stdout).into_owned() } else { String::new() }
    };
    known.entry(verb.to_owned()).or_insert_with(ask).clone()
}

/// Whoever is refused is sent to no option that there is not: each one in the words belongs to the verb that was typed, or to one that the words name.
pub fn options_exist(verb: &str, words: &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let named = words.split(|c: char| !is_word(c)).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    let verbs: Vec<&str> = [verb].into_iter().chain(named.clone().filter(|word| !word.starts_with('-') && word.len() > 2)).collect();
    for option in named.filter(|word| word.starts_with("--") && word.len() > 2) {
        let has = |verb: &&str| help(verb).split(|c: char| !is_word(c)).any(|word| word == option);
        assert!(has(&verb) || verbs.iter().any(has), "{verb} has no {option}: {words}");
    }
}

/// Runs the command in a directory; what it says, after it has ended with this code. Options that a refusal names exist.
pub fn ends(directory: &Path, arguments: &[&str], code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sigmabar"));
    command.args(arguments).current_dir(directory).env("SIGMABAR_NUM_THREADS", "1").env("NO_COLOR", "1");
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    if code != 0 {
        options_exist(arguments[0], &words);
    }
    words
}
