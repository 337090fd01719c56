//! What a benchmark asked for and what came out: each bar is printed as it is judged, and one that is missed fails the
//! benchmark at its end.

use crate::Result;

/// The bars of a benchmark.
#[derive(Default)]
pub(crate) struct Bars {
    missed: Vec<String>,
}

impl Bars {
    #[allow(dead_code, reason = "not every bench has an upper bar")]
    pub(crate) fn at_most(&mut self, what: &str, value: f64, bar: f64) {
        self.told(what, value, "at most", bar, value <= bar);
    }

    #[allow(dead_code, reason = "not every bench has a lower bar")]
    pub(crate) fn at_least(&mut self, what: &str, value: f64, bar: f64) {
        self.told(what, value, "at least", bar, value >= bar);
    }

    fn told(&mut self, what: &str, value: f64, relation: &str, bar: f64, held: bool) {
        let line = format!("{what}: {value:.2}, {relation} {bar}");
        println!("  {} {line}", if held { "held:  " } else { "MISSED:" });
        if !held {
            self.missed.push(line);
        }
    }

    pub(crate) fn judge(self) -> Result<()> {
        if self.missed.is_empty() { Ok(()) } else { Err(format!("missed: {}", self.missed.join("; ")).into()) }
    }
}
