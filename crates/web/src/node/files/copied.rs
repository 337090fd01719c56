//! A copy of another node's file, served as its owner serves it: with its tag, its date and its type.
//!
//! Copied is what stands for itself: a whole reply with a strong tag and a date, in no coding and not one of several forms, which
//! sets no cookie and may be kept. The price: a file that has compressed forms beside it is fetched each time.

use std::fs::File;
use std::io;
use std::sync::Arc;

use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, LAST_MODIFIED,
    SET_COOKIE, VARY,
};
use hyper::{Request, StatusCode};
use rustix::fs::fstat;

use super::conditions::seconds;
use super::resource::{Representation, Resource};
use super::root::Opened;
use super::serving;
use crate::node::reply::Reply;

/// The most ranges of one request to a copy.
const RANGES_MAX: usize = 16;

/// See the module.
pub(crate) struct Copied(Arc<Resource>);

/// How long a file is that this reply is (bytes), where it can be copied.
pub(crate) fn copyable(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    let may_be_kept = headers.get_all(CACHE_CONTROL).iter().all(|value| {
        let said = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        !["no-store", "no-cache", "private"].iter().any(|word| said.contains(word))
    });
    let is_strong = headers.get(ETAG).is_some_and(|etag| etag.as_bytes().starts_with(b"\""));
    let has_date = headers.get(LAST_MODIFIED).and_then(seconds).is_some();
    let is_plain = [CONTENT_ENCODING, VARY, SET_COOKIE].iter().all(|name| !headers.contains_key(name));
    let size = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (status == StatusCode::OK && may_be_kept && is_strong && has_date && is_plain).then_some(size)
}

impl Copied {
    /// The copy in this file of what came with these headers.
    ///
    /// # Errors
    /// When the file cannot be looked at.
    pub(crate) fn new(file: File, headers: &HeaderMap) -> io::Result<Copied> {
        let stat = fstat(&file)?;
        let mut plain = Representation::new(Opened { file, stat }, None);
        let of = |name| headers.get(name).cloned();
        if let (Some(etag), Some(date)) = (of(ETAG), of(LAST_MODIFIED)) {
            (plain.etag, plain.modified_s) = (etag, seconds(&date).unwrap_or(0));
            plain.last_modified = date;
        }
        let usual = HeaderValue::from_static("application/octet-stream");
        let media_type = of(CONTENT_TYPE).unwrap_or(usual);
        let cache_control = of(CACHE_CONTROL);
        Ok(Copied(Arc::new(Resource { plain, variants: Vec::new(), media_type, cache_control })))
    }

    /// Its size (bytes).
    pub(crate) fn size(&self) -> u64 {
        self.0.plain.size
    }

    /// The tag that its owner gave it.
    pub(crate) fn etag(&self) -> HeaderValue {
        self.0.plain.etag.clone()
    }

    /// What is answered to a GET or HEAD; none where the file of the copy is not as it was written.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Option<Reply> {
        serving::serve(&self.0, request, RANGES_MAX)
    }
}
