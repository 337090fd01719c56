//! The two messages of ORCA in the wire format of protocol buffers: few enough fields to be written by hand, so that no
//! generated code and no compiler of it is needed.
//!
//! `OrcaLoadReport`: cpu_utilization 1, mem_utilization 2, utilization 5, rps_fractional 6, eps 7, named_metrics 8,
//! application_utilization 9; maps are repeated entries of a key 1 and a value 2. `OrcaLoadReportRequest`: report_interval 1,
//! of seconds 1 and nanoseconds 2. Zero is the default of protocol buffers and is not sent: a reader takes it as not said.

use sojourn_stats::Span;

use super::Load;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// A field: its number and what it holds.
enum Field<'a> {
    Number(u64, u64),
    Double(u64, f64),
    Bytes(u64, &'a [u8]),
    Other,
}

impl Load {
    /// Writes it as `OrcaLoadReport`.
    pub fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, value) in [(1, self.cpu_utilization), (2, self.mem_utilization)] {
            double(&mut out, number, value.unwrap_or(0.0));
        }
        map(&mut out, 5, &self.utilization);
        double(&mut out, 6, self.rps_fractional.unwrap_or(0.0));
        double(&mut out, 7, self.eps.unwrap_or(0.0));
        map(&mut out, 8, &self.named_metrics);
        double(&mut out, 9, self.application_utilization.unwrap_or(0.0));
        out
    }

    /// Reads an `OrcaLoadReport`; fields that it does not know are passed over. None when it is no such message.
    pub fn from_protobuf(mut message: &[u8]) -> Option<Load> {
        let mut load = Load::default();
        while !message.is_empty() {
            match field(&mut message)? {
                Field::Double(1, value) => load.cpu_utilization = Some(value),
                Field::Double(2, value) => load.mem_utilization = Some(value),
                Field::Bytes(5, bytes) => load.utilization.extend([entry(bytes)?]),
                Field::Double(6, value) => load.rps_fractional = Some(value),
                Field::Double(7, value) => load.eps = Some(value),
                Field::Bytes(8, bytes) => load.named_metrics.extend([entry(bytes)?]),
                Field::Double(9, value) => load.application_utilization = Some(value),
                _ => {}
            }
        }
        Some(load)
    }
}

/// Writes an `OrcaLoadReportRequest`.
pub(super) fn request(every: Span) -> Vec<u8> {
    let mut interval = Vec::new();
    for (number, value) in [(1, every.0 / 1_000_000_000), (2, every.0 % 1_000_000_000)] {
        if value > 0 {
            varint(&mut interval, number << 3 | VARINT);
            varint(&mut interval, value);
        }
    }
    let mut out = Vec::new();
    bytes(&mut out, 1, &interval);
    out
}

/// The time between reports that an `OrcaLoadReportRequest` asks for, zero if it leaves that open. None when it is no such
/// message.
pub(super) fn interval(mut message: &[u8]) -> Option<Span> {
    let mut every = Span::ZERO;
    while !message.is_empty() {
        let Field::Bytes(1, mut interval) = field(&mut message)? else { continue };
        let (mut seconds, mut ns) = (0u64, 0);
        while !interval.is_empty() {
            match field(&mut interval)? {
                Field::Number(1, value) => seconds = value,
                Field::Number(2, value) => ns = value,
                _ => {}
            }
        }
        every = Span(seconds.saturating_mul(1_000_000_000).saturating_add(ns));
    }
    Some(every)
}

fn double(out: &mut Vec<u8>, number: u64, value: f64) {
    if value != 0.0 {
        varint(out, number << 3 | FIXED64);
        out.extend(value.to_le_bytes());
    }
}

fn bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | BYTES);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn map(out: &mut Vec<u8>, number: u64, entries: &std::collections::BTreeMap<String, f64>) {
    for (name, value) in entries {
        let mut entry = Vec::new();
        bytes(&mut entry, 1, name.as_bytes());
        double(&mut entry, 2, *value);
        bytes(out, number, &entry);
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn entry(mut message: &[u8]) -> Option<(String, f64)> {
    let (mut name, mut number) = (String::new(), 0.0);
    while !message.is_empty() {
        match field(&mut message)? {
            Field::Bytes(1, bytes) => name = String::from_utf8(bytes.into()).ok()?,
            Field::Double(2, value) => number = value,
            _ => {}
        }
    }
    Some((name, number))
}

/// Takes the next field off a message.
fn field<'a>(message: &mut &'a [u8]) -> Option<Field<'a>> {
    let tag = take_varint(message)?;
    let number = tag >> 3;
    match tag & 7 {
        VARINT => take_varint(message).map(|value| Field::Number(number, value)),
        FIXED64 => take(message, 8)
            .map(|bytes| Field::Double(number, f64::from_le_bytes(bytes.try_into().expect("eight were taken")))),
        BYTES => {
            let length = usize::try_from(take_varint(message)?).ok()?;
            take(message, length).map(|bytes| Field::Bytes(number, bytes))
        }
        FIXED32 => take(message, 4).map(|_| Field::Other),
        _ => None,
    }
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(taken)
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let byte = take(message, 1)?[0];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
