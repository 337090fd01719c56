//! Cells, comparisons and lists of them as values of templates.
//!
//! What is done to a cell is done to lists of cells too, and to lists of lists. Of two lists of the same length the pairs are
//! taken, and one cell beside a list goes with each of it.

use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Error, Value};

use super::cells::{Cell, is_list, wrong};
use crate::verdict::Comparison;

/// A comparison as a value of a template.
#[derive(Debug)]
pub(super) struct Compared(pub(super) Comparison);

impl Object for Compared {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

pub(super) fn cell(of: Cell) -> Value {
    Value::from_object(of)
}

pub(super) fn one(value: &Value) -> Result<Cell, Error> {
    if let Some(cell) = value.downcast_object_ref::<Cell>() {
        return Ok(cell.clone());
    }
    match value.kind() {
        ValueKind::None => Ok(Cell::default()),
        ValueKind::Number => Ok(Cell::exact(Some(f64::try_from(value.clone())?))),
        // As settings are written.
        ValueKind::String => match value.to_string().parse() {
            Ok(number) => Ok(Cell::exact(Some(number))),
            Err(_) => Err(wrong(format!("`{value}` is no number"))),
        },
        ValueKind::Undefined => Err(wrong("an undefined name in the place of a cell")),
        _ => Err(wrong(format!("`{value}` is no cell"))),
    }
}

/// What `of` makes of each cell.
pub(crate) fn each(value: &Value, of: &dyn Fn(&Cell) -> Result<Value, Error>) -> Result<Value, Error> {
    if is_list(value) {
        return value.try_iter()?.map(|value| each(&value, of)).collect();
    }
    of(&one(value)?)
}

/// What `of` makes of each pair of cells.
pub(super) fn both(a: &Value, b: &Value, of: &dyn Fn(&Cell, &Cell) -> Result<Value, Error>) -> Result<Value, Error> {
    match (is_list(a), is_list(b)) {
        (false, false) => of(&one(a)?, &one(b)?),
        (true, false) => a.try_iter()?.map(|a| both(&a, b, of)).collect(),
        (false, true) => b.try_iter()?.map(|b| both(a, &b, of)).collect(),
        (true, true) if a.len() == b.len() => a.try_iter()?.zip(b.try_iter()?).map(|(a, b)| both(&a, &b, of)).collect(),
        (true, true) => Err(wrong(format!("lists of {:?} and of {:?} cells have no pairs", a.len(), b.len()))),
    }
}

pub(super) fn compare(a: &Value, b: &Value, of: &dyn Fn(&Cell, &Cell) -> Comparison) -> Result<Value, Error> {
    both(a, b, &|a, b| Ok(Value::from_object(Compared(of(a, b)))))
}

/// Each value of a list of lists.
pub(super) fn flat(value: &Value) -> Result<Vec<Value>, Error> {
    match is_list(value) {
        true => Ok(value.try_iter()?.map(|value| flat(&value)).collect::<Result<Vec<_>, Error>>()?.concat()),
        false => Ok(vec![value.clone()]),
    }
}

/// Each cell of a list of lists.
pub(super) fn cells_of(value: &Value) -> Result<Vec<Cell>, Error> {
    flat(value)?.iter().map(one).collect()
}

/// Each comparison of a list of lists.
pub(super) fn comparisons(value: &Value) -> Result<Vec<Comparison>, Error> {
    let comparison = |value: &Value| {
        let of = value.downcast_object_ref::<Compared>().map(|of| of.0);
        of.ok_or_else(|| wrong(format!("`{value}` compares nothing")))
    };
    flat(value)?.iter().map(comparison).collect()
}
