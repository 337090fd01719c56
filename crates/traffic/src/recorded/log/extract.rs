//! A part of a log as a log of its own.

use super::Log;
use super::calendar::SECOND_US;

impl Log {
    /// The requests from one instant up to another (seconds since 1970 in UTC), as a log; hosts, paths and servers are those that
    /// occur. What is known of bad lines stays that of the whole log.
    #[must_use]
    pub fn between(&self, from_s: i64, to_s: i64) -> Log {
        let (from_us, to_us) = (from_s.saturating_mul(SECOND_US), to_s.saturating_mul(SECOND_US));
        let start = self.entries.partition_point(|entry| entry.time_us < from_us);
        let end = self.entries.partition_point(|entry| entry.time_us < to_us).max(start);
        let cut = (
            if start > 0 { Some(from_us) } else { self.cut.0 },
            if end < self.entries.len() { Some(to_us) } else { self.cut.1 },
        );
        let mut entries = self.entries[start..end].to_vec();
        let hosts = occurring(&self.hosts, entries.iter_mut().map(|entry| &mut entry.client));
        let paths = occurring(&self.paths, entries.iter_mut().map(|entry| &mut entry.object));
        let named = entries.iter_mut().filter(|entry| entry.server().is_some());
        let servers = occurring(&self.servers, named.map(|entry| &mut entry.server));
        let (formats, first_bad) = (self.formats.clone(), self.first_bad.clone());
        Log { entries, hosts, paths, servers, formats, first_bad, cut, not_read: self.not_read.clone(), ..*self }
    }
}

/// Numbers `used` anew by first appearance, and gives the names by their new numbers.
fn occurring<'a>(names: &[String], used: impl Iterator<Item = &'a mut u32>) -> Vec<String> {
    let mut numbers: Vec<Option<u32>> = vec![None; names.len()];
    let mut kept = Vec::new();
    for number in used {
        let old = *number as usize;
        *number = *numbers[old].get_or_insert_with(|| {
            kept.push(names[old].clone());
            kept.len() as u32 - 1
        });
    }
    kept
}
