//! The findings about a proxy, as a file and as lines for a human reader.

use std::fmt::Write;

use super::{Coefficients, Kept, ProxyFound};
use crate::demand::Against;
use crate::settings::Interval;
use crate::write::{digits, quoted, signed, three};

impl ProxyFound {
    /// The server model at 100 % hits, and `[measured.proxy]` beside it.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let out = &mut text;
        let _ = writeln!(out, "# The proxy at {} at 100 % hits, measured by `sojourn calibrate --proxy`.", self.url);
        for note in &self.notes {
            let _ = writeln!(out, "# {note}");
        }
        out.push_str(&self.server.to_toml());
        out.push_str("\n[measured.proxy]   # intervals of 95 %: [estimate, low, high]\n");
        let _ = writeln!(out, "url = {}\nclients = {}\nrounds = {}", quoted(&self.url), self.clients, self.rounds);
        let lines = [
            ("hit_work", &self.hit_work, "seconds per reply of a cached document against its size"),
            ("miss_work", &self.miss_work, "of an uncached one"),
            ("demand", &self.demand, "g: response time at 100 % hits over clients"),
        ];
        for (name, line, words) in lines {
            if let Some(Against { fixed_s, per_x_s }) = line {
                let _ = writeln!(out, "{name}_fixed_s = {}   # {words}", three(fixed_s));
                let _ = writeln!(out, "{name}_per_byte_s = {}", three(per_x_s));
            }
        }
        let _ = writeln!(out, "all_hits_s = {}   # seconds per reply of the mix", three(&self.all_hits_s));
        let _ = writeln!(out, "no_hits_s = {}", three(&self.no_hits_s));
        let _ =
            writeln!(out, "size_break = {}   # h1 is of smaller documents, h2 of the others", digits(self.size_break));
        for (name, h) in self.coefficients() {
            let _ = writeln!(out, "{name}_fixed = {}   # c0 of c0 + c1 y, y in percent", three(&h.fixed));
            let _ = writeln!(out, "{name}_per_percent = {}", three(&h.per_percent));
        }
        for document in &self.documents {
            let _ = writeln!(
                out,
                "[[measured.proxy.document]]\nhit = {}\nmiss = {}\nbytes = {:?}",
                quoted(&document.hit),
                quoted(&document.miss),
                document.bytes
            );
            let _ = writeln!(
                out,
                "hit_idle_s = {}\nmiss_idle_s = {}\nhit_work_s = {}\nmiss_work_s = {}",
                three(&document.hit_idle),
                three(&document.miss_idle),
                three(&document.hit_work),
                three(&document.miss_work)
            );
        }
        for ratio in &self.ratios {
            let _ = writeln!(
                out,
                "[[measured.proxy.ratio]]\nratio = {:?}\nreply_s = {}",
                ratio.ratio,
                three(&ratio.reply_s)
            );
        }
        let _ = writeln!(out, "[measured.proxy.held_out]   # not used in the fits\nratio = {:?}", self.kept_out);
        let kept = self.coefficients().map(|(name, h)| (name, h.kept_out));
        for (name, Kept { measured, predicted, error }) in [("reply_s", self.kept_out_mix)].into_iter().chain(kept) {
            let _ = writeln!(out, "{name}_measured = {}", three(&measured));
            let _ = writeln!(out, "{name}_predicted = {}", three(&predicted));
            let _ = writeln!(out, "{name}_error = {}", three(&error));
        }
        text
    }

    /// The findings, in lines for a human reader.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = vec![format!("demand at 100 % hits: {}", self.server.demand(""))];
        for document in &self.documents {
            lines.push(format!(
                "  {} ({} B): work {}, not cached {}",
                document.hit,
                document.bytes,
                times(&document.hit_work),
                times(&document.miss_work)
            ));
        }
        if let Some(Against { fixed_s, per_x_s }) = &self.demand {
            lines.push(format!("g(x), response time over clients: {} + {} per byte", times(fixed_s), times(per_x_s)));
        }
        for ratio in &self.ratios {
            lines.push(format!("{:.0} % hits: {} per reply", 100.0 * ratio.ratio, times(&ratio.reply_s)));
        }
        lines.push(format!(
            "line against the hit ratio: {} per reply with no hits, {} with all",
            times(&self.no_hits_s),
            times(&self.all_hits_s)
        ));
        for (side, h) in [("below", self.below), ("from", self.above)] {
            let Some(h) = h else { continue };
            lines.push(format!(
                "h {side} {} B: {} + {} y, y in percent of hits",
                self.size_break,
                plain(&h.fixed),
                plain(&h.per_percent)
            ));
        }
        let percent =
            |of: &Interval| format!("{:+.1} % ({:+.1} to {:+.1} %)", 100.0 * of.value, 100.0 * of.low, 100.0 * of.high);
        let mut errors = vec![format!("seconds per reply {}", percent(&self.kept_out_mix.error))];
        errors.extend(self.coefficients().map(|(name, h)| format!("{name} {}", percent(&h.kept_out.error))));
        lines.push(format!(
            "{:.0} % hits, not used in the fits, measured against predicted: {}",
            100.0 * self.kept_out,
            errors.join(", ")
        ));
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines
    }

    fn coefficients(&self) -> impl Iterator<Item = (&'static str, Coefficients)> {
        [("h1", self.below), ("h2", self.above)].into_iter().filter_map(|(name, h)| Some((name, h?)))
    }
}

fn times(interval: &Interval) -> String {
    format!("{} ({} to {})", signed(interval.value), signed(interval.low), signed(interval.high))
}

fn plain(interval: &Interval) -> String {
    format!("{:.4} ({:.4} to {:.4})", interval.value, interval.low, interval.high)
}
