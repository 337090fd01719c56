//! A log with more requests, or fewer, that is the same day otherwise.

use sojourn_stats::Stream;

use super::Log;
use super::entry::Entry;

/// A copy is shifted by so much at least and at most (us), and by so small a part of a short log.
const SHIFTS_US: (i64, i64) = (10_000_000, 300_000_000);
const PARTS: (i64, i64) = (8, 4);

impl Log {
    /// `growth` times as many requests: below 1 each is kept with that probability; above, copies of the log are laid over it, of
    /// the last one each request with the probability that is left. A copy is the same day a little later, by 10 s to 5 min (at
    /// most a quarter of the log), and what would come after the end comes at the start; its clients are others. So the shape of
    /// the day stays, bursts become larger only by chance, and nothing comes faster than it came. Time compressed instead would
    /// make every burst as much shorter, and the day too. A silence at an end ([`Log::silences`]) stays one: copies are laid over
    /// the traffic, and what is outside of the silence is copied where it is.
    ///
    /// # Panics
    /// When `growth` is not positive.
    #[must_use]
    pub fn grown(&self, growth: f64, seed: u64) -> Log {
        assert!(growth > 0.0 && growth.is_finite(), "growth is a number above 0");
        let (whole, part) = (growth.floor() as u32, growth.fract());
        let step_us = self.resolution_us.max(1);
        let silences = self.silences();
        let from = silences.at_start.map_or(0, |silence| silence.before);
        let to = silences.at_end.map_or(self.entries.len(), |silence| silence.before);
        let traffic = &self.entries[from..to];
        let first_us = traffic.first().map_or(0, |entry| entry.time_us);
        let end_us = traffic.last().map_or(0, |entry| entry.time_us + step_us);
        let span_us = end_us - first_us;
        let (mut entries, mut hosts): (Vec<Entry>, Vec<String>) = (Vec::new(), Vec::new());
        for copy in 0..whole + u32::from(part > 0.0) {
            let mut stream = Stream::new(seed, &format!("copy {copy}"), "growth");
            let (least, most) = (SHIFTS_US.0.min(span_us / PARTS.0), SHIFTS_US.1.min(span_us / PARTS.1));
            let drawn = least + (stream.uniform() * (most - least) as f64) as i64;
            let shift_us = if copy == 0 { 0 } else { drawn / step_us * step_us };
            let before = hosts.len() as u32;
            match copy {
                0 => hosts.extend(self.hosts.iter().cloned()),
                _ => hosts.extend(self.hosts.iter().map(|host| format!("{host} (copy {copy})"))),
            }
            let shifted_us = |time_us: i64| match (first_us..end_us).contains(&time_us) {
                true => first_us + (time_us - first_us + shift_us) % span_us.max(1),
                false => time_us,
            };
            let kept = self.entries.iter().filter(|_| copy < whole || stream.uniform() < part);
            entries.extend(kept.map(|entry| Entry {
                time_us: shifted_us(entry.time_us),
                client: entry.client + before,
                ..*entry
            }));
        }
        entries.sort_by_key(|entry| entry.time_us);
        Log { entries, hosts, ..self.clone() }
    }
}
