//! The reply with a file.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    LAST_MODIFIED, VARY,
};
use hyper::{Method, Request, Response, StatusCode};

use super::super::body::{NodeBody, Part};
use super::super::reply::{Reply, text};
use super::super::section::Section;
use super::conditions::{Verdict, evaluate};
use super::ranges::{Asked, asked, separator};
use super::resource::{Representation, Resource};
use super::variants::choose;

/// Files up to this size are read whole (bytes).
const SMALL: u64 = 256 * 1024;

/// The reply to a request for this file; none when it is not as it was when it was opened.
pub(super) fn serve<B>(resource: &Arc<Resource>, request: &Request<B>, ranges_max: usize) -> Option<Reply> {
    let headers = request.headers();
    let chosen = choose(resource, headers);
    // The other forms were made of this one: if it has changed, they are old.
    let is_current = chosen.is_current() && (chosen.coding.is_none() || resource.plain.is_current());
    if !is_current {
        return None;
    }
    let may_have_ranges = match evaluate(headers, chosen) {
        Verdict::Serve { ranges } => ranges && request.method() == Method::GET,
        Verdict::NotModified => {
            return Some(described(resource, chosen, StatusCode::NOT_MODIFIED, NodeBody::whole("")));
        }
        Verdict::Failed => return Some(text(StatusCode::PRECONDITION_FAILED, "the file is another version\n")),
    };
    let asked = if may_have_ranges { asked(headers, chosen.size, ranges_max) } else { Asked::Whole };
    match asked {
        Asked::Whole => {
            let body = section(chosen, 0, chosen.size)?;
            let mut reply = described(resource, chosen, StatusCode::OK, body);
            reply.headers_mut().insert(CONTENT_TYPE, resource.media_type.clone());
            reply.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            Some(reply)
        }
        Asked::One(first, last) => {
            let body = section(chosen, first, last - first + 1)?;
            let mut reply = described(resource, chosen, StatusCode::PARTIAL_CONTENT, body);
            reply.headers_mut().insert(CONTENT_TYPE, resource.media_type.clone());
            reply.headers_mut().insert(CONTENT_RANGE, place(&format!("{first}-{last}"), chosen.size));
            Some(reply)
        }
        Asked::Several(ranges) => {
            let separator = separator();
            let body = several(resource, chosen, &ranges, &separator);
            let mut reply = described(resource, chosen, StatusCode::PARTIAL_CONTENT, body);
            let media_type = format!("multipart/byteranges; boundary={separator}");
            let media_type = HeaderValue::from_str(&media_type).expect("digits and letters are plain text");
            reply.headers_mut().insert(CONTENT_TYPE, media_type);
            Some(reply)
        }
        Asked::Unsatisfiable => {
            let mut reply = text(StatusCode::RANGE_NOT_SATISFIABLE, "the file has no such bytes\n");
            reply.headers_mut().insert(CONTENT_RANGE, place("*", chosen.size));
            Some(reply)
        }
    }
}

/// A page that stands for the words of an error, with its media type.
pub(super) fn page(resource: &Resource) -> Option<(NodeBody, HeaderValue)> {
    Some((section(&resource.plain, 0, resource.plain.size)?, resource.media_type.clone()))
}

/// A reply with what says which version this is, and how long it may be kept.
fn described(resource: &Resource, chosen: &Representation, status: StatusCode, body: NodeBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers: &mut HeaderMap = reply.headers_mut();
    headers.insert(ETAG, chosen.etag.clone());
    headers.insert(LAST_MODIFIED, chosen.last_modified.clone());
    if let Some(cache_control) = &resource.cache_control {
        headers.insert(CACHE_CONTROL, cache_control.clone());
    }
    if !resource.variants.is_empty() {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Some(coding) = chosen.coding.filter(|_| status != StatusCode::NOT_MODIFIED) {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    reply
}

/// None when the bytes are not there any more.
fn section(chosen: &Representation, at: u64, size: u64) -> Option<NodeBody> {
    let at_once = if size <= SMALL { chosen.section(at, size).ok()? } else { None };
    let later = || NodeBody::file(Section::new(Arc::clone(&chosen.file), at, size));
    Some(at_once.map_or_else(later, NodeBody::whole))
}

/// The body of several ranges (RFC 9110, section 14.6).
fn several(resource: &Resource, chosen: &Representation, ranges: &[(u64, u64)], separator: &str) -> NodeBody {
    let media_type = String::from_utf8_lossy(resource.media_type.as_bytes());
    let mut parts = VecDeque::with_capacity(2 * ranges.len() + 1);
    for (first, last) in ranges {
        let head = format!(
            "\r\n--{separator}\r\ncontent-type: {media_type}\r\ncontent-range: bytes {first}-{last}/{}\r\n\r\n",
            chosen.size
        );
        parts.push_back(Part::Bytes(head.into()));
        let file = Arc::clone(&chosen.file);
        parts.push_back(Part::File(Section::new(file, *first, last - first + 1)));
    }
    parts.push_back(Part::Bytes(format!("\r\n--{separator}--\r\n").into()));
    NodeBody::parts(parts)
}

fn place(range: &str, size: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("bytes {range}/{size}")).expect("digits are plain text")
}
