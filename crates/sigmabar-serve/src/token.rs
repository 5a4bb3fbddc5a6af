//! Tokens: one that may do everything, and one made from it that may only look.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look.
    Read,
    /// Look, ask, tell and change.
    Write,
}

/// The tokens of a server.
#[derive(Clone)]
pub struct Tokens {
    write: String,
    read: String,
    /// What a browser keeps instead of each of them.
    cookies: [String; 2],
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(..)")
    }
}

/// Beside the studies, readable by its owner only, so that workers go on after the server was started again.
const FILE: &str = ".sigmabar-token";
/// Shorter ones could be guessed.
const SHORTEST: usize = 16;

impl Tokens {
    /// The tokens of this one; the one that only reads is derived from it and does not lead back to it.
    #[must_use]
    pub fn new(token: &str) -> Self {
        let derived = |purpose: &str, from: &str| hex(&blake3::derive_key(purpose, from.as_bytes())[..16]);
        let read = derived("sigmabar serve 2026 read-only token", token);
        let cookie = |token: &str| derived("sigmabar serve 2026 cookie", token);
        Self { cookies: [cookie(token), cookie(&read)], write: token.to_owned(), read }
    }

    /// The tokens kept in a directory, made at the first time.
    ///
    /// # Errors
    /// What the file system says.
    pub fn kept_in(directory: &Path) -> io::Result<(Self, PathBuf)> {
        let path = directory.join(FILE);
        let mut text = String::new();
        match OpenOptions::new().read(true).open(&path) {
            Ok(mut file) => file.read_to_string(&mut text).map(drop)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                text = random()?;
                write_secret(&path, &text)?;
            }
            Err(error) => return Err(error),
        }
        let token = text.trim();
        if !is_usable(token) {
            let wrong = format!("{} does not hold a token: delete it, and a new one is made", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
        }
        Ok((Self::new(token), path))
    }

    /// The one that may do everything.
    #[must_use]
    pub fn write(&self) -> &str {
        &self.write
    }

    /// The one that may only look.
    #[must_use]
    pub fn read(&self) -> &str {
        &self.read
    }

    /// What a token may do; compared in a time that does not depend on where it differs.
    #[must_use]
    pub fn access(&self, given: &str) -> Option<Access> {
        which(given, [&self.write, &self.read])
    }

    /// What a browser may do by its cookie.
    pub(crate) fn access_by_cookie(&self, given: &str) -> Option<Access> {
        which(given, [&self.cookies[0], &self.cookies[1]])
    }

    /// The cookie of whoever has the token of this access: it opens this server's pages, and is no token.
    pub(crate) fn cookie(&self, access: Access) -> &str {
        &self.cookies[usize::from(access == Access::Read)]
    }
}

fn which(given: &str, [write, read]: [&String; 2]) -> Option<Access> {
    let is = |secret: &String| bool::from(secret.as_bytes().ct_eq(given.as_bytes()));
    match (is(write), is(read)) {
        (true, _) => Some(Access::Write),
        (false, true) => Some(Access::Read),
        (false, false) => None,
    }
}

/// Whether a token can stand in a header, a cookie and an address as it is.
#[must_use]
pub fn is_usable(token: &str) -> bool {
    token.len() >= SHORTEST && token.len() <= 200 && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_its_owner_and_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let (first, path) = Tokens::kept_in(directory.path()).unwrap();
        assert_eq!(Tokens::kept_in(directory.path()).unwrap().0.write(), first.write());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        std::fs::write(&path, "short\n").unwrap();
        assert!(Tokens::kept_in(directory.path()).unwrap_err().to_string().contains("delete it"));
    }

    #[test]
    fn the_reading_token_only_reads() {
        let tokens = Tokens::new("0123456789abcdef0123");
        assert_eq!(tokens.access("0123456789abcdef0123"), Some(Access::Write));
        assert_eq!(tokens.access(tokens.read()), Some(Access::Read));
        for wrong in ["", "0123456789abcdef012", "0123456789abcdef01234", "0123456789abcdef0124"] {
            assert_eq!(tokens.access(wrong), None, "{wrong}");
        }
        for access in [Access::Write, Access::Read] {
            let cookie = tokens.cookie(access);
            assert_eq!((tokens.access_by_cookie(cookie), tokens.access(cookie)), (Some(access), None), "a cookie is no token");
        }
        assert_eq!((tokens.access_by_cookie(tokens.write()), tokens.access_by_cookie(tokens.read())), (None, None));
        assert!(!is_usable("short") && !is_usable("with blank in it 0123") && is_usable(tokens.read()));
    }
}
