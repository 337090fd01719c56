//! The policies, one file each.
//!
//! To add one: write `policies/my_policy.rs` with a type that implements [`Policy`] and a constant `ENTRY`, and add
//! its line to the list below. It is then known by its name to every face, to experiment files and to replay, and the
//! tests that hold for all policies hold it too. A policy of your own in another crate needs no line at all: hand it to
//! [`crate::Dispatcher::with_policy`].

mod text;

use crate::{DispatchError, Policy};

pub use text::Params;

macro_rules! policies {
    ($($file:ident,)*) => {
        $(pub mod $file;)*
        /// Every policy that can be asked for by name.
        pub static POLICIES: &[Entry] = &[$($file::ENTRY,)*];
    };
}

policies! {
    round_robin,
    random,
    least_connections,
    least_connections_lowest_id,
    probabilistic_least_connections,
    power_of_d,
    round_trip,
    transmitted_size,
    shortest_predicted_response,
    weighted_round_robin,
    weighted_round_robin_classic,
    weighted_least_connections,
    address_hash,
    cookie,
}

/// A policy that can be asked for by name.
pub struct Entry {
    /// The name in experiment files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Makes one; takes every parameter it knows from the text's.
    pub build: fn(&mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError>,
}

/// Makes the policy that `text` describes, such as `least-connections` or `round-trip(window = 1 s)`.
///
/// # Errors
/// On an unknown policy or parameter (the message offers the nearest one), or a bad value.
pub fn build(text: &str) -> Result<Box<dyn Policy>, DispatchError> {
    let (name, mut params) = text::parse(text)?;
    let entry = POLICIES.iter().find(|entry| entry.name == name).ok_or_else(|| text::unknown_policy(name))?;
    let policy = (entry.build)(&mut params)?;
    params.finish()?;
    Ok(policy)
}

/// The key of a client's address, the same in the simulator (`17`) and in a live face (`10.0.0.17`): FNV-1a, 64 bits,
/// of the text. Pinned: a later version must send the same clients to the same backends.
pub fn client_key(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |key, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
