//! Scenarios: what users do step by step, with values taken from replies and checks on them.
//!
//! A *pass* is one user's way through the steps of one scenario, from the first to the last. What a step takes from its
//! reply is a variable of the pass from then on. A pass ends with the first step that fails: a check that does not hold,
//! or a value that is not there, is a failure with a name of its own, and nothing is ever asked for with a variable
//! that has no value. Which scenario a pass follows is drawn by weight.
//!
//! Bodies are kept only for steps that look into them, and only up to a bound that the file states. The price of a look
//! is a copy of the body, and of the reply's fields where a step takes one.

pub(crate) mod check;
pub(crate) mod data;
mod file;
pub(crate) mod take;

use std::borrow::Cow;
use std::path::PathBuf;

use sojourn_stats::{Law, Span, Stream, input};
use thiserror::Error;

use crate::outcome::Outcome;
use crate::request::template::Template;
use crate::request::{Method, Special, StepParts};
use crate::schedule::job::Job;
use crate::wire::reply::{Keeping, Kept};
use check::Check;
use data::Data;
use take::Take;

/// Most steps of all scenarios of a load: records tell them by a byte.
const STEPS_MAX: usize = 255;

/// Scenarios, each in a TOML file of its own, and how often each is followed.
///
/// ```
/// use sojourn_load::Scenarios;
///
/// let buy = r#"
/// name = "buy"
/// think = "exponential(mean = 2 s)"
///
/// [[step]]
/// name = "cart"
/// path = "/cart"
/// [[step.take]]
/// name = "token"
/// json = "/token"
///
/// [[step]]
/// name = "pay"
/// method = "POST"
/// path = "/pay"
/// headers = { authorization = "Bearer {token}" }
/// [step.check]
/// status = 201
/// "#;
/// let scenarios = Scenarios::parse(&[(buy, "buy.toml".as_ref())])?;
/// assert_eq!(scenarios.steps(), ["cart", "pay"]);
/// # Ok::<(), sojourn_load::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct Scenarios {
    list: Vec<Scenario>,
    /// Weights summed up.
    weights: Vec<f64>,
}

/// Why a file is no scenario; the message names file and line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ScenarioError(String);

/// One scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    name: String,
    weight: f64,
    data: Option<Data>,
    steps: Vec<Step>,
    /// The number of its first step among those of all scenarios.
    first: usize,
    /// How many variables it has; the columns of its data are the first of them.
    variables: usize,
}

/// One step of a scenario.
#[derive(Debug)]
pub(crate) struct Step {
    name: String,
    method: Method,
    path: Template,
    headers: Vec<(String, Template)>,
    body: Option<Body>,
    /// Thinking time before it (s).
    think: Law,
    takes: Vec<Take>,
    checks: Vec<Check>,
    keeping: Option<Keeping>,
}

/// A step's body.
#[derive(Debug)]
pub(crate) enum Body {
    Text(Template),
    Bytes(Vec<u8>),
}

/// What a step sees of its reply.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// Bytes of its body.
    pub(crate) bytes: u64,
    pub(crate) kept: Option<&'a Kept>,
}

/// What of a step did not come out, by its place in [`Step::faults`].
pub(crate) type Fault = usize;

impl Scenarios {
    /// Reads a scenario from each of these files.
    ///
    /// # Errors
    /// One line that names file and line, what is wrong there and what would be right.
    pub fn read(files: &[PathBuf]) -> Result<Scenarios, ScenarioError> {
        let text = |path: &PathBuf| {
            let text = input::text(path);
            text.map_err(|error| ScenarioError(format!("{}: cannot read it: {error}", path.display())))
        };
        let texts = files.iter().map(text).collect::<Result<Vec<String>, _>>()?;
        let named: Vec<_> = texts.iter().map(String::as_str).zip(files.iter().map(PathBuf::as_path)).collect();
        Scenarios::parse(&named)
    }

    /// Reads a scenario from each of these texts, which come from the files of these names.
    ///
    /// # Errors
    /// As [`Scenarios::read`].
    pub fn parse(texts: &[(&str, &std::path::Path)]) -> Result<Scenarios, ScenarioError> {
        let mut list: Vec<Scenario> = Vec::new();
        let (mut weights, mut first, mut sum) = (Vec::new(), 0, 0.0);
        for (text, path) in texts {
            let scenario = Scenario { first, ..file::read(text, path)? };
            if let Some(other) = list.iter().find(|other| other.name == scenario.name) {
                let why = format!("name: there are two scenarios `{}`: give each its own", other.name);
                return Err(ScenarioError(format!("{}: {why}", path.display())));
            }
            first += scenario.steps.len();
            sum += scenario.weight;
            weights.push(sum);
            list.push(scenario);
        }
        match first {
            0 => Err(ScenarioError("there is no scenario".into())),
            1..=STEPS_MAX => Ok(Scenarios { list, weights }),
            _ => Err(ScenarioError(format!("{first} steps in all scenarios: there are at most {STEPS_MAX}"))),
        }
    }

    /// The same where all paths lie below `folder`.
    #[must_use]
    pub fn below(mut self, folder: &str) -> Scenarios {
        let folder = folder.trim_end_matches('/');
        for step in self.list.iter_mut().flat_map(|scenario| &mut scenario.steps) {
            step.path.begin_with(folder);
        }
        self
    }

    /// The names of all steps, with that of their scenario before them where there are several.
    pub fn steps(&self) -> Vec<String> {
        let named = |scenario: &Scenario, step: &Step| match self.list.len() {
            1 => step.name.clone(),
            _ => format!("{}: {}", scenario.name, step.name),
        };
        self.list.iter().flat_map(|one| one.steps.iter().map(move |step| named(one, step))).collect()
    }

    /// What of each step may not come out, in words.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Vec<String>> {
        self.list.iter().flat_map(|scenario| &scenario.steps).map(Step::faults)
    }

    /// The number of the scenario that a pass follows.
    pub(crate) fn choose(&self, stream: &mut Stream) -> usize {
        match self.weights.as_slice() {
            [_] => 0,
            weights => {
                let point = stream.uniform() * weights.last().expect("there is a scenario");
                weights.partition_point(|&sum| sum <= point).min(weights.len() - 1)
            }
        }
    }

    /// Scenario number `number`.
    pub(crate) fn scenario(&self, number: usize) -> &Scenario {
        &self.list[number]
    }
}

impl Scenario {
    /// The variables of a pass that begins: pass number `pass` of user number `user`.
    pub(crate) fn values(&self, user: u64, pass: u64) -> Vec<Vec<u8>> {
        let mut values: Vec<Vec<u8>> = self.data.as_ref().map_or(Vec::new(), |data| data.row(user, pass).to_vec());
        values.resize(self.variables, Vec::new());
        values
    }

    /// Step number `number`, where there is one.
    pub(crate) fn step(&self, number: usize) -> Option<&Step> {
        self.steps.get(number)
    }

    /// The number of its step `step` among those of all scenarios.
    pub(crate) fn number(&self, step: usize) -> usize {
        self.first + step
    }
}

impl Step {
    /// The thinking time before it.
    pub(crate) fn think(&self, stream: &mut Stream) -> Span {
        Span::from_secs_f64(self.think.sample(stream))
    }

    /// Its request: `job`, with these values for the variables.
    pub(crate) fn request(&self, job: &Job, values: &[Vec<u8>], stream: &mut Stream) -> Special {
        let mut path = Vec::new();
        self.path.write_with(job, stream, |variable| in_path(&values[variable]), &mut path);
        let header = |(name, template): &(String, Template)| {
            let mut value = Vec::new();
            template.write_with(job, stream, |variable| in_header(&values[variable]), &mut value);
            (name.clone(), value)
        };
        let headers = self.headers.iter().map(header).collect();
        let body = self.body.as_ref().map(|body| match body {
            Body::Bytes(bytes) => bytes.clone(),
            Body::Text(template) => {
                let mut text = Vec::new();
                template.write_with(job, stream, |variable| Cow::Borrowed(values[variable].as_slice()), &mut text);
                text
            }
        });
        let path = String::from_utf8(path).expect("what is in a path is ASCII, or was a text");
        let step = StepParts { headers, body, keeping: self.keeping };
        Special { hops: 0, method: self.method, authority: None, path, bare: false, away: false, step: Some(step) }
    }

    /// What `answer` comes to, and what of it did not come out; what is taken from it goes to `values`.
    pub(crate) fn judge(&self, answer: &Answer<'_>, values: &mut [Vec<u8>]) -> (Outcome, Option<Fault>) {
        let by_status = Outcome::of_status(answer.status);
        let expects_status = self.checks.iter().any(Check::is_of_status);
        if !expects_status && by_status != Outcome::Ok {
            return (by_status, None);
        }
        let mut look = Look::new(answer);
        for (place, check) in self.checks.iter().enumerate() {
            if !check.holds(&mut look) {
                let of_status = check.is_of_status() && by_status != Outcome::Ok;
                let beyond = check.looks_into_body() && look.is_cut();
                let fault = if beyond { self.checks.len() + self.takes.len() } else { place };
                return (if of_status { by_status } else { Outcome::Check }, Some(fault));
            }
        }
        for (place, take) in self.takes.iter().enumerate() {
            match take.value(&mut look) {
                Some(value) => values[take.variable] = value,
                None => {
                    let beyond = take.looks_into_body() && look.is_cut();
                    let place = if beyond { self.takes.len() } else { place };
                    return (Outcome::Take, Some(self.checks.len() + place));
                }
            }
        }
        (Outcome::Ok, None)
    }

    /// What of it may not come out: its checks, its takes, and a body that is too long to be looked into.
    fn faults(&self) -> Vec<String> {
        let checks = self.checks.iter().map(ToString::to_string);
        let takes = self.takes.iter().map(ToString::to_string);
        let body_most = self.keeping.and_then(|keeping| keeping.body_most);
        let beyond =
            body_most.map(|most| format!("a body of at most {most} B (`hold`): longer ones are not looked into"));
        checks.chain(takes).chain(beyond).collect()
    }
}

/// A reply that is looked into; its JSON is read once.
pub(crate) struct Look<'a> {
    pub(crate) answer: &'a Answer<'a>,
    json: Option<Option<serde_json::Value>>,
}

impl<'a> Look<'a> {
    fn new(answer: &'a Answer<'a>) -> Look<'a> {
        Look { answer, json: None }
    }

    /// Its body; none where it was not kept, or not whole.
    pub(crate) fn body(&self) -> Option<&'a [u8]> {
        self.answer.kept.filter(|kept| !kept.cut).map(|kept| kept.body.as_slice())
    }

    /// Its body as JSON, where it is that.
    pub(crate) fn json(&mut self) -> Option<&serde_json::Value> {
        let body = self.body();
        self.json.get_or_insert_with(|| serde_json::from_slice(body?).ok()).as_ref()
    }

    /// The values of its fields of this name (lower case).
    pub(crate) fn fields(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.answer.kept.map_or(&[][..], |kept| &kept.fields);
        fields.iter().filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    fn is_cut(&self) -> bool {
        self.answer.kept.is_some_and(|kept| kept.cut)
    }
}

/// A value as it stands in a path: what cannot stand there is percent-encoded (RFC 3986, section 2.1).
fn in_path(value: &[u8]) -> Cow<'_, [u8]> {
    let stands = |byte: &u8| (0x21..=0x7e).contains(byte) && !b"\"#<>\\^`{|}".contains(byte);
    if value.iter().all(stands) {
        return Cow::Borrowed(value);
    }
    let encoded = |byte: &u8| if stands(byte) { vec![*byte] } else { format!("%{byte:02X}").into_bytes() };
    Cow::Owned(value.iter().flat_map(encoded).collect())
}

/// A value as it stands in a header: control characters become blanks (RFC 9110, section 5.5).
fn in_header(value: &[u8]) -> Cow<'_, [u8]> {
    let stands = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    if value.iter().all(stands) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.iter().map(|byte| if stands(byte) { *byte } else { b' ' }).collect())
}
