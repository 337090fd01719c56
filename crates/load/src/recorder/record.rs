//! One request, and one object, in full.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::outcome::Outcome;

/// One request in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number in the run; in an open run its place in the plan, and where users browse the number of its object.
    pub k: u64,
    /// The client that asked.
    pub client: u32,
    /// The class of the request.
    pub class: u8,
    /// What became of it.
    pub outcome: Outcome,
    /// Status code; 0 where none came.
    pub status: u16,
    /// Index into the report's backends, where the reply named one.
    pub backend: Option<u16>,
    /// Index into the load's endpoints of the one that it was dealt to; a redirect may have led elsewhere.
    #[serde(default)]
    pub endpoint: u16,
    /// Redirects that it followed; 255 stands for more too.
    #[serde(default)]
    pub hops: u8,
    /// How often it was asked for, retries and hedges among them; 0 where it never was.
    #[serde(default)]
    pub attempts: u32,
    /// When it should have been sent: of an embedded file, when its connection was free and its OFF time over.
    pub planned: Time,
    /// Service demand as planned; 0 where none was.
    #[serde(with = "sojourn_stats::nanoseconds")]
    pub demand: Span,
    /// When the generator acted on it: wrote it, or began to open a connection for it. None when it never did.
    pub begun: Option<Time>,
    /// When the host's name had its address, where one had to be asked for.
    pub resolved: Option<Time>,
    /// When the connection stood, where one was opened for it.
    pub connected: Option<Time>,
    /// When that connection's TLS handshake was done.
    pub secured: Option<Time>,
    /// When it was written, for the last time; none when it never was.
    pub sent: Option<Time>,
    /// When the first byte of the reply was there.
    pub first_byte: Option<Time>,
    /// When it was over, well or not.
    pub done: Time,
    /// Bytes of the reply's body that came.
    pub bytes: u64,
}

/// One object in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Its number in the run; the [`crate::Record`]s of its files carry the same.
    pub k: u64,
    /// The user who asked.
    pub client: u32,
    /// The page, by its number in the site.
    pub page: u32,
    /// Whether it is the first of a session.
    pub first: bool,
    /// Whether it is the last of a session.
    pub last: bool,
    /// What became of it: of the first file that failed, where one did.
    pub outcome: Outcome,
    /// When the user stopped thinking.
    pub planned: Time,
    /// When the page's own file was there; none when it never was.
    pub page_done: Option<Time>,
    /// Index into the report's backends of the one that sent it, where it was named.
    pub backend: Option<u16>,
    /// When it was over, well or not.
    pub done: Time,
    /// Files that were asked for or about to be.
    pub files: u32,
    /// Bytes of the bodies of those that were over.
    pub bytes: u64,
}
