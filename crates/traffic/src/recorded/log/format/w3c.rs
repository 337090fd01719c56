//! The W3C's extended log file format (working draft WD-logfile-960323), as IIS and CloudFront write it: lines of fields that a
//! line `#Fields:` names, before them and again wherever the fields change.
//!
//! An instant is that of the end ("at which transaction completed"), in UTC. The draft has `time-taken` in seconds, with a point
//! where it has digits behind one; IIS, which `#Software:` names, has whole milliseconds. A whole number of any other software
//! is not read, since its unit is not known.

use std::borrow::Cow;

use memchr::memchr;

use super::super::fault::Fault;
use super::super::record::{Fields, Record, Role, Unit};

/// What is known so far of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extended {
    fields: Vec<Name>,
    is_of_microsoft: bool,
    /// Durations that were not read for want of a unit.
    pub(super) without_unit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    TimeTaken,
    Role(Role),
}

impl Extended {
    /// What a line says; none of a directive.
    #[inline]
    pub(super) fn read<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Fault> {
        if let [b'#', directive @ ..] = line {
            self.direct(directive);
            return Ok(None);
        }
        if self.fields.is_empty() {
            return Err(Fault::Unnamed);
        }
        let space = if memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
        let mut values = line.split(|byte| *byte == space);
        let mut fields = Fields::default();
        for name in &self.fields {
            let value = values.next().ok_or(Fault::Shape)?;
            let role = match name {
                Name::Role(role) => *role,
                Name::TimeTaken if memchr(b'.', value).is_some() => Role::Response(Unit::Seconds),
                Name::TimeTaken if self.is_of_microsoft => Role::Response(Unit::Milliseconds),
                Name::TimeTaken => {
                    self.without_unit += u64::from(value != b"-");
                    Role::Skip
                }
            };
            fields.take(role, Cow::Borrowed(value))?;
        }
        match values.next() {
            None => fields.finish().map(Some),
            Some(_) => Err(Fault::Extra),
        }
    }

    fn direct(&mut self, directive: &[u8]) {
        let text = String::from_utf8_lossy(directive);
        if let Some(software) = text.strip_prefix("Software:") {
            self.is_of_microsoft = software.contains("Microsoft");
        }
        if let Some(names) = text.strip_prefix("Fields:") {
            self.fields = names.split_ascii_whitespace().map(named).collect();
        }
    }
}

fn named(name: &str) -> Name {
    Name::Role(match name {
        "time-taken" => return Name::TimeTaken,
        "date" => Role::Day,
        "time" => Role::TimeOfDay,
        "c-ip" => Role::Client,
        "cs-method" => Role::Method,
        "cs-uri-stem" | "cs-uri" => Role::Path,
        "cs-uri-query" => Role::Query,
        "sc-status" => Role::Status,
        "sc-bytes" | "bytes" => Role::Bytes,
        // The server that has written the line, where lines of several are put together.
        "s-ip" | "s-computername" => Role::Server,
        _ => Role::Skip,
    })
}
