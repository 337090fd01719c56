//! The gateway.

mod faces;
mod failures;
mod forwards;
mod framing;
mod health;
mod limits;
mod policies;
mod retries;
mod tiers;
mod uploads;
