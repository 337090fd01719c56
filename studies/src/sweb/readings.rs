//! The other readings of `experiments/sweb-1996/READINGS.md`, as changes of the experiments' text.
//!
//! A change of text can say what a setting cannot, such as two lines that go together; and one that finds nothing to change is
//! found by a test. What a reading does not concern stays as read.

/// A reading: its number in the list, what it says, and what it changes.
pub(super) struct Reading {
    /// Its number, which also names its runs.
    pub(super) number: &'static str,
    pub(super) name: &'static str,
    /// Texts and what takes their place.
    changes: Vec<(String, String)>,
    /// A second's requests start one after the other.
    is_spread: bool,
}

/// The number of the readings as they stand, and what is said of it.
pub(super) const AS_READ: (&str, &str) = ("-", "as read");

/// What sockets of one node reach, taken out.
const SOCKETS: (&str, &str) = (", net = { discipline = \"ps\", rate = \"4 MB/s\" }", "");

/// All of them; the fitted patience (s) takes the place of the fitted connections.
pub(super) fn all(patience_s: u32) -> Vec<Reading> {
    let of = |number, name, changes: &[(&str, &str)]| Reading {
        number,
        name,
        changes: changes.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect(),
        is_spread: false,
    };
    // The broker's policy on the Meiko and on the Ethernet, as the experiments write it.
    let by_load = |load: &str| Reading {
        changes: vec![
            ("\"sweb\"".into(), format!("\"sweb(load = {load})\"")),
            ("sweb(remote_penalty = 0.6)".into(), format!("sweb(remote_penalty = 0.6, load = {load})")),
        ],
        ..of("", "", &[])
    };
    let patience = format!("resolves = \"request\"\npatience = \"constant({patience_s} s)\"");
    vec![
        of("2a", "sockets of a node reach 5 % of the network's peak", &[("\"4 MB/s\"", "\"2 MB/s\"")]),
        of("2b", "sockets of a node reach 15 % of the network's peak", &[("\"4 MB/s\"", "\"6 MB/s\"")]),
        of(
            "2c",
            "sockets of all nodes together reach 10 % of the peak",
            &[SOCKETS, ("\"320 Mbit/s\"", "\"32 Mbit/s\"")],
        ),
        of("2d", "sockets reach all of the peak", &[SOCKETS]),
        of("5", "all of the memory caches files", &[("\"24 MB\"", "\"32 MB\""), ("\"12 MB\"", "\"16 MB\"")]),
        of("6", "half of the Ethernet is others'", &[("rate = \"10 Mbit/s\"", "rate = \"5 Mbit/s\"")]),
        of("7", "600 files", &[("documents(n = 60,", "documents(n = 600,"), ("number = 60,", "number = 600,")]),
        of(
            "8",
            "sizes are uniform",
            &[("bounded-pareto(alpha = 0.001, min = 100 B, max = 1500 kB)", "uniform(100 B, 1500 kB)")],
        ),
        Reading { is_spread: true, ..of("9", "the requests of a second are spread over it", &[]) },
        of(
            "10",
            "names are held for a minute",
            &[("\"0 s\"\ntargets", "\"60 s\"\ntargets"), ("\"request\"", "\"ttl\"")],
        ),
        of(
            "12",
            "clients lose patience, and any number of connections is taken",
            &[("resolves = \"request\"", &patience), ("{ connections = ", "{ connections = 100000")],
        ),
        Reading { number: "14a", name: "loads are the requests at the look alone", ..by_load("queue") },
        Reading { number: "14b", name: "loads are busy shares alone", ..by_load("busy") },
        of("17", "reports every 3 s", &[("every = \"2 s\" }", "every = \"3 s\" }")]),
    ]
}

impl Reading {
    /// An experiment's text under this reading; none where nothing in it changes.
    pub(super) fn of(&self, text: &str) -> Option<String> {
        let changed = self.changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let changed = if self.is_spread { spread(&changed) } else { changed };
        (changed != text).then_some(changed)
    }

    /// A policy under this reading.
    pub(super) fn policy(&self, policy: &str) -> String {
        let quoted = format!("\"{policy}\"");
        self.changes.iter().fold(quoted, |text, (from, to)| text.replace(from, to)).trim_matches('"').to_owned()
    }

    /// Arrivals of so many requests in each second.
    pub(super) fn arrivals(&self, rate: u32) -> String {
        if self.is_spread { spread(&together(rate)) } else { together(rate) }
    }
}

/// So many requests at the same instant of each second.
pub(super) fn together(rate: u32) -> String {
    format!("{BATCHES}{rate}{EACH_SECOND}")
}

const BATCHES: &str = "batches(n = ";
const EACH_SECOND: &str = ", every = 1 s)";

/// A text whose batches are requests at equal distances.
fn spread(text: &str) -> String {
    let mut parts = text.split(BATCHES);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(EACH_SECOND).and_then(|(rate, rest)| Some((rate.parse::<u32>().ok()?, rest))) {
            Some((rate, rest)) => changed += &format!("constant({} ns){rest}", 1_000_000_000 / rate),
            None => changed += &format!("{BATCHES}{part}"),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sweb::{MAXIMA, RUNS};

    /// Every change finds what it changes in some experiment, and what it makes of each can be read.
    #[test]
    fn every_reading_changes_experiments_that_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/sweb-1996");
        let files: Vec<_> = RUNS.iter().chain(&MAXIMA).map(|name| folder.join(format!("{name}.toml"))).collect();
        for reading in all(300) {
            let mut changed = 0;
            for (from, _) in &reading.changes {
                let is_there = |file: &&std::path::PathBuf| std::fs::read_to_string(file).unwrap().contains(from);
                assert!(files.iter().any(|file| is_there(&file)), "{}: `{from}` is in no experiment", reading.number);
            }
            for file in &files {
                let Some(text) = reading.of(&std::fs::read_to_string(file).unwrap()) else { continue };
                changed += 1;
                let source = sojourn_lab::Experiment::new(file, text, &[]).unwrap();
                source.variants().unwrap_or_else(|e| panic!("reading {}: {e}", reading.number));
            }
            assert!(changed > 0, "reading {} changes nothing", reading.number);
        }
    }

    #[test]
    fn batches_are_spread_at_their_own_rate() {
        assert_eq!(spread("a = \"batches(n = 8, every = 1 s)\", b"), "a = \"constant(125000000 ns)\", b");
        assert_eq!(spread("batches(n = 8, every = 2 s)"), "batches(n = 8, every = 2 s)", "another period is not his");
    }
}
