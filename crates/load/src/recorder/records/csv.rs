//! Records as CSV.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::{COLUMNS, Rows};
use crate::recorder::record::Record;

struct Text {
    out: BufWriter<File>,
    line: Vec<u8>,
}

/// Rows of CSV into `file`, with their header.
pub(super) fn create(file: File) -> Result<Box<dyn Rows>, String> {
    let (before, between, after) = &COLUMNS;
    let mut names: Vec<&str> = before.iter().map(|column| column.name).collect();
    names.push("outcome");
    names.extend(between.iter().map(|column| column.name));
    names.push("backend");
    names.extend(after.iter().map(|column| column.name));
    let mut out = BufWriter::with_capacity(1 << 18, file);
    writeln!(out, "{}", names.join(",")).map_err(|error| error.to_string())?;
    Ok(Box::new(Text { out, line: Vec::new() }))
}

impl Rows for Text {
    fn write(&mut self, records: &[Record], backends: &[String]) -> Result<(), String> {
        let (before, between, after) = &COLUMNS;
        for record in records {
            let line = &mut self.line;
            line.clear();
            for column in before {
                number((column.of)(record), line);
                line.push(b',');
            }
            line.extend_from_slice(record.outcome.name().as_bytes());
            line.push(b',');
            for column in between {
                number((column.of)(record), line);
                line.push(b',');
            }
            if let Some(backend) = record.backend {
                quoted(&backends[usize::from(backend)], line);
            }
            for column in after {
                line.push(b',');
                number((column.of)(record), line);
            }
            line.push(b'\n');
            self.out.write_all(line).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        self.out.flush().map_err(|error| error.to_string())
    }
}

/// Nothing where there is no number.
fn number(value: Option<u64>, line: &mut Vec<u8>) {
    if let Some(value) = value {
        line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }
}

fn quoted(text: &str, line: &mut Vec<u8>) {
    if text.contains([',', '"', '\n', '\r']) {
        line.push(b'"');
        line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        line.push(b'"');
    } else {
        line.extend_from_slice(text.as_bytes());
    }
}
