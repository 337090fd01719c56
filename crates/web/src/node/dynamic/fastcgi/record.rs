//! Records of FastCGI (specification 1.0, sections 3.3 and 8).

/// The most bytes of one record's content.
pub(super) const CONTENT_MAX: usize = 0xffff;

const VERSION: u8 = 1;
/// There is one request at a time on a connection.
const REQUEST: u16 = 1;
const RESPONDER: u16 = 1;
const KEEP_CONNECTION: u8 = 1;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BeginRequest,
    EndRequest,
    Params,
    Stdin,
    Stdout,
    Stderr,
    /// One that is of no interest here.
    Other,
}

/// How a server ended a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolStatus {
    RequestComplete,
    CannotMultiplex,
    Overloaded,
    UnknownRole,
}

/// The head of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) content: usize,
    pub(super) padding: usize,
}

impl Header {
    pub(super) const SIZE: usize = 8;

    /// None where this is no record of the present request.
    pub(super) fn read(bytes: [u8; Header::SIZE]) -> Option<Header> {
        let [version, kind, id_high, id_low, high, low, padding, _] = bytes;
        let id = u16::from_be_bytes([id_high, id_low]);
        if version != VERSION || ![0, REQUEST].contains(&id) {
            return None;
        }
        let kind = match kind {
            3 => Kind::EndRequest,
            6 => Kind::Stdout,
            7 => Kind::Stderr,
            _ => Kind::Other,
        };
        let content = usize::from(u16::from_be_bytes([high, low]));
        Some(Header { kind, content, padding: usize::from(padding) })
    }
}

/// A record with this content, which is at most [`CONTENT_MAX`] bytes.
pub(super) fn record(kind: Kind, content: &[u8]) -> Vec<u8> {
    let number = match kind {
        Kind::BeginRequest => 1,
        Kind::EndRequest => 3,
        Kind::Params => 4,
        Kind::Stdin => 5,
        Kind::Stdout => 6,
        Kind::Stderr => 7,
        Kind::Other => 11,
    };
    let [id_high, id_low] = REQUEST.to_be_bytes();
    let [high, low] = u16::try_from(content.len()).expect("a record's content has at most 65,535 bytes").to_be_bytes();
    let mut bytes = Vec::with_capacity(Header::SIZE + content.len());
    bytes.extend([VERSION, number, id_high, id_low, high, low, 0, 0]);
    bytes.extend(content);
    bytes
}

/// The record that begins a request, after which the connection stays.
pub(super) fn begin() -> Vec<u8> {
    let [high, low] = RESPONDER.to_be_bytes();
    record(Kind::BeginRequest, &[high, low, KEEP_CONNECTION, 0, 0, 0, 0, 0])
}

/// The records of these variables, and the empty one that ends them.
pub(super) fn params(variables: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut content = Vec::new();
    for (name, value) in variables {
        for length in [name.len(), value.len()] {
            match u8::try_from(length) {
                Ok(short) if short < 0x80 => content.push(short),
                // A head is far shorter than two gigabytes.
                _ => content.extend((length as u32 | 0x8000_0000).to_be_bytes()),
            }
        }
        content.extend(name.as_bytes());
        content.extend(value);
    }
    let mut records: Vec<u8> = content.chunks(CONTENT_MAX).flat_map(|piece| record(Kind::Params, piece)).collect();
    records.extend(record(Kind::Params, b""));
    records
}

/// What the record that ends a request says.
pub(super) fn end_status(content: &[u8]) -> Option<ProtocolStatus> {
    match content.get(4)? {
        0 => Some(ProtocolStatus::RequestComplete),
        1 => Some(ProtocolStatus::CannotMultiplex),
        2 => Some(ProtocolStatus::Overloaded),
        3 => Some(ProtocolStatus::UnknownRole),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTENT_MAX, Header, Kind, params, record};

    #[test]
    fn long_lengths_take_four_bytes_and_long_content_several_records() {
        let short = params(&[("A".into(), b"b".to_vec())]);
        assert_eq!(short, [&[1, 4, 0, 1, 0, 4, 0, 0, 1, 1, b'A', b'b'][..], &[1, 4, 0, 1, 0, 0, 0, 0]].concat());
        let value = vec![b'v'; 128];
        let long = params(&[("A".into(), value)]);
        assert_eq!(long[8..14], [1, 0x80, 0, 0, 128, b'A']);
        let huge = params(&[("A".into(), vec![b'v'; 70_000])]);
        let first = Header::read(huge[..8].try_into().expect("eight bytes"));
        assert_eq!(first.map(|header| header.content), Some(CONTENT_MAX));
        assert_eq!(huge.len(), 8 + CONTENT_MAX + 8 + (6 + 70_000 - CONTENT_MAX) + 8);
    }

    #[test]
    fn what_is_no_record_of_this_request_is_refused() {
        let bytes: [u8; 8] = record(Kind::Stdout, b"")[..].try_into().expect("eight bytes");
        assert_eq!(Header::read(bytes), Some(Header { kind: Kind::Stdout, content: 0, padding: 0 }));
        assert_eq!(Header::read([2, 6, 0, 1, 0, 0, 0, 0]), None);
        assert_eq!(Header::read([1, 6, 0, 2, 0, 0, 0, 0]), None);
        assert_eq!(Header::read(*b"HTTP/1.1"), None);
    }
}
