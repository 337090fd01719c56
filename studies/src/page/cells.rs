//! Tables that a page looks up cells in: the answers of a run, or a published table.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::ReproduceError;
use crate::answers::{Answers, Replications};
use crate::number::{Number, known};

/// A figure: of a run, of a published table, or computed from others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// With its interval; none of a formula's number, and of too few samples.
    pub(crate) number: Option<Number>,
    /// Alone, which formulas have too.
    pub(crate) value: Option<f64>,
    /// Replication by replication, if it is of a run.
    pub(super) replications: Option<(Vec<Option<f64>>, bool)>,
}

impl Cell {
    pub(crate) fn of(number: Option<Number>) -> Cell {
        Cell { number, value: number.map(|of| of.value), replications: None }
    }

    /// An exact number, if there is one.
    pub(crate) fn exact(value: Option<f64>) -> Cell {
        Cell::of(value.and_then(known))
    }

    /// Of the variant that has these settings.
    pub(crate) fn measured(answers: &Answers, wanted: &[(&str, &str)], metric: &str) -> Cell {
        Cell {
            number: answers.number(wanted, metric),
            value: answers.value(wanted, metric),
            replications: answers.replications(wanted, metric).map(|of| (of.values.to_vec(), of.is_suspect)),
        }
    }

    pub(crate) fn replications(&self) -> Option<Replications<'_>> {
        self.replications.as_ref().map(|(values, is_suspect)| Replications { values, is_suspect: *is_suspect })
    }
}

impl Object for Cell {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// A table of a published study: its header and its rows.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Published {
    pub(crate) fn read(file: &Path) -> Result<Published, ReproduceError> {
        let fail = |e: csv::Error| ReproduceError(format!("{}: {e}", file.display()));
        let mut csv = csv::ReaderBuilder::new().flexible(true).from_path(file).map_err(fail)?;
        let header = csv.headers().map_err(fail)?.iter().map(String::from).collect();
        let rows = csv.records().map(|row| Ok(row.map_err(fail)?.iter().map(String::from).collect()));
        Ok(Published { header, rows: rows.collect::<Result<_, ReproduceError>>()? })
    }

    pub(crate) fn column(&self, name: &str) -> Result<usize, Error> {
        self.header.iter().position(|of| of == name).ok_or_else(|| wrong(format!("the table has no column `{name}`")))
    }

    /// The number in `column` of the first row that has all of `wanted`.
    pub(crate) fn number(&self, wanted: &[(String, String)], column: &str) -> Result<Option<f64>, Error> {
        let at =
            wanted.iter().map(|(name, value)| Ok((self.column(name)?, value))).collect::<Result<Vec<_>, Error>>()?;
        let column = self.column(column)?;
        let row = self.rows.iter().find(|row| at.iter().all(|(column, value)| row.get(*column) == Some(value)));
        Ok(row.and_then(|row| row.get(column)?.parse().ok()))
    }

    /// Each row as a map.
    pub(super) fn maps(&self) -> Value {
        let map = |row: &Vec<String>| -> Value {
            let cells = row.iter().map(String::as_str).chain(std::iter::repeat(""));
            self.header.iter().cloned().zip(cells.map(Value::from)).collect::<BTreeMap<String, Value>>().into()
        };
        self.rows.iter().map(map).collect()
    }
}

/// Finds a cell by a quantity, and the values of the keys.
pub(super) type Lookup = Arc<dyn Fn(&str, &[(String, String)]) -> Result<Cell, Error> + Send + Sync>;

/// What is called with the name of a quantity and the values of the keys, in their order, and gives a cell. A map among the
/// values has keys of its own; for a list of values there is a list of cells, and for two lists a list of lists.
#[derive(Clone)]
pub(crate) struct Table {
    pub(super) of: Contents,
    pub(super) name: String,
    pub(super) keys: Vec<String>,
}

#[derive(Clone)]
pub(super) enum Contents {
    Run(Arc<Answers>),
    Published(Arc<Published>),
    Computed(Lookup),
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the table {} by {:?}", self.name, self.keys)
    }
}

impl Table {
    fn cell(&self, quantity: &str, wanted: &[(String, String)]) -> Result<Cell, Error> {
        match &self.of {
            Contents::Computed(of) => of(quantity, wanted),
            Contents::Published(table) => Ok(Cell::exact(table.number(wanted, quantity)?)),
            Contents::Run(answers) => {
                if let Some((key, _)) = wanted.iter().find(|(key, _)| !answers.varies(key)) {
                    return Err(wrong(format!("no variant of {} sets `{key}`", self.name)));
                }
                let wanted: Vec<(&str, &str)> =
                    wanted.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                Ok(Cell::measured(answers, &wanted, quantity))
            }
        }
    }

    /// The cells for all combinations of those arguments that are lists.
    fn cells(&self, arguments: &[Value]) -> Result<Value, Error> {
        if let Some(place) = arguments.iter().position(is_list) {
            let with = |value: Value| {
                let mut arguments = arguments.to_vec();
                arguments[place] = value;
                self.cells(&arguments)
            };
            return arguments[place].try_iter()?.map(with).collect();
        }
        let [quantity, rest @ ..] = arguments else { return Err(wrong("which quantity?")) };
        let (mut wanted, mut keys) = (Vec::new(), self.keys.iter());
        for value in rest {
            if value.kind() == ValueKind::Map {
                for key in value.try_iter()? {
                    wanted.push((key.to_string(), value.get_item(&key)?.to_string()));
                }
            } else {
                let key =
                    keys.next().ok_or_else(|| wrong(format!("`{value}` is one value more than {:?}", self.keys)))?;
                wanted.push((key.clone(), value.to_string()));
            }
        }
        match keys.next() {
            Some(key) => Err(wrong(format!("a cell of {} needs a value of `{key}`", self.name))),
            None => Ok(Value::from_object(self.cell(&quantity.to_string(), &wanted)?)),
        }
    }
}

impl Object for Table {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match (&self.of, key) {
            (Contents::Run(answers), "elapsed_s") => Some(answers.elapsed_s.into()),
            (Contents::Run(answers), "verdict") => Some(format!("{}{}", answers.verdict, answers.reasons()).into()),
            (Contents::Run(answers), "variants") => Some(answers.variants().into()),
            (Contents::Run(answers), "machine") => Some(
                answers
                    .host
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}"))
                    .collect::<Vec<_>>()
                    .join("; ")
                    .into(),
            ),
            (Contents::Published(table), "rows") => Some(table.maps()),
            _ => None,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        self.cells(arguments)
    }
}

pub(super) fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

/// An error in a template.
pub(crate) fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what.into())
}
