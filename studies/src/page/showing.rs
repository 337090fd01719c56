//! How templates show cells, texts and tables.

use minijinja::value::Rest;
use minijinja::{Environment, Error, Value};

use super::cells::{Cell, is_list, wrong};
use super::values::{both, cells_of, each, flat};
use crate::number::{self, difference, interval, range, shown};
use crate::picture;

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("ms", |a: Value| each(&a, &|a| Ok(shown(a.number, "s").into())));
    environment.add_filter("shown", |a: Value, unit: &str| each(&a, &|a| Ok(shown(a.number, unit).into())));
    environment.add_filter("interval", |a: Value, digits: usize| each(&a, &|a| Ok(interval(a.number, digits).into())));
    environment.add_filter("difference", |a: Value| each(&a, &|a| Ok(difference(a.number).into())));
    environment.add_filter("range", |a: Value| -> Result<String, Error> {
        Ok(range(&cells_of(&a)?.iter().map(|a| a.number).collect::<Vec<_>>()))
    });
    environment.add_filter("number", |a: Value, unit: &str| each(&a, &|a| Ok(number::plain(a.value, unit).into())));
    // Simulated with its interval, then by formula.
    environment.add_function("beside", |sim: Value, theory: Value, unit: &str| {
        let text =
            |sim: &Cell, theory: &Cell| format!("{} ({})", shown(sim.number, unit), number::plain(theory.value, unit));
        both(&sim, &theory, &|sim, theory| Ok(text(sim, theory).into()))
    });
    environment.add_filter("fixed", |a: Value, digits: usize, otherwise: Option<&str>| {
        each(&a, &|a| Ok(a.value.map_or(otherwise.unwrap_or("-").into(), |a| format!("{a:.digits$}")).into()))
    });
    environment.add_filter("percents", |of: Value| -> Result<String, Error> {
        let all = cells_of(&of)?.into_iter().filter_map(|of| Some(format!("{:.0}", of.value? * 100.0)));
        Ok(all.collect::<Vec<_>>().join(" : "))
    });
    // A ratio as a deviation from 1 in percent, without the sign of percent.
    environment.add_filter("deviation", |a: Value, digits: usize| {
        each(&a, &|a| Ok(a.value.map_or(String::new(), |a| format!("{:.digits$}", (a - 1.0) * 100.0)).into()))
    });
    // A ratio as a deviation from 1.
    environment.add_filter("percent", |a: Value, digits: Option<usize>| {
        let of = |a: f64| match digits {
            None => picture::percent(a),
            Some(digits) => format!("{:+.digits$} %", 100.0 * (a - 1.0)),
        };
        each(&a, &|a| Ok(a.value.map_or("-".into(), of).into()))
    });
    environment.add_function("fill", |text: &str, parts: Rest<Value>| fill(text, &parts));
    environment.add_function("fill_each", |text: &str, lists: Rest<Value>| -> Result<Value, Error> {
        let length = lists.iter().find(|of| is_list(of)).and_then(Value::len).unwrap_or(0);
        let part = |of: &Value, place: usize| if is_list(of) { of.get_item_by_index(place) } else { Ok(of.clone()) };
        let filled = |place| fill(text, &lists.iter().map(|of| part(of, place)).collect::<Result<Vec<_>, Error>>()?);
        (0..length).map(|place| filled(place).map(Value::from)).collect()
    });
    // Lists in a list, as one list; and its columns as rows.
    environment.add_filter("flat", |of: Value| -> Result<Vec<Value>, Error> {
        let inner = of.try_iter()?.map(|inner| Ok(inner.try_iter()?.collect::<Vec<_>>()));
        Ok(inner.collect::<Result<Vec<_>, Error>>()?.concat())
    });
    environment.add_filter("transposed", |of: Value| -> Result<Value, Error> {
        let rows =
            of.try_iter()?.map(|row| Ok(row.try_iter()?.collect())).collect::<Result<Vec<Vec<Value>>, Error>>()?;
        let columns = rows.first().map_or(0, Vec::len);
        Ok((0..columns).map(|column| rows.iter().map(|row| row[column].clone()).collect::<Value>()).collect())
    });
    // A row of a table from cells and lists of cells; and many rows, each with its name.
    environment.add_function("row", |parts: Rest<Value>| row(&parts));
    environment.add_function("rows", |names: Value, cells: Value| -> Result<String, Error> {
        let rows = names.try_iter()?.zip(cells.try_iter()?).map(|(name, cells)| row(&[name, cells]));
        Ok(rows.collect::<Result<Vec<_>, Error>>()?.join("\n"))
    });
    environment.add_function("rule", |columns: usize| format!("|{}", "---|".repeat(columns)));
}

fn row(parts: &[Value]) -> Result<String, Error> {
    let cells = parts.iter().map(flat).collect::<Result<Vec<_>, Error>>()?.concat();
    Ok(format!("| {} |", cells.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ")))
}

/// A text with a value in each place of `{}`; of a list all, with commas.
pub(super) fn fill(text: &str, parts: &[Value]) -> Result<String, Error> {
    let pieces: Vec<&str> = text.split("{}").collect();
    if pieces.len() != parts.len() + 1 {
        return Err(wrong(format!("{} values for the {} places of `{text}`", parts.len(), pieces.len() - 1)));
    }
    let part = |part: &Value| match is_list(part) {
        true => Ok(part.try_iter()?.map(|of| of.to_string()).collect::<Vec<_>>().join(", ")),
        false => Ok(part.to_string()),
    };
    let parts = parts.iter().map(part).chain([Ok(String::new())]).collect::<Result<Vec<_>, Error>>()?;
    Ok(pieces.into_iter().zip(parts).map(|(piece, part)| format!("{piece}{part}")).collect())
}
