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
