//! What a face can tell of a request, and what a policy is asked.
//!
//! A [`Request`] has a field for whatever some face can know; a face fills in what its [`Signals`](crate::Signals) say
//! and leaves the rest at its default. The price is a struct of about 100 bytes that every choice fills in; it lives on
//! the stack and is never copied on the way to the policy.

use serde::{Deserialize, Serialize};
use sojourn_stats::{Span, Time};

use crate::{BackendId, Clients, Origin, Table};

/// What a face can tell of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The key of the client's address (see [`crate::key`]).
    pub client: u64,
    /// Index of the request's class.
    pub class: u8,
    /// The backend that the client's cookie names.
    pub cookie: Option<BackendId>,
    /// The key of what is asked for: of its path, or of a header (see [`crate::key`]).
    #[serde(skip_serializing_if = "is_default")]
    pub key: u64,
    /// The number of the object in the catalogue of the plan.
    #[serde(skip_serializing_if = "is_default")]
    pub object: u32,
    /// Bytes of the reply, where they are known beforehand.
    #[serde(skip_serializing_if = "is_default")]
    pub size: Option<u64>,
    /// Operations that the request takes, as an oracle says.
    #[serde(skip_serializing_if = "is_default", with = "crate::record::exact::option")]
    pub work: Option<f64>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "is_default")]
    pub origin: Origin,
    /// The round trip between its client and the decider, where the face knows: TCP's own estimate.
    #[serde(skip_serializing_if = "is_default", with = "sojourn_stats::nanoseconds")]
    pub round_trip: Option<Span>,
    /// How often it was redirected already.
    #[serde(skip_serializing_if = "is_default")]
    pub hops: u8,
    /// The backend that has the request now, where the decider is one of the backends.
    #[serde(skip_serializing_if = "is_default")]
    pub here: Option<BackendId>,
    /// How long the choice will be kept by those who ask, where the face knows: the TTL of an answer.
    #[serde(skip_serializing_if = "is_default", with = "sojourn_stats::nanoseconds")]
    pub lease: Option<Span>,
    /// The key of who says that the request is of `client`, where nothing but its word does: of a resolver that tells for which
    /// network it asks. What such a request takes of a backend's room is bounded.
    #[serde(skip_serializing_if = "is_default")]
    pub claimed_by: Option<u64>,
}

/// One question to a policy: everything that it may read.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What is to be placed.
    pub request: &'a Request,
    /// What is known of the backends.
    pub table: &'a Table,
    /// What is known of the clients.
    pub clients: &'a Clients,
    /// The backends that were already tried for this request; they must not be chosen again.
    pub tried: &'a [BackendId],
    /// The time.
    pub now: Time,
}

impl Ask<'_> {
    /// Whether `id` may be chosen: it is eligible and was not tried.
    #[inline]
    pub fn may_choose(&self, id: BackendId) -> bool {
        self.table.is_eligible(id) && !self.tried.contains(&id)
    }

    /// The backends that may be chosen, in ascending order.
    #[inline]
    pub fn candidates(&self) -> impl Iterator<Item = BackendId> + Clone {
        self.table.eligible().iter().copied().filter(|id| !self.tried.contains(id))
    }
}

/// The key of a text: of a client's address, the same in a simulator (`17`) and in a live face (`10.0.0.17`), or of a
/// path. FNV-1a, 64 bits. Pinned: a later version must send the same clients to the same backends.
pub fn key(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |key, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
