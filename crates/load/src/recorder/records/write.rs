//! From the threads of a run to one file.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::{BLOCK, BLOCKS, RecordFile, Recorded, Rows, create};
use crate::error::LoadError;
use crate::recorder::record::Record;
use crate::whole::Place;

/// A thread's end: takes its records.
#[derive(Debug)]
pub(crate) struct Sink {
    thread: usize,
    block: Vec<Record>,
    /// Names of backends that the writer does not know yet.
    names: Vec<String>,
    full: Sender<Batch>,
    free: Receiver<Vec<Record>>,
    lost: u64,
}

#[derive(Debug)]
struct Batch {
    thread: usize,
    records: Vec<Record>,
    names: Vec<String>,
    lost: u64,
    /// The thread's last.
    last: bool,
}

/// The other end: the thread that writes, and the file.
#[derive(Debug)]
pub(crate) struct Drain {
    writer: JoinHandle<Recorded>,
}

impl Drain {
    /// Opens `file` for the records of `threads` threads.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn open(file: RecordFile, threads: usize) -> Result<(Drain, Vec<Sink>), LoadError> {
        let wrong = |why: String| LoadError::Invalid(format!("records: cannot write {}: {why}", file.path.display()));
        let place = Place::of(&file.path, ".unfinished").map_err(|error| wrong(error.to_string()))?;
        let opened = place.open().map_err(|error| wrong(error.to_string()))?;
        let rows = create(file.format, opened).map_err(|why| {
            place.vanish();
            wrong(why)
        })?;
        let (full, batches) = channel();
        let mut back = Vec::with_capacity(threads);
        let sinks = (0..threads).map(|thread| {
            let (send, free) = channel();
            for _ in 1..BLOCKS {
                send.send(Vec::with_capacity(BLOCK)).expect("the sink is here");
            }
            back.push(send);
            Sink { thread, block: Vec::with_capacity(BLOCK), names: Vec::new(), full: full.clone(), free, lost: 0 }
        });
        let sinks = sinks.collect();
        let (path, at) = (file.path, place.clone());
        let writer =
            std::thread::Builder::new().name("records".into()).spawn(move || write(path, &at, rows, &batches, &back));
        let writer = writer.map_err(|error| {
            place.vanish();
            LoadError::System(error)
        })?;
        Ok((Drain { writer }, sinks))
    }

    /// Waits for the file, once all sinks are closed or gone.
    pub(crate) fn finish(self) -> Recorded {
        match self.writer.join() {
            Ok(recorded) => recorded,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Sink {
    /// One more record.
    #[inline]
    pub(crate) fn push(&mut self, record: Record) {
        self.block.push(record);
        if self.block.len() == BLOCK {
            self.hand_over();
        }
    }

    /// The backend with the next number has this name.
    pub(crate) fn backend(&mut self, name: &[u8]) {
        self.names.push(String::from_utf8_lossy(name).into_owned());
    }

    /// Hands over what is left.
    pub(crate) fn close(mut self) {
        let (records, names) = (std::mem::take(&mut self.block), std::mem::take(&mut self.names));
        // The writer is there as long as there is a sink.
        let _ = self.full.send(Batch { thread: self.thread, records, names, lost: self.lost, last: true });
    }

    fn hand_over(&mut self) {
        let Ok(empty) = self.free.try_recv() else {
            self.lost += self.block.len() as u64;
            self.block.clear();
            return;
        };
        let records = std::mem::replace(&mut self.block, empty);
        let names = std::mem::take(&mut self.names);
        let _ = self.full.send(Batch { thread: self.thread, records, names, lost: 0, last: false });
    }
}

/// Writes batches until no sink is left. After an error it only gives the blocks back.
fn write(
    path: PathBuf,
    place: &Place,
    rows: Box<dyn Rows>,
    batches: &Receiver<Batch>,
    back: &[Sender<Vec<Record>>],
) -> Recorded {
    let mut recorded = Recorded { path, written: 0, lost: 0, error: None };
    let mut rows = Some(rows);
    let mut names: Vec<Vec<String>> = vec![Vec::new(); back.len()];
    let mut open = back.len();
    for Batch { thread, mut records, names: new, lost, last } in batches {
        recorded.lost += lost;
        open -= usize::from(last);
        names[thread].extend(new);
        if let Some(sheet) = &mut rows {
            match sheet.write(&records, &names[thread]) {
                Ok(()) => recorded.written += records.len() as u64,
                Err(why) => {
                    recorded.error = Some(why);
                    rows = None;
                }
            }
        }
        records.clear();
        // A thread that has closed its sink needs no block.
        let _ = back[thread].send(records);
    }
    let finished = match rows {
        Some(_) if open > 0 => Err("the run broke off".to_owned()),
        Some(rows) => rows.finish().and_then(|()| place.appear().map_err(|error| error.to_string())),
        None => Ok(()),
    };
    if let Err(why) = finished {
        recorded.error = Some(why);
    }
    if recorded.error.is_some() {
        recorded.written = 0;
        place.vanish();
    }
    recorded
}
