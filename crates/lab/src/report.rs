//! The report of a run: one HTML file that needs nothing but itself.
//!
//! The decision: no script, no font, no image and no network; plots are inline SVG whose colours come from the page's
//! style sheet, so that one drawing serves light, dark and paper, mails well and opens in twenty years. A content
//! security policy inside the page holds it to that. The price: no zooming, and no more on hovering than a title (the
//! dashboard is for that), so every number that a plot shows is also in a table below it.
//!
//! [`render`] is a pure function of a [`Report`], which [`Report::new`] fills from a run folder. Plots follow
//! W. S. Cleveland, *The Elements of Graphing Data* (1994): dots on a common scale
//! with intervals, small multiples for curves; colours are those of M. Okabe and K. Ito (2008), darkened until text in
//! them is legible, and each engine has a marker shape of its own besides.

mod compare;
mod fill;
pub(crate) mod html;
pub mod load;
pub(crate) mod number;
mod places;
pub mod plots;
pub mod runs;
mod seconds;
mod sections;
pub mod traffic;

pub use crate::spec::Engine;

use sojourn_load::{Limits, Second};
use sojourn_stats::{Estimate, Measure};

/// The engines in the order in which the report shows them. The twin is the simulation of the very requests that live
/// sent. Live is judged by it, because a few seconds of heavy-tailed traffic differ from the long run.
const ENGINES: [Engine; 4] = [Engine::Theory, Engine::Sim, Engine::Live, Engine::Twin];

/// Everything that the report of one run shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The experiment's name: the title of the page.
    pub name: String,
    /// The question that the experiment asks, or its description, as the experiment's author wrote it.
    pub question: Option<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The version of the program that ran it.
    pub version: String,
    /// When it ran, as text: the report does not know calendars.
    pub when: String,
    /// How far the run as a whole can be trusted; the report shows the worst of this and of the live runs' own.
    pub verdict: Verdict,
    /// The machine, as pairs of a name and a value.
    pub host: Vec<(String, String)>,
    /// The experiment file, as it was read.
    pub spec: String,
    /// The names of the settings that vary: the first columns of the outcomes.
    pub varied: Vec<String>,
    /// What was compared, in the order of the experiment file.
    pub variants: Vec<Variant>,
    /// What was asked of the system, and whether it was met.
    pub objectives: Vec<Objective>,
    /// The commands that run the experiment again.
    pub commands: Vec<String>,
}

/// One combination of the varied settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variant {
    /// What tells it from the others in a few words.
    pub label: String,
    /// The varied settings and their values.
    pub settings: Vec<(String, String)>,
    /// The engines that were asked, with or without an answer.
    pub engines: Vec<EngineAnswer>,
}

impl Variant {
    /// What `engine` said, if it was asked.
    pub fn answer(&self, engine: Engine) -> Option<&EngineAnswer> {
        self.engines.iter().find(|answer| answer.engine == engine)
    }

    /// Whether `engine` answered, but not validly.
    fn is_suspect(&self, engine: Engine) -> bool {
        self.answer(engine).and_then(|answer| answer.verdict.as_ref()).is_some_and(|verdict| verdict.rank() > 0)
    }

    fn estimate(&self, engine: Engine, metric: &str) -> Option<&Estimate> {
        let answer = self.answer(engine)?;
        answer.measures.iter().find(|measure| measure.metric == metric).map(|measure| &measure.estimate)
    }
}

/// One engine's answer about one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineAnswer {
    /// The engine that answers.
    pub engine: Engine,
    /// The outcome rows.
    pub measures: Vec<Measure>,
    /// The distribution of the response time: points of (seconds, share of requests that took at most that), in order.
    pub cdf: Vec<(f64, f64)>,
    /// Why there is no answer, or what to know when reading it.
    pub notes: Vec<String>,
    /// How far this answer can be trusted; live runs have one.
    pub verdict: Option<Verdict>,
    /// What the verdict rests on, as pairs of a name and a value: the generator's lateness, the busy share of each core.
    pub validity: Vec<(String, String)>,
    /// The run second by second, warm-up included, where it is live.
    pub seconds: Vec<Second>,
    /// What its verdict was judged by.
    pub limits: Limits,
    /// What its parts did although nothing asked for it: seconds after the start, and what.
    pub incidents: Vec<(f64, String)>,
    /// Where requests went over time: a site, server or those that failed, with (seconds, requests per second).
    pub places: Vec<(String, Vec<(f64, f64)>)>,
}

impl EngineAnswer {
    /// An answer of `engine` with nothing in it yet.
    pub fn new(engine: Engine) -> EngineAnswer {
        EngineAnswer {
            engine,
            measures: Vec::new(),
            cdf: Vec::new(),
            notes: Vec::new(),
            verdict: None,
            validity: Vec::new(),
            seconds: Vec::new(),
            limits: Limits::default(),
            incidents: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// How far a run can be trusted. The order is from best to worst.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Verdict {
    /// Nothing speaks against it.
    #[default]
    Valid,
    /// It finished, and these reasons speak against its numbers.
    Suspect(Vec<String>),
    /// It did not finish, for this reason.
    Incomplete(String),
}

impl Verdict {
    fn rank(&self) -> u8 {
        match self {
            Verdict::Valid => 0,
            Verdict::Suspect(_) => 1,
            Verdict::Incomplete(_) => 2,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Verdict::Valid => "VALID",
            Verdict::Suspect(_) => "SUSPECT",
            Verdict::Incomplete(_) => "INCOMPLETE",
        }
    }

    /// Why it is not valid; nothing if it is.
    fn reasons(&self) -> Vec<&str> {
        match self {
            Verdict::Valid => Vec::new(),
            Verdict::Suspect(reasons) => reasons.iter().map(String::as_str).collect(),
            Verdict::Incomplete(reason) => vec![reason],
        }
    }
}

/// Something that was asked of the system.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The objective, as written: `response_time_p90 < 500 ms`.
    pub text: String,
    /// The variant that it was asked of.
    pub variant: String,
    /// The engine that answered.
    pub engine: Engine,
    /// Whether it was met, where the engine could tell.
    pub met: Option<bool>,
    /// The engine has a number, and its interval, or the lack of one, leaves that open.
    pub undecided: bool,
}

/// The whole page. The same report gives the same bytes.
pub fn render(report: &Report) -> String {
    let (table, figures) = (sections::summary(report), plots::all(report));
    // A table with a row for each of many numbers is long, and the curve over them is what a reader came for.
    let [first, second] = if plots::has_curve(report) { [figures, table] } else { [table, figures] };
    let body = [
        sections::masthead(report),
        sections::objectives(report),
        first,
        second,
        places::section(report),
        seconds::of_variants(report),
        sections::notes(report),
        sections::validity(report),
        sections::glossary(),
        sections::reproduce(report),
        sections::outcomes(report),
        sections::colophon(report),
    ]
    .concat();
    html::page(&report.name, &body)
}
