//! The processes of the server, by their name: how many, how many of them are at work, and the processor time that they took.

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

/// What a look found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looked {
    /// Processes.
    pub(super) count: u32,
    /// Those that run, or wait for a core or a disk: each of them has a request, at least.
    pub(super) at_work: u32,
    /// Processor time (s) that all of them took since the first look.
    pub(super) busy_s: f64,
}

impl Workers {
    /// The processes called `name`: Linux keeps the first 15 bytes of a name.
    pub(super) fn new(name: &str) -> Workers {
        let name = name.bytes().take(15).map(char::from).collect();
        Workers { name, known: HashMap::new(), ticks: 0, looks: 0 }
    }

    /// Looks at all. The time of one which ended is counted up to the look before; of new ones it counts from their start.
    pub(super) fn look(&mut self) -> Looked {
        let is_first = self.looks == 0;
        if self.looks.is_multiple_of(SEARCH_EVERY) {
            self.search(is_first);
        }
        self.looks += 1;
        let (name, ticks, mut at_work) = (&self.name, &mut self.ticks, 0);
        self.known.retain(|_, worker| match worker.stat.read().and_then(|stat| seen(stat, name)) {
            Some((now, is_at_work)) => {
                *ticks += now.saturating_sub(worker.ticks);
                worker.ticks = now;
                at_work += u32::from(is_at_work);
                true
            }
            None => false,
        });
        Looked { count: self.known.len() as u32, at_work, busy_s: self.ticks as f64 / TICKS_PER_S }
    }

    fn search(&mut self, is_first: bool) {
        for pid in pids() {
            if self.known.contains_key(&pid) {
                continue;
            }
            let mut stat = ProcFile::open(format!("/proc/{pid}/stat"));
            let Some((ticks, _)) = stat.read().and_then(|text| seen(text, &self.name)) else { continue };
            self.known.insert(pid, Worker { stat, ticks: if is_first { ticks } else { 0 } });
        }
    }
}

/// The ticks of a process, its user's and the system's, and whether it is at work, if it is called so. The name stands in
/// brackets and may hold some.
fn seen(stat: &str, name: &str) -> Option<(u64, bool)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, called) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    // State Z: it has ended, and its parent has not noticed yet.
    let state = fields.next().filter(|state| *state != "Z" && called == name)?;
    let mut ticks = fields.skip(10).map(|text| text.parse::<u64>().ok());
    Some((ticks.next()?? + ticks.next()??, matches!(state, "R" | "D")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_name_and_at_work_where_it_wants_something() {
        let stat = |name: &str, state: &str| format!("71 ({name}) {state} 1 71 71 0 -1 4194304 9 0 0 0 30 12 0 0 20 0");
        for (state, expected) in [("R", true), ("D", true), ("S", false), ("I", false), ("T", false)] {
            assert_eq!(seen(&stat("nginx", state), "nginx"), Some((42, expected)), "{state}");
        }
        assert_eq!(seen(&stat("nginx", "Z"), "nginx"), None, "it has ended");
        assert_eq!(seen(&stat("nginx: x", "R"), "nginx"), None);
        assert_eq!(seen(&stat("a) R (b", "S"), "a) R (b"), Some((42, false)), "brackets in the name");
        assert_eq!(seen("71 (nginx) R 1 71", "nginx"), None, "it is cut off");
    }
}
