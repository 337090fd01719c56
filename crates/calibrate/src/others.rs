//! What else is done on this machine while a server is measured: such work takes cores from the server, if it runs here,
//! and from the client in any case. More time, or more work per request, is no remedy then.
//!
//! It is what the cores are busy with beyond the client's threads and the server. No request takes more than a core, so
//! that a server keeps no more cores busy than requests are inside. It is a least number: a server elsewhere takes none of
//! this machine's.

use sojourn_load::{Record, Report};

/// So much of a core is no reason for anything: no machine is wholly idle, and clocks of processor time are coarse.
const OTHERS_MAX: f64 = 0.5;
/// A core busier than this has no room.
const CORE_MAX: f64 = 0.95;
/// A shorter run (s) says nothing of this: processor time is counted in hundredths of a second.
const SHORTEST_S: f64 = 0.5;

/// How busy this machine was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The share of the last run that each core was busy.
    pub(crate) cores_busy: Vec<f64>,
    /// Cores that were busy with other work, at least: the most of all runs.
    pub(crate) others: f64,
}

impl Machine {
    /// Takes in a run.
    pub(crate) fn after(&mut self, report: &Report) {
        let records = report.records.as_deref().unwrap_or_default();
        let taken_s = |record: &Record| {
            let begun = record.begun.unwrap_or(record.planned);
            record.done.saturating_since(begun).as_secs_f64()
        };
        let inside = records.iter().map(taken_s).sum::<f64>() / report.elapsed_s;
        if report.elapsed_s >= SHORTEST_S {
            self.others = self.others.max(of_others(&report.cores_busy, &report.client_busy, inside));
        }
        self.cores_busy.clone_from(&report.cores_busy);
    }

    /// That a measurement failed for `what`, with how busy the cores were and what helps: `otherwise`, where it is not other
    /// work that takes the cores.
    pub(crate) fn failed(&self, what: &str, otherwise: &str) -> String {
        let busy = if self.cores_busy.is_empty() { String::new() } else { format!(" ({})", cores(&self.cores_busy)) };
        format!("{what}{busy}; {}", remedy(self.others, &self.cores_busy, otherwise))
    }
}

/// Cores that are busy with neither the client's threads nor a server that keeps at most `server` of them busy.
pub(crate) fn of_others(cores_busy: &[f64], client_busy: &[f64], server: f64) -> f64 {
    (cores_busy.iter().sum::<f64>() - client_busy.iter().sum::<f64>() - server).max(0.0)
}

/// What helps where a measurement failed: where other work kept so many cores busy, that it does not; else `otherwise`.
pub(crate) fn remedy(others: f64, cores_busy: &[f64], otherwise: &str) -> String {
    if others > OTHERS_MAX {
        let s = if format!("{others:.1}") == "1.0" { "" } else { "s" };
        return format!(
            "other work kept {others:.1} core{s} of this machine busy: leave the machine alone, and measure again"
        );
    }
    if !cores_busy.is_empty() && cores_busy.iter().all(|busy| *busy > CORE_MAX) {
        return format!("{otherwise}; if it is other work that keeps every core busy, leave the machine alone instead");
    }
    otherwise.to_owned()
}

/// How busy cores were: `cores busy: 38 %, 97 %`.
pub(crate) fn cores(busy: &[f64]) -> String {
    let shares: Vec<String> = busy.iter().map(|busy| format!("{:.0} %", 100.0 * busy)).collect();
    format!("cores busy: {}", shares.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cores: a client that takes 0.2 of one, and a server with 0.3 requests inside.
    #[test]
    fn what_neither_client_nor_server_takes_is_of_others() {
        let others = |busy: [f64; 2]| of_others(&busy, &[0.2], 0.3);
        assert!((others([1.0, 1.0]) - 1.5).abs() < 1e-12 && (others([1.0, 0.5]) - 1.0).abs() < 1e-12);
        assert_eq!(others([0.3, 0.1]), 0.0, "never below nothing");
        assert_eq!(of_others(&[], &[0.2], 0.0), 0.0, "of cores that are not counted nothing is known");
    }

    #[test]
    fn other_work_is_to_end_where_it_takes_the_cores() {
        let machine = |cores_busy: &[f64], others| Machine { cores_busy: cores_busy.to_vec(), others };
        let told = |machine: Machine| machine.failed("the server became slow", "give it more --time");
        let busy = told(machine(&[1.0, 1.0], 1.5));
        let expected = "the server became slow (cores busy: 100 %, 100 %); other work kept 1.5 cores of this machine \
                        busy: leave the machine alone, and measure again";
        assert_eq!(busy, expected);
        let calm = told(machine(&[0.5, 0.3], 0.1));
        assert_eq!(calm, "the server became slow (cores busy: 50 %, 30 %); give it more --time");
        // The server itself may be what keeps them busy: both remedies are told.
        let full = told(machine(&[0.99, 0.97], 0.0));
        assert!(full.contains("--time; if it is other work") && full.contains("leave the machine alone"), "{full}");
        assert_eq!(told(machine(&[], 0.0)), "the server became slow; give it more --time");
    }
}
