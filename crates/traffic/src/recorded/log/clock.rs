//! Times of a log on the clock of its own zone.

use super::{Entry, Log, calendar};

impl Log {
    /// The period of `length_s` seconds with the most requests (the first of equals), aligned to the clock of the log's
    /// zone: its start (seconds since 1970 in UTC) and its requests. `None` when the log is empty.
    ///
    /// # Panics
    /// When `length_s` is not positive.
    pub fn busiest(&self, length_s: i64) -> Option<(i64, usize)> {
        assert!(length_s > 0, "a period has a length");
        let zone_s = self.zone();
        let period = |entry: &Entry| (entry.time_s() + zone_s).div_euclid(length_s);
        let mut busiest: Option<(i64, usize)> = None;
        for chunk in self.entries.chunk_by(|a, b| period(a) == period(b)) {
            if busiest.is_none_or(|(_, most)| chunk.len() > most) {
                busiest = Some((period(&chunk[0]) * length_s - zone_s, chunk.len()));
            }
        }
        busiest
    }

    /// Seconds that the zone of the log's first line is ahead of UTC; 0 where none is named.
    fn zone(&self) -> i64 {
        i64::from(self.zone_s.unwrap_or(0))
    }

    /// An instant (seconds since 1970 in UTC) as date and time in the zone of the log's first line:
    /// `1995-08-01 02:00:00 -0400`; without one where the log names none.
    pub fn local_time(&self, time_s: i64) -> String {
        let local_s = time_s + self.zone();
        let (days, second) = (local_s.div_euclid(86_400), local_s.rem_euclid(86_400));
        let (year, month, day) = calendar::civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let clock = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
        let Some(zone_s) = self.zone_s else { return clock };
        let (sign, zone) = (if zone_s < 0 { '-' } else { '+' }, zone_s.unsigned_abs() / 60);
        format!("{clock} {sign}{:02}{:02}", zone / 60, zone % 60)
    }

    /// The instant (seconds since 1970 in UTC) that `text` means on the clock of the log's zone: `12:30`, `12:30:15`, on the day
    /// of its first request, or after a date, `1995-08-01 12:30`. None of anything else, and of an empty log.
    pub fn instant(&self, text: &str) -> Option<i64> {
        let first = self.entries.first()?;
        let (date, clock) = match text.trim().split_once(' ') {
            Some((date, clock)) => (Some(date), clock.trim()),
            None => (None, text.trim()),
        };
        let day = match date {
            Some(date) => calendar::day(date.as_bytes())?,
            None => (first.time_s() + self.zone()).div_euclid(86_400),
        };
        let parts: Option<Vec<i64>> = clock.split(':').map(|part| part.parse().ok()).collect();
        let (hour, minute, second) = match parts?[..] {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        };
        let is_clock = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        is_clock.then(|| ((day * 24 + hour) * 60 + minute) * 60 + second - self.zone())
    }

    /// Seconds from midnight to an instant (seconds since 1970 in UTC), in the zone of the log's first line.
    pub fn second_of_day(&self, time_s: i64) -> i64 {
        (time_s + self.zone()).rem_euclid(86_400)
    }
}
