//! Names of workers that tell whether the process behind them is still there.

use std::path::Path;

/// How Linux calls the numbering of processes that is nobody's container.
const FIRST_SPACE: &str = "pid:[4026531836]";

/// A worker of this machine: host, process and slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerName {
    host: String,
    process: u32,
    /// When the process began, in the kernel's own count: numbers of processes are used again.
    began: String,
    slot: usize,
}

impl WorkerName {
    /// This process.
    pub fn here(slot: usize) -> Self {
        let process = std::process::id();
        Self { host: host(), process, began: began(process).unwrap_or_default(), slot }
    }

    /// Whether this name belongs to a process of this machine that has ended. Names of another form or machine never do: their leases run out.
    pub fn has_ended(name: &str) -> bool {
        let mut parts = name.rsplitn(4, ':');
        let (Some(_slot), Some(start), Some(process), Some(machine)) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        let Ok(process) = process.parse::<u32>() else { return false };
        machine == host() && !start.is_empty() && Path::new("/proc/self/stat").exists() && began(process).as_deref() != Some(start)
    }
}

impl std::fmt::Display for WorkerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.host, self.process, self.began, self.slot)
    }
}

/// The machine, and the container where process numbers are its own: elsewhere they would name other processes.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let name = name.map_or_else(|_| "local".to_owned(), |name| name.trim().to_owned());
    match std::fs::read_link("/proc/self/ns/pid").ok().and_then(|link| link.to_str().map(str::to_owned)) {
        Some(space) if space != FIRST_SPACE => format!("{name}/{}", space.trim_start_matches("pid:[").trim_end_matches(']')),
        _ => name,
    }
}

/// The start time of a process, the 22nd field of its status line; the second may hold blanks, but ends with the last bracket. A process that is dead and
/// not yet collected by its parent counts as ended.
fn began(process: u32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_told_from_one_that_lives() {
        assert!(!WorkerName::has_ended(&WorkerName::here(3).to_string()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let name = WorkerName { process: child.id(), began: began(child.id()).unwrap(), ..WorkerName::here(0) }.to_string();
        assert!(!WorkerName::has_ended(&name));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(WorkerName::has_ended(&name));
        for stranger in ["bench", "other-host:1:2:3", "", "a:b:c:d"] {
            assert!(!WorkerName::has_ended(stranger), "{stranger}");
        }
    }
}
