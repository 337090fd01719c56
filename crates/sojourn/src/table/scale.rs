//! Numbers as people read them: in the prefix in which they read best, with their interval.

use sojourn_lab::outcome::{asymmetric, range};
use sojourn_lab::{between as between_ends, is_share, outwards, plus_minus as rounded_plus_minus};
use sojourn_stats::{Estimate, Measure};

/// An estimate with the ends of its interval: `1.20 ms (1.10 to 1.30 ms)`.
pub(crate) fn with_interval(estimate: &Estimate, unit: &str) -> String {
    let scale = Scale::of_estimate(unit, estimate);
    match *estimate {
        Estimate::Sampled { value, .. } if estimate.is_sharp() => format!("exactly {}", scale.unit(value)),
        Estimate::Sampled { value, ci_low, ci_high, .. } => {
            format!("{} ({})", scale.unit(value), scale.ends(ci_low.max(0.0), ci_high))
        }
        Estimate::WithoutInterval { value, why, .. } => format!("{} (no interval: {})", scale.unit(value), why.words()),
        Estimate::Exact { value } | Estimate::Approximate { value } => scale.unit(value),
        Estimate::TooFew { .. } => "too few samples".into(),
    }
}

/// A number in the prefix in which it reads best.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    Scale::of(unit, Some(value)).unit(value)
}

/// A number of a metric: in per cent where it is a share.
pub(crate) fn number_of(metric: &str, value: f64, unit: &str) -> String {
    Scale::of_measure(&Measure::new(metric, unit, Estimate::Exact { value })).unit(value)
}

/// A number with the ends of its interval, which may be on either side of 0.
pub(crate) fn between((value, low, high): (f64, f64, f64), unit: &str) -> String {
    let scale = Scale::of(unit, Some(value.abs().max(low.abs()).max(high.abs())));
    format!("{} ({})", scale.unit(value), scale.ends(low, high))
}

/// The same of a difference of two numbers of a metric: of shares in per cent, as they are.
pub(crate) fn difference(metric: &str, (value, low, high): (f64, f64, f64), unit: &str) -> String {
    match Scale::of_share(metric) {
        Some(scale) => format!("{} ({})", scale.unit(value), scale.ends(low, high)),
        None => between((value, low, high), unit),
    }
}

/// Numbers of one metric below each other, in one prefix where none is lost in it; `-` where there is none. Their title
/// says the unit that all of them have.
pub(crate) fn column(title: &str, measures: &[Option<&Measure>]) -> (String, Vec<String>) {
    let unit = measures.iter().flatten().next().map_or("1", |measure| &measure.unit);
    let share = measures.iter().flatten().next().and_then(|measure| Scale::of_share(&measure.metric));
    let common = share.or(Scale::common(unit, measures.iter().flatten().map(|measure| &measure.estimate)));
    let (title, scale) = titled(title, common);
    let cell = |measure: &Measure| match &scale {
        Some(scale) => in_scale(&measure.estimate, scale),
        None => in_scale(&measure.estimate, &Scale::of_measure(measure)),
    };
    (title, measures.iter().map(|measure| measure.map_or("-".into(), cell)).collect())
}

/// A table's title, with the unit where all of its numbers have one; they are then written without.
pub(super) fn titled(title: &str, common: Option<Scale>) -> (String, Option<Scale>) {
    match common {
        Some(Scale { factor, unit, range }) if !unit.is_empty() => {
            (format!("{title} ({unit})"), Some(Scale { factor, unit: String::new(), range }))
        }
        none => (title.into(), none),
    }
}

/// An estimate with how far its interval reaches, rounded up: `1.20 ± 0.10 ms`. One whose halves are far from equal, or that
/// reaches farther up than it is above 0, has both ends: `0.003 (0 to 0.103) %`.
pub(super) fn plus_minus(estimate: &Estimate, unit: &str) -> String {
    in_scale(estimate, &Scale::of_estimate(unit, estimate))
}

/// An estimate in this scale.
pub(super) fn in_scale(estimate: &Estimate, scale: &Scale) -> String {
    match *estimate {
        Estimate::Sampled { value, .. } => {
            if estimate.is_sharp() {
                return format!("exactly {}", scale.unit(value));
            }
            let scaled = |of: f64| of * scale.factor;
            let text = match asymmetric(estimate, scale.range) {
                Some((low, high)) => between_ends(scaled(value), (scaled(low), scaled(high))),
                None => rounded_plus_minus(scaled(value), scaled(estimate.reach().unwrap_or(f64::NAN))),
            };
            format!("{text} {}", scale.unit).replace('\u{a0}', " ").trim_end().into()
        }
        Estimate::WithoutInterval { value, why, .. } => {
            let why = why.name().replace('-', " ");
            format!("{} ({why})", scale.unit(value))
        }
        Estimate::Exact { value } => scale.unit(value),
        Estimate::Approximate { value } => format!("≈ {}", scale.unit(value)),
        Estimate::TooFew { .. } => "too few".into(),
    }
}

/// A number is not shown in another's prefix where that leaves less of it than this.
const LEGIBLE: f64 = 0.01;

/// The prefix in which a quantity reads best.
pub(super) struct Scale {
    factor: f64,
    unit: String,
    /// Between which numbers, in the SI unit, its numbers are in any case.
    range: (f64, f64),
}

impl Scale {
    fn of(unit: &str, value: Option<f64>) -> Scale {
        let value = value.unwrap_or(1.0).abs();
        let (factor, unit) = match unit {
            "s" if 0.0 < value && value < 1e-6 => (1e9, "ns"),
            "s" if 0.0 < value && value < 1e-3 => (1e6, "us"),
            "s" if 0.0 < value && value < 1.0 => (1e3, "ms"),
            "B/s" if value >= 1e6 => (1e-6, "MB/s"),
            "B/s" if value >= 1e3 => (1e-3, "kB/s"),
            "B" if value >= 1e6 => (1e-6, "MB"),
            "B" if value >= 1e3 => (1e-3, "kB"),
            "1" => (1.0, ""),
            "1/s" => (1.0, "/s"),
            other => (1.0, other),
        };
        Scale { factor, unit: unit.into(), range: range("") }
    }

    /// Shares of requests are in per cent, as objectives have them; none of any other metric.
    fn of_share(metric: &str) -> Option<Scale> {
        is_share(metric).then(|| Scale { factor: 100.0, unit: "%".into(), range: range(metric) })
    }

    /// That of a measure by itself.
    pub(super) fn of_measure(measure: &Measure) -> Scale {
        let own = || Scale { range: range(&measure.metric), ..Scale::of_estimate(&measure.unit, &measure.estimate) };
        Scale::of_share(&measure.metric).unwrap_or_else(own)
    }

    /// That of an estimate; of 0, that of the upper end of its interval.
    fn of_estimate(unit: &str, estimate: &Estimate) -> Scale {
        let upper = || estimate.interval().map(|(_, high)| high);
        Scale::of(unit, estimate.value().filter(|value| *value != 0.0).or_else(upper).or(estimate.value()))
    }

    /// One for numbers that are to be compared, that of the largest; none where the smallest would be lost in it.
    pub(super) fn common<'a>(unit: &str, estimates: impl Iterator<Item = &'a Estimate>) -> Option<Scale> {
        let values: Vec<f64> =
            estimates.filter_map(Estimate::value).map(f64::abs).filter(|value| *value > 0.0).collect();
        let largest = values.iter().copied().reduce(f64::max)?;
        let scale = Scale::of(unit, Some(largest));
        values.iter().all(|value| value * scale.factor >= LEGIBLE).then_some(scale)
    }

    fn number(&self, value: f64) -> String {
        format!("{:.*}", self.digits(value), value * self.factor)
    }

    /// Digits behind the point that make about four in all, and never nothing of what is something.
    fn digits(&self, value: f64) -> usize {
        match (value * self.factor).abs() {
            size if size >= 100.0 => 1,
            size if size >= 1.0 => 2,
            0.0 => 0,
            size => (2.0 - size.log10().floor()).clamp(3.0, 12.0) as usize,
        }
    }

    /// The ends of an interval, rounded outwards.
    pub(super) fn ends(&self, low: f64, high: f64) -> String {
        let outwards = |value: f64, is_upper: bool| match value.is_finite() {
            true => outwards(value, self.factor * 10_f64.powi(self.digits(value) as i32), is_upper),
            false => value,
        };
        format!("{} to {}", self.number(outwards(low, false)), self.unit(outwards(high, true)))
    }

    pub(super) fn unit(&self, value: f64) -> String {
        if value == f64::INFINITY {
            return "infinite".into();
        }
        format!("{} {}", self.number(value), self.unit).trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown holds the whole interval, and is not a digit wider than need be.
    #[test]
    fn what_stands_behind_plus_and_minus_is_rounded_up() {
        let of = |value: f64, ci_low: f64, ci_high: f64| {
            in_scale(
                &Estimate::Sampled { value, ci_low, ci_high, samples: 99 },
                &Scale::of_share("error_ratio").unwrap(),
            )
        };
        assert_eq!(of(0.0, 0.0, 0.00142), "0 (0 to 0.15) %");
        assert_eq!(of(3e-5, 0.0, 0.00103), "0.0030 (0 to 0.1030) %", "not minus 0.1 %");
        assert_eq!(of(2e-5, 1e-5, 0.00103), "0.0020 (0.0010 to 0.1030) %");
        assert_eq!(of(0.01, 0.009, 0.011), "1.00 ± 0.10 %");
        assert_eq!(of(0.01, 0.0091, 0.0113), "1.00 ± 0.13 %", "the farther end");
        assert_eq!(of(0.01, 0.0091, 0.0149), "1.00 (0.91 to 1.49) %", "which is much farther");
        assert_eq!(of(0.0, 0.0, 1.1e-5), "0 (0 to 0.0011) %");
        assert_eq!(of(0.5, 0.4561, 0.5439), "50.0 ± 4.4 %");
        let estimate = Estimate::Sampled { value: 1.00011, ci_low: 1.000_023, ci_high: 1.000_236, samples: 99 };
        let attempts = Measure::new("attempts_ratio", "1", estimate);
        let shown = in_scale(&attempts.estimate, &Scale::of_measure(&attempts));
        assert_eq!(shown, "1.00011 (1.00002 to 1.00024)", "no request is less than one attempt");
    }

    /// The ends of an interval hold all of it, in every prefix.
    #[test]
    fn ends_are_rounded_outwards() {
        let of = |unit: &str, value: f64, low: f64, high: f64| between((value, low, high), unit);
        assert_eq!(of("s", 0.03148, 0.031_479, 0.031_701), "31.48 ms (31.47 to 31.71 ms)");
        assert_eq!(of("s", 0.05, 0.05, 0.06), "50.00 ms (50.00 to 60.00 ms)");
        assert_eq!(of("s", 0.0999, 0.099_996, 0.099_997), "99.90 ms (99.99 to 100.0 ms)");
        assert_eq!(of("1", 0.5, -0.12345, 0.9), "0.500 (-0.124 to 0.900)");
    }
}
