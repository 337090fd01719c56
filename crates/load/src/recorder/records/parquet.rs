//! Records as Parquet: 64-bit integers and text, without compression, which would need a library more; the instants as
//! differences (`DELTA_BINARY_PACKED`), which does most of what compression would.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::{COLUMNS, Column, Rows};
use crate::recorder::record::Record;

/// Rows of a group: what is held in memory until it is written.
const GROUP: usize = 1 << 16;

struct Columns {
    out: SerializedFileWriter<File>,
    /// Of the present group, each with the name of its backend.
    rows: Vec<(Record, Option<ByteArray>)>,
}

/// Rows of Parquet into `file`.
pub(super) fn create(file: File) -> Result<Box<dyn Rows>, String> {
    open(file).map(|out| Box::new(Columns { out, rows: Vec::with_capacity(GROUP) }) as Box<dyn Rows>).map_err(text)
}

fn open(file: File) -> Result<SerializedFileWriter<File>, ParquetError> {
    let (before, between, after) = &COLUMNS;
    let number = |column: &Column| {
        format!("{} int64 {} (integer(64, true));", if column.required { "required" } else { "optional" }, column.name)
    };
    let mut fields: Vec<String> = before.iter().map(number).collect();
    fields.push("required binary outcome (utf8);".into());
    fields.extend(between.iter().map(number));
    fields.push("optional binary backend (utf8);".into());
    fields.extend(after.iter().map(number));
    let schema = parse_message_type(&format!("message records {{ {} }}", fields.concat()))?;
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("sojourn-load {}", env!("CARGO_PKG_VERSION")))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in before.iter().chain(between).chain(after) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}

impl Columns {
    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.out.next_row_group()?;
        let (before, between, after) = &COLUMNS;
        let rows = &self.rows;
        for column in before {
            numbers(&mut group, rows, column)?;
        }
        let outcomes: Vec<ByteArray> = rows.iter().map(|(record, _)| ByteArray::from(record.outcome.name())).collect();
        texts(&mut group, &outcomes, None)?;
        for column in between {
            numbers(&mut group, rows, column)?;
        }
        let there: Vec<i16> = rows.iter().map(|(_, backend)| i16::from(backend.is_some())).collect();
        let backends: Vec<ByteArray> = rows.iter().filter_map(|(_, backend)| backend.clone()).collect();
        texts(&mut group, &backends, Some(&there))?;
        for column in after {
            numbers(&mut group, rows, column)?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl Rows for Columns {
    fn write(&mut self, records: &[Record], backends: &[String]) -> Result<(), String> {
        let names: Vec<ByteArray> = backends.iter().map(|name| ByteArray::from(name.as_str())).collect();
        let name = |record: &Record| record.backend.map(|backend| names[usize::from(backend)].clone());
        self.rows.extend(records.iter().map(|record| (*record, name(record))));
        if self.rows.len() >= GROUP { self.group().map_err(text) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        if !self.rows.is_empty() {
            self.group().map_err(text)?;
        }
        self.out.close().map(drop).map_err(text)
    }
}

fn numbers(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[(Record, Option<ByteArray>)],
    column: &Column,
) -> Result<(), ParquetError> {
    let found: Vec<Option<u64>> = rows.iter().map(|(record, _)| (column.of)(record)).collect();
    let values: Vec<i64> = found.iter().flatten().map(|value| *value as i64).collect();
    let there: Option<Vec<i16>> =
        (!column.required).then(|| found.iter().map(|value| i16::from(value.is_some())).collect());
    let mut writer = group.next_column()?.expect("the schema has a column for each");
    writer.typed::<Int64Type>().write_batch(&values, there.as_deref(), None)?;
    writer.close()
}

fn texts(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[ByteArray],
    there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut writer = group.next_column()?.expect("the schema has a column for each");
    writer.typed::<ByteArrayType>().write_batch(values, there, None)?;
    writer.close()
}

fn text(error: ParquetError) -> String {
    error.to_string()
}
