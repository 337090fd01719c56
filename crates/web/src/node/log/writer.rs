//! What writes the lines of a log, on a thread of its own.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use nix::fcntl::OFlag;
use sojourn_part::ServeError;

/// How long a line may wait for others, so that a daemon that looks each second sees it.
const LATEST: Duration = Duration::from_millis(250);

/// As many bytes are written at once.
const FULL: usize = 64 * 1024;

/// More than this waits for no disk (bytes).
const MOST: usize = 1024 * 1024;

/// How long a flush is waited for: the disk may hang.
const PATIENCE: Duration = Duration::from_secs(1);

/// Gathers lines that a thread writes; what has been gathered is written when this is dropped.
pub(super) struct Writer {
    path: PathBuf,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The state has changed so that there is something to write.
    work: Condvar,
    /// All that was gathered has been written.
    idle: Condvar,
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    gathered: Vec<u8>,
    /// The thread is writing what it has taken.
    is_writing: bool,
    /// What there is is to be written at once.
    is_urgent: bool,
    is_ending: bool,
    /// The file to go on with.
    next: Option<File>,
}

impl Writer {
    pub(super) fn start(path: &Path) -> Result<Writer, ServeError> {
        let file = open(path)?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("access log".into())
            .spawn(move || theirs.write(file))
            .map_err(ServeError::system("cannot start a thread"))?;
        Ok(Writer { path: path.into(), shared })
    }

    /// Lets `write` add a line. It is lost where too much waits for the disk already.
    pub(super) fn add(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.shared.lock();
        let before = state.gathered.len();
        if before > MOST {
            drop(state);
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        write(&mut state.gathered);
        let after = state.gathered.len();
        drop(state);
        if before == 0 || (before < FULL && after >= FULL) {
            self.shared.work.notify_one();
        }
    }

    pub(super) fn reopen(&self) -> Result<(), ServeError> {
        let file = open(&self.path)?;
        let mut state = self.shared.lock();
        state.next = Some(file);
        self.shared.work.notify_one();
        drop(state);
        self.flush();
        Ok(())
    }

    pub(super) fn flush(&self) {
        let mut state = self.shared.lock();
        state.is_urgent = true;
        self.shared.work.notify_one();
        let is_busy = |state: &mut State| state.is_writing || !state.gathered.is_empty() || state.next.is_some();
        drop(self.shared.idle.wait_timeout_while(state, PATIENCE, is_busy).expect(UNHARMED));
    }

    pub(super) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.flush();
        self.shared.lock().is_ending = true;
        self.shared.work.notify_one();
    }
}

const UNHARMED: &str = "nothing panics while it holds the lines";

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNHARMED)
    }

    /// Writes what is gathered until told to end.
    fn write(&self, file: File) {
        let mut out = Out { file, cut: Vec::new() };
        let mut block = Vec::new();
        let mut state = self.lock();
        loop {
            let is_quiet = |state: &mut State| {
                state.gathered.is_empty() && !state.is_urgent && !state.is_ending && state.next.is_none()
            };
            state = self.work.wait_while(state, is_quiet).expect(UNHARMED);
            let may_wait = |state: &mut State| {
                state.gathered.len() < FULL && !state.is_urgent && !state.is_ending && state.next.is_none()
            };
            (state, _) = self.work.wait_timeout_while(state, LATEST, may_wait).expect(UNHARMED);
            std::mem::swap(&mut state.gathered, &mut block);
            let (next, is_ending) = (state.next.take(), state.is_ending);
            (state.is_writing, state.is_urgent) = (true, false);
            drop(state);
            let lost = out.write(&block);
            self.lost.fetch_add(lost, Ordering::Relaxed);
            block.clear();
            if let Some(next) = next {
                out = Out { file: next, cut: Vec::new() };
            }
            state = self.lock();
            state.is_writing = false;
            if state.gathered.is_empty() {
                self.idle.notify_all();
                if is_ending {
                    return;
                }
            }
        }
    }
}

/// The file, in which every line is whole: of one that the disk took in part the rest is written first.
struct Out {
    file: File,
    cut: Vec<u8>,
}

impl Out {
    /// Writes a block of whole lines; says how many of them are lost.
    fn write(&mut self, block: &[u8]) -> u64 {
        let cut = std::mem::take(&mut self.cut);
        let rest = self.write_some(&cut);
        if rest > 0 {
            self.cut = cut[cut.len() - rest..].to_vec();
            return lines(block);
        }
        let rest = self.write_some(block);
        let (written, left) = block.split_at(block.len() - rest);
        if left.is_empty() || written.is_empty() || written.ends_with(b"\n") {
            return lines(left);
        }
        let end = left.iter().position(|byte| *byte == b'\n').map_or(left.len(), |end| end + 1);
        self.cut = left[..end].to_vec();
        lines(&left[end..])
    }

    /// How many bytes at the end the disk did not take.
    fn write_some(&mut self, mut bytes: &[u8]) -> usize {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => break,
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        bytes.len()
    }
}

fn lines(block: &[u8]) -> u64 {
    block.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A pipe is not waited for, neither here nor while it is full.
fn open(path: &Path) -> Result<File, ServeError> {
    let file = OpenOptions::new().create(true).append(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    file.map_err(|e| ServeError::Config(format!("cannot write the access log {}: {e}", path.display())))
}
