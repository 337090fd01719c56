//! A calibration as a file: the model, and in `[measured]` all findings behind it.

use std::fmt::Write;

use sojourn_model::Server;

use crate::helpers::Served;
use crate::judge::PREDICTIONS;
use crate::keep_alive::KeepAlive;
use crate::measure::{Calibration, Concurrency};
use crate::model::time_text;
use crate::settings::Interval;

impl Calibration {
    /// The server model with its findings, as [`sojourn_model::Server::from_toml`] reads it.
    pub fn to_toml(&self) -> String {
        let title = format!("Measured at {} by `sojourn calibrate`.", self.url);
        let mut text = head(&title, &self.notes, &self.server, self.verdict(), &self.reasons);
        let out = &mut text;
        let _ = writeln!(out, "url = {}", quoted(&self.url));
        let _ = writeln!(out, "capacity = {}   # replies per second", three(&self.capacity));
        let _ = writeln!(
            out,
            "overhead_s = {}   # path and dispatch: an idle reply beyond its work; an experiment's rtt",
            if_measured(self.overhead.as_ref())
        );
        let _ = writeln!(out, "dispatch_s = {}", if_measured(self.dispatch.as_ref()));
        let _ = writeln!(out, "connect_s = {}", three(&self.connect));
        let _ = match self.served {
            Served::Limited(helpers) => writeln!(out, "served_at_once = {helpers}"),
            Served::AtLeast(tried) => writeln!(out, "served_at_once = \"at least {tried}\""),
            Served::Unknown => writeln!(out, "served_at_once = \"not measured\""),
        };
        let _ = match self.keep_alive {
            None => writeln!(out, "keep_alive_holds_helper = \"not measured\""),
            Some(KeepAlive::HoldsHelper(all)) => {
                writeln!(
                    out,
                    "keep_alive_holds_helper = true   # {all} idle connections leave no helper for another one"
                )
            }
            Some(KeepAlive::Free(idle)) => {
                writeln!(out, "keep_alive_holds_helper = false   # another one was served beside {idle} idle ones")
            }
            Some(KeepAlive::Closed) => {
                writeln!(out, "keep_alive_holds_helper = false   # each connection is closed after its reply")
            }
        };
        if let Some(drift) = &self.drift {
            let _ = writeln!(out, "work_change_per_client = {}   # 0: independent of concurrency", three(drift));
        }
        let _ = writeln!(out, "work_cv = {:.3}", self.work_cv);
        let _ = writeln!(
            out,
            "idle_over_saturated = {}   # work by the idle server over the saturated one's",
            three(&self.agreement)
        );
        for (name, line) in [("work", &self.work), ("idle", &self.idle)] {
            if let Some(line) = line {
                let _ = writeln!(out, "{name}_fixed_s = {}", three(&line.fixed_s));
                let _ = writeln!(out, "{name}_per_x_s = {}", three(&line.per_x_s));
            }
        }
        for level in &self.levels {
            let _ = writeln!(out, "[[measured.level]]\npath = {}", quoted(&level.path));
            let _ =
                writeln!(out, "x = {:?}\nidle_s = {}\nwork_s = {}", level.x, three(&level.idle), three(&level.work));
        }
        for Concurrency { clients, throughput } in &self.concurrency {
            let _ = writeln!(out, "[[measured.concurrency]]\nclients = {clients}\nthroughput = {}", three(throughput));
        }
        for (discipline, error) in &self.tried {
            let _ =
                writeln!(out, "[[measured.tried]]\ndiscipline = {}\nlargest_error = {error:.4}", quoted(discipline));
        }
        for point in &self.judged {
            let _ = writeln!(out, "[[measured.judged]]   # not used in the fit: medians of [mean, p90] in seconds");
            let _ = writeln!(out, "utilization = {:?}\nspeed = {}", point.utilization, digits(point.speed()));
            let two = |(mean, p90): (f64, f64)| format!("[{}, {}]", digits(mean), digits(p90));
            let measured = point.measured();
            let _ = writeln!(out, "measured = {}", two((measured.mean_s, measured.p90_s)));
            for (name, of) in PREDICTIONS {
                if let (Some(median), Some(error)) = (point.median(of), point.error(of)) {
                    let _ = writeln!(out, "{name} = {}", two((median.mean_s, median.p90_s)));
                    let _ = writeln!(out, "{name}_error = {}", two(error));
                }
            }
        }
        text
    }

    /// The findings, in lines for a human reader.
    pub fn summary(&self) -> Vec<String> {
        let reference = self.server.demand("");
        let mut lines = vec![format!("demand: {reference}")];
        for level in &self.levels {
            lines.push(format!("  {}: work {}, idle reply {}", level.path, ends(&level.work), ends(&level.idle)));
        }
        let Interval { value, low, high } = self.capacity;
        lines.push(format!("capacity: {value:.2} /s ({low:.2} to {high:.2}) on {} core(s)", self.cores));
        lines.push(match self.served {
            Served::Limited(helpers) => format!("served at once: {helpers}"),
            Served::AtLeast(tried) => format!("served at once: at least {tried}"),
            Served::Unknown => "served at once: not measured".into(),
        });
        match self.keep_alive {
            None => {}
            Some(KeepAlive::HoldsHelper(all)) => {
                let all = format!("with {all} idle no other request is served");
                lines.push(format!("kept-alive connections: each holds a helper; {all}"));
            }
            Some(KeepAlive::Free(idle)) => {
                lines.push(format!("kept-alive connections: hold nothing; beside {idle} idle ones another was served"));
            }
            Some(KeepAlive::Closed) => {
                lines.push("kept-alive connections: none, each is closed after its reply".into())
            }
        }
        lines.push(format!("discipline: {}", crate::measure::name(&self.server.discipline)));
        if let Some(Interval { value, low, high }) = self.drift {
            let independent = if low <= 0.0 && 0.0 <= high { "independent of concurrency" } else { "not independent" };
            lines.push(format!(
                "work per request: {:+.2} % with each client more ({:+.2} to {:+.2} %): {independent}",
                100.0 * value,
                100.0 * low,
                100.0 * high
            ));
        }
        lines.push(told_overhead(self.overhead.as_ref(), &self.connect));
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines
    }
}

/// What is said of the overhead of an idle reply.
fn told_overhead(overhead: Option<&Interval>, connect: &Interval) -> String {
    match overhead {
        Some(overhead) => {
            format!("overhead of an idle reply: {}, of which connecting {}", ends(overhead), ends(connect))
        }
        None => format!(
            "overhead of an idle reply: not measured, since it took less than the work of a request under load; \
             connecting {}",
            ends(connect)
        ),
    }
}

/// A time with its interval.
fn ends(interval: &Interval) -> String {
    format!("{} ({} to {})", signed(interval.value), signed(interval.low), signed(interval.high))
}

/// What the file of a model has of a time that could perhaps not be measured.
fn if_measured(interval: Option<&Interval>) -> String {
    interval.map_or_else(|| quoted("not measured"), three)
}

/// How the file of a model begins: a title, what to beware of, the model, and of `[measured]` the verdict with its reasons.
pub(crate) fn head(title: &str, notes: &[String], server: &Server, verdict: &str, reasons: &[String]) -> String {
    let mut text = format!("# {title}\n");
    let out = &mut text;
    for note in notes {
        let _ = writeln!(out, "# {note}");
    }
    for reason in reasons {
        let _ = writeln!(out, "# SUSPECT: {reason}");
    }
    out.push_str(&server.to_toml());
    out.push_str("\n[measured]   # intervals of 95 %: [estimate, low, high]\n");
    let _ = writeln!(out, "verdict = {}", quoted(verdict));
    if !reasons.is_empty() {
        let reasons: Vec<String> = reasons.iter().map(|reason| quoted(reason)).collect();
        let _ = writeln!(out, "reasons = [{}]", reasons.join(", "));
    }
    text
}

pub(crate) fn three(interval: &Interval) -> String {
    format!("[{}, {}, {}]", digits(interval.value), digits(interval.low), digits(interval.high))
}

/// Six digits, as TOML reads a number.
pub(crate) fn digits(x: f64) -> String {
    match x {
        x if x.is_nan() => "nan".into(),
        x if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.into(),
        x => format!("{:?}", format!("{x:.5e}").parse::<f64>().unwrap_or(x)),
    }
}

pub(crate) fn signed(seconds: f64) -> String {
    if seconds < 0.0 { format!("-{}", time_text(-seconds)) } else { time_text(seconds) }
}

/// A TOML string.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 0 to 0 nothing was measured: an interval has room for the truth.
    #[test]
    fn an_overhead_that_could_not_be_measured_has_no_interval() {
        let connect = Interval::around(3e-5, 1e-6);
        let told = told_overhead(None, &connect);
        assert!(told.starts_with("overhead of an idle reply: not measured, since"), "{told}");
        assert!(!told.contains("0 ns") && told.ends_with("connecting 30 us (29 us to 31 us)"), "{told}");
        assert_eq!(if_measured(None), "\"not measured\"");
        let overhead = Interval::around(1e-4, 1e-5);
        let told = told_overhead(Some(&overhead), &connect);
        assert!(told.contains("100 us (90 us to 110 us), of which connecting 30 us"), "{told}");
        assert_eq!(if_measured(Some(&overhead)), "[0.0001, 9e-5, 0.00011]");
    }
}
