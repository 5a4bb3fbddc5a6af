//! Around SQLite's opening of a file: does it lie where locks work, and may it be written?
//!
//! The file itself is never opened here: closing a second handle of it would undo the locks that SQLite holds for this process.

use crate::StoreError;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file cannot be opened, in other words than SQLite's where the system knows better.
pub(super) fn explain(file: &Path, problem: StoreError) -> StoreError {
    if !matches!(problem, StoreError::CannotOpen { .. } | StoreError::ReadOnly) {
        return problem;
    }
    let directory = directory(file);
    if !directory.is_dir() {
        return StoreError::CannotOpen { detail: format!("there is no directory {}", directory.display()) };
    }
    // The log lies beside the file, so the directory must be writable as well.
    let probe = directory.join(format!(".sigmabar-{}", std::process::id()));
    let is_refused = |kind: ErrorKind| matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
    let refusal = match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(&probe);
            return problem;
        }
        Err(error) => error,
    };
    if is_refused(refusal.kind()) { StoreError::ReadOnly } else { problem }
}

/// Whether everything is in the file itself, and nothing in a log beside it.
pub(super) fn is_complete(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    file.is_file() && std::fs::metadata(PathBuf::from(log)).map_or(true, |metadata| metadata.len() == 0)
}

/// The file as one that does not change, so that SQLite reads it without a log and without locks.
pub(super) fn fixed_uri(file: &Path) -> String {
    let mut path = String::new();
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => path.push(char::from(*byte)),
            other => path.push_str(&format!("%{other:02x}")),
        }
    }
    format!("file:{path}?immutable=1")
}

/// Where a file was opened, and which file of which disk stood there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Absolute: a process may go to another directory.
    path: PathBuf,
    found: (u64, u64),
}

impl Place {
    /// What stands at this name now; none where there is nothing to compare.
    pub fn of(file: &Path) -> Option<Self> {
        let path = std::path::absolute(file).ok()?;
        let found = found(&path)?;
        Some(Self { path, found })
    }

    /// Whether the same file stands there.
    pub fn is_kept(&self) -> bool {
        found(&self.path) == Some(self.found)
    }
}

#[cfg(unix)]
fn found(file: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
fn found(_file: &Path) -> Option<(u64, u64)> {
    None
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// SQLite's write-ahead log needs memory shared between processes, which network file systems do not give.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network(file: &Path) -> Result<(), StoreError> {
    let Ok(directory) = directory(file).canonicalize() else { return Ok(()) };
    // Each line: number, parent, device, root, mount point, options, …, "-", type, source, options.
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return Ok(()) };
    let mut nearest = (0, "");
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (left.split(' ').nth(4), right.split(' ').next()) else { continue };
        let point = point.replace("\\040", " ");
        if directory.starts_with(&point) && point.len() >= nearest.0 {
            nearest = (point.len(), kind);
        }
    }
    let networks = ["nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs", "beegfs", "gpfs"];
    match networks.into_iter().find(|kind| *kind == nearest.1) {
        Some(kind) => Err(StoreError::NetworkFileSystem { kind }),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network(_file: &Path) -> Result<(), StoreError> {
    Ok(())
}
