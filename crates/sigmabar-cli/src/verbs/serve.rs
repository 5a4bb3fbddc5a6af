//! `sigmabar serve STUDY|DIRECTORY`: a live page, and work for workers on other machines.

use crate::Outcome;
use crate::args::Global;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::interrupt;
use crate::quantity::counted;
use crate::which_study::{WhichStudy, word};
use sigmabar_serve::{Limits, Options, Source, Tokens, is_usable};
use sigmabar_study::Study;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A study (.toml, .db), or a directory whose .db files are served; this directory unless given
    #[arg(value_name = "STUDY|DIRECTORY")]
    what: Option<PathBuf>,
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8713)]
    port: u16,
    /// The address to listen on; others than this machine reach 0.0.0.0, and there is no encryption: put a proxy or ssh in front
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Another name, with its port, under which the server may be called, such as that of a proxy
    #[arg(long, value_name = "NAME:PORT")]
    allow_host: Vec<String>,
    /// Print a second address whose token may only look
    #[arg(long)]
    read_token: bool,
    /// Requests a second from one address that are answered with the token, and a tenth of that with the one that may only look; more are told to wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().rate, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// The token, in a file; .sigmabar-token beside the studies unless named, made at the first time
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let source = source(arguments, global, console)?;
    let tokens = tokens(arguments, &source, console)?;
    if !arguments.host.is_loopback() {
        console.warn("whoever listens on the network reads what goes over it: use ssh -L, or a proxy that speaks https");
    }
    let stop = interrupt::listen(console);
    let options = Options {
        source: source.clone(),
        address: SocketAddr::new(arguments.host, arguments.port),
        allowed_hosts: arguments.allow_host.clone(),
        tokens: tokens.clone(),
        limits: Limits { rate: arguments.rate, ..Limits::default() },
    };
    let evaluated = evaluated(&source);
    let ready = |address: SocketAddr| announce(address, &tokens, arguments.read_token, &evaluated, console);
    sigmabar_serve::serve(options, &stop, ready)?;
    console.say("stopped: everything told is kept");
    Ok(Ending::Done)
}

fn source(arguments: &Arguments, global: &Global, console: &Console) -> Outcome<Source> {
    let what = arguments.what.clone().unwrap_or_else(|| PathBuf::from("."));
    if what.is_dir() {
        let found = std::fs::read_dir(&what).map_err(Failure::file(&what, "look into"))?;
        let count = found.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "db")).count();
        console.say(format_args!("{} in {}", counted(count, "study file"), what.display()));
        return Ok(Source::Directory(what));
    }
    let place = WhichStudy::find(Some(&what), None)?;
    if place.spec.is_some() {
        let (study, begun) = place.open_or_begin(global.seed)?;
        if begun {
            console.say(format_args!("begun: {}", study.file().display()));
        }
    }
    Ok(Source::File(place.file))
}

fn tokens(arguments: &Arguments, source: &Source, console: &Console) -> Outcome<Tokens> {
    if let Some(path) = &arguments.token_file {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path, "read"))?;
        if !is_usable(text.trim()) {
            let what = format!("{} does not hold a token", path.display());
            return Err(Failure::usage(what, "it has 16 to 200 letters, digits, hyphens and underscores"));
        }
        return Ok(Tokens::new(text.trim()));
    }
    let directory = source.directory();
    let (tokens, path) = Tokens::kept_in(&directory).map_err(Failure::file(&directory, "keep a token in"))?;
    console.detail(format_args!("the token is kept in {}", path.display()));
    Ok(tokens)
}

/// What a worker has to be told about how settings are evaluated: nothing where that is built in, else a command with the study's own parameters.
fn evaluated(source: &Source) -> String {
    let command = |words: &str| format!(" --command {}", word(words));
    // Of several studies each has parameters of its own.
    let only = match &source.files()[..] {
        [file] => Study::open(file, None).ok(),
        _ => None,
    };
    let Some(study) = only else { return command("your program {parameter}") };
    let spec = study.spec();
    if spec.has_objective() && !spec.runs_a_program() {
        return String::new();
    }
    let names: Vec<String> = spec.space().parameters().iter().map(|parameter| format!("{{{}}}", parameter.name)).collect();
    command(spec.command().unwrap_or(&format!("your program {}", names.join(" "))))
}

/// The address goes to standard output: a script may want it.
fn announce(address: SocketAddr, tokens: &Tokens, read_token: bool, evaluated: &str, console: &Console) {
    let own = if address.ip().is_unspecified() { SocketAddr::new([127, 0, 0, 1].into(), address.port()) } else { address };
    // A closed pipe is nobody's fault, and no reason to stop.
    drop(console.answer(format_args!("http://{own}/?token={}", tokens.write())));
    if read_token {
        drop(console.answer(format_args!("http://{own}/?token={}  (only to look)", tokens.read())));
    }
    // Other users of a machine see the arguments of a process, and not what is set for it.
    console.next(format_args!("SIGMABAR_TOKEN={} sigmabar worker --server http://{own}{evaluated}", tokens.write()));
    console.say("Ctrl-C stops the server; the studies stay as they are");
}
