//! Starting programs in a process group of their own, so that everything they started ends with them.

use crate::{Error, Result};
use process_wrap::std::{ChildWrapper, CommandWrap};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
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

/// The last lines of an output that are not blank, while it is still being read: a program in the background may hold it open for ever.
pub(super) struct LastLines {
    kept: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl LastLines {
    /// Reads an output to its end in a thread.
    pub fn of(output: Option<impl Read + Send + 'static>, count: usize) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&kept);
        let reader = std::thread::spawn(move || {
            let Some(output) = output else { return };
            let mut reader = BufReader::new(output);
            while let Some(line) = read_line(&mut reader) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if !line.is_empty() {
                    let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push_back(line);
                    if kept.len() > count {
                        kept.pop_front();
                    }
                }
            }
        });
        Self { kept, reader }
    }

    /// The error output's last lines.
    pub fn of_errors(output: Option<impl Read + Send + 'static>) -> Self {
        Self::of(output, KEPT_LINES)
    }

    /// Whether the output has ended.
    pub fn is_finished(&self) -> bool {
        self.reader.is_finished()
    }

    /// What was read so far.
    pub fn lines(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
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
