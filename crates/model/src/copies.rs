//! Copies that a host keeps of files which other hosts own: which file is fetched often enough, and which copy has to go.
//!
//! A file is copied when it was fetched `after` times within `within`, the fetch that completes them is the one that is kept.
//! Copies take at most `max` bytes; the least recently used go first, and a file that is larger is not copied. Replication on
//! demand, the future work of Agarwal, A test bed for performance evaluation of load balancing strategies for web server systems,
//! 2001. The price: fetches of at most [`COUNTED`] files are remembered, so that who asks for many files cannot fill the memory.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use lru::LruCache;
use sojourn_stats::{Span, Time};

/// Most files whose fetches are counted at once.
pub const COUNTED: usize = 1024;

/// When a file is copied, and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRules {
    /// Fetches after which a file is copied; at least 1.
    pub after: u32,
    /// The time within which they are.
    pub within: Span,
    /// Most bytes of copies.
    pub max: u64,
}

/// What a host has copied, by the rules.
#[derive(Clone, Debug)]
pub struct Copies<K: Hash + Eq> {
    rules: CopyRules,
    used: u64,
    /// When files were fetched that are not copied yet.
    fetched: HashMap<K, VecDeque<Time>>,
    /// Bytes of each copy.
    kept: LruCache<K, u64>,
}

impl<K: Hash + Eq + Clone> Copies<K> {
    /// None yet.
    pub fn new(rules: CopyRules) -> Copies<K> {
        Copies { rules, used: 0, fetched: HashMap::new(), kept: LruCache::unbounded() }
    }

    /// Whether there is a copy, which is a use of it.
    pub fn has(&mut self, file: &K) -> bool {
        self.kept.get(file).is_some()
    }

    /// A file of so many bytes is fetched: whether this fetch is to be kept.
    pub fn is_due(&mut self, file: &K, bytes: u64, now: Time) -> bool {
        let CopyRules { after, within, max } = self.rules;
        if bytes > max || self.kept.contains(file) {
            return false;
        }
        let is_recent = |at: &Time| now.saturating_since(*at) < within;
        if self.fetched.len() >= COUNTED && !self.fetched.contains_key(file) {
            self.fetched.retain(|_, times| times.back().is_some_and(is_recent));
            if self.fetched.len() >= COUNTED {
                return false;
            }
        }
        let times = self.fetched.entry(file.clone()).or_default();
        while times.front().is_some_and(|at| !is_recent(at)) {
            times.pop_front();
        }
        times.push_back(now);
        if times.len() < after as usize {
            return false;
        }
        self.fetched.remove(file);
        true
    }

    /// A file of so many bytes is copied; gives those that had to go for it.
    pub fn keep(&mut self, file: K, bytes: u64) -> Vec<K> {
        let mut gone = Vec::new();
        if bytes > self.rules.max {
            return gone;
        }
        self.used += bytes;
        self.used -= self.kept.put(file, bytes).unwrap_or(0);
        while self.used > self.rules.max {
            let (file, bytes) = self.kept.pop_lru().expect("what is used is of copies");
            self.used -= bytes;
            gone.push(file);
        }
        gone
    }

    /// A copy is not one any more.
    pub fn drop(&mut self, file: &K) {
        self.used -= self.kept.pop(file).unwrap_or(0);
    }

    /// Nothing is left; gives what was there.
    pub fn clear(&mut self) -> Vec<K> {
        self.fetched.clear();
        self.used = 0;
        std::iter::from_fn(|| self.kept.pop_lru()).map(|(file, _)| file).collect()
    }

    /// Bytes of all copies.
    pub fn used(&self) -> u64 {
        self.used
    }
}
