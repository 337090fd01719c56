//! Who serves, and what they can read.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::ServeError;

/// Who serves when the parent is root: no web server does as root.
const NAMES: [&str; 2] = ["www-data", "nobody"];

/// Who serves when the parent is root.
pub(super) struct Worker {
    pub(super) name: &'static str,
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Worker {
    /// Its user and its group.
    pub(super) fn ids(&self) -> (u32, u32) {
        (self.user, self.group)
    }

    /// Whether it may do this (1 enter, 4 read) with what `about` tells of.
    fn may(&self, about: &Metadata, what: u32) -> bool {
        let shift = match about {
            about if about.uid() == self.user => 6,
            about if about.gid() == self.group => 3,
            _ => 0,
        };
        about.mode() >> shift & what == what
    }
}

/// None where the parent is not root: then those who serve are who the parent is.
pub(super) fn worker() -> Result<Option<Worker>, ServeError> {
    let own = fs::metadata("/proc/self").map_err(ServeError::system("cannot read /proc"))?.uid();
    if own != 0 || is_alone() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(ServeError::system("cannot read /etc/passwd"))?;
    let found = NAMES.into_iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse);
        Some(Worker { name, user: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
    });
    let words = "no web server serves as root, and there is no user www-data or nobody that it could serve as";
    found.map(Some).ok_or_else(|| ServeError::Config(words.into()))
}

/// Whether this process is the root of a user namespace that has no other user: who serves is then its ordinary user, in a
/// namespace below it.
pub(super) fn is_alone() -> bool {
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let mut words = users.split_whitespace();
    words.next() == Some("0") && words.nth(1) == Some("1") && words.next().is_none()
}

/// The root in full, if those who serve can read what lies directly in it.
pub(super) fn readable(root: &Path, worker: Option<&Worker>) -> Result<PathBuf, ServeError> {
    let below = || format!("files below {}", root.display());
    let root = root.canonicalize().map_err(ServeError::system(below()))?;
    let about = root.metadata().map_err(ServeError::system(below()))?;
    if !about.is_dir() {
        return Err(ServeError::Config(format!("{}: not a directory", below())));
    }
    let Some(worker) = worker else { return Ok(root) };
    let closed = |path: &Path| {
        let (name, path) = (worker.name, path.display());
        Err(ServeError::Config(format!(
            "{}: they are served by {name}, who may not read {path}; use chmod o+rX, or another folder",
            below()
        )))
    };
    for folder in root.ancestors() {
        let about = folder.metadata().map_err(ServeError::system(below()))?;
        if !worker.may(&about, 0o1) {
            return closed(folder);
        }
    }
    for entry in fs::read_dir(&root).map_err(ServeError::system(below()))?.flatten() {
        // What vanishes meanwhile is not served either.
        let Ok(about) = entry.path().metadata() else { continue };
        if !worker.may(&about, if about.is_dir() { 0o1 } else { 0o4 }) {
            return closed(&entry.path());
        }
    }
    Ok(root)
}

/// A path that every configuration takes, between double quotes where it knows them.
pub(super) fn plain(path: &Path) -> Result<&str, ServeError> {
    let fit = |text: &&str| !text.contains(['\n', '\r', '"', '\\', '$', ';', '{', '}']);
    path.to_str().filter(fit).ok_or_else(|| {
        ServeError::Config(format!(
            "{}: web servers take no path with quotes, backslashes, $, ;, braces or line ends in it; use another folder",
            path.display()
        ))
    })
}

/// A program of this name: on the path, or where Debian keeps those of the system.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Lets those who serve read a file of ours, whatever our own habits (umask) are.
pub(super) fn make_readable(file: &Path) -> Result<(), ServeError> {
    fs::set_permissions(file, Permissions::from_mode(0o644))
        .map_err(ServeError::system(format!("cannot open {} to others", file.display())))
}
