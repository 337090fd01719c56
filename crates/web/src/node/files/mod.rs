//! Static files below a root.
//!
//! Plain system calls on the serving thread: on a page-cache hit a read is a copy, while `tokio::fs` pays a hand-over to a
//! thread pool each time (79k against 126k requests/s). The price: a file that is not in the page cache holds the thread.
//! What a path led to is kept for a second, with its descriptor, its headers and, if it is short, its bytes ([`kept`]), and asked
//! of the kernel each time whether it is still as it was: so a request costs one `fstat`, what is written in place is seen at
//! once, and a file that took the place of another within a second. The price: where the kernel's times are coarse, a short file
//! that is written twice within some milliseconds may be a second late. A path never leads out of the root ([`root`]). What a
//! request says of versions ([`conditions`]), sections ([`ranges`]) and codings ([`variants`]) is answered as RFC 9110 has it.

mod conditions;
mod copied;
mod kept;
mod listing;
mod media;
mod path;
mod ranges;
mod resource;
mod root;
mod serving;
mod settings;
mod variants;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::{Request, StatusCode};
use sojourn_part::settings::Wrong;
use sojourn_part::settings::node::{FileSettings, Pattern};
use sojourn_part::{clock, descriptors};
use sojourn_stats::Time;

use super::body::NodeBody;
use super::reply::{self, OwnWords, Reply, text};
pub(crate) use copied::{Copied, copyable};
pub(super) use path::percent_decoded;
pub(crate) use path::{encoded, normalized};
use resource::Resource;
use root::{Found, Root};

/// The files that a node serves.
pub(crate) struct Files {
    /// Tells apart those of several nodes, and of one node before and after a reload.
    id: u64,
    root: Root,
    /// How many descriptors a thread may keep.
    kept: usize,
    index: Vec<String>,
    listing: bool,
    precompressed: bool,
    ranges_max: usize,
    types: HashMap<String, HeaderValue>,
    errors: HashMap<StatusCode, String>,
    cache_control: Vec<(Pattern, HeaderValue)>,
}

/// What the path of a request leads to.
enum Led {
    File(Arc<Resource>),
    /// To a folder, asked for without the slash at the end.
    Folder,
    Listing(String),
    Nowhere,
}

/// The system has no descriptor left.
struct Exhausted;

impl Files {
    /// The files that `settings` name.
    ///
    /// # Errors
    /// Which setting cannot be right.
    pub(crate) fn new(settings: &FileSettings) -> Result<Files, Wrong> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        settings::check(settings)?;
        Ok(Files {
            id: FILES.fetch_add(1, Ordering::Relaxed),
            root: Root::open(&settings.root).map_err(settings::unfit_root(&settings.root))?,
            kept: descriptors::kept(),
            index: settings.index.clone(),
            listing: settings.listing,
            precompressed: settings.precompressed,
            ranges_max: settings.ranges_max,
            types: settings::media_types(settings)?,
            errors: settings::error_pages(settings)?,
            cache_control: settings::cache_rules(settings)?,
        })
    }

    /// What is answered to a GET or HEAD.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Reply {
        let path = request.uri().path();
        let mut led = self.lead(path);
        // What was kept is no longer so, or has been written while it was read: once more, afresh.
        for _ in 0..2 {
            match &led {
                Ok(Led::File(resource)) => match serving::serve(resource, request, self.ranges_max) {
                    Some(reply) => return reply,
                    None => kept::forget(self.id, path),
                },
                _ => break,
            }
            led = self.lead(path);
        }
        match led {
            Ok(Led::Folder) => moved(path, request.uri().query()),
            Ok(Led::Listing(page)) => reply::of(NodeBody::whole(page), "text/html; charset=utf-8"),
            Ok(Led::Nowhere) => text(StatusCode::NOT_FOUND, "there is no such file here\n"),
            Ok(Led::File(_)) => text(StatusCode::INTERNAL_SERVER_ERROR, "the file changes faster than it is read\n"),
            Err(Exhausted) => {
                let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, "the server has too many files open\n");
                reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                reply
            }
        }
    }

    /// How long the file is that a path leads to (bytes); none where it leads to none.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        match self.lead(path) {
            Ok(Led::File(resource)) => Some(resource.plain.size),
            _ => None,
        }
    }

    /// Whether there is a file or a folder at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        matches!(self.lead(path), Ok(Led::File(_) | Led::Folder | Led::Listing(_)))
    }

    /// Whether a path leads to something to read: no redirection, and not nothing.
    pub(crate) fn can_read(&self, path: &str) -> bool {
        // Without a descriptor nothing is known, and another node may have one.
        matches!(self.lead(path), Ok(Led::File(_) | Led::Listing(_)) | Err(Exhausted))
    }

    /// The page of the site for a status, in the place of the node's own words.
    pub(crate) fn dress(&self, mut refusal: Reply) -> Reply {
        if refusal.status().as_u16() < 400 {
            return refusal;
        }
        let Some(page) = self.errors.get(&refusal.status()) else { return refusal };
        if refusal.extensions_mut().remove::<OwnWords>().is_none() {
            return refusal;
        }
        let Ok(Led::File(resource)) = self.lead(page) else { return refusal };
        let Some((body, media_type)) = serving::page(&resource) else { return refusal };
        *refusal.body_mut() = body;
        refusal.headers_mut().insert(CONTENT_TYPE, media_type);
        refusal
    }

    /// The name of the index that the folder of this path has, of those for which `is_wanted` is true.
    pub(crate) fn index_of(&self, folder: &str, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        for name in &self.index {
            let path = format!("{folder}{name}");
            let has = self.root.find(&path[1..]).is_ok_and(|found| matches!(found, Some(Found::File(..))));
            if has {
                return is_wanted(&path).then_some(path);
            }
        }
        None
    }

    fn lead(&self, path: &str) -> Result<Led, Exhausted> {
        let now = clock::now();
        if let Some(resource) = kept::find(self.id, path, now) {
            return Ok(Led::File(resource));
        }
        match self.look(path, now) {
            // What is kept for others takes descriptors too.
            Err(Exhausted) if kept::forget_all() => self.look(path, now),
            led => led,
        }
    }

    fn look(&self, path: &str, now: Time) -> Result<Led, Exhausted> {
        let Some(normal) = normalized(path) else { return Ok(Led::Nowhere) };
        let relative = normal.trim_start_matches('/');
        let keep = |file, relative: &str| {
            let resource = Arc::new(self.resource(file, relative));
            kept::keep(self.id, path, now, Arc::clone(&resource), self.kept);
            Ok(Led::File(resource))
        };
        let folder = match self.root.find(relative)? {
            Some(Found::File(file)) => return keep(file, relative),
            Some(Found::Folder(folder)) => folder,
            _ => return Ok(Led::Nowhere),
        };
        if !normal.ends_with('/') {
            return Ok(Led::Folder);
        }
        for name in &self.index {
            let index = format!("{relative}{name}");
            if let Some(Found::File(file)) = self.root.find(&index)? {
                return keep(file, &index);
            }
        }
        let listing = self.listing.then(|| listing::page(&folder, &normal)).flatten();
        Ok(listing.map_or(Led::Nowhere, Led::Listing))
    }

    fn resource(&self, file: root::Opened, relative: &str) -> Resource {
        let media_type = media::media_type(relative, &self.types);
        let path = format!("/{relative}");
        let rule = self.cache_control.iter().find(|(pattern, _)| pattern.matches(&path));
        let cache_control = rule.map(|(_, value)| value.clone());
        let variants = match self.precompressed && media::is_compressible(&media_type) {
            true => variants::find(&self.root, relative, &file),
            false => Vec::new(),
        };
        Resource::new(file, variants, media_type, cache_control)
    }
}

impl From<root::NoDescriptor> for Exhausted {
    fn from(_: root::NoDescriptor) -> Exhausted {
        Exhausted
    }
}

/// To the same path with a slash at the end. It begins with one slash: two would lead to another host.
fn moved(path: &str, query: Option<&str>) -> Reply {
    let normal = normalized(path).expect("it led to a folder");
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    let mut reply = text(StatusCode::MOVED_PERMANENTLY, "");
    match HeaderValue::from_str(&format!("{}/{query}", encoded(&normal))) {
        Ok(location) => reply.headers_mut().insert(LOCATION, location),
        Err(_) => return text(StatusCode::NOT_FOUND, "there is no such file here\n"),
    };
    reply
}
