//! The request of a line.

use memchr::{memchr, memrchr};

/// What a request did, as far as replaying it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: a reply without a body.
    Head,
    /// `POST`.
    Post,
    /// Any other.
    Other,
}

impl Method {
    /// The method of this name; none where it is not a word.
    #[inline]
    pub(super) fn parse(name: &[u8]) -> Option<Method> {
        match name {
            b"GET" => Some(Method::Get),
            b"HEAD" => Some(Method::Head),
            b"POST" => Some(Method::Post),
            b"-" => None,
            other if !other.is_empty() && other.iter().all(|c| c.is_ascii_alphabetic() || *c == b'-') => {
                Some(Method::Other)
            }
            _ => None,
        }
    }
}

/// `GET /path HTTP/1.0`, or `GET /path` of HTTP/0.9. Spaces inside the path belong to it.
#[inline]
pub(super) fn request(text: &[u8]) -> Option<(Method, &[u8])> {
    let space = memchr(b' ', text)?;
    let method = Method::parse(&text[..space])?;
    let target = text[space..].trim_ascii();
    let path = match memrchr(b' ', target) {
        Some(end) if target[end + 1..].starts_with(b"HTTP/") => target[..end].trim_ascii_end(),
        _ => target,
    };
    (!path.is_empty() && !path.starts_with(b"HTTP/")).then_some((method, path))
}
