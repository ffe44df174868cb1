//! Finds persona files in a folder. Blocking, bounded, and never out of the folder by a link.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    front,
    problem::{Code, ParseProblem, Place},
};

const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 2000;

/// A file and its content, at most one byte longer than is allowed.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
}

/// Every `*.md` below `root` in the order of names, a folder's own files before its subfolders, links last.
pub(super) fn scan(root: &Path, problems: &mut Vec<ParseProblem>) -> Vec<Found> {
    let real = match fs::canonicalize(root) {
        Ok(real) => real,
        Err(error) => {
            problems.push(unreadable(root, &error));
            return Vec::new();
        }
    };
    let mut walk = Walk { seen: HashSet::from([real.clone()]), real, entries: 0, files: Vec::new(), problems };
    walk.folder(root, 0);
    walk.files
}

struct Walk<'a> {
    real: PathBuf,
    /// Real paths, so that links make no circles and no doubles.
    seen: HashSet<PathBuf>,
    entries: usize,
    files: Vec<Found>,
    problems: &'a mut Vec<ParseProblem>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let listed = fs::read_dir(folder).and_then(|entries| {
            entries.take(MAX_ENTRIES + 1).map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
        });
        let mut paths = match listed {
            Ok(paths) => paths,
            Err(error) => return self.problems.push(unreadable(folder, &error)),
        };
        self.entries += paths.len();
        if self.entries > MAX_ENTRIES || depth > MAX_DEPTH {
            let message =
                format!("more than {MAX_ENTRIES} entries or {MAX_DEPTH} levels of folders; the rest is left out");
            let hint = "keep personas in a folder of their own";
            return self.problems.push(at(folder, Code::TooManyFiles, message, hint));
        }
        paths.retain(|path| !hidden(path));
        paths.sort_by_cached_key(|path| (path.is_symlink(), path.is_dir(), path.file_name().map(ToOwned::to_owned)));
        for path in paths {
            self.entry(&path, depth);
        }
    }

    fn entry(&mut self, path: &Path, depth: usize) {
        let wanted = is_markdown(path);
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if wanted => return self.problems.push(unreadable(path, &error)),
            Err(_) => return,
        };
        let is_dir = real.is_dir();
        if !is_dir && !wanted {
            return;
        }
        if !real.starts_with(&self.real) {
            let hint = "copy the file into the folder, or add its folder to `agents.external_dirs`";
            return self.problems.push(at(path, Code::LinkOutside, "the link leaves its folder", hint));
        }
        if !self.seen.insert(real) {
            return;
        }
        if is_dir {
            return self.folder(path, depth + 1);
        }
        match read(path) {
            Ok(bytes) if is_readme(path) && !bytes.starts_with(b"---") => {}
            Ok(bytes) => self.files.push(Found { path: path.display().to_string(), bytes }),
            Err(error) => self.problems.push(unreadable(path, &error)),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not an ordinary file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(front::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A README without front matter explains the folder; with it, it is a persona like any other.
fn is_readme(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"))
}

fn at(path: &Path, code: Code, message: impl Into<String>, hint: &str) -> ParseProblem {
    ParseProblem::new(&path.display().to_string(), Place::TOP, code, message, hint)
}

fn unreadable(path: &Path, error: &io::Error) -> ParseProblem {
    at(path, Code::Unreadable, format!("can't be read: {error}"), "check that it exists and who may read it")
}
