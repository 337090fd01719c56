//! Blocks of `nginx.conf` that lead to upstreams, and the time-outs that hold in them.
//!
//! A directive counts for the blocks inside its own, wherever in that block it stands. So the time-out of a `proxy_pass` is known
//! when the blocks around it have ended.

use sojourn_stats::Span;

use crate::note::FileLine;

/// What kind of block lines belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// The file outside of all blocks.
    Main,
    Http,
    Stream,
    /// `server`, `location`, `if`, `limit_except` of http or stream.
    Place,
    Upstream,
    /// What it has inside is not read.
    Other,
}

/// A way to an upstream.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) upstream: String,
    pub(super) at: FileLine,
    pub(super) timeout: Option<(Span, FileLine)>,
}

/// A block that is open.
pub(super) struct Context {
    pub(super) block: Block,
    /// What it is called, and where it begins.
    pub(super) name: String,
    pub(super) at: FileLine,
    /// How long a server's answer is waited for, as it is said here.
    pub(super) timeout: Option<(Span, FileLine)>,
    /// The ways to upstreams in it whose time-out is not known yet, or is.
    pub(super) uses: Vec<Use>,
}

impl Context {
    pub(super) fn new(block: Block, name: &str, at: &FileLine) -> Context {
        Context { block, name: name.into(), at: at.clone(), timeout: None, uses: Vec::new() }
    }

    /// The ways to upstreams that the block around it gets.
    pub(super) fn end(self) -> Vec<Use> {
        let Context { timeout, mut uses, .. } = self;
        for way in &mut uses {
            way.timeout = way.timeout.take().or_else(|| timeout.clone());
        }
        uses
    }
}
