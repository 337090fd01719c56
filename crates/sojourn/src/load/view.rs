//! How far a run is, on a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use sojourn_load::Progress;

/// A bar on a terminal; nothing elsewhere.
pub(crate) struct View {
    bar: ProgressBar,
}

impl View {
    /// A view that stays silent when `quiet`, and where nobody sees it.
    pub(crate) fn new(quiet: bool) -> View {
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::new(1000),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{prefix}[{bar:30}] {msg} ({elapsed})").expect("a valid template");
        bar.set_style(style.progress_chars("=> "));
        View { bar }
    }

    /// A new run begins; `label` says which of several.
    pub(crate) fn begin(&self, label: &str) {
        self.bar.reset();
        self.bar.set_prefix(if label.is_empty() { String::new() } else { format!("{label} ") });
    }

    /// Shows how far it is.
    pub(crate) fn show(&self, now: &Progress) {
        self.bar.set_position((now.share * 1000.0) as u64);
        self.bar.set_message(format!("{} replies, {} failed", now.ok, now.failed));
    }

    /// Leaves the terminal as it was.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
