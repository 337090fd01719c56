//! A fitted model as a file and in lines.

use std::fmt::Write;

use super::LogCalibration;
use crate::model::time_text;
use crate::settings::Interval;
use crate::trust;
use crate::write::{digits, head, quoted, three};

impl LogCalibration {
    /// VALID, or SUSPECT with the reasons.
    pub fn verdict(&self) -> &'static str {
        trust::verdict(&self.reasons, true)
    }

    /// The file: the server model and, in `[measured]`, how it was found. `from` says of what log.
    pub fn to_toml(&self, from: &str) -> String {
        let title = format!("Fitted to {from} by `sojourn calibrate --log`.");
        let mut text = head(&title, &self.notes, &self.server, self.verdict(), &self.reasons);
        let out = &mut text;
        let _ = writeln!(out, "log = {}", quoted(from));
        let _ = writeln!(out, "times_are = {}", quoted(self.times_are));
        let _ = writeln!(out, "requests = [{}, {}]   # fitted to, judged by", self.requests.0, self.requests.1);
        let _ = writeln!(
            out,
            "steps_s = [{}, {}]   # of instants, of durations",
            digits(self.steps_s.0),
            digits(self.steps_s.1)
        );
        let _ = writeln!(out, "demand_mean_s = {}", three(&self.demand_mean_s));
        let _ = writeln!(out, "demand_cv = {:.3}", self.demand_cv);
        let _ = writeln!(out, "most_at_once = {}", self.most_at_once);
        let others: Vec<String> = self.not_told_apart.iter().map(|other| quoted(&sharing(*other))).collect();
        if !others.is_empty() {
            let _ = writeln!(out, "not_told_apart = [{}]", others.join(", "));
        }
        for server in &self.servers {
            let _ =
                writeln!(out, "[[measured.server]]\nname = {}\nrequests = {}", quoted(&server.server), server.requests);
            let _ = writeln!(out, "demand_mean_s = {}", three(&server.demand_mean_s));
            let _ = writeln!(out, "speed = {}", digits(server.speed));
            let _ = writeln!(out, "utilization = {}", digits(server.utilization));
        }
        for bin in &self.judged {
            let _ = writeln!(out, "[[measured.judged]]   # not used in the fit: [mean, p90] in seconds");
            let _ = writeln!(out, "of = {}\nrequests = {}", quoted(&bin.name()), bin.requests);
            let two = |one: f64, other: f64| format!("[{}, {}]", digits(one), digits(other));
            let _ = writeln!(out, "seen = {}", two(bin.seen.mean_s, bin.seen.p90_s));
            let _ = writeln!(out, "predicted = {}", two(bin.predicted.mean_s, bin.predicted.p90_s));
            let [mean, p90] = bin.errors();
            let _ = writeln!(out, "error = {}", two(mean, p90));
        }
        text
    }

    /// The findings, in lines for a human reader; the judgement is a table of its own.
    pub fn summary(&self) -> Vec<String> {
        let told = |interval: &Interval| {
            format!(
                "{} ({} to {})",
                time_text(interval.value),
                time_text(interval.low.max(0.0)),
                time_text(interval.high)
            )
        };
        let mut lines = vec![format!(
            "{} requests fitted to, {} judged by; times are {}",
            self.requests.0, self.requests.1, self.times_are
        )];
        for (class, demand) in &self.server.demand {
            let class = if class.is_empty() { String::new() } else { format!(" of {class}") };
            lines.push(format!("demand{class}: {demand}"));
        }
        lines.push(format!("  mean {}, coefficient of variation {:.2}", told(&self.demand_mean_s), self.demand_cv));
        let helpers = match self.server.discipline {
            sojourn_model::Discipline::Fcfs => Some(self.server.cores),
            sojourn_model::Discipline::LimitedPs { helpers } => Some(helpers),
            _ => None,
        };
        lines.push(format!("served by: {}", sharing((self.server.cores, helpers))));
        if !self.not_told_apart.is_empty() {
            let others: Vec<String> = self.not_told_apart.iter().take(6).map(|other| sharing(*other)).collect();
            let more = match self.not_told_apart.len().saturating_sub(6) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            lines.push(format!("  not told apart from: {}{more}", others.join("; ")));
        }
        for server in &self.servers {
            let name = if server.server.is_empty() { "the server" } else { &server.server };
            lines.push(format!(
                "  {name}: {} requests, demand {}, speed {:.3}, utilisation {:.2}",
                server.requests,
                told(&server.demand_mean_s),
                server.speed,
                server.utilization
            ));
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines
    }
}

/// Cores and those served at once, in words.
fn sharing((cores, helpers): (u32, Option<u32>)) -> String {
    let are = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    match helpers {
        Some(helpers) if helpers == cores => format!("{are}, first come, first served"),
        Some(helpers) => format!("{are}, shared by at most {helpers} at once"),
        None => format!("{are}, shared by all"),
    }
}
