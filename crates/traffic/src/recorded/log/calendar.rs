//! Instants as logs write them: `01/Aug/1995:02:00:00 -0400` (Common Log Format), `06/Feb/2009:12:14:14.655` (HAProxy, in
//! the zone of its machine), ISO 8601, and numbers of seconds, milliseconds, microseconds or nanoseconds since 1970.

/// The months, as a line names them.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Microseconds of a second.
pub(super) const SECOND_US: i64 = 1_000_000;

/// An instant as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Microseconds since 1970 in UTC; of a stamp without a zone, as if that were UTC.
    pub(super) time_us: i64,
    /// How far the zone is ahead of UTC (s); none where it is not written.
    pub(super) zone_s: Option<i32>,
    /// The step to which it is written (us).
    pub(super) step_us: u32,
}

/// An instant in any of the forms, told apart by its shape.
#[inline]
pub(super) fn stamp(text: &[u8]) -> Option<Stamp> {
    match (text.get(2), text.get(4)) {
        (Some(b'/'), _) => common(text),
        (_, Some(b'-')) => iso(text),
        _ => since_1970(text),
    }
}

/// `01/Aug/1995:02:00:00 -0400`, `06/Feb/2009:12:14:14.655`.
#[inline]
pub(super) fn common(text: &[u8]) -> Option<Stamp> {
    let (date, rest) = text.split_first_chunk::<20>()?;
    let shape = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':')];
    if shape.iter().any(|&(at, byte)| date[at] != byte) {
        return None;
    }
    let month = MONTHS.iter().position(|month| month.as_bytes() == &date[3..6])? as i64 + 1;
    let (day, year) = (two(date, 0)?, two(date, 7)? * 100 + two(date, 9)?);
    let local_s = day_of(year, month, day)? * 86_400 + clock(&date[12..])?;
    let (fraction_us, step_us, zone) = fraction(rest)?;
    let zone_s = match zone {
        [] => None,
        [b' ', zone @ ..] => Some(zone_of(zone)?),
        _ => return None,
    };
    Some(at(local_s, fraction_us, zone_s, step_us))
}

/// `2016-04-15T20:17:00.310Z`, `2016-04-15 20:17:00+02:00`; without a zone none is known.
#[inline]
pub(super) fn iso(text: &[u8]) -> Option<Stamp> {
    let (date, rest) = text.split_first_chunk::<19>()?;
    if !matches!(date[10], b'T' | b' ') {
        return None;
    }
    let local_s = day(&date[..10])? * 86_400 + clock(&date[11..])?;
    let (fraction_us, step_us, zone) = fraction(rest)?;
    let zone_s = match zone {
        [] => None,
        b"Z" => Some(0),
        [b' ', zone @ ..] | zone => Some(zone_of(zone)?),
    };
    Some(at(local_s, fraction_us, zone_s, step_us))
}

/// A number of seconds, milliseconds, microseconds or nanoseconds since 1970: which of them is told by its size, from the
/// year 1973 on to 5138.
#[inline]
pub(super) fn since_1970(text: &[u8]) -> Option<Stamp> {
    let point = memchr::memchr(b'.', text).unwrap_or(text.len());
    let whole = digits(&text[..point])?;
    let (fraction_us, step_us, rest) = fraction(&text[point..])?;
    if !rest.is_empty() {
        return None;
    }
    let utc = |time_us: u64, step_us| Some(Stamp { time_us: time_us as i64, zone_s: Some(0), step_us });
    match whole {
        100_000_000..100_000_000_000 => utc(whole * 1_000_000 + fraction_us as u64, step_us),
        100_000_000_000..100_000_000_000_000 => utc(whole * 1_000 + fraction_us as u64 / 1_000, 1_000),
        100_000_000_000_000..100_000_000_000_000_000 => utc(whole, 1),
        100_000_000_000_000_000..=u64::MAX => utc(whole / 1_000, 1),
        _ => None,
    }
}

/// `2016-04-15`, in days since 1970.
#[inline]
pub(super) fn day(date: &[u8]) -> Option<i64> {
    let date: &[u8; 10] = date.try_into().ok()?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    day_of(two(date, 0)? * 100 + two(date, 2)?, two(date, 5)?, two(date, 8)?)
}

/// `20:17:00` with a fraction or none: microseconds from midnight, and the step to which they are written (us).
#[inline]
pub(super) fn time_of_day(text: &[u8]) -> Option<(i64, u32)> {
    let (time, rest) = text.split_first_chunk::<8>()?;
    let (fraction_us, step_us, rest) = fraction(rest)?;
    rest.is_empty().then_some((clock(time)? * SECOND_US + fraction_us, step_us))
}

/// The whole number that these digits are.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn at(local_s: i64, fraction_us: i64, zone_s: Option<i32>, step_us: u32) -> Stamp {
    let time_us = (local_s - i64::from(zone_s.unwrap_or(0))) * SECOND_US + fraction_us;
    Stamp { time_us, zone_s, step_us }
}

/// `.655` before the rest: microseconds, to which step, and the rest. Digits beyond the sixth are dropped.
#[inline]
fn fraction(text: &[u8]) -> Option<(i64, u32, &[u8])> {
    let [b'.' | b',', text @ ..] = text else { return Some((0, SECOND_US as u32, text)) };
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let kept = &text[..count.min(6)];
    let step_us = 10_u32.pow(6 - kept.len() as u32);
    Some((digits(kept)? as i64 * i64::from(step_us), step_us, &text[count..]))
}

#[inline]
fn two(text: &[u8], at: usize) -> Option<i64> {
    let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

/// `02:00:00`, in seconds. A second may be the 60th: a leap second.
#[inline]
fn clock(text: &[u8]) -> Option<i64> {
    let (hour, minute, second) = (two(text, 0)?, two(text, 3)?, two(text, 6)?);
    let is_clock = text[2] == b':' && text[5] == b':' && hour < 24 && minute < 60 && second < 61;
    is_clock.then_some((hour * 60 + minute) * 60 + second)
}

/// `-0400`, `+05:30`, in seconds ahead of UTC.
#[inline]
fn zone_of(text: &[u8]) -> Option<i32> {
    let minutes_at = match (text.len(), text.get(3)) {
        (5, _) => 3,
        (6, Some(b':')) => 4,
        _ => return None,
    };
    let (hours, minutes) = (two(text, 1)?, two(text, minutes_at)?);
    let ahead_s = (hours * 60 + minutes) as i32 * 60;
    match text[0] {
        _ if minutes > 59 => None,
        b'+' => Some(ahead_s),
        b'-' => Some(-ahead_s),
        _ => None,
    }
}

#[inline]
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    exists.then(|| days_from_civil(year, month, day))
}

/// The date of a log's line, `[01/Aug/1995:06:00:00 +0000]`, of so many seconds since 1970 in UTC.
pub fn date(time_s: i64) -> String {
    let (days, second) = (time_s.div_euclid(86_400), time_s.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (month, hour, minute, second) = (MONTHS[month as usize - 1], second / 3600, second / 60 % 60, second % 60);
    format!("[{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000]")
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to this day of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms": years begin in March, so that the leap day is the last).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The day of the Gregorian calendar that is so many days after 1970-01-01: year, month, day (Hinnant, as above).
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted_month + 2) / 5 + 1)
}
