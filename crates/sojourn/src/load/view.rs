//! A run while it runs, on a terminal: rate, replies and failures, percentiles of the last second and of the run, and
//! the generator's own lateness.
//!
//! A run reports its progress four times a second; see `sojourn_load::Load::watched` for what is watched.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_load::{Counts, Progress, Recent};
use sojourn_stats::Histogram;

use crate::table;

/// A view on a terminal; nothing elsewhere.
pub(crate) struct View {
    bar: ProgressBar,
    trace: Mutex<Trace>,
}

impl View {
    /// A view that stays silent when `quiet`, and where standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> View {
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::new(1000),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{prefix}[{bar:30}] {percent:>3} %  {elapsed}\n{msg}");
        bar.set_style(style.expect("the template is valid").progress_chars("=> "));
        View { bar, trace: Mutex::default() }
    }

    /// Whether it is shown.
    pub(crate) fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// A new run begins; `label` says which of several.
    pub(crate) fn begin(&self, label: &str) {
        *self.trace.lock().expect("no thread panics while it holds it") = Trace::default();
        self.bar.reset();
        self.bar.set_prefix(if label.is_empty() { String::new() } else { format!("{label} ") });
        self.bar.set_message("");
    }

    /// Shows how far it is.
    pub(crate) fn show(&self, now: &Progress) {
        if !self.is_seen() {
            return;
        }
        let mut trace = self.trace.lock().expect("no thread panics while it holds it");
        trace.push(now);
        self.bar.set_position((now.share * 1000.0) as u64);
        self.bar.set_message(trace.text());
    }

    /// Leaves the terminal as it was.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The last second.
const MOMENT_S: f64 = 1.0;
/// Bars of the sparkline, one a second.
const BARS: usize = 40;

/// The progress so far.
#[derive(Default)]
struct Trace {
    /// The reports of the last second.
    moments: VecDeque<Moment>,
    /// Of the whole run.
    whole: Recent,
    counts: Counts,
    /// Replies in each full second.
    seconds: VecDeque<f64>,
    second: (f64, u64),
}

struct Moment {
    at_s: f64,
    planned: u64,
    ok: u64,
    recent: Recent,
}

impl Trace {
    fn push(&mut self, now: &Progress) {
        let at_s = now.elapsed.as_secs_f64();
        let recent = match &now.seen {
            Some(seen) => {
                self.counts = seen.0;
                self.whole.merge(&seen.1);
                seen.1.clone()
            }
            None => Recent::default(),
        };
        if at_s - self.second.0 >= 1.0 {
            if self.seconds.len() == BARS {
                self.seconds.pop_front();
            }
            self.seconds.push_back((now.ok - self.second.1) as f64 / (at_s - self.second.0));
            self.second = (at_s, now.ok);
        }
        self.moments.push_back(Moment { at_s, planned: now.planned, ok: now.ok, recent });
        // One telling older than the moment stays, for the rates count from it.
        while self.moments.get(1).is_some_and(|next| at_s - next.at_s >= MOMENT_S) {
            self.moments.pop_front();
        }
    }

    fn text(&self) -> String {
        let (Some(first), Some(last)) = (self.moments.front(), self.moments.back()) else { return String::new() };
        let span_s = last.at_s - first.at_s;
        let rate = |of: fn(&Moment) -> u64| match span_s > 0.0 {
            true => format!("{:.0} /s", (of(last) - of(first)) as f64 / span_s),
            false => "-".into(),
        };
        let mut moment = Recent::default();
        self.moments.iter().skip(1).for_each(|m| moment.merge(&m.recent));
        let causes = self.counts.causes().into_iter().map(|(cause, count)| format!("{cause} {count}"));
        let causes = causes.collect::<Vec<_>>().join(", ");
        let failed = self.counts.failed() + self.counts.abandoned;
        let failed = if causes.is_empty() { format!("{failed} failed") } else { format!("{failed} failed ({causes})") };
        [
            format!(
                "  asked {:>10}   replies {:>10}   {}",
                rate(|m| m.planned),
                rate(|m| m.ok),
                sparkline(&self.seconds)
            ),
            format!("  {} replies   {failed}", last.ok),
            format!("  last second   {}", quantiles(&moment.response, &[0.5, 0.9, 0.99])),
            format!("  whole run     {}", quantiles(&self.whole.response, &[0.5, 0.9, 0.99])),
            format!("  lateness      {}", quantiles(&moment.lateness, &[0.5, 0.99])),
        ]
        .join("\n")
    }
}

/// Quantiles by the rule that nothing is said of one with fewer than ten samples beyond it.
fn quantiles(histogram: &Histogram, wanted: &[f64]) -> String {
    let one = |q: &f64| {
        let enough = histogram.count() as f64 * (1.0 - q) * (1.0 + 1e-9) >= 10.0;
        let value = histogram.quantile(*q).filter(|_| enough);
        let text = value.map_or("-".into(), |ns| table::quantity(ns as f64 * 1e-9, "s"));
        format!("p{:<3.0} {text:<12}", q * 100.0)
    };
    wanted.iter().map(one).collect::<String>().trim_end().to_string()
}

/// Numbers as bars of eight heights, the tallest as high as there is.
fn sparkline(values: &VecDeque<f64>) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| HEIGHTS[if most > 0.0 { (value / most * 7.0).round() as usize } else { 0 }];
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use sojourn_stats::Span;

    use super::*;

    fn told(at_ms: u64, ok: u64, new: &[u64], failed: u64) -> Progress {
        let mut recent = Recent::default();
        new.iter().for_each(|ms| recent.response.record(ms * 1_000_000));
        let counts = Counts { planned: ok + failed, ok, timeout: failed, ..Counts::default() };
        Progress {
            elapsed: Span(at_ms * 1_000_000),
            share: 0.5,
            planned: ok + failed,
            ok,
            failed,
            seen: Some(Box::new((counts, recent))),
        }
    }

    #[test]
    fn the_last_second_is_told_from_the_whole_run() {
        let mut trace = Trace::default();
        for quarter in 0..=8_u64 {
            // 100 replies each quarter: of 2 ms in the first second, of 50 ms in the second one.
            let ms = if quarter <= 4 { 2 } else { 50 };
            trace.push(&told(quarter * 250, quarter * 100, &[ms; 100], quarter / 4));
        }
        let text = trace.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("400 /s") && lines[0].contains('█'), "{text}");
        assert!(lines[1].contains("800 replies") && lines[1].contains("2 failed (timeout 2)"), "{text}");
        assert!(lines[2].contains("p50  50.") && lines[2].contains("p90  50."), "{text}");
        assert!(lines[2].ends_with("p99  -"), "400 samples have no p99: {text}");
        assert!(lines[3].contains("p50  2.0"), "{text}");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn bars_are_relative_to_the_tallest() {
        assert_eq!(sparkline(&VecDeque::from([0.0, 50.0, 100.0])), "▁▅█");
        assert_eq!(sparkline(&VecDeque::from([0.0])), "▁");
        assert_eq!(sparkline(&VecDeque::new()), "");
    }
}
