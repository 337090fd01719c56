//! How much a run may be disturbed before its verdict doubts it.
//!
//! Each limit is a judgement with a default, and a setting, since what disturbs one question leaves another alone. They
//! are read by name, from flags and files alike: `stolen = 5%`, `late = 2 ms`.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Dimension, quantity, unknown};

use crate::error::LoadError;

/// The limits of a run's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Lateness of the generator (s) that never matters.
    pub late_s: f64,
    /// Lateness below this share of the mean gap leaves the arrival process what it is.
    pub late_of_gap: f64,
    /// Lateness below this share of the mean response time leaves the answer what it is.
    pub late_of_response: f64,
    /// Share of the mean response time that may be the generator's own lateness, what never matters aside; in a live run of
    /// an experiment also that of its parts.
    pub unnoticed: f64,
    /// Share of the offered load that may not have been begun in time.
    pub shortfall: f64,
    /// Share of the requests that may have to wait for a connection.
    pub queued: f64,
    /// Share of the requests that may fail.
    pub errors: f64,
    /// A client thread busier than this may have been what was measured.
    pub busy: f64,
    /// Share of the run in which a thread of the generator may be ready to run and wait for a core.
    pub waiting: f64,
    /// Every core busier than this: something waited for a core.
    pub cores_busy: f64,
    /// Share of a core that other machines on the same host may take.
    pub stolen: f64,
}

impl Default for Limits {
    /// 1 ms late; a tenth of a gap, of a response time; 1 % short or failed; one in a thousand queued; a thread 90 %
    /// busy or waiting for 5 % of the run; all cores 95 % busy, 2 % stolen.
    fn default() -> Limits {
        Limits {
            late_s: 1e-3,
            late_of_gap: 0.1,
            late_of_response: 0.1,
            unnoticed: 0.1,
            shortfall: 0.01,
            queued: 0.001,
            errors: 0.01,
            busy: 0.9,
            waiting: 0.05,
            cores_busy: 0.95,
            stolen: 0.02,
        }
    }
}

/// A limit by its name: what it is a number of, and where it is kept.
type Named = (&'static str, Dimension, fn(&mut Limits) -> &mut f64);

const NAMED: [Named; 11] = [
    ("late", Dimension::Time, |limits| &mut limits.late_s),
    ("late_of_gap", Dimension::Number, |limits| &mut limits.late_of_gap),
    ("late_of_response", Dimension::Number, |limits| &mut limits.late_of_response),
    ("unnoticed", Dimension::Number, |limits| &mut limits.unnoticed),
    ("shortfall", Dimension::Number, |limits| &mut limits.shortfall),
    ("queued", Dimension::Number, |limits| &mut limits.queued),
    ("errors", Dimension::Number, |limits| &mut limits.errors),
    ("busy", Dimension::Number, |limits| &mut limits.busy),
    ("waiting", Dimension::Number, |limits| &mut limits.waiting),
    ("cores_busy", Dimension::Number, |limits| &mut limits.cores_busy),
    ("stolen", Dimension::Number, |limits| &mut limits.stolen),
];

impl Limits {
    /// Sets the limit called `name` to what `value` says, a time or a share.
    ///
    /// # Errors
    /// One line that names the limits there are, or says what is wrong with the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), LoadError> {
        let Some((_, dimension, place)) = NAMED.iter().find(|named| named.0 == name) else {
            return Err(LoadError::Invalid(unknown("limit", name, NAMED.map(|named| named.0))));
        };
        let number = quantity::parse(value, *dimension)
            .map_err(|error| LoadError::Invalid(format!("limit `{name}`: {error}")))?;
        if number < 0.0 {
            return Err(LoadError::Invalid(format!("limit `{name}`: {value} is below 0")));
        }
        *place(self) = number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_by_name_and_their_mistakes_said() {
        let mut limits = Limits::default();
        limits.set("late", "2 ms").unwrap();
        limits.set("stolen", "5%").unwrap();
        assert_eq!(limits, Limits { late_s: 2e-3, stolen: 0.05, ..Limits::default() });
        for (name, value, complaint) in [("late", "2", "ms"), ("busy", "-1", "below 0"), ("busy", "2 ms", "number")] {
            let error = limits.set(name, value).unwrap_err().to_string();
            assert!(error.contains(complaint) && error.starts_with("limit `"), "{name} = {value}: {error}");
        }
        for (name, right) in [
            ("stollen", "did you mean `stolen`?"),
            ("lateness", "did you mean `late`?"),
            ("nonsense", "known are late, late_of_gap, late_of_response"),
        ] {
            let error = limits.set(name, "5%").unwrap_err().to_string();
            assert!(error.starts_with(&format!("unknown limit `{name}`; {right}")), "{error}");
        }
        for (name, _, place) in NAMED {
            let before = limits;
            *place(&mut limits) += 1.0;
            assert_ne!(limits, before, "{name} is a limit of its own");
        }
    }
}
