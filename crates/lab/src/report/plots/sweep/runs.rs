//! The looks of curves of several runs: a colour for each system, and dashes for each run.

use super::{Ink, Sweep};
use crate::compare::compared_but;
use crate::report::{Answers, RUN, VariantAnswers};

/// Of runs beside each other, the ink of each sweep: a colour for what it is of, and dashes for its run; empty of one
/// run, and where there are too many.
pub(super) fn inks(report: &Answers, axis: &str, sweeps: &[Sweep<'_>]) -> Vec<Ink> {
    if sweeps.len() > Ink::STYLES {
        return Vec::new();
    }
    let compared = compared_but(report, &[RUN, axis]);
    let others: Vec<&VariantAnswers> = sweeps.iter().map(|sweep| &sweep.others).collect();
    let (mut runs, mut systems): (Vec<&str>, Vec<Vec<&VariantAnswers>>) = (Vec::new(), Vec::new());
    let inks = others.iter().copied().map(|sweep| {
        let run = sweep.setting(RUN)?;
        let is_it = |of: &Vec<&VariantAnswers>| {
            of.iter().all(|other| other.setting(RUN) != Some(run))
                && of.iter().any(|other| are_of_one_system(sweep, other, &others, compared))
        };
        let system = systems.iter().position(is_it).unwrap_or(systems.len());
        if system == systems.len() {
            systems.push(Vec::new());
        }
        systems[system].push(sweep);
        let run = runs.iter().position(|of| *of == run).unwrap_or_else(|| {
            runs.push(run);
            runs.len() - 1
        });
        let fits = system < Ink::SERIES && run < Ink::STYLES / Ink::SERIES;
        fits.then(|| Ink::of_series(system + Ink::SERIES * run))
    });
    inks.collect::<Option<Vec<Ink>>>().unwrap_or_default()
}

/// Whether two sweeps of different runs are of the same system: of the same settings, or of the same name, or, where neither has
/// a name, equal but for what the runs as a whole differ in. The setting by which variants are compared always counts.
fn are_of_one_system(
    one: &VariantAnswers,
    other: &VariantAnswers,
    all: &[&VariantAnswers],
    compared: Option<&str>,
) -> bool {
    let differ = |key: &str| one.setting(key) != other.setting(key);
    let is_of_whole_runs = |key: &str| {
        let of_run = |of: &VariantAnswers| {
            let mut run = all.iter().filter(|other| other.setting(RUN) == of.setting(RUN) && other.name().is_none());
            run.all(|other| other.setting(key) == of.setting(key))
        };
        compared != Some(key) && of_run(one) && of_run(other)
    };
    let (name, others_name) = (one.name(), other.name());
    let both_lack_names = name.is_none() && others_name.is_none();
    let has_same_name = name.is_some() && name == others_name;
    let keys = one.settings.iter().map(|(key, _)| key.as_str());
    let mut differing = keys.filter(|key| *key != RUN && differ(key));
    has_same_name || differing.all(|key| both_lack_names && is_of_whole_runs(key))
}
