//! A server model from measurements.

use sojourn_model::{Demand, Discipline, Server};
use sojourn_stats::{Line, Span};

use crate::demand::Work;
use crate::helpers::Served;
use crate::idle::Idle;
use crate::settings::{CalibrateError, Interval};
use crate::target::{Axis, Target};

/// Smallest coefficient of variation of the demand at one x. A smaller one is taken for that of clock and kernel; it
/// lengthens no wait by more than 4 %.
const CV_MIN: f64 = 0.2;

/// Time slices to try: a Linux kernel has 0.7 ms times 1 + log2 of its cores, which is this with 1, 2 and 8 cores.
const SLICES_S: [f64; 3] = [0.7e-3, 1.4e-3, 2.8e-3];

/// The demand as a server model writes it, and the coefficient of variation at the reference level.
pub(crate) fn demand(target: &Target, idle: &Idle, work: &Work) -> Result<(Demand, f64), CalibrateError> {
    let reference = target.reference;
    let mean_s = work.levels[reference].value;
    let cv = idle.deviation_s[reference] / mean_s;
    let (fixed_s, per_byte_s) = match (target.axis, &work.line) {
        (Axis::Size, Some(line)) if line.intercept > 0.0 && line.slope > 0.0 => (line.intercept, line.slope),
        (Axis::Size, Some(line)) if line.slope > 0.0 => (0.0, through_origin(target, &work.levels)),
        _ => (mean_s, 0.0),
    };
    // The fixed part varies: a cost per byte has no law.
    let varies = cv >= CV_MIN && fixed_s > 0.0;
    let fixed = match varies {
        true => format!("gamma(mean = {}, cv = {:.3})", time_text(fixed_s), cv * mean_s / fixed_s),
        false => time_text(fixed_s),
    };
    let text = match (fixed_s > 0.0, per_byte_s > 0.0) {
        (true, false) => fixed,
        (true, true) => format!("{fixed} + {}/B", time_text(per_byte_s)),
        (false, _) => format!("{}/B", time_text(per_byte_s)),
    };
    let demand = Demand::parse(&text).map_err(CalibrateError::Refused)?;
    Ok((demand, if varies { cv } else { 0.0 }))
}

fn through_origin(target: &Target, levels: &[Interval]) -> f64 {
    // The mean of the ratios: relative errors are about equal.
    let with_bytes = target.levels.iter().zip(levels).filter(|(level, _)| level.x > 0.0);
    let ratios: Vec<f64> = with_bytes.map(|(level, found)| found.value / level.x).collect();
    ratios.iter().sum::<f64>() / ratios.len().max(1) as f64
}

/// The server model with this number served at once.
pub(crate) fn server(demand: &Demand, cores: u32, served: Served) -> Server {
    let discipline = match served {
        Served::Limited(helpers) if helpers <= cores => Discipline::Fcfs,
        Served::Limited(helpers) => Discipline::LimitedPs { helpers },
        Served::AtLeast(_) | Served::Unknown => Discipline::Ps,
    };
    Server {
        discipline,
        cores,
        speed: 1.0,
        demand: vec![(String::new(), demand.clone())],
        capacity: None,
        drops_overflow: false,
        machine: None,
    }
}

/// The disciplines from first come, first served, to that of the helpers; and, on one core, a kernel's time slices with
/// these helpers.
pub(crate) fn candidates(cores: u32, served: Served) -> Vec<Discipline> {
    let most = match served {
        Served::Limited(helpers) => Some(helpers),
        Served::AtLeast(_) | Served::Unknown => None,
    };
    let mut all = vec![Discipline::Fcfs];
    for helpers in [2, 3, 4, 6, 8, 12, 16, 24, 32] {
        let helpers = helpers * cores;
        if most.is_none_or(|most| helpers < most) {
            all.push(Discipline::LimitedPs { helpers });
        }
    }
    all.push(match most {
        Some(most) if most <= cores => Discipline::Fcfs,
        Some(most) => Discipline::LimitedPs { helpers: most },
        None => Discipline::Ps,
    });
    if cores == 1 && most.is_none_or(|most| most > 1) {
        let helpers = most.unwrap_or(u32::MAX);
        all.extend(SLICES_S.map(|slice_s| Discipline::TimeSlices { quantum: Span::from_secs_f64(slice_s), helpers }));
    }
    all.dedup();
    all
}

/// The server with the nearest discipline that theory has a formula for.
pub(crate) fn for_theory(server: &Server) -> Server {
    let discipline = match server.discipline {
        Discipline::TimeSlices { helpers: u32::MAX, .. } => Discipline::Ps,
        Discipline::TimeSlices { helpers, .. } => Discipline::LimitedPs { helpers },
        ref known => known.clone(),
    };
    Server { discipline, ..server.clone() }
}

/// The time of an idle reply beyond the work; below 0 where the server was slower under load than alone.
pub(crate) fn overhead(idle: &Interval, work: &Interval) -> Interval {
    Interval { value: idle.value - work.value, low: idle.low - work.high, high: idle.high - work.low }
}

/// The overhead as the model tells it, and what is left of it without the time to connect. Neither is below 0, whatever
/// noise made of the difference: an experiment has it as its round trip. Of a difference that lies below 0 for sure nothing
/// is known but that it could not be measured.
pub(crate) fn times_of_the_path(overhead: &Interval, connect: &Interval) -> (Option<Interval>, Option<Interval>) {
    let told = |difference: Interval| (difference.high > 0.0).then(|| difference.not_negative());
    (told(*overhead), told(self::overhead(overhead, connect)))
}

/// The work by the idle server's regression over that by the saturated one's: of their slopes, or of the levels.
pub(crate) fn agreement(idle: &Idle, work: &Work, reference: usize) -> Interval {
    match (&idle.line, &work.line) {
        (Some(idle), Some(work)) if work.slope > 0.0 => ratio(idle, work),
        _ => {
            let (alone, busy) = (idle.response_s[reference], work.levels[reference]);
            Interval { value: alone.value / busy.value, low: alone.low / busy.high, high: alone.high / busy.low }
        }
    }
}

fn ratio(above: &Line, below: &Line) -> Interval {
    let value = above.slope / below.slope;
    let relative =
        ((above.slope_half_width / above.slope).powi(2) + (below.slope_half_width / below.slope).powi(2)).sqrt();
    Interval::around(value, value.abs() * relative)
}

/// A time with five digits, in the unit that suits it.
pub(crate) fn time_text(seconds: f64) -> String {
    let (factor, unit) = match seconds.abs() {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    let number = format!("{:.4e}", seconds * factor).parse::<f64>().unwrap_or(seconds * factor);
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that was slower under load than alone: the difference is negative, which no time is. It is not said to be 0.
    #[test]
    fn an_overhead_below_nothing_is_not_measured() {
        let (idle, work) = (Interval::around(1.0e-3, 1.0e-5), Interval::around(1.2e-3, 1.0e-5));
        let overhead = overhead(&idle, &work);
        assert!(overhead.value < 0.0 && overhead.high < 0.0, "{overhead:?}");
        let (told, dispatch) = times_of_the_path(&overhead, &Interval::around(3e-5, 1e-6));
        assert_eq!((told, dispatch), (None, None));
        // What may be above 0 is known to be below its upper end.
        let (told, dispatch) = times_of_the_path(&Interval::around(-1e-5, 3e-5), &Interval::around(3e-5, 1e-6));
        let told = told.unwrap();
        assert_eq!((told.value, told.low, dispatch), (0.0, 0.0, None));
        assert!((told.high - 2e-5).abs() < 1e-12);
        // What is known to be there stays.
        let (told, dispatch) = times_of_the_path(&Interval::around(3e-4, 1e-5), &Interval::around(1e-4, 1e-5));
        let (told, dispatch) = (told.unwrap(), dispatch.unwrap());
        assert!((told.value - 3e-4).abs() < 1e-12 && (dispatch.value - 2e-4).abs() < 1e-12 && dispatch.low > 0.0);
    }
}
