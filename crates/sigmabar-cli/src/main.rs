//! The `sigmabar` command.

fn main() {
    std::process::exit(sigmabar_cli::run(std::env::args_os()));
}
