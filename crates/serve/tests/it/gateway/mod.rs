//! The gateway.

mod faces;
mod failures;
mod forwards;
mod framing;
mod health;
mod policies;
mod retries;
mod tiers;
mod uploads;
