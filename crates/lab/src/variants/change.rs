//! Changes of a file's text: a setting is put in its place, and what says the same in other words is taken out.

use std::collections::HashSet;

use sojourn_stats::{Dimension, Law};
use sojourn_traffic::Arrivals;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{SHORT_NAMES, long_name, show};

/// Makes a change of the command line.
pub(super) fn change_to(document: &mut DocumentMut, key: &str, value: &Value) -> Result<(), String> {
    put(document, key, value.clone())?;
    drop_loads(document, (key, value), |_| false);
    settled(key, value).iter().for_each(|settled| drop_axis(document, settled));
    Ok(())
}

/// The keys that do not vary any more once `key` is set by hand: its own, and what else says how fast requests come.
pub(super) fn settled<'a>(key: &'a str, value: &Value) -> Vec<&'a str> {
    let others: &[&'a str] = if long_name(key) == "workload.arrivals" { &[] } else { other_loads(key, value) };
    std::iter::once(key).chain(others.iter().copied()).collect()
}

/// What is set by hand is not varied any more, by a list of `[vary]` or a `[[variant]]`.
pub(super) fn drop_axis(document: &mut DocumentMut, key: &str) {
    let drop_from = |table: &mut dyn TableLike| {
        let varied: Vec<String> = table.iter().map(|(key, _)| key.to_string()).collect();
        let is_it = |of: &&String| of.as_str() != "name" && long_name(of) == long_name(key);
        varied.iter().filter(is_it).for_each(|of| drop(table.remove(of)));
    };
    if let Some(vary) = document.get_mut("vary").and_then(Item::as_table_like_mut) {
        drop_from(vary);
    }
    let variants = document.get_mut("variant").and_then(Item::as_array_of_tables_mut);
    variants.into_iter().flat_map(ArrayOfTables::iter_mut).for_each(|variant| drop_from(variant));
}

/// A variation to another discipline leaves out what the file has for its own only.
pub(super) fn drop_disciplines_keys(document: &mut DocumentMut, discipline: &str) {
    const OWN: [(&str, &[&str]); 3] = [
        ("helpers", &["limited-ps", "time-slices"]),
        ("quantum", &["round-robin", "time-slices"]),
        ("preemptive", &["lcfs", "priority"]),
    ];
    let server = document.get_mut("system").and_then(|system| system.get_mut("server"));
    if let Some(server) = server.and_then(Item::as_table_like_mut) {
        for (own, _) in OWN.iter().filter(|(_, of)| !of.contains(&discipline)) {
            server.remove(own);
        }
    }
}

/// What else says how fast requests come, where `key` says it with this value.
pub(super) fn other_loads(key: &str, value: &Value) -> &'static [&'static str] {
    match long_name(key) {
        "workload.rate" => &["utilization"],
        "workload.utilization" => &["rate"],
        "workload.arrivals" if value.as_str().is_some_and(|text| Arrivals::parse(text).is_ok()) => {
            &["rate", "utilization"]
        }
        _ => &[],
    }
}

/// Leaves out of `[workload]` what else says how fast requests come, but for what `is_kept` holds.
pub(super) fn drop_loads(document: &mut DocumentMut, (key, value): (&str, &Value), is_kept: impl Fn(&str) -> bool) {
    let workload = document.get_mut("workload").and_then(Item::as_table_like_mut);
    if let Some(workload) = workload {
        for other in other_loads(key, value).iter().filter(|other| !is_kept(other)) {
            workload.remove(other);
        }
    }
}

/// Makes a table of `retries = 3`, which is short for one, so that its other keys have a place.
pub(super) fn spell_out_retries(document: &mut DocumentMut) {
    let client = document.get_mut("client").and_then(Item::as_table_like_mut);
    let Some(retries) = client.and_then(|client| client.get_mut("retries")) else { return };
    if let Some(count) = retries.as_integer() {
        let mut table = InlineTable::new();
        table.insert("at_most", Value::from(count));
        *retries = Item::Value(Value::InlineTable(table));
    }
}

/// The setting that says what textbooks say by the rate or the mean of the service: a law of the work.
pub(super) fn service(key: &str, value: &Value) -> Option<String> {
    let letters: String = key.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let (name, unit) = match &letters[..] {
        "mu" | "servicerate" => ("rate", "/s"),
        "servicetime" | "meanservicetime" | "meanservice" => ("mean", "s"),
        _ => return None,
    };
    let written = show(value);
    let amount = if written.parse::<f64>().is_ok() { format!("{written} {unit}") } else { written };
    let demand = format!("exponential({name} = {amount})");
    Law::parse(&demand, Dimension::Time).is_ok().then(|| format!("demand = \"{demand}\""))
}

/// What is wrong with a key that is the path of nothing, with what it was probably meant to be; none of one that may be a
/// setting. `value` is one that it is to have.
pub(super) fn unknown_setting(key: &str, value: &Value) -> Option<String> {
    let path = long_name(key);
    let is_word = path == key && !path.contains('.') && !["seed", "name"].contains(&path);
    if !is_word && !parts(path).into_iter().any(str::is_empty) {
        return None;
    }
    let known: Vec<_> = SHORT_NAMES.iter().map(|(short, _)| *short).collect();
    let unknown = match service(key, value) {
        Some(demand) => format!("unknown setting `{key}`; did you mean `{demand}`?"),
        None => crate::spec::of_tiers("setting", key, crate::spec::unknown("setting", key, &known)),
    };
    // Who is near a name needs no other.
    let or = if unknown.ends_with('?') { "" } else { "; or a dotted path such as `workload.size`" };
    Some(format!("{unknown}{or}"))
}

/// Sets `key` to `value`, making tables on the way.
pub(super) fn put(document: &mut DocumentMut, key: &str, value: Value) -> Result<(), String> {
    if let Some(unknown) = unknown_setting(key, &value) {
        return Err(unknown);
    }
    let path = long_name(key);
    if path.starts_with("client.retries.") {
        spell_out_retries(document);
    }
    let parts = way(document, path);
    if let ["vary", varied] = parts[..] {
        drop_other_names(document, varied);
    }
    let (last, way) = parts.split_last().expect("a split text has at least one part");
    let mut item = document.as_item_mut();
    for (at, part) in way.iter().enumerate() {
        item = match number(item, part) {
            Some(index) if item.get(index).is_some() => item.get_mut(index).expect("it is there"),
            Some(_) => {
                let list = way[..at].join(".");
                let tables = item.as_array_of_tables().map(ArrayOfTables::len);
                return Err(match tables.or(item.as_array().map(Array::len)).unwrap_or(0) {
                    0 => format!("`{path}`: the file has no `[[{list}]]`"),
                    count => format!("`{path}`: the last `[[{list}]]` is number {}", count - 1),
                });
            }
            None if item.is_array_of_tables() => {
                return Err(format!("`{path}`: {}", crate::spec::unknown("name", part, &names(item))));
            }
            None => {
                let inline = item.is_inline_table();
                let table =
                    item.as_table_like_mut().ok_or_else(|| format!("`{path}`: `{part}` would not be in a table"))?;
                table.entry(part).or_insert_with(|| match inline {
                    true => Item::Value(Value::InlineTable(InlineTable::new())),
                    false => Item::Table(Table::new()),
                })
            }
        };
    }
    let table = item.as_table_like_mut().ok_or_else(|| format!("`{path}`: `{last}` would not be in a table"))?;
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(last, Item::Value(value));
        }
    }
    Ok(())
}

/// The parts of a dotted path. One in quotes may have dots of its own, as in TOML.
pub(super) fn parts(path: &str) -> Vec<&str> {
    as_written(path).into_iter().map(unquoted).collect()
}

/// The same with their quotes.
fn as_written(path: &str) -> Vec<&str> {
    let (mut quote, mut begins) = (None, true);
    let ends = |c: char| {
        let is_end = c == '.' && quote.is_none();
        match quote {
            Some(of) if of == c => quote = None,
            None if begins && matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        begins = is_end;
        is_end
    };
    path.split(ends).collect()
}

/// What stands in quotes; of what does not all of it.
fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|inside| !inside.contains(quote));
    ['"', '\''].into_iter().find_map(inside).unwrap_or(text)
}

/// A key of `--set` without the quotes that TOML asks of one with dots: `"workload.size"`, `vary."workload.size"`.
pub(super) fn plain(key: &str) -> String {
    match key.split_once('.') {
        Some(("vary", varied)) => format!("vary.{}", unquoted(varied)),
        _ => unquoted(key).to_owned(),
    }
}

/// The tables and the key that a path leads through. Percentiles have dots in their names, and what varies has whole paths as its
/// keys, unless there is a table to go into.
fn way<'a>(document: &DocumentMut, path: &'a str) -> Vec<&'a str> {
    let parts = parts(path);
    let (table, before) = match parts[..] {
        ["objective", ..] => (None, 1),
        ["vary", ..] => (document.get("vary").and_then(Item::as_table_like), 1),
        ["variant", which, ..] => {
            let one = document.get("variant").and_then(|all| all.get(number(all, which)?));
            (one.and_then(Item::as_table_like), 2)
        }
        _ => return parts,
    };
    let is_in_table = |part: &&str| table.is_some_and(|table| table.contains_key(part));
    if parts.len() <= before + 1 || is_in_table(&parts[before]) {
        return parts;
    }
    let begin: usize = as_written(path)[..before].iter().map(|part| part.len() + 1).sum();
    [&parts[..before], &[&path[begin..]]].concat()
}

/// What varies by another of its names would vary twice.
fn drop_other_names(document: &mut DocumentMut, key: &str) {
    let Some(vary) = document.get_mut("vary").and_then(Item::as_table_like_mut) else { return };
    let is_other = |of: &&str| *of != key && long_name(of) == long_name(key);
    let others: Vec<String> = vary.iter().map(|(of, _)| of).filter(is_other).map(str::to_owned).collect();
    others.iter().for_each(|other| drop(vary.remove(other)));
}

/// Makes one key of dotted ones where keys are settings: `workload.size = [...]` under `[vary]` is `"workload.size" = [...]`.
pub(super) fn join_dotted_keys(document: &mut DocumentMut) {
    if let Some(vary) = document.get_mut("vary").and_then(Item::as_table_mut) {
        join_keys(vary);
    }
    let variants = document.get_mut("variant").and_then(Item::as_array_of_tables_mut);
    variants.into_iter().flat_map(ArrayOfTables::iter_mut).for_each(join_keys);
}

fn join_keys(table: &mut Table) {
    if !table.iter().any(|(_, item)| item.is_table()) {
        return;
    }
    let all: Vec<(String, Item)> = table.iter().flat_map(|(key, item)| joined(key, item)).collect();
    // What stands there twice is not to be lost: a table is refused.
    if all.iter().map(|(key, _)| key).collect::<HashSet<_>>().len() < all.len() {
        return;
    }
    table.clear();
    all.into_iter().for_each(|(key, item)| drop(table.insert(&key, item)));
}

/// What is inside a table and those in it, each with its whole key.
fn joined(key: &str, item: &Item) -> Vec<(String, Item)> {
    match item.as_table() {
        Some(table) => table.iter().flat_map(|(inside, item)| joined(&format!("{key}.{inside}"), item)).collect(),
        None => vec![(key.to_owned(), item.clone())],
    }
}

/// Which of a list of tables `part` is: its number, or the `name` that one of them has.
pub(super) fn number(item: &Item, part: &str) -> Option<usize> {
    part.parse().ok().or_else(|| names(item).iter().position(|name| *name == part))
}

/// The names of a list of tables, in their order.
pub(super) fn names(item: &Item) -> Vec<&str> {
    let tables = item.as_array_of_tables().into_iter().flatten();
    tables.map(|table| table.get("name").and_then(Item::as_str).unwrap_or_default()).collect()
}
