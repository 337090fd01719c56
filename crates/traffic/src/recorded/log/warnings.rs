//! What the user should know of a log, in words.

use sojourn_stats::quantity;

use super::calendar::SECOND_US;
use super::{BadLine, Log, Stamps};
use crate::words::{count, verb};

/// Requests that came so long before the first end of a log of ends are worth a warning (us).
const EARLY_US: i64 = 60 * SECOND_US;

impl Log {
    /// What the time of a request is taken from, in words.
    pub fn arrivals_in_words(&self) -> String {
        let Stamps { ends, ends_untimed, unknown, .. } = self.stamps;
        let begins = self.entries.len() as u64 - (ends + ends_untimed + unknown).min(self.entries.len() as u64);
        let mut words = Vec::new();
        let of = |of_them: u64| {
            if of_them == self.entries.len() as u64 {
                String::new()
            } else {
                format!("of {} ", count(of_them, "request"))
            }
        };
        if begins > 0 {
            words.push(format!("{}as the log has it", of(begins)));
        }
        if ends > 0 {
            words.push(format!("{}the end, which the log has, less the response time", of(ends)));
        }
        if ends_untimed > 0 {
            words.push(format!("{}the end, since the log has no response time of them", of(ends_untimed)));
        }
        if unknown > 0 {
            words.push(format!(
                "{}the log's time, which may be the beginning or the end: the format does not say",
                of(unknown)
            ));
        }
        words.join("; ")
    }

    /// What the user should know before trusting the log, one line each: bad lines, lines out of order, what was not read.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.bad_lines() > 0 {
            let reasons: Vec<String> =
                self.bad_by_reason().map(|(fault, lines)| format!("{lines} with {fault}")).collect();
            warnings.push(format!(
                "{} of {} {} bad and left out ({}){}",
                self.bad_lines(),
                count(self.lines, "line"),
                verb(&self.bad_lines(), "is", "are"),
                reasons.join(", "),
                if self.first_bad.is_empty() { "" } else { ":" },
            ));
            warnings.extend(self.first_bad.iter().map(|BadLine { file, line, fault, text, other }| {
                let other = other.as_ref().map_or(String::new(), |name| format!(", and is in the format {name}"));
                format!("{file}:{line} has {fault}{other}: `{text}`")
            }));
        }
        let seconds = |us: i64| quantity::format(us as f64 / 1e6, sojourn_stats::Dimension::Time);
        if self.unsorted > 0 {
            warnings.push(format!(
                "{} of {} {} logged after a later one (by up to {}) and sorted",
                self.unsorted,
                count(self.entries.len(), "request"),
                verb(&self.unsorted, "was", "were"),
                seconds(self.largest_step_back_us),
            ));
        }
        if self.stamps.ends_back > 0 {
            warnings.push(format!(
                "{} {} before one that was logged earlier, by up to {}: a clock was set back, or several writers with clocks or \
                 buffers of their own share the log; loads and rates over less than that are not to be trusted",
                count(self.stamps.ends_back, "request"),
                verb(&self.stamps.ends_back, "ends", "end"),
                seconds(self.stamps.ends_back_us),
            ));
        }
        if self.early_us > EARLY_US && self.cut.0.is_none() {
            warnings.push(format!(
                "the log has the ends of requests, and one of them came {} before the first end: of that time it has only what \
                 took long, so rates and loads are without it; --from leaves it out",
                seconds(self.early_us)
            ));
        }
        if self.retried > 0 {
            warnings.push(format!(
                "{} {} tried at several servers: only the last of them, and its time, is counted",
                count(self.retried, "request"),
                verb(&self.retried, "was", "were")
            ));
        }
        if self.zone_s.is_none() && !self.entries.is_empty() {
            warnings.push(
                "the log names no zone: its clock is taken as it is, and as UTC beside logs that name one".into(),
            );
        }
        warnings.extend(self.not_read.iter().cloned());
        warnings
    }
}
