//! The processes of the server, by their name: how many, and the processor time that they took.

use std::collections::HashMap;

use super::machine::TICKS_PER_S;
use super::proc::{ProcFile, pids};

/// Looks between two searches for new processes: a search reads all of the machine's.
const SEARCH_EVERY: u32 = 8;

/// The processes of one name.
#[derive(Debug)]
pub(super) struct Workers {
    name: String,
    known: HashMap<u32, Worker>,
    /// Ticks that they took since the first look.
    ticks: u64,
    looks: u32,
}

#[derive(Debug)]
struct Worker {
    stat: ProcFile,
    ticks: u64,
}

impl Workers {
    /// The processes called `name`: Linux keeps the first 15 bytes of a name.
    pub(super) fn new(name: &str) -> Workers {
        let name = name.bytes().take(15).map(char::from).collect();
        Workers { name, known: HashMap::new(), ticks: 0, looks: 0 }
    }

    /// How many there are, and the processor time (s) that all of them took since the first look. That of one which ended
    /// is counted up to the look before; of new ones it counts from their start.
    pub(super) fn look(&mut self) -> (usize, f64) {
        let is_first = self.looks == 0;
        if self.looks.is_multiple_of(SEARCH_EVERY) {
            self.search(is_first);
        }
        self.looks += 1;
        let (name, ticks) = (&self.name, &mut self.ticks);
        self.known.retain(|_, worker| match worker.stat.read().and_then(|stat| ticks_of(stat, name)) {
            Some(now) => {
                *ticks += now.saturating_sub(worker.ticks);
                worker.ticks = now;
                true
            }
            None => false,
        });
        (self.known.len(), self.ticks as f64 / TICKS_PER_S)
    }

    fn search(&mut self, is_first: bool) {
        for pid in pids() {
            if self.known.contains_key(&pid) {
                continue;
            }
            let mut stat = ProcFile::open(format!("/proc/{pid}/stat"));
            let Some(ticks) = stat.read().and_then(|text| ticks_of(text, &self.name)) else { continue };
            self.known.insert(pid, Worker { stat, ticks: if is_first { ticks } else { 0 } });
        }
    }
}

/// The ticks of a process, its user's and the system's, if it is called so. The name stands in brackets and may hold some.
fn ticks_of(stat: &str, name: &str) -> Option<u64> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, called) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    // State Z: it has ended, and its parent has not noticed yet.
    let runs = fields.next().is_some_and(|state| state != "Z");
    let mut ticks = fields.skip(10).map(|text| text.parse::<u64>().ok());
    (called == name && runs).then(|| Some(ticks.next()?? + ticks.next()??)).flatten()
}
