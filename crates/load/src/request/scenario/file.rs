//! A scenario as a TOML file.
//!
//! serde reads its shape; what it means (laws, templates, pointers, variables) is read from texts whose places are
//! known, so that every error names file and line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::bytes::Regex;
use serde::Deserialize;
use sojourn_stats::{Dimension, Law, config, input, meant_aside, nearest, quantity};
use toml::{Spanned, Value};

use super::check::Check;
use super::data::{By, Data};
use super::take::{From, Take};
use super::{Body, Scenario, ScenarioError, Step};
use crate::request::template::{Template, is_name};
use crate::request::{Method, check_header, check_template};
use crate::wire::reply::Keeping;

/// The longest body (B) that is looked into where the file says none.
const HOLD: f64 = 1e6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<Spanned<String>>,
    weight: Option<Spanned<f64>>,
    think: Option<Spanned<String>>,
    hold: Option<Spanned<String>>,
    data: Option<DataOf>,
    #[serde(default)]
    step: Vec<StepOf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataOf {
    file: Spanned<PathBuf>,
    by: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepOf {
    name: Option<String>,
    method: Option<Spanned<String>>,
    path: Spanned<String>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    body: Option<Spanned<String>>,
    body_file: Option<Spanned<PathBuf>>,
    think: Option<Spanned<String>>,
    #[serde(default)]
    take: Vec<TakeOf>,
    #[serde(default)]
    check: CheckOf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TakeOf {
    name: Spanned<String>,
    header: Option<Spanned<String>>,
    cookie: Option<Spanned<String>>,
    json: Option<Spanned<String>>,
    regex: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckOf {
    status: Option<Spanned<Value>>,
    body_contains: Option<Spanned<Value>>,
    body_matches: Option<Spanned<Value>>,
    #[serde(default)]
    json: BTreeMap<String, Spanned<Value>>,
    max_size: Option<Spanned<String>>,
}

/// The scenario in `text`, which comes from the file `path`.
pub(super) fn read(text: &str, path: &Path) -> Result<Scenario, ScenarioError> {
    let source = Source { text, path };
    let file: File = toml::from_str(text).map_err(|error| source.not_toml(&error))?;
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = file.name.map_or_else(stem, Spanned::into_inner);
    let weight = match file.weight {
        None => 1.0,
        Some(weight) if *weight.get_ref() > 0.0 && weight.get_ref().is_finite() => weight.into_inner(),
        Some(weight) => return Err(source.at(&weight, "weight", "a number above 0, e.g. 3.0")),
    };
    let think = source.think(file.think.as_ref())?.unwrap_or(Law::constant(0.0));
    let hold = source.size(file.hold.as_ref(), "hold")?.unwrap_or(HOLD) as usize;
    let (data, mut variables) = match file.data {
        None => (None, Vec::new()),
        Some(data) => source.data(&data).map(|(data, names)| (Some(data), names))?,
    };
    let mut steps = Vec::new();
    for (number, step) in file.step.into_iter().enumerate() {
        steps.push(source.step(number, step, (&think, hold), &mut variables)?);
    }
    if steps.is_empty() {
        let why = "there is no step in it: begin each with [[step]] and give it a `path`, e.g. path = \"/\"";
        return Err(ScenarioError(format!("{}: {why}", path.display())));
    }
    Ok(Scenario { name, weight, data, steps, first: 0, variables: variables.len() })
}

/// The file that is read.
struct Source<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Source<'_> {
    fn data(&self, data: &DataOf) -> Result<(Data, Vec<String>), ScenarioError> {
        let by = match data.by.as_ref().map(|by| (by, by.get_ref().as_str())) {
            None | Some((_, "user")) => By::User,
            Some((_, "pass")) => By::Pass,
            Some((by, _)) => return Err(self.at(by, "by", "a row is for each `user` or for each `pass`")),
        };
        let found = Data::read(&self.beside(data.file.get_ref()), by);
        let (table, names) = found.map_err(|why| self.at(&data.file, "file", &why))?;
        if let Some(name) = names.iter().find(|name| !is_variable(name)) {
            let why = format!("column `{name}` cannot be a variable: {VARIABLE}");
            return Err(self.at(&data.file, "file", &why));
        }
        if let Some(name) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
            return Err(self.at(
                &data.file,
                "file",
                &format!("two columns are called `{name}`: give each its own name"),
            ));
        }
        Ok((table, names))
    }

    /// Step number `number`; `variables` are those that it may use, and afterwards those that the next one may.
    fn step(
        &self,
        number: usize,
        step: StepOf,
        (think, hold): (&Law, usize),
        variables: &mut Vec<String>,
    ) -> Result<Step, ScenarioError> {
        let template = |text: &Spanned<String>, key: &str| {
            Template::of_step(text.get_ref(), variables).map_err(|error| self.at(text, key, &error.to_string()))
        };
        let path = template(&step.path, "path")?;
        check_template(&path).map_err(|error| self.at(&step.path, "path", &error.to_string()))?;
        let mut headers = Vec::new();
        for (name, value) in &step.headers {
            check_header(name, value.get_ref()).map_err(|error| self.at(value, "headers", &error.to_string()))?;
            if name.eq_ignore_ascii_case("host") {
                return Err(self.at(value, "headers", &format!("`{name}` is said for you; leave it out")));
            }
            headers.push((name.clone(), template(value, "headers")?));
        }
        let body = match (&step.body, &step.body_file) {
            (None, None) => None,
            (Some(text), None) => Some(Body::Text(template(text, "body")?)),
            (None, Some(file)) => {
                let path = self.beside(file.get_ref());
                let bytes = input::bytes(&path);
                let cannot = |error| self.at(file, "body_file", &format!("cannot read {}: {error}", path.display()));
                Some(Body::Bytes(bytes.map_err(cannot)?))
            }
            (Some(text), Some(_)) => return Err(self.at(text, "body", "a step has a `body` or a `body_file`")),
        };
        let method = match &step.method {
            None if body.is_some() => Method::Post,
            None => Method::Get,
            Some(name) => Method::named(name.get_ref()).ok_or_else(|| {
                let (word, known) = (name.get_ref(), Method::ALL.map(Method::name));
                let why = format!("`{word}` is none of {}{}", known.join(", "), meant_aside(word, known));
                self.at(name, "method", &why)
            })?,
        };
        let checks = self.checks(&step.check)?;
        let mut takes = Vec::new();
        for take in &step.take {
            takes.push(self.take(take, variables)?);
        }
        let looks_into_body =
            checks.iter().any(Check::looks_into_body) || takes.iter().any(|take| take.looks_into_body());
        let fields = takes.iter().any(|take| !take.looks_into_body());
        let keeping = Keeping { body_most: looks_into_body.then_some(hold), fields };
        Ok(Step {
            name: step.name.unwrap_or_else(|| format!("{} {} {}", number + 1, method.name(), step.path.get_ref())),
            method,
            path,
            headers,
            body,
            think: self.think(step.think.as_ref())?.unwrap_or_else(|| think.clone()),
            takes,
            checks,
            keeping: (keeping != Keeping::default()).then_some(keeping),
        })
    }

    fn take(&self, take: &TakeOf, variables: &mut Vec<String>) -> Result<Take, ScenarioError> {
        let name = take.name.get_ref();
        if !is_variable(name) {
            return Err(self.at(&take.name, "name", &format!("`{name}` cannot be a variable: {VARIABLE}")));
        }
        let from = match (&take.header, &take.cookie, &take.json, &take.regex) {
            (Some(header), None, None, None) => From::Header(header.get_ref().to_ascii_lowercase()),
            (None, Some(cookie), None, None) => From::Cookie(cookie.get_ref().clone()),
            (None, None, Some(pointer), None) => {
                self.pointer(pointer.get_ref(), pointer.span().start)?;
                From::Json(pointer.get_ref().clone())
            }
            (None, None, None, Some(regex)) => {
                let read = self.regex(regex.get_ref(), regex.span().start, "regex")?;
                if read.captures_len() < 2 {
                    let why = "it has no group: put in parentheses what is taken, e.g. \"id=(\\\\d+)\"";
                    return Err(self.at(regex, "regex", why));
                }
                From::Regex(read)
            }
            _ => {
                let why = "say once where it is taken from: `header`, `cookie`, `json` or `regex`";
                return Err(self.at(&take.name, "take", why));
            }
        };
        let variable = variables.iter().position(|variable| variable == name).unwrap_or(variables.len());
        if variable == variables.len() {
            variables.push(name.clone());
        }
        Ok(Take { name: name.clone(), variable, from })
    }

    fn checks(&self, check: &CheckOf) -> Result<Vec<Check>, ScenarioError> {
        let mut checks = Vec::new();
        if let Some(value) = &check.status {
            let status = |value: &Value| value.as_integer().filter(|status| (200..600).contains(status));
            let statuses: Option<Vec<u16>> =
                several(value.get_ref()).iter().map(|value| status(value).map(|status| status as u16)).collect();
            let statuses = statuses.filter(|statuses| !statuses.is_empty());
            let why = "a status from 200 to 599, or a list of them, e.g. status = [200, 204]";
            checks.push(Check::Status(statuses.ok_or_else(|| self.at(value, "status", why))?));
        }
        if let Some(most) = self.size(check.max_size.as_ref(), "max_size")? {
            checks.push(Check::MaxSize(most as u64));
        }
        for (key, value) in [("body_contains", &check.body_contains), ("body_matches", &check.body_matches)] {
            let Some(value) = value else { continue };
            for one in several(value.get_ref()) {
                let wrong = || self.at(value, key, &format!("a text, or a list of texts, e.g. {key} = \"Welcome\""));
                let text = one.as_str().ok_or_else(wrong)?;
                checks.push(match key {
                    "body_contains" => Check::Contains(text.into()),
                    _ => Check::Matches(self.regex(text, value.span().start, key)?),
                });
            }
        }
        for (pointer, value) in &check.json {
            self.pointer(pointer, value.span().start)?;
            let wanted = serde_json::to_value(value.get_ref());
            let wanted = wanted.map_err(|error| self.at(value, "json", &error.to_string()))?;
            checks.push(Check::Json { pointer: pointer.clone(), value: wanted });
        }
        Ok(checks)
    }

    fn think(&self, text: Option<&Spanned<String>>) -> Result<Option<Law>, ScenarioError> {
        let law = |text: &Spanned<String>| {
            Law::parse(text.get_ref(), Dimension::Time).map_err(|error| self.at(text, "think", &error.to_string()))
        };
        text.map(law).transpose()
    }

    /// A size (B).
    fn size(&self, text: Option<&Spanned<String>>, key: &str) -> Result<Option<f64>, ScenarioError> {
        let size = |text: &Spanned<String>| {
            quantity::parse(text.get_ref(), Dimension::Size).map_err(|error| self.at(text, key, &error.to_string()))
        };
        text.map(size).transpose()
    }

    fn regex(&self, text: &str, offset: usize, key: &str) -> Result<Regex, ScenarioError> {
        Regex::new(text).map_err(|error| {
            // Its last line says what is wrong; those before point at the place.
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            self.error(offset, key, &format!("`{text}` is no regular expression: {why}"))
        })
    }

    /// Checks a JSON pointer (RFC 6901, section 3).
    fn pointer(&self, text: &str, offset: usize) -> Result<(), ScenarioError> {
        let escaped = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if (text.is_empty() || text.starts_with('/')) && escaped {
            return Ok(());
        }
        let why = format!("`{text}` is no JSON pointer: write it as /items/0/id, with ~1 for `/` and ~0 for `~`");
        Err(self.error(offset, "json", &why))
    }

    /// A path in the file: as seen from here when it is there, else as seen from the scenario's folder.
    fn beside(&self, path: &Path) -> PathBuf {
        match self.path.parent() {
            Some(folder) if path.is_relative() && !path.exists() => folder.join(path),
            _ => path.to_owned(),
        }
    }

    /// What serde refuses, with what would be right, and the nearest valid key where a key is unknown.
    fn not_toml(&self, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().lines().next().unwrap_or("not TOML").to_string();
        let mut ticked = message.split('`').skip(1).step_by(2);
        let why = match (message.starts_with("unknown field"), ticked.next()) {
            (true, Some(word)) => {
                let known: Vec<&str> = ticked.collect();
                let guess = nearest(word, known.iter().copied());
                let guess = guess.map_or(String::new(), |near| format!("did you mean `{near}`? "));
                format!("unknown key `{word}`; {guess}known: {}", known.join(", "))
            }
            _ => config::with_remedy(&message),
        };
        let line = self.line(error.span().map_or(0, |span| span.start));
        ScenarioError(format!("{}:{line}: {why}", self.path.display()))
    }

    fn at<T>(&self, value: &Spanned<T>, key: &str, why: &str) -> ScenarioError {
        self.error(value.span().start, key, why)
    }

    /// An error is one line, whatever the text has that it repeats.
    fn error(&self, offset: usize, key: &str, why: &str) -> ScenarioError {
        let why = why.replace('\n', " ");
        ScenarioError(format!("{}:{}: {key}: {why}", self.path.display(), self.line(offset)))
    }

    fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }
}

/// What may be the name of a variable.
const VARIABLE: &str = "a name has letters, digits and `_`, begins with no digit, and is not `client` or `k`";

fn is_variable(name: &str) -> bool {
    is_name(name) && !["client", "k"].contains(&name)
}

/// A value, or all of a list.
fn several(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        one => std::slice::from_ref(one),
    }
}
