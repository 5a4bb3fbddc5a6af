//! The stories of the command, as they look on the screen. `TRYCMD=overwrite cargo nextest run --workspace transcripts::` writes them anew.

#[test]
fn stories() {
    let cases = trycmd::TestCases::new();
    // What people do between two commands: filling in a plate, cutting a file.
    cases.register_bin("sh", std::path::Path::new("/bin/sh"));
    // The command of this build, or the one that a release ships.
    let command = std::env::var("SIGMABAR_COMMAND").unwrap_or_else(|_| env!("CARGO_BIN_EXE_sigmabar").to_owned());
    let command = std::path::Path::new(&command);
    cases.register_bin("sigmabar", command);
    cases.env("PATH", format!("{}:{}", command.parent().unwrap().display(), std::env::var("PATH").unwrap()));
    cases.env("SIGMABAR_NUM_THREADS", "2");
    cases.env("NO_COLOR", "1");
    cases.case("tests/cmd/*.trycmd");
    // The pages of the book that show commands.
    cases.case("../../docs/start/first-answer.md");
    cases.case("../../docs/tutorials/plates.md");
    cases.case("../../docs/tutorials/service.md");
    cases.case("../../docs/tutorials/table.md");
}

/// The demo of `sigmabar new --demo` is the example of the README.
#[test]
fn the_demo_is_the_example() {
    let demo = include_str!("../src/verbs/hills.toml");
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hills.toml");
    assert_eq!(std::fs::read_to_string(example).unwrap(), demo);
}

/// The page with every verb and option is what the command itself says. `UPDATE_REFERENCE=1` writes it anew.
#[test]
fn the_reference_is_what_the_command_says() {
    let help = |arguments: &[&str]| {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_sigmabar")).args(arguments).arg("--help").output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    let all = help(&[]);
    let listed = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut page = format!("# Every verb and option\n\nAs `sigmabar VERB --help` prints it.\n\n```text\n{all}```\n");
    for verb in listed.filter_map(|line| line.split_whitespace().next()) {
        page += &format!("\n## {verb}\n\n```text\n{}```\n", help(&[verb]));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/verbs.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "{} is not what the command says: run this test with UPDATE_REFERENCE=1", path.display());
}
