//! Numbers for people: as many digits as are known, and the prefix that keeps them short.

use std::fmt;

use sojourn_stats::Estimate;
use sojourn_stats::measure::rounded_outwards;
pub use sojourn_stats::measure::{is_share, range};

/// A unit with the prefix that suits a magnitude: shown = SI value times `per_si`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) per_si: f64,
    pub(super) unit: &'static str,
}

const SECONDS: [Scale; 4] = [
    Scale { per_si: 1.0, unit: "s" },
    Scale { per_si: 1e3, unit: "ms" },
    Scale { per_si: 1e6, unit: "\u{b5}s" },
    Scale { per_si: 1e9, unit: "ns" },
];

const BYTES: [Scale; 4] = [
    Scale { per_si: 1e-9, unit: "GB" },
    Scale { per_si: 1e-6, unit: "MB" },
    Scale { per_si: 1e-3, unit: "kB" },
    Scale { per_si: 1.0, unit: "B" },
];

impl Scale {
    /// The scale for times around `seconds`.
    pub(crate) fn of_time(seconds: f64) -> Scale {
        pick(&SECONDS, seconds)
    }
}

/// The first scale in which `value` rounds to at least 1; zero is shown in the first of all.
fn pick(scales: &[Scale; 4], value: f64) -> Scale {
    let magnitude = value.abs();
    if magnitude == 0.0 || !magnitude.is_finite() {
        return scales[0];
    }
    *scales.iter().find(|scale| magnitude * scale.per_si >= 0.9995).unwrap_or(&scales[3])
}

/// `value` in SI `unit`, to three significant digits: "83.1 ms".
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    let (per_si, unit) = scaled(value, unit);
    join(&significant(value * per_si), &unit)
}

/// An end of an interval in SI `unit`, as [`quantity`], rounded away from what is between the ends.
pub(crate) fn quantity_end(value: f64, unit: &str, is_upper: bool) -> String {
    let (per_si, unit) = scaled(value, unit);
    join(&significant_end(value * per_si, is_upper), &unit)
}

/// `value` with how far its interval reaches, both to two digits of that, which is rounded up: "83.1 ± 1.3 ms"; where it has no
/// width, "exactly 83.1 ms".
fn with_reach(value: f64, half: f64, unit: &str) -> String {
    let (per_si, unit) = scaled(value, unit);
    let (value, half) = (value * per_si, half * per_si);
    if half == 0.0 {
        return format!("exactly\u{a0}{}", join(&significant(value), &unit));
    }
    join(&plus_minus(value, half), &unit)
}

/// A number with how far its interval reaches, both to two digits of that, which is rounded up: "83.1 ± 1.3". Both are in the
/// unit that is to stand behind them; spaces are such at which no line breaks.
pub fn plus_minus(value: f64, reach: f64) -> String {
    if reach <= 0.0 || !reach.is_finite() {
        return significant(value);
    }
    let (value, reach) = rounded_outwards(value, reach, decimals_for(reach, 2));
    format!("{value}\u{a0}\u{b1}\u{a0}{reach}")
}

/// One half of an interval so many times the other is told by the ends of both.
const LOPSIDED: f64 = 1.5;

/// The ends of an interval that a number with ± would hide: it reaches farther up than the number is above 0, and never below,
/// as that of a share of 0.003 % does that may be 0.1 %; or one of its halves is much longer than the other. The same is of a
/// number that is between `least` and `most` in any case, both in its unit ([`range`]): no request is less than one attempt.
pub fn asymmetric(estimate: &Estimate, (least, most): (f64, f64)) -> Option<(f64, f64)> {
    let ((low, high), value) = (estimate.interval()?, estimate.value()?);
    let reach = estimate.reach()?;
    let is_lopsided = reach > LOPSIDED * (value - low).min(high - value);
    let leaves = reach > value - least || (high <= most && reach > most - value);
    (low >= least.max(0.0) && (leaves || is_lopsided)).then_some((low, high))
}

/// What no metric is below, and none above.
const ANY: (f64, f64) = (0.0, f64::INFINITY);

/// A difference in SI `unit` with both ends of its interval, rounded outwards to two digits of its width, each on whichever side
/// of 0: "2.0 (−0.5 to 4.5) ms".
pub(super) fn difference(value: f64, (low, high): (f64, f64), unit: &str) -> String {
    let (per_si, unit) = scaled(value.abs().max(low.abs()).max(high.abs()), unit);
    let width = per_si * (high - low);
    let digits = if width > 0.0 && width.is_finite() { decimals_for(width, 2) } else { 3 };
    let per_one = 10f64.powi(digits as i32);
    let end = |of: f64, is_upper: bool| if of.is_finite() { outwards(of * per_si, per_one, is_upper) } else { of };
    let (value, low, high) = (value * per_si, end(low, false), end(high, true));
    let told = format!("{value:.digits$} ({low:.digits$}\u{a0}to\u{a0}{high:.digits$})").replace('-', "\u{2212}");
    join(&told, &unit)
}

/// `value` with both ends of its interval, rounded outwards: "0.003 (0 to 0.103) %".
fn with_ends(value: f64, (low, high): (f64, f64), unit: &str) -> String {
    let (per_si, unit) = scaled(high, unit);
    join(&between(value * per_si, (low * per_si, high * per_si)), &unit)
}

/// A number with both ends of its interval, rounded outwards: "0.003 (0 to 0.103)". As [`plus_minus`].
pub fn between(value: f64, (low, high): (f64, f64)) -> String {
    let reach = (value - low).max(high - value);
    let digits = decimals_for(if value > 0.0 { value.min(high).min(reach) } else { high }, 2);
    let step = 10f64.powi(digits as i32);
    let number = |of: f64| if of == 0.0 { "0".to_owned() } else { format!("{of:.digits$}") };
    let (low, high) = ((low * step).floor() / step, (high * step).ceil() / step);
    format!("{} ({}\u{a0}to\u{a0}{})", number(value), number(low), number(high))
}

/// A ratio with the ends of its interval, rounded outwards, to two digits of the shorter half: "1.105 (1.032 to 1.182)",
/// "5901 (2527 to 13776)". An end that is not 1 does not read as 1, as far as six decimals go.
pub fn ratio(value: f64, (low, high): (f64, f64)) -> String {
    const MOST: usize = 6;
    let width = (value - low).min(high - value);
    let mut digits = if width > 0.0 { decimals_for(width, 2).min(MOST) } else { 3 };
    let ends = |digits: usize| {
        let per_one = 10f64.powi(digits as i32);
        (outwards(low, per_one, false), outwards(high, per_one, true))
    };
    let reads_as_1 =
        |(shown_low, shown_high): (f64, f64)| (shown_low == 1.0 && low != 1.0) || (shown_high == 1.0 && high != 1.0);
    while digits < MOST && reads_as_1(ends(digits)) {
        digits += 1;
    }
    let (low, high) = ends(digits);
    format!("{value:.digits$} ({low:.digits$} to {high:.digits$})")
}

/// An estimate as the tables show it: with its half width, with both ends where that would reach below 0, or the words that
/// say why there is none.
pub(crate) fn estimate(estimate: &Estimate, unit: &str) -> String {
    estimate_in(estimate, unit, ANY)
}

/// The same of a number that is between these two.
fn estimate_in(estimate: &Estimate, unit: &str, range: (f64, f64)) -> String {
    if let (Some(ends), Some(value), false) = (asymmetric(estimate, range), estimate.value(), estimate.is_sharp()) {
        return with_ends(value, ends, unit);
    }
    match *estimate {
        Estimate::Sampled { value, .. } if estimate.is_sharp() => with_reach(value, 0.0, unit),
        Estimate::Sampled { value, .. } => with_reach(value, estimate.reach().unwrap_or(f64::NAN), unit),
        Estimate::WithoutInterval { value, why, .. } => {
            format!("{} (no interval: {})", quantity(value, unit), why.words())
        }
        Estimate::Exact { value } => quantity(value, unit),
        Estimate::Approximate { value } => format!("\u{2248}\u{a0}{}", quantity(value, unit)),
        Estimate::TooFew { .. } => "too few samples".to_owned(),
    }
}

/// A share in per cent with the half width of its interval; what is no share, such as a number of attempts, as it is.
pub(crate) fn share(metric: &str, estimate: &Estimate) -> String {
    let (least, most) = range(metric);
    if !is_share(metric) {
        return estimate_in(estimate, "1", (least, most));
    }
    let percent = |value: f64| 100.0 * value;
    let shown = match estimate.clone() {
        Estimate::Sampled { value, ci_low, ci_high, samples } => {
            Estimate::Sampled { value: percent(value), ci_low: percent(ci_low), ci_high: percent(ci_high), samples }
        }
        Estimate::WithoutInterval { value, samples, why } => {
            Estimate::WithoutInterval { value: percent(value), samples, why }
        }
        Estimate::Exact { value } => Estimate::Exact { value: percent(value) },
        Estimate::Approximate { value } => Estimate::Approximate { value: percent(value) },
        few @ Estimate::TooFew { .. } => few,
    };
    estimate_in(&shown, "%", (percent(least), percent(most)))
}

/// A difference as a percentage with its sign: "+3.1 %".
pub(crate) fn signed_percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let decimals = if percent.abs() < 9.95 { 1 } else { 0 };
    let text = format!("{percent:+.decimals$}").replace('-', "\u{2212}");
    let text = if percent.abs() < 0.05 { "0.0".to_owned() } else { text };
    format!("{text}\u{a0}%")
}

/// To two significant digits, rounded by `round`.
pub(crate) fn two_digits(value: f64, round: fn(f64) -> f64) -> f64 {
    let step = 10_f64.powf(value.abs().max(f64::MIN_POSITIVE).log10().floor() - 1.0);
    // A whole number of requests.
    let step = if value >= 10.0 { step.max(1.0) } else { step };
    round(value / step) * step
}

/// Three significant digits, never in scientific notation between 1e-4 and 1e9.
pub(crate) fn significant(value: f64) -> String {
    if value.is_nan() {
        return "undefined".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinite" } else { "\u{2212}infinite" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = decimals_for(value, 3);
    format!("{value:.decimals$}")
}

/// An end of an interval to three significant digits, rounded away from what is between the ends: up, or down.
pub(crate) fn significant_end(value: f64, is_upper: bool) -> String {
    if value == 0.0 || !value.is_finite() {
        return significant(value);
    }
    let is_plain = (1e-4..1e9).contains(&value.abs());
    let decimals = if is_plain { decimals_for(value, 3) as i32 } else { 2 - value.abs().log10().floor() as i32 };
    significant(outwards(value, 10f64.powi(decimals), is_upper))
}

/// `value` on a grid of so many steps in 1, rounded up or down.
pub fn outwards(value: f64, per_one: f64, is_upper: bool) -> f64 {
    let steps = value * per_one;
    // The hair keeps what is a number of steps from becoming one more.
    let hair = 1e-9 * steps.abs();
    let steps = if is_upper { (steps - hair).ceil() } else { (steps + hair).floor() };
    steps / per_one
}

/// How many decimals show `digits` significant digits of `value`.
fn decimals_for(value: f64, digits: i32) -> usize {
    let exponent = value.abs().log10().floor() as i32;
    // 9.996 to three digits is 10.0: rounding may carry into one digit more.
    let carried = (value.abs() / 10f64.powi(exponent - digits + 1)).round() >= 10f64.powi(digits);
    (digits - 1 - exponent - i32::from(carried)).clamp(0, 12) as usize
}

fn scaled(value: f64, unit: &str) -> (f64, String) {
    match unit {
        "s" => (pick(&SECONDS, value).per_si, pick(&SECONDS, value).unit.to_owned()),
        "B" => (pick(&BYTES, value).per_si, pick(&BYTES, value).unit.to_owned()),
        "1" | "" => (1.0, String::new()),
        other => (1.0, other.strip_prefix('1').unwrap_or(other).to_owned()),
    }
}

fn join(number: &str, unit: &str) -> String {
    let words = number.starts_with(char::is_alphabetic) || number.ends_with("infinite");
    if unit.is_empty() || words { number.to_owned() } else { format!("{number}\u{a0}{unit}") }
}

/// A number with about two digits.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (1 - self.0.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
        write!(f, "{:.digits$}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use sojourn_stats::measure::NoInterval;

    use super::*;

    /// Without the no-break spaces, which are hard to read in a test.
    fn plain(text: String) -> String {
        text.replace('\u{a0}', " ")
    }

    /// A share near 0 may be many times as much, and is never below.
    #[test]
    fn an_interval_that_ends_at_0_is_told_by_its_ends() {
        let of = |value, ci_low, ci_high| {
            plain(share("error_ratio", &Estimate::Sampled { value, ci_low, ci_high, samples: 99 }))
        };
        assert_eq!(of(3e-5, 0.0, 0.00103), "0.0030 (0 to 0.1030) %");
        assert_eq!(of(0.0, 0.0, 0.0739), "0 (0 to 7.4) %");
        assert_eq!(of(0.01, 0.0, 0.02), "1.0 \u{b1} 1.0 %");
        assert_eq!(of(0.98, 0.9552, 1.0), "98.0 (95.5 to 100.0) %", "no share is above 1");
        let of = |value, ci_low, ci_high| {
            plain(share("attempts_ratio", &Estimate::Sampled { value, ci_low, ci_high, samples: 99 }))
        };
        let told = of(1.00011, 1.000_023, 1.000_236);
        assert_eq!(told, "1.00011 (1.00002 to 1.00024)", "no request is less than one attempt");
        assert_eq!(of(1.2, 1.15, 1.25), "1.200 \u{b1} 0.050");
    }

    #[test]
    fn quantities_have_three_digits_and_a_sensible_prefix() {
        let cases = [
            (0.0831, "s", "83.1 ms"),
            (12.345, "s", "12.3 s"),
            (4.2e-5, "s", "42.0 \u{b5}s"),
            (3e-10, "s", "0.300 ns"),
            (0.0, "s", "0 s"),
            (1234.0, "s", "1234 s"),
            (0.99996, "s", "1.00 s"),
            (0.0099996, "s", "10.0 ms"),
            (2.5e6, "B", "2.50 MB"),
            (374.0, "1/s", "374 /s"),
            (0.7, "1", "0.700"),
            (f64::INFINITY, "s", "infinite"),
            (f64::NAN, "s", "undefined"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(plain(quantity(value, unit)), expected, "{value} {unit}");
        }
    }

    #[test]
    fn intervals_decide_the_digits() {
        assert_eq!(plain(with_reach(0.08312, 0.00123, "s")), "83.1 \u{b1} 1.3 ms", "81.9 to 84.4");
        assert_eq!(plain(with_reach(0.08312, 0.000099, "s")), "83.120 \u{b1} 0.099 ms");
        assert_eq!(plain(with_reach(0.08312, 0.0400, "s")), "83 \u{b1} 41 ms");
        assert_eq!(plain(with_reach(1.5, 0.2499, "s")), "1.50 \u{b1} 0.25 s");
        assert_eq!(plain(with_reach(1.5, 0.0999, "s")), "1.50 \u{b1} 0.10 s");
        assert_eq!(plain(with_reach(0.083, 0.0, "s")), "exactly 83.0 ms");
        assert_eq!(plain(with_reach(0.083, 1e-9, "s")), "83.0000000 \u{b1} 0.0000010 ms", "never \u{b1} 0.0");
    }

    #[test]
    fn estimates_say_what_they_are() {
        assert_eq!(plain(estimate(&Estimate::Exact { value: 0.05 }, "s")), "50.0 ms");
        assert_eq!(plain(estimate(&Estimate::Approximate { value: 0.05 }, "s")), "\u{2248} 50.0 ms");
        assert_eq!(estimate(&Estimate::TooFew { samples: 71 }, "s"), "too few samples");
        let bare = Estimate::WithoutInterval { value: 0.05, samples: 71, why: NoInterval::TooShort };
        assert_eq!(plain(estimate(&bare, "s")), "50.0 ms (no interval: too short a run)");
        let sum = Estimate::Sampled { value: 0.3, ci_low: 0.3, ci_high: 0.1 + 0.2, samples: 71 };
        assert_eq!(plain(estimate(&sum, "s")), "exactly 300 ms", "but for rounding");
        let asymmetric = Estimate::Sampled { value: 0.01, ci_low: 0.009, ci_high: 0.015, samples: 71 };
        assert_eq!(plain(estimate(&asymmetric, "s")), "10.0 (9.0 to 15.0) ms", "one half is five times the other");
        let nearly = Estimate::Sampled { value: 0.01, ci_low: 0.006, ci_high: 0.015, samples: 71 };
        assert_eq!(plain(estimate(&nearly, "s")), "10.0 \u{b1} 5.0 ms", "the farther end");
        let clipped = Estimate::Sampled { value: 0.01, ci_low: 0.0, ci_high: 0.03, samples: 71 };
        assert_eq!(plain(estimate(&clipped, "s")), "10 (0 to 30) ms", "the interval went on below 0");
    }

    #[test]
    fn ratios_have_the_digits_of_their_interval() {
        assert_eq!(ratio(1.1052, (1.0321, 1.1818)), "1.105 (1.032 to 1.182)");
        assert_eq!(ratio(5901.175, (2527.894, 13775.843)), "5901 (2527 to 13776)");
        assert_eq!(ratio(4.31, (3.84, 4.78)), "4.31 (3.84 to 4.78)");
        assert_eq!(ratio(1.05, (1.0002, 1.11)), "1.0500 (1.0002 to 1.1100)", "it is not 1");
        assert_eq!(ratio(1.0, (1.0, 1.0)), "1.000 (1.000 to 1.000)");
    }

    #[test]
    fn differences_carry_their_sign() {
        assert_eq!(plain(difference(0.002, (-0.000_484, 0.004_484), "s")), "2.0 (\u{2212}0.5 to 4.5) ms");
        assert_eq!(plain(difference(-1.0, (-1.25, -0.75), "1/s")), "\u{2212}1.00 (\u{2212}1.25 to \u{2212}0.75) /s");
        assert_eq!(plain(signed_percent(0.0312)), "+3.1 %");
        assert_eq!(plain(signed_percent(-0.123)), "\u{2212}12 %");
        assert_eq!(plain(signed_percent(-0.0002)), "0.0 %");
    }
}
