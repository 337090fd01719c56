//! The folder that files are below, and how they are opened so that no path leads out of it.
//!
//! The kernel sees to that (`openat2` with `RESOLVE_BENEATH`): no check can be overtaken by a link that is put there
//! meanwhile. Links that are relative and stay inside are followed; one that is absolute is not, even if it leads back inside.
//! Where a kernel or a sandbox does not have the call, paths are resolved first and compared with the root; then such links
//! are followed too, and who may write below the root could win a race. What a path leads to is looked at before it is opened
//! (`O_PATH`): to open a device may do something, and to open a FIFO waits for its other end.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};
use rustix::io::Errno;
use sojourn_part::clock;
use sojourn_stats::{Span, Time};

/// How long a thread keeps the root open.
const KEPT: Span = Span(1_000_000_000);

/// How often a look-up that a renaming has disturbed is made anew.
const TRIES: u32 = 8;

/// The root of the files.
pub(super) struct Root {
    path: PathBuf,
    /// The kernel keeps look-ups below it.
    is_guarded: bool,
}

/// What is at a path.
pub(super) enum Found {
    /// A file, open.
    File(Opened),
    /// A folder.
    Folder(OwnedFd),
}

/// A file that is open, and what it was then.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) stat: Stat,
}

/// This process has no descriptor left, or the system no room for one.
#[derive(Debug)]
pub(super) struct NoDescriptor;

impl Root {
    /// The folder at `path`.
    pub(super) fn open(path: &Path) -> io::Result<Root> {
        let path = std::path::absolute(path)?;
        let folder = open_folder(&path)?;
        let probe = openat2(&folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), BENEATH);
        // Old sandboxes answer "not permitted" to calls that they do not know.
        let is_guarded = !matches!(probe, Err(Errno::NOSYS | Errno::PERM | Errno::INVAL));
        Ok(Root { path, is_guarded })
    }

    /// What is at this path below the root; nothing where there is none, where it leads out, is neither file nor folder, or
    /// may not be read.
    pub(super) fn find(&self, relative: &str) -> Result<Option<Found>, NoDescriptor> {
        match self.at(relative) {
            Ok(found) => Ok(found),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Err(NoDescriptor),
            Err(_) => Ok(None),
        }
    }

    fn at(&self, relative: &str) -> Result<Option<Found>, Errno> {
        let relative = if relative.is_empty() { "." } else { relative };
        let place = self.descend(relative, OFlags::PATH)?;
        match FileType::from_raw_mode(fstat(&place)?.st_mode) {
            FileType::Directory => Ok(Some(Found::Folder(place))),
            FileType::RegularFile => {
                // What has just taken its place is not waited for either, and seen then.
                let file = self.descend(relative, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
                let stat = fstat(&file)?;
                let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                Ok(is_file.then(|| Found::File(Opened { file: file.into(), stat })))
            }
            _ => Ok(None),
        }
    }

    fn descend(&self, relative: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        if !self.is_guarded {
            let resolve = |path: &Path| path.canonicalize().map_err(|error| from(&error));
            let (root, path) = (resolve(&self.path)?, resolve(&self.path.join(relative))?);
            return if path.starts_with(root) { open(path, flags, Mode::empty()) } else { Err(Errno::XDEV) };
        }
        let folder = self.folder().map_err(|error| from(&error))?;
        let mut tries = 1;
        loop {
            match openat2(folder.as_fd(), relative, flags, Mode::empty(), BENEATH) {
                Err(Errno::AGAIN) if tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }

    /// The root itself, opened at most a second ago by this thread: another folder may have taken its name.
    fn folder(&self) -> io::Result<Rc<OwnedFd>> {
        thread_local! {
            static LAST: RefCell<Option<(Time, PathBuf, Rc<OwnedFd>)>> = const { RefCell::new(None) };
        }
        let now = clock::now();
        LAST.with_borrow_mut(|last| match last {
            Some((since, path, folder)) if *path == self.path && now.saturating_since(*since) < KEPT => {
                Ok(Rc::clone(folder))
            }
            _ => {
                let folder = Rc::new(open_folder(&self.path)?);
                *last = Some((now, self.path.clone(), Rc::clone(&folder)));
                Ok(folder)
            }
        })
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

fn from(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Found, Root};

    /// By the kernel's guard and without it.
    #[test]
    fn a_path_never_leads_out_of_the_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("a folder");
        fs::write(folder.path().join("secret"), "secret").expect("a file");
        fs::write(root.join("a"), "a").expect("a file");
        for (link, target) in
            [("sub/in", "../a"), ("out", "../secret"), ("up", ".."), ("loop", "loop"), ("sub/up", "..")]
        {
            symlink(target, root.join(link)).expect("a link");
        }
        symlink(folder.path().join("secret"), root.join("absolute-out")).expect("a link");
        symlink("/proc/self/root/etc/passwd", root.join("magic")).expect("a link");
        let guarded = Root::open(&root).expect("a root");
        let plain = Root { is_guarded: false, ..Root::open(&root).expect("a root") };
        assert!(guarded.is_guarded, "kernels since 5.6 have openat2");
        for root in [&guarded, &plain] {
            for (path, there) in [
                ("", true),
                ("a", true),
                ("sub", true),
                ("sub/in", true),
                ("sub/up/a", true),
                ("sub/../a", true),
                ("out", false),
                ("up/secret", false),
                ("../secret", false),
                ("absolute-out", false),
                ("loop", false),
                ("magic", false),
                ("/etc/passwd", false),
                ("none", false),
                ("a/b", false),
            ] {
                let found = root.find(path).expect("there are descriptors");
                assert_eq!(found.is_some(), there, "{path:?}, guarded: {}", root.is_guarded);
                assert_eq!(matches!(found, Some(Found::Folder(_))), ["", "sub"].contains(&path), "{path:?}");
            }
        }
    }
}
