//! The stories of the command, as they look on the screen. `TRYCMD=overwrite cargo test -p sigmabar-cli --test transcripts` writes them anew.

#[test]
fn stories() {
    let cases = trycmd::TestCases::new();
    // What people do between two commands: filling in a plate, cutting a file.
    cases.register_bin("sh", std::path::Path::new("/bin/sh"));
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_sigmabar")).parent().unwrap();
    cases.env("PATH", format!("{}:{}", directory.display(), std::env::var("PATH").unwrap()));
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
