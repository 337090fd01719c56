//! How templates draw pictures, and keep files beside the page.

use std::sync::{Arc, Mutex};

use minijinja::value::{Kwargs, Object, ObjectRepr};
use minijinja::{Environment, Error, Value};

use super::cells::{Cell, is_list, wrong};
use super::record::Record;
use super::values::{cell, cells_of, each, flat};
use crate::picture::{self, Series, curves, over_time};

/// A curve of a picture.
#[derive(Debug)]
struct Curve(Series);

impl Object for Curve {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

pub(super) fn add(environment: &mut Environment<'_>, record: &Arc<Mutex<Record>>) {
    let known = record.clone();
    environment.add_function("file", move |name: &str, text: &str| {
        format!("{}/{name}", kept(&known, name.to_owned(), text.to_owned()))
    });
    // A CSV file with a row for each pair of the two keys' values, and of each quantity the value and the ends of its
    // interval, if it has any width; gives its place.
    let known = record.clone();
    environment.add_function(
        "tidy",
        move |name: &str, keys: Vec<String>, rows: Value, columns: Value, quantities: Value| -> Result<String, Error> {
            let text = tidy(&keys, &[flat(&rows)?, flat(&columns)?], &quantities)?;
            Ok(format!("{}/{name}", kept(&known, name.to_owned(), text)))
        },
    );
    let known = record.clone();
    let heat_map =
        move |name: &str, title: &str, rows: Vec<String>, columns: Vec<String>, of: Value| -> Result<String, Error> {
            let ratios = of.try_iter()?.map(|row| Ok(cells_of(&row)?.iter().map(|of| of.value).collect()));
            let svg = picture::heat_map(title, &rows, &columns, &ratios.collect::<Result<Vec<_>, Error>>()?);
            let folder = kept(&known, format!("{name}.svg"), svg);
            Ok(format!("![{name}: deviation of every cell]({folder}/{name}.svg)"))
        };
    environment.add_function("heat_map", heat_map);
    // Curves through the points that have a value, one or a list of them by name; a colour is the place among the others unless
    // it is named.
    environment.add_function("curve", |names: Value, xs: Value, ys: Value, options: Kwargs| -> Result<Value, Error> {
        let published = options.get::<Option<bool>>("published")?.unwrap_or(false);
        let colour = options.get::<Option<usize>>("colour")?;
        options.assert_all_used()?;
        let curves = series(&names, &xs, &ys)?.into_iter();
        Ok(curves.map(|of| curve(Series { published, colour: colour.unwrap_or(usize::MAX), ..of })).collect())
    });
    // Pairs of curves of one colour: simulated, and by formula or as published, with what comes after their names.
    environment.add_function(
        "pairs",
        |names: Value, suffixes: Value, xs: Value, both: Value, options: Kwargs| -> Result<Value, Error> {
            let suffixes = match is_list(&suffixes) {
                true => {
                    [0, 1].map(|place| suffixes.get_item_by_index(place).map(|of| of.to_string()).unwrap_or_default())
                }
                false => [String::new(), suffixes.to_string()],
            };
            let first = options.get::<Option<usize>>("first")?.unwrap_or(0);
            options.assert_all_used()?;
            let (sim, formula) = (both.get_item_by_index(0)?, both.get_item_by_index(1)?);
            let sim = each(&sim, &|a| Ok(cell(Cell::of(a.number))))?;
            let pairs = series(&names, &xs, &sim)?.into_iter().zip(series(&names, &xs, &formula)?).enumerate();
            let pair = |(place, (sim, formula)): (usize, (Series, Series))| {
                let [one, other] = suffixes.each_ref().map(|suffix| format!("{}{suffix}", sim.name));
                let colour = first + place;
                let formula = Series { name: other, published: true, colour, ..formula };
                [Series { name: one, colour, ..sim }, formula]
                    .into_iter()
                    .filter(|of| !of.points.is_empty())
                    .map(curve)
                    .collect::<Vec<_>>()
            };
            Ok(pairs.flat_map(pair).collect())
        },
    );
    for (name, draw) in
        [("picture", curves as fn(&str, &str, &str, &[Series]) -> String), ("picture_over_time", over_time)]
    {
        let record = record.clone();
        let drawn =
            move |file: &str, title: &str, axes: Vec<String>, of: Value, options: Kwargs| -> Result<String, Error> {
                let mut series: Vec<Series> = Vec::new();
                for curve in flat(&of)? {
                    let Curve(of) =
                        curve.downcast_object_ref::<Curve>().ok_or_else(|| wrong("a picture has curves"))?;
                    let colour = if of.colour == usize::MAX { series.len() } else { of.colour };
                    series.push(Series { colour, ..of.clone() });
                }
                let [x, y] = axes.as_slice() else { return Err(wrong("a picture has two axes")) };
                let alt = options.get::<Option<&str>>("alt")?.unwrap_or(title);
                let text = format!(
                    "![{alt}]({}/{file}.svg)",
                    kept(&record, format!("{file}.svg"), draw(title, x, y, &series))
                );
                options.assert_all_used()?;
                Ok(text)
            };
        environment.add_function(name, drawn);
    }
}

fn tidy(keys: &[String], values: &[Vec<Value>; 2], quantities: &Value) -> Result<String, Error> {
    let mut header = keys.to_vec();
    let mut columns: Vec<Vec<String>> = Vec::new();
    for name in quantities.try_iter()? {
        let cells = cells_of(&quantities.get_item(&name)?)?;
        if cells.len() != values[0].len() * values[1].len() {
            return Err(wrong(format!("`{name}`: {} cells for a table of other keys", cells.len())));
        }
        let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.6e}"));
        header.push(name.to_string());
        columns.push(cells.iter().map(|of| text(of.value)).collect());
        let has_interval = |of: &Cell| of.number.is_some_and(|number| number.low < number.high);
        if cells.iter().any(has_interval) {
            header.extend(["ci_low", "ci_high"].map(|end| format!("{name}_{end}")));
            columns.push(cells.iter().map(|of| text(of.number.map(|number| number.low))).collect());
            columns.push(cells.iter().map(|of| text(of.number.map(|number| number.high))).collect());
        }
    }
    let fail = |e: String| wrong(format!("a table: {e}"));
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(&header).map_err(|e| fail(e.to_string()))?;
    let pairs = values[0].iter().flat_map(|row| values[1].iter().map(move |column| [row, column]));
    for (place, pair) in pairs.enumerate() {
        let shown = |key: &Value| match key.downcast_object_ref::<Cell>() {
            Some(cell) => cell.value.map_or(String::new(), |value| value.to_string()),
            None => key.to_string(),
        };
        let row = pair.into_iter().map(shown).chain(columns.iter().map(|column| column[place].clone()));
        csv.write_record(row).map_err(|e| fail(e.to_string()))?;
    }
    String::from_utf8(csv.into_inner().map_err(|e| fail(e.to_string()))?).map_err(|e| fail(e.to_string()))
}

/// Keeps what will be a file beside the page; gives the name of its folder.
fn kept(record: &Mutex<Record>, file: String, text: String) -> String {
    let mut record = record.lock().expect("no thread has panicked");
    record.files.insert(file, text);
    record.folder.clone()
}

fn curve(of: Series) -> Value {
    Value::from_object(Curve(of))
}

/// A series for each name, over the same `xs`.
fn series(names: &Value, xs: &Value, ys: &Value) -> Result<Vec<Series>, Error> {
    let names: Vec<Value> = if is_list(names) { names.try_iter()?.collect() } else { vec![names.clone()] };
    let (xs, ys) = (cells_of(xs)?, cells_of(ys)?);
    if xs.len() * names.len() != ys.len() {
        return Err(wrong(format!("{} values for {} curves over {} of x", ys.len(), names.len(), xs.len())));
    }
    let series = |(name, ys): (&Value, &[Cell])| {
        let points = xs.iter().zip(ys).filter_map(|(x, y)| Some((x.value?, y.value?))).collect();
        Series { name: name.to_string(), published: false, colour: 0, points }
    };
    Ok(names.iter().zip(ys.chunks(xs.len().max(1))).map(series).collect())
}
