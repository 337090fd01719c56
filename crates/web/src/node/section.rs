//! A section of a file that is read as it is sent, by a thread that waits for no disk.
//!
//! What the kernel has in memory is read at once (`RWF_NOWAIT`, preadv2(2)). For the rest, and where a file system cannot tell
//! (NFS, FUSE), another thread waits, and this one goes on with its other connections. The price is that thread's wake-up,
//! and that looking a file up still waits.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::Bytes;
use rustix::fs::fstatfs;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tokio::task::JoinHandle;

/// The type of a file system that is memory alone, which does not know `RWF_NOWAIT` (statfs(2)).
const TMPFS: i64 = 0x0102_1994;

/// A section of a file.
pub(super) struct Section {
    file: Arc<File>,
    /// Where the next byte is.
    at: u64,
    left: u64,
    /// What another thread reads.
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Section {
    /// `left` bytes from `at` on.
    pub(super) fn new(file: Arc<File>, at: u64, left: u64) -> Section {
        Section { file, at, left, reading: None }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes, `most` of them at most. A file that shrank meanwhile breaks the reply off: its length has been promised.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>, most: u64) -> Poll<io::Result<Bytes>> {
        let bytes = match &mut self.reading {
            Some(reading) => ready!(Pin::new(reading).poll(cx)).map_err(io::Error::other)??,
            None => match in_memory(&self.file, self.at, self.left.min(most))? {
                Some(bytes) => bytes,
                None => {
                    let (file, at, size) = (Arc::clone(&self.file), self.at, self.left.min(most));
                    self.reading = Some(tokio::task::spawn_blocking(move || exactly(&file, at, size)));
                    return self.poll_next(cx, most);
                }
            },
        };
        self.reading = None;
        self.at += bytes.len() as u64;
        self.left -= bytes.len() as u64;
        Poll::Ready(Ok(bytes))
    }
}

/// Of `size` bytes from `at` on the first ones that can be had without waiting; none where a disk would have to be waited for.
pub(super) fn in_memory(file: &File, at: u64, size: u64) -> io::Result<Option<Bytes>> {
    let mut bytes = vec![0; size as usize];
    loop {
        match preadv2(file, &mut [IoSliceMut::new(&mut bytes)], at, ReadWriteFlags::NOWAIT) {
            Ok(0) if size > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes.truncate(count);
                return Ok(Some(bytes.into()));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::OPNOTSUPP) if fstatfs(file).is_ok_and(|of| of.f_type == TMPFS) => {
                return exactly(file, at, size).map(Some);
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

fn exactly(file: &File, at: u64, size: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write;
    use std::time::Duration;

    use sojourn_stats::Span;
    use tokio::runtime::Builder;

    use super::super::blocking;
    use super::*;
    use sojourn_part::burn::{Amount, Workers};

    /// The pieces of a section, and whether its first one had to be waited for.
    async fn pieces(mut section: Section, most: u64) -> (io::Result<Vec<Bytes>>, bool) {
        let (mut pieces, mut waited) = (Vec::new(), false);
        while section.left() > 0 {
            let next = poll_fn(|cx| {
                let next = section.poll_next(cx, most);
                waited |= next.is_pending();
                next
            });
            match next.await {
                Ok(piece) => pieces.push(piece),
                Err(error) => return (Err(error), waited),
            }
        }
        (Ok(pieces), waited)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_in_memory_is_there_at_once_and_what_was_promised_must_be_there() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let file = Arc::new(file);
        let (read, waited) = pieces(Section::new(Arc::clone(&file), 2, 7), 4).await;
        assert_eq!((read.unwrap(), waited), (vec![Bytes::from("2345"), Bytes::from("678")], false));
        let (read, _) = pieces(Section::new(file, 8, 7), 4).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// The kernel makes the files of `/proc` as they are read, and cannot tell whether that takes long.
    #[tokio::test(flavor = "current_thread")]
    async fn another_thread_waits_for_what_may_take_long() {
        let whole = std::fs::read("/proc/version").unwrap();
        let file = Arc::new(File::open("/proc/version").unwrap());
        let (read, waited) = pieces(Section::new(Arc::clone(&file), 0, whole.len() as u64), 10).await;
        assert_eq!((read.unwrap().concat(), waited), (whole.clone(), true));
        let (read, _) = pieces(Section::new(file, 0, whole.len() as u64 + 1), 1 << 16).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// As many burn as may, for as long as they like.
    #[test]
    fn what_burns_processor_time_holds_up_no_reader() {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(blocking(2)).build().unwrap();
        let workers = Workers::new(2);
        let read = runtime.block_on(async {
            for _ in 0..20 {
                let workers = workers.clone();
                tokio::spawn(async move { workers.burn(Amount::Time(Span(u64::MAX))).await });
            }
            tokio::task::yield_now().await;
            let size = std::fs::read("/proc/version").unwrap().len() as u64;
            let section = Section::new(Arc::new(File::open("/proc/version").unwrap()), 0, size);
            tokio::time::timeout(Duration::from_secs(20), pieces(section, size)).await
        });
        assert!(read.is_ok_and(|(read, waited)| read.is_ok() && waited));
        // What burns ends when nothing waits for it any more.
        drop(runtime);
    }
}
