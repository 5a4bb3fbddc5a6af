//! Starting programs in a process group of their own, so that everything they started ends with them.

use crate::{Error, Result};
use process_wrap::std::{ChildWrapper, CommandWrap};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread::JoinHandle;

/// Of a line longer than this only the end is kept.
const LONGEST_LINE: usize = 1 << 16;
/// Lines of the error output that are kept for the reason of a failure.
const KEPT_LINES: usize = 3;

/// Starts a program in its own process group with pipes for its outputs.
pub(super) fn start(
    program: &str,
    arguments: &[&str],
    directory: Option<&str>,
    environment: &[(String, String)],
    input: Stdio,
) -> Result<Box<dyn ChildWrapper>> {
    let mut command = CommandWrap::with_new(program, |command| {
        command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(environment.iter().map(|(key, value)| (key, value)));
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
    });
    #[cfg(unix)]
    command.wrap(process_wrap::std::ProcessGroup::leader());
    command.spawn().map_err(|source| Error::Spawn { program: program.to_owned(), source })
}

/// Kills the program and everything it started, and collects it.
pub(super) fn kill(child: &mut dyn ChildWrapper) {
    // It may have ended meanwhile, which is what was wanted.
    let _ = child.start_kill();
    let _ = child.wait();
}

/// Reads an output to its end in a thread, keeping the last lines that are not blank.
pub(super) fn last_lines(output: Option<impl Read + Send + 'static>, count: usize) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut kept = VecDeque::new();
        let Some(output) = output else { return Vec::new() };
        let mut reader = BufReader::new(output);
        while let Some(line) = read_line(&mut reader) {
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            if !line.is_empty() {
                kept.push_back(line);
                if kept.len() > count {
                    kept.pop_front();
                }
            }
        }
        kept.into()
    })
}

/// The error output's last lines.
pub(super) fn last_errors(output: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<String>> {
    last_lines(output, KEPT_LINES)
}

/// The next line without its end, cut to a bounded length; `None` at the end.
pub(super) fn read_line(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        if available.is_empty() {
            return if line.is_empty() { None } else { Some(line) };
        }
        let (taken, is_whole) = match available.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (available.len(), false),
        };
        line.extend_from_slice(&available[..taken]);
        reader.consume(taken);
        if is_whole {
            line.pop();
            return Some(line);
        }
        if line.len() > LONGEST_LINE {
            line.drain(..line.len() - LONGEST_LINE);
        }
    }
}
