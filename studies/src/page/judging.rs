//! How templates judge statements and tell the verdicts.

use std::sync::{Arc, Mutex};

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, Value};

use super::record::Record;
use super::showing::fill;
use super::values::comparisons;
use crate::finding::{self, Finding};
use crate::verdict::{Comparison, Verdict, counted};

pub(super) fn add(environment: &mut Environment<'_>, record: &Arc<Mutex<Record>>) {
    let known = record.clone();
    environment.add_function("findings", move |claims: Value, options: Kwargs| -> Result<String, Error> {
        let findings = claims.try_iter()?.map(|claim| finding_of(&claim)).collect::<Result<Vec<_>, Error>>()?;
        let heading = options.get::<Option<&str>>("heading")?.unwrap_or("he found");
        // Without the causes, which the head of the page has.
        let text = match options.get::<Option<bool>>("brief")? {
            Some(true) => finding::rows(&findings, heading),
            _ => finding::table(&findings, heading),
        };
        options.assert_all_used()?;
        known.lock().expect("no thread has panicked").findings.extend(findings);
        Ok(text)
    });
    // What a page begins with, of statements as `findings` takes them.
    environment.add_function("found", |claims: Value| -> Result<String, Error> {
        let findings = claims.try_iter()?.map(|claim| finding_of(&claim)).collect::<Result<Vec<_>, Error>>()?;
        Ok(finding::summary(&findings))
    });
    // The same of statements as `beside_his` takes them.
    environment.add_function("found_beside_his", |claims: Value| -> Result<String, Error> {
        let of = |claim: Value| -> Result<(Verdict, String), Error> {
            let holds =
                |key: &str| Ok::<_, Error>(Verdict::of(&comparisons(&claim.get_attr(key)?.get_item_by_index(1)?)?));
            let (his, ours) = (holds("his")?, holds("ours")?);
            let beside = if his == ours { String::new() } else { format!("; in his own tables it {}", his.words()) };
            Ok((ours, format!("- {}{beside}\n", optional(&claim, "claim")?)))
        };
        let all = claims.try_iter()?.map(of).collect::<Result<Vec<_>, Error>>()?;
        let groups = [Verdict::Holds, Verdict::InPart, Verdict::Fails, Verdict::Undecidable, Verdict::Unjudged];
        let group = |wanted: Verdict| -> String {
            let lines: String = all.iter().filter(|of| of.0 == wanted).map(|of| of.1.as_str()).collect();
            let words = wanted.words();
            let heading = words[..1].to_uppercase() + &words[1..];
            if lines.is_empty() { lines } else { format!("**{heading}:**\n\n{lines}\n") }
        };
        Ok(groups.map(group).concat())
    });
    environment.add_filter("verdict", |holds: Value| -> Result<&'static str, Error> {
        Ok(Verdict::of(&comparisons(&holds)?).words())
    });
    environment.add_filter("counted", |holds: Value| -> Result<String, Error> { Ok(counted(&comparisons(&holds)?)) });
    environment.add_filter("tally", |all: Value| -> Result<String, Error> {
        let verdicts = all.try_iter()?.map(|holds| Ok(Verdict::of(&comparisons(&holds)?)));
        Ok(finding::tally(&verdicts.collect::<Result<Vec<_>, Error>>()?))
    });
    environment.add_filter("outcome", |of: Value, yes: &str, no: &str, open: &str| -> Result<String, Error> {
        let holds = comparisons(&of)?.first().and_then(|of| of.holds);
        Ok(holds.map_or(open, |holds| if holds { yes } else { no }).to_owned())
    });
    // Rows of statements that are judged by the published figures and by ours, each figures and comparisons.
    let known = record.clone();
    environment.add_function("beside_his", move |claims: Value| -> Result<String, Error> {
        let mut rows = Vec::new();
        for claim in claims.try_iter()? {
            let (his, (his_holds, his_text)) = side(&claim.get_attr("his")?)?;
            let (ours, (comparisons, our_text)) = side(&claim.get_attr("ours")?)?;
            let place = optional(&claim, "where")?;
            let claim = optional(&claim, "claim")?;
            let start = if place.is_empty() { String::new() } else { format!("{place} | ") };
            rows.push(format!("| {start}{claim} | {his} | {his_text} | {ours} | {our_text} |"));
            let mut known = known.lock().expect("no thread has panicked");
            known.published.push(Verdict::of(&his_holds));
            known.findings.push(Finding { place, claim, comparisons, ours, why: String::new() });
        }
        Ok(rows.join("\n"))
    });
}

/// Figures, comparisons, and the verdict with their number.
fn side(of: &Value) -> Result<(String, (Vec<Comparison>, String)), Error> {
    let holds = comparisons(&of.get_item_by_index(1)?)?;
    let text = format!("{}: {}", Verdict::of(&holds).words(), counted(&holds));
    Ok((fill("{}", &[of.get_item_by_index(0)?])?, (holds, text)))
}

/// A text of a statement, empty where there is none.
fn optional(claim: &Value, key: &str) -> Result<String, Error> {
    let value = claim.get_attr(key)?;
    Ok(if value.is_undefined() { String::new() } else { value.to_string() })
}

fn finding_of(claim: &Value) -> Result<Finding<String>, Error> {
    let text = |key: &str| optional(claim, key);
    let holds = comparisons(&claim.get_attr("holds")?)?;
    Ok(Finding {
        place: text("where")?,
        claim: text("claim")?,
        comparisons: holds,
        ours: text("ours")?,
        why: text("why")?,
    })
}
