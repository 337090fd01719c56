//! Times and numbers as `nginx.conf` writes them (`ngx_parse_time` of nginx's `src/core/ngx_parse.c`).

use sojourn_stats::Span;

/// Units from the largest to the smallest, in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("y", 31_536_000_000_000_000),
    ("M", 2_592_000_000_000_000),
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

/// A time: `60`, `1m30s`, `500ms`; a number without a unit is seconds.
///
/// # Errors
/// What would be right.
pub(super) fn time(text: &str) -> Result<Span, String> {
    let wrong = || format!("`{}` is no time, such as 60s, 1m30s or 500ms", crate::note::cut(text));
    let (mut rest, mut total, mut next) = (text.trim_end_matches(' '), 0_u64, 0);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = if rest.starts_with("ms") { 2 } else { usize::from(!rest.is_empty()) };
        let unit = rest.get(..letters).ok_or_else(wrong)?;
        let index = match unit {
            "" | " " => 6,
            unit => UNITS.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?,
        };
        if index < next {
            return Err(wrong());
        }
        next = index + 1;
        rest = rest[letters..].trim_start_matches(' ');
        let added = number.checked_mul(UNITS[index].1).and_then(|ns| total.checked_add(ns));
        total = added.ok_or_else(|| format!("`{}` is too long a time", crate::note::cut(text)))?;
    }
    Ok(Span(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nginxs() {
        for (text, ms) in [("60", 60_000), ("1m30s", 90_000), ("500ms", 500), ("1h 30m", 5_400_000), ("2s 5ms", 2_005)]
        {
            assert_eq!(time(text), Ok(Span(ms * 1_000_000)), "{text}");
        }
        for wrong in ["", "s", "1x", "1s1m", "1s1s", "-1", "999999999999y", "\u{e9}", "1\u{e9}"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
