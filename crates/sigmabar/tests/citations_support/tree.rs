//! The files of the repository, as tests over its text read them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A text file: where it is, seen from the root of the repository, and what it says.
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

impl File {
    pub fn is(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }

    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository exists")
}

/// Every source, document and setting, without what is built or hidden. The tests of citations are left out: they hold made-up ones.
pub fn files() -> Vec<File> {
    let (root, mut found) = (root(), Vec::new());
    collect(&root, &root, &mut found);
    assert!(found.len() > 300, "the walk found only {} files", found.len());
    found
}

fn collect(root: &Path, directory: &Path, found: &mut Vec<File>) {
    for entry in directory.read_dir().expect("the repository can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            let is_ours = !name.starts_with('.') || matches!(name.as_str(), ".github" | ".cargo" | ".ci");
            if is_ours && !matches!(name.as_str(), "target" | "node_modules" | "__pycache__" | "citations_support") {
                collect(root, &path, found);
            }
        } else if name != "citations.rs"
            && path.extension().is_some_and(|e| ["rs", "py", "pyi", "md", "toml"].iter().any(|known| e == *known))
        {
            let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
            found.push(File { path: path.strip_prefix(root).expect("inside the root").to_owned(), text });
        }
    }
}

/// The ids of a document: `<a id="…"></a>`.
pub fn anchors(text: &str) -> BTreeSet<String> {
    text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}
