//! Numbers and times as `haproxy.cfg` writes them (manual, section 2.5).

use sojourn_stats::Span;

/// A time; a number without a unit is milliseconds.
///
/// # Errors
/// What would be right.
pub(super) fn time(text: &str) -> Result<Span, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let right = || format!("`{}` is no time: write a whole number and us, ms, s, m, h or d", crate::note::cut(text));
    let us_of_unit: u64 = match unit {
        "us" => 1,
        "" | "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return Err(right()),
    };
    let number: u64 = number.parse().map_err(|_| right())?;
    let us = number.checked_mul(us_of_unit).filter(|us| us.div_ceil(1000) < 1 << 31);
    let us = us.ok_or_else(|| format!("`{}` is more than 2147483647 ms, about 24.8 days", crate::note::cut(text)))?;
    Ok(Span(us * 1000))
}

/// A number of `what`, from `least` to `most`.
///
/// # Errors
/// What would be right.
pub(super) fn number(text: &str, what: &str, (least, most): (u32, u32)) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        format!("`{}` is no {what}: it is a whole number from {least} to {most}", crate::note::cut(text))
    })
}
