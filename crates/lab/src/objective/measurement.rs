//! What was measured, in the words and the unit in which the limit is written.

use sojourn_stats::Estimate;
use sojourn_stats::measure::Measure;

use super::{Objective, RECOVERY};
use crate::report::number::{between, range, significant, significant_end};

/// Digits of a number that the limit has the first three of.
const NEAR_DIGITS: usize = 6;

impl Objective {
    /// `estimate` in the unit in which the limit is written, with its interval: `0.00229 % (0.0001 to 0.012 %)`.
    pub fn measured(&self, estimate: &Estimate) -> String {
        let estimate = &estimate.within(range(&self.metric));
        let (factor, unit) = self.unit();
        let limit = significant(self.limit * factor);
        // So near that three digits would say that it is at the limit.
        let near = |text: String, value: f64| match text == limit && value != self.limit {
            true => format!("{}", rounded(value * factor, NEAR_DIGITS)),
            false => text,
        };
        let number = |value: f64| near(significant(value * factor), value);
        let end = |value: f64, is_upper: bool| near(significant_end(value * factor, is_upper), value);
        let in_unit =
            |number: String| if number == "infinite" { number } else { format!("{number} {unit}").trim_end().into() };
        let with_unit = |value: f64| in_unit(number(value));
        match *estimate {
            Estimate::Sampled { value, .. } if estimate.is_sharp() => format!("exactly {}", with_unit(value)),
            Estimate::Sampled { value, ci_low, ci_high, .. } => {
                // So narrow that three digits would hide it.
                if significant(ci_low * factor) == significant(ci_high * factor) {
                    let told = between(value * factor, (ci_low * factor, ci_high * factor)).replace('\u{a0}', " ");
                    let (value, ends) = told.split_once(" (").unwrap_or((&told, ""));
                    return format!("{} ({}", in_unit(value.into()), ends.replace(')', &in_unit(String::new()))) + ")";
                }
                let ends = (end(ci_low, false), in_unit(end(ci_high, true)));
                format!("{} ({} to {})", with_unit(value), ends.0, ends.1)
            }
            Estimate::WithoutInterval { value, why, .. } => {
                format!("{} (no interval: {})", with_unit(value), why.words())
            }
            Estimate::Exact { value } => with_unit(value),
            Estimate::Approximate { value } => format!("\u{2248} {}", with_unit(value)),
            Estimate::TooFew { samples: 0 } if self.metric == RECOVERY => "it had not recovered by the end".into(),
            Estimate::TooFew { samples } if self.metric == RECOVERY => {
                format!("only {samples} replications recovered")
            }
            Estimate::TooFew { .. } => "too few samples".into(),
        }
    }

    /// How many of the unit in which the limit is written are one of the metric's SI unit, and its name.
    fn unit(&self) -> (f64, &str) {
        let limit = self.text.rsplit(['<', '>']).next().unwrap_or_default().trim();
        let end = limit.find(|c: char| !(c.is_ascii_digit() || ".+-eE_".contains(c))).unwrap_or(limit.len());
        let (number, unit) = (limit[..end].parse::<f64>().unwrap_or(0.0), limit[end..].trim());
        // Of a limit of 0 the ratio says nothing.
        let factor = if self.limit == 0.0 { 1.0 } else { number / self.limit };
        if unit == "%" { (100.0, "%") } else { (factor, unit) }
    }

    /// What `measures` have of it, in the unit of its limit: [`Objective::measured`] of its own metric, and of the percentile
    /// that decides it, where that is another. Empty where its metric is not among them.
    pub fn measured_among(&self, measures: &[Measure]) -> String {
        let Some(own) = measures.iter().find(|measure| measure.metric == self.metric) else { return String::new() };
        let measured = self.measured(&own.estimate);
        match self.deciding(measures).filter(|deciding| deciding.metric != own.metric) {
            Some(Measure { metric, estimate, .. }) => {
                let name = metric.rsplit('_').next().unwrap_or(metric);
                format!("{measured}; {name} {}", self.measured(estimate))
            }
            None => measured,
        }
    }
}

/// To so many significant digits.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was measured is said in the unit of the limit.
    #[test]
    fn a_number_beside_its_limit_has_its_unit() {
        let of = |text: &str, value: f64, ci_low: f64, ci_high: f64| {
            Objective::parse(text).unwrap().measured(&Estimate::Sampled { value, ci_low, ci_high, samples: 99 })
        };
        assert_eq!(of("error_ratio < 0.1%", 2.29e-5, 2e-6, 1.2e-4), "0.00229 % (0.000200 to 0.0120 %)");
        assert_eq!(of("error_ratio < 0.1 %", 0.0, 0.0, 0.0739), "0 % (0 to 7.39 %)");
        assert_eq!(of("p99 < 50 ms", 0.0612, 0.06, 0.063), "61.2 ms (60.0 to 63.0 ms)");
        assert_eq!(of("p99 < 1.5 s", 0.0612, -0.01, 0.063), "0.0612 s (0 to 0.0630 s)");
        assert_eq!(of("throughput > 900 /s", 901.0, 899.0, 903.0), "901 /s (899 to 903 /s)");
        assert_eq!(of("utilization < 0.8", 0.5, 0.4, 0.6), "0.500 (0.400 to 0.600)");
        assert_eq!(of("error_ratio < 1%", 0.0, 0.0, 0.0), "exactly 0 %");
        assert_eq!(
            of("p99 < 154 ms", 0.15351, 0.15, 0.16),
            "153.51 ms (150 to 160 ms)",
            "154 would not be below the limit"
        );
        assert_eq!(of("p99 < 154 ms", 0.154, 0.15, 0.16), "154 ms (150 to 160 ms)");
        let attempts = of("attempts_ratio < 1.1", 1.000_041, 0.99, 1.000_11);
        assert_eq!(attempts, "1.000041 (1.000000 to 1.000110)", "a request is one attempt at least");
        assert_eq!(of("p99 < 60 ms", 0.061_2, 0.061_198, 0.061_203), "61.2000 ms (61.1980 to 61.2030 ms)");
        // Ends are rounded outwards, and still on the side of the limit on which they are.
        assert_eq!(of("p99 < 50 ms", 0.03148, 0.031_48, 0.031_71), "31.5 ms (31.4 to 31.8 ms)");
        assert_eq!(of("throughput > 900 /s", 901.2, 900.3, 902.1), "901 /s (900.3 to 903 /s)");
        assert_eq!(of("p99 < 150 ms", 0.149, 0.148, 0.14996), "149 ms (148 to 149.96 ms)");
        assert_eq!(of("error_ratio < 1%", 3.3e-8, 1.234e-8, 5.671e-8), "3.30e-6 % (1.23e-6 to 5.68e-6 %)");
    }
}
