//! A setting that is a number, as an axis: which one, how its numbers are written, and where it ends.

use super::super::canvas::Axis;
use super::super::dots;
use crate::compare::{Numbers, is_policy, numbers};
use crate::report::{Answers, RUN, VariantAnswers};

/// Fewer values are better compared in the dot plots.
const FEWEST_VALUES: usize = 3;
/// From this factor between the ends on, an axis is logarithmic.
const DECADES: f64 = 50.0;
/// The room before the first mark and behind the last of a logarithmic axis, as a share of its length.
const ROOM: f64 = 0.02;
/// The unit of a time.
const TIME: &str = "s";

/// A setting as an axis.
pub(super) struct Setting<'a> {
    pub(super) key: &'a str,
    /// Those of the variants that have the setting, in the order of the run.
    pub(super) numbers: Numbers,
}

impl Setting<'_> {
    /// What the axis is of, with its unit where that is not told with each number: `workload.users`, `rtt`,
    /// `x (/s) in arrivals = exponential(rate = x)`.
    pub(super) fn title(&self) -> String {
        let Numbers { unit, form, .. } = &self.numbers;
        let is_told = unit.is_empty() || *unit == TIME;
        let with_unit = |name: &str| if is_told { name.to_owned() } else { format!("{name} ({unit})") };
        let last = self.key.rsplit('.').next().unwrap_or(self.key);
        form.as_ref().map_or_else(|| with_unit(self.key), |form| format!("{} in {last} = {form}", with_unit("x")))
    }

    /// How its numbers are written: times as those of the other axis are.
    pub(super) fn label(&self) -> fn(f64) -> String {
        match self.numbers.unit {
            TIME => dots::round_time,
            _ => |value| format!("{value}"),
        }
    }

    /// Where a variant is on the axis, in words.
    pub(super) fn told(&self, at: f64, variant: &VariantAnswers) -> String {
        match (&self.numbers.form, variant.setting(self.key)) {
            (Some(_), Some(value)) => value.to_owned(),
            _ => format!("{} {}", self.title(), self.label()(at)),
        }
    }
}

/// The setting that takes most values, all of them numbers, amounts of one kind, or texts that differ in one number. Policies are
/// what is compared: a number of theirs is on the axis only where no other setting is.
pub(super) fn axis(report: &Answers) -> Option<Setting<'_>> {
    let setting = |key: &String| {
        let values: Vec<&str> = report.variants.iter().filter_map(|of| of.setting(key)).collect();
        let numbers = numbers(&values)?;
        let mut places = numbers.at.clone();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let rank = (numbers.form.is_none() || !is_policy(key), places.len(), numbers.form.is_none());
        (places.len() >= FEWEST_VALUES).then_some((rank, numbers))
    };
    // The names of runs may be numbers, and are names all the same.
    let keys = report.settings.iter().filter(|key| *key != RUN);
    let all = keys.filter_map(|key| Some((key.as_str(), setting(key)?)));
    all.max_by_key(|(_, (rank, _))| *rank).map(|(key, (_, numbers))| Setting { key, numbers })
}

/// Whether values are told apart on a logarithmic axis only.
pub(super) fn spans_decades(least: f64, most: f64) -> bool {
    least > 0.0 && most > DECADES * least
}

/// The ends of a logarithmic axis over these values, so that no mark lies on the frame.
pub(super) fn with_room((least, most): (f64, f64)) -> (f64, f64) {
    let room = (most / least).powf(ROOM);
    (least / room, most * room)
}

/// The ends of a linear axis over these values with at most about so many ticks: some room before the least, and behind the most
/// as much as it takes for a tick to stand at the end. An axis to 0.95 whose last tick is 0.9 does not say where it ends.
pub(super) fn ends((least, most): (f64, f64), ticks: usize) -> (f64, f64) {
    /// What is off by less, as a share of the axis, is rounded.
    const ROUNDING: f64 = 1e-9;
    let low = (least - (most - least) / 20.0).max(0.0);
    let mut high = most;
    // With room for another tick they may be set wider, and end elsewhere.
    for _ in 0..4 {
        let found = Axis::linear(low, high, 0.0, 1.0).ticks(ticks);
        let [.., before, last] = found[..] else { break };
        if last >= high - 2.0 * ROUNDING * (high - low) {
            break;
        }
        // A hair more, so that sums of floating point do not leave the tick out.
        high = last + (last - before) + ROUNDING * (high - low);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::super::TICKS;
    use super::*;

    /// Times from 10 us to 5 ms, both of which an axis may end at, are on one that goes on.
    #[test]
    fn no_mark_lies_on_the_frame_of_a_logarithmic_axis() {
        for (least, most) in [(1e-5, 5e-3), (1.0, 100.0), (20.0, 1e6), (0.0011, 0.49)] {
            let (low, high) = with_room((least, most));
            let axis = Axis::log(low, high, 0.0, 400.0);
            let (first, last) = (axis.at(least), axis.at(most));
            assert!(first > 4.0 && last < 396.0, "{least} at {first}, {most} at {last}");
        }
    }

    /// Loads to 0.95 are on an axis to 1, and what ends at a tick ends there.
    #[test]
    fn an_axis_ends_at_a_tick() {
        for ticks in [TICKS, 6] {
            for (values, end) in [((0.5, 0.95), 1.0), ((0.5, 0.9), 0.9), ((20.0, 70.0), 70.0), ((1.0, 9.0), 10.0)] {
                let (low, high) = ends(values, ticks);
                assert!(low <= values.0 && (high - end).abs() < 1e-6 * end, "{values:?}: {low} to {high}");
                let last = Axis::linear(low, high, 0.0, 300.0).ticks(ticks).pop().expect("ticks");
                assert!((last - end).abs() < 1e-6 * end, "{values:?} in {ticks}: the last tick is {last}");
            }
        }
    }
}
