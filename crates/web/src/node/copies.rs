//! Copies that a node keeps of files which other nodes own, and which it has often fetched from them: dynamic replication.
//!
//! When a file is copied and which copy goes first, the simulator's own object decides ([`sojourn_model::Copies`]). The fetch
//! that is to be kept is written beside its way to the client, to a file that gets its name when it is whole. A copy is served
//! for `fresh` after the owner has given it or has said that it is still so; then the next request asks the owner first, by
//! its tag, so that a change is seen `fresh` later at most. What the owner has changed, or what it cannot be asked about, is
//! not served. Only this node knows of its copies: its broker takes such a file as its own.
//!
//! The price: each copy holds a descriptor, of which there are [`COPIES`] at most; a client that leaves before the end ends the
//! copy too; and copies do not outlive the node, whose folder is emptied when it starts.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::Request;
use hyper::header::HeaderMap;
use sojourn_model::CopyRules;
use sojourn_part::{ServeError, clock};
use sojourn_stats::{Span, Time};

use super::files::{Copied, normalized};

/// Most copies at once.
const COPIES: usize = 256;

/// Which copies a node keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopySettings {
    /// The folder that they are in, of this node alone; it is made where it is not there.
    pub folder: PathBuf,
    /// After how many fetches, and how many bytes.
    pub rules: CopyRules,
    /// How long a copy is served before its owner is asked again.
    pub fresh: Span,
}

/// The copies of a node, for all its threads.
pub(crate) struct Copies {
    settings: CopySettings,
    state: Mutex<State>,
}

struct State {
    rules: sojourn_model::Copies<String>,
    kept: HashMap<String, Arc<Copy>>,
    /// Those that are being written.
    coming: HashSet<String>,
    /// How many were begun: the name of the next.
    begun: u64,
}

/// A copy.
pub(crate) struct Copy {
    pub(crate) file: Copied,
    path: PathBuf,
    /// When its owner last said that it is so (ns).
    said: AtomicU64,
}

/// A copy that is being written; dropped before its end it is gone.
pub(crate) struct Coming {
    copies: Arc<Copies>,
    key: String,
    path: PathBuf,
    file: File,
    headers: HeaderMap,
    left: u64,
    size: u64,
}

impl Copies {
    /// None yet; what another run has left in the folder is removed.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub(crate) fn new(settings: CopySettings) -> Result<Copies, ServeError> {
        let folder = &settings.folder;
        let emptied = fs::create_dir_all(folder).and_then(|()| {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if is_ours(&path) {
                    fs::remove_file(path)?;
                }
            }
            Ok(())
        });
        emptied.map_err(|error| ServeError::Config(format!("copies in {}: {error}", folder.display())))?;
        let rules = sojourn_model::Copies::new(settings.rules);
        let state = State { rules, kept: HashMap::new(), coming: HashSet::new(), begun: 0 };
        Ok(Copies { settings, state: Mutex::new(state) })
    }

    /// The name under which a request's file is kept; none for what is no plain path.
    pub(crate) fn key<B>(request: &Request<B>) -> Option<String> {
        request.uri().query().is_none().then(|| normalized(request.uri().path())).flatten()
    }

    /// The copy of a file, and whether its owner need not be asked about it at `now`.
    pub(crate) fn find(&self, key: &str, now: Time) -> Option<(Arc<Copy>, bool)> {
        let mut state = self.state();
        let copy = Arc::clone(state.kept.get(key)?);
        state.rules.has(&key.to_owned());
        let said = Time(copy.said.load(Ordering::Relaxed));
        let is_fresh = now.saturating_since(said) < self.settings.fresh;
        Some((copy, is_fresh))
    }

    /// A copy is not as its owner has the file, or not as it was written.
    pub(crate) fn forget(&self, key: &str) {
        let mut state = self.state();
        state.rules.drop(&key.to_owned());
        state.kept.remove(key);
    }

    /// A file of so many bytes is fetched with these headers: what takes its bytes, where it is to be copied.
    pub(crate) fn begin(self: &Arc<Copies>, key: String, size: u64, headers: &HeaderMap) -> Option<Coming> {
        let mut state = self.state();
        let is_due = state.rules.is_due(&key, size, clock::now());
        if !is_due || size == 0 || state.kept.len() + state.coming.len() >= COPIES || state.coming.contains(&key) {
            return None;
        }
        let path = self.settings.folder.join(format!("{}.part", state.begun));
        let file = File::options().read(true).write(true).create_new(true).open(&path).ok()?;
        state.begun += 1;
        state.coming.insert(key.clone());
        drop(state);
        Some(Coming { copies: Arc::clone(self), key, path, file, headers: headers.clone(), left: size, size })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a file has a name that copies have, and no other file is likely to have.
fn is_ours(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    matches!(ending, Some("copy" | "part")) && name.chars().all(|sign| sign.is_ascii_digit())
}

impl Copy {
    /// Its owner says that it is still so.
    pub(crate) fn is_said(&self, now: Time) {
        self.said.store(now.0, Ordering::Relaxed);
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Coming {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// When the disk does not, or there are more than were promised.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let more = || io::Error::other("more bytes than promised");
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(more)?;
        self.file.write_all(bytes)
    }

    /// All bytes have come; whether there is a copy now.
    pub(crate) fn finish(self, asked: Time) -> bool {
        self.settle(asked).is_ok_and(|is_kept| is_kept)
    }

    fn settle(&self, asked: Time) -> io::Result<bool> {
        if self.left > 0 {
            return Ok(false);
        }
        let file = Copied::new(self.file.try_clone()?, &self.headers)?;
        // Last of what can fail: what has its name is a copy, or is removed with it.
        let path = self.path.with_extension("copy");
        fs::rename(&self.path, &path)?;
        let copy = Arc::new(Copy { file, path, said: AtomicU64::new(asked.0) });
        let mut state = self.copies.state();
        for gone in state.rules.keep(self.key.clone(), self.size) {
            state.kept.remove(&gone);
        }
        state.kept.insert(self.key.clone(), copy);
        Ok(true)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.copies.state().coming.remove(&self.key);
        // A whole one has another name by now.
        let _ = fs::remove_file(&self.path);
    }
}
