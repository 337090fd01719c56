//! The head of a program's reply (RFC 3875, section 6).

use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::{StatusCode, Uri};
use sojourn_part::headers::{is_plain_or_chunked, strip_hop_by_hop};

/// More than these bytes are no head.
pub(super) const HEAD_MAX: usize = 64 * 1024;

const HEADERS_MAX: usize = 128;

/// What a program answers.
#[derive(Debug)]
pub(super) enum Said {
    /// What this path of the site does.
    Local(Uri),
    /// A page, with its length where the program says it.
    Page(StatusCode, HeaderMap, Option<u64>),
}

/// Where the body begins, once the head is whole. Lines end as in HTTP or with a line feed only.
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[at..at + length];
        at += length + 1;
        if line.is_empty() || line == b"\r" {
            return Some(at);
        }
    }
    None
}

/// Reads a whole head, or says what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<Said, &'static str> {
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let Ok(httparse::Status::Complete((_, lines))) = httparse::parse_headers(bytes, &mut lines) else {
        return Err("its head is none");
    };
    let mut headers = HeaderMap::with_capacity(lines.len());
    let mut status = None;
    for line in lines {
        if line.name.eq_ignore_ascii_case("status") {
            status = Some(read_status(line.value).ok_or("its status is none")?);
            continue;
        }
        let name: HeaderName = line.name.parse().map_err(|_| "its head is none")?;
        headers.append(name, HeaderValue::from_bytes(line.value).map_err(|_| "its head is none")?);
    }
    if let Some(location) = headers.get(LOCATION).filter(|_| status.is_none()) {
        if location.as_bytes().starts_with(b"/") {
            return Uri::try_from(location.as_bytes()).map(Said::Local).map_err(|_| "its location is none");
        }
        status = Some(StatusCode::FOUND);
    }
    let status = status.unwrap_or(StatusCode::OK);
    let may_be_bare =
        headers.contains_key(LOCATION) || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    if !headers.contains_key(CONTENT_TYPE) && !may_be_bare {
        return Err("it does not say its content type");
    }
    if !is_plain_or_chunked(&headers) {
        return Err("its body is coded");
    }
    strip_hop_by_hop(&mut headers);
    let length = match headers.remove(CONTENT_LENGTH) {
        Some(length) => Some(read_length(&length).ok_or("its content length is none")?),
        None => None,
    };
    Ok(Said::Page(status, headers, length))
}

/// `404 Not Found`; nothing below 200, which is for the server alone.
fn read_status(value: &[u8]) -> Option<StatusCode> {
    let text = std::str::from_utf8(value).ok()?;
    let code = text.split(' ').next().filter(|code| code.len() == 3)?;
    let code: u16 = code.parse().ok().filter(|code| (200..600).contains(code))?;
    StatusCode::from_u16(code).ok()
}

fn read_length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Said, end, parse};

    #[test]
    fn a_head_ends_at_its_first_empty_line() {
        for (bytes, at) in [
            ("a: b\n\nbody", Some(6)),
            ("a: b\r\n\r\nbody", Some(8)),
            ("a: b\r\n\nbody", Some(7)),
            ("\nbody", Some(1)),
            ("a: b\n", None),
            ("", None),
        ] {
            assert_eq!(end(bytes.as_bytes()), at, "{bytes:?}");
        }
    }

    #[test]
    fn a_head_says_status_type_and_place() {
        let page = |bytes: &str| match parse(bytes.as_bytes()) {
            Ok(Said::Page(status, headers, length)) => Some((status.as_u16(), headers.len(), length)),
            _ => None,
        };
        for (bytes, right) in [
            ("Content-Type: a/b\n\n", Some((200, 1, None))),
            ("content-type: a/b\r\nStatus: 404 Not Found\r\n\r\n", Some((404, 1, None))),
            ("Status: 204\n\n", Some((204, 0, None))),
            ("Location: http://a/b\n\n", Some((302, 1, None))),
            ("Location: /b\nStatus: 303 See Other\n\n", Some((303, 1, None))),
            ("Content-Type: a/b\nContent-Length: 12\n\n", Some((200, 1, Some(12)))),
            ("Content-Type: a/b\nConnection: x\nX: y\nTransfer-Encoding: chunked\n\n", Some((200, 1, None))),
            ("Set-Cookie: a\nSet-Cookie: b\nContent-Type: a/b\n\n", Some((200, 3, None))),
            ("X: y\n\n", None),
            ("\n", None),
            ("Content-Type: a/b\nStatus: 100 Continue\n\n", None),
            ("Content-Type: a/b\nStatus: +20\n\n", None),
            ("Content-Type: a/b\nStatus: 2000\n\n", None),
            ("Content-Type: a/b\nContent-Length: -1\n\n", None),
            ("Content-Type: a/b\nContent-Length: 1, 1\n\n", None),
            ("Content-Type: a/b\nTransfer-Encoding: gzip\n\n", None),
            ("no header\n\n", None),
            ("Location: /b\n\n", None),
        ] {
            assert_eq!(page(bytes), right, "{bytes:?}");
        }
        assert!(matches!(parse(b"Location: /b?c\n\n"), Ok(Said::Local(uri)) if uri == "/b?c"));
        assert!(parse(b"Location: /b c\n\n").is_err());
    }
}
