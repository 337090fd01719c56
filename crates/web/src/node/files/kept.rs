//! What a thread keeps for a second of what paths led to: descriptors and headers.
//!
//! Each thread has its own, so that none waits for another. Descriptors of files that are gone would hold their space on the
//! disk: a task of the thread closes what is older than a second, also when no request comes. The price: some hundred
//! descriptors a thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use sojourn_part::clock;
use sojourn_stats::{Span, Time};

use super::resource::Resource;

/// How long something is kept.
const KEPT: Span = Span(1_000_000_000);

thread_local! {
    static HERE: RefCell<Kept> = RefCell::default();
}

#[derive(Default)]
struct Kept {
    /// Whose files these are.
    of: u64,
    files: HashMap<Box<str>, (Time, Arc<Resource>)>,
    is_swept: bool,
}

/// What `path` led to within the last second.
pub(super) fn find(of: u64, path: &str, now: Time) -> Option<Arc<Resource>> {
    HERE.with_borrow(|kept| {
        let (since, resource) = kept.files.get(path).filter(|_| kept.of == of)?;
        (now.saturating_since(*since) < KEPT).then(|| Arc::clone(resource))
    })
}

/// Keeps what `path` leads to, if no more than `most` descriptors are kept with it.
pub(super) fn keep(of: u64, path: &str, now: Time, resource: Arc<Resource>, most: usize) {
    let is_swept = HERE.with_borrow_mut(|kept| {
        if kept.of != of {
            *kept = Kept { of, is_swept: kept.is_swept, ..Kept::default() };
        }
        let taken: usize = kept.files.values().map(|(_, resource)| resource.descriptors()).sum();
        if taken + resource.descriptors() > most {
            return true;
        }
        kept.files.insert(path.into(), (now, resource));
        std::mem::replace(&mut kept.is_swept, true)
    });
    if !is_swept {
        tokio::task::spawn_local(sweep());
    }
}

/// Forgets what `path` led to.
pub(super) fn forget(of: u64, path: &str) {
    HERE.with_borrow_mut(|kept| {
        if kept.of == of {
            kept.files.remove(path);
        }
    });
}

/// Forgets all; false where there was nothing.
pub(super) fn forget_all() -> bool {
    HERE.with_borrow_mut(|kept| !std::mem::take(&mut kept.files).is_empty())
}

/// Closes what is too old, until nothing is left.
async fn sweep() {
    loop {
        tokio::time::sleep(KEPT.as_std()).await;
        let now = clock::now();
        let is_empty = HERE.with_borrow_mut(|kept| {
            kept.files.retain(|_, (since, _)| now.saturating_since(*since) < KEPT);
            kept.is_swept = !kept.files.is_empty();
            kept.files.is_empty()
        });
        if is_empty {
            return;
        }
    }
}
