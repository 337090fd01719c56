//! The report of a run: one HTML file that needs nothing but itself.
//!
//! The decision: no script, no font, no image and no network; plots are inline SVG whose colours come from the page's
//! style sheet, so that one drawing serves light, dark and paper, mails well and opens in twenty years. A content
//! security policy inside the page holds it to that. The price: no zooming, and no more on hovering than a title (the
//! dashboard is for that), so every number that a plot shows is also in a table below it.
//!
//! [`render`] is a pure function of [`Answers`]. Plots follow
//! W. S. Cleveland, *The Elements of Graphing Data* (1994): dots on a common scale
//! with intervals, small multiples for curves; colours are those of M. Okabe and K. Ito (2008), darkened until text in
//! them is legible, and each engine has a marker shape of its own besides.

mod compare;
mod failures;
mod headline;
pub(crate) mod html;
pub mod load;
mod notes;
pub(crate) mod number;
mod objectives;
mod outcomes;
mod pairs;
mod places;
pub mod plots;
mod recovery;
pub mod runs;
mod seconds;
mod sections;
pub mod traffic;

pub use self::failures::gone_wrong;
pub use self::notes::{Note, Said, doubts, scope};
pub use self::objectives::{
    Folded, Outcome, ValuesThatMeet, WhoMeets, are_many, folded, open_answers, reasons_of_objectives, values_that_meet,
    who_meets,
};
pub use self::recovery::{legend_of_recovery, unrecovered};
pub use crate::spec::Engine;

use crate::answer::{Answer, Answers, BEFORE_RUN, RUN, VariantAnswers, Verdict};

/// Why something with this verdict is not VALID, as the page says it: an interrupted run has one reason.
fn reasons<T: AsRef<str>>(verdict: Verdict, reasons: &[T]) -> Vec<String> {
    let reasons: Vec<String> = reasons.iter().map(|reason| reason.as_ref().to_owned()).collect();
    match verdict {
        Verdict::Valid => Vec::new(),
        Verdict::Suspect => reasons,
        Verdict::Incomplete => vec![reasons.join("; ")],
    }
}

/// When a run began, and how long it took.
fn when(run: &Answers) -> String {
    let seconds = run.elapsed_s;
    let whole = seconds.round() as u64;
    let took = match (whole / 60, whole % 60) {
        (0, _) => format!("{seconds:.1} s"),
        (minutes, rest) => format!("{minutes} min {rest} s"),
    };
    format!("{}, took {took}", run.started)
}

/// The whole page. The same report gives the same bytes.
pub fn render(report: &Answers) -> String {
    let (table, figures) = (sections::summary(report), plots::all(report));
    // A table with a row for each of many numbers is long, and the curve over them is what a reader came for.
    let [first, second] = if plots::has_curve(report) { [figures, table] } else { [table, figures] };
    let body = [
        sections::masthead(report),
        objectives::section(report),
        first,
        second,
        sections::failures(report),
        sections::of_faults(report),
        pairs::section(report),
        outcomes::section(report),
        places::section(report),
        seconds::of_variants(report),
        notes::section(report),
        sections::validity(report),
        sections::glossary(),
        sections::reproduce(report),
        sections::outcomes(report),
        sections::colophon(report),
    ]
    .concat();
    html::page(&report.name, &body)
}
