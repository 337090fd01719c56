//! A file that appears whole or not at all.
//!
//! It is written under another name beside its own, and gets its name when it is whole. A link is followed: the file
//! that it leads to is replaced, and the link stays. A device, a FIFO or a socket is no file that could be replaced: it
//! is written into, as it comes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Links that lead to one another, at most, as the kernel has it.
const LINKS_MAX: usize = 40;

/// Where something is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is written to in the end.
    target: PathBuf,
    /// Its name until it is whole; none: it is written into.
    unfinished: Option<PathBuf>,
}

impl Place {
    /// The place that `path` leads to; `ending` is added to the name of what is not yet whole.
    ///
    /// # Errors
    /// When its links lead nowhere.
    pub fn of(path: &Path, ending: &str) -> io::Result<Place> {
        // Whatever /dev/stdout leads to is in the hands of others already.
        let is_stream = path.starts_with("/dev") || path.starts_with("/proc");
        if is_stream || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Ok(Place { target: path.to_owned(), unfinished: None });
        }
        let target = followed(path)?;
        let mut unfinished = target.clone().into_os_string();
        unfinished.push(ending);
        Ok(Place { target, unfinished: Some(unfinished.into()) })
    }

    /// Opens it, empty where it is a file.
    ///
    /// # Errors
    /// When the system does not let it be written.
    pub fn open(&self) -> io::Result<File> {
        match &self.unfinished {
            Some(unfinished) => File::create(unfinished),
            None => OpenOptions::new().append(true).open(&self.target),
        }
    }

    /// Gives it its name: it is whole.
    ///
    /// # Errors
    /// When it cannot have that name; then nothing of it is left.
    pub fn appear(&self) -> io::Result<()> {
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        fs::rename(unfinished, &self.target).inspect_err(|_| self.vanish())
    }

    /// Leaves nothing of what is not whole.
    pub fn vanish(&self) {
        if let Some(unfinished) = &self.unfinished {
            // One that is not there is what is wanted.
            let _ = fs::remove_file(unfinished);
        }
    }
}

/// Writes `bytes` so that a reader never sees half of them.
///
/// # Errors
/// When they cannot be written; the message names the file, and nothing of it is left.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let put = |place: &Place| {
        let written = place.open().and_then(|mut file| file.write_all(bytes));
        written.inspect_err(|_| place.vanish())?;
        place.appear()
    };
    Place::of(path, ".partial")
        .and_then(|place| put(&place))
        .map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
}

/// Where the links of `path` lead; the last of them may lead to a file that is not there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its links lead to one another"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        fs::write(at("there/old"), "old").unwrap();
        symlink("there/old", at("to-old")).unwrap();
        symlink("to-old", at("to-link")).unwrap();
        symlink("there/new", at("to-new")).unwrap();
        symlink("round", at("round")).unwrap();
        for (name, target) in [("to-link", "there/old"), ("to-new", "there/new"), ("plain", "plain")] {
            write(&at(name), name.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at(target)).unwrap(), name);
        }
        assert_eq!(fs::read_link(at("to-link")).unwrap(), Path::new("to-old"));
        assert!(write(&at("round"), b"x").unwrap_err().to_string().contains("round: its links"));
        assert!(write(&at("there"), b"x").is_err() && at("there").is_dir(), "a folder is no file");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "nothing unfinished is left");
    }

    #[test]
    fn what_is_no_file_is_written_into() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, link) = (folder.path().join("fifo"), folder.path().join("full"));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || {
                let mut text = String::new();
                File::open(fifo).unwrap().read_to_string(&mut text).map(|_| text)
            }
        });
        write(&fifo, b"through").unwrap();
        assert!(!fs::metadata(&fifo).unwrap().is_file(), "nothing took its place");
        assert_eq!(reader.join().unwrap().unwrap(), "through");
        symlink("/dev/full", &link).unwrap();
        let error = write(&link, b"x").unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && error.contains("No space left"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
