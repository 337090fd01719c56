//! The gateway.

mod drained;
mod faces;
mod failures;
mod forwards;
mod framing;
mod guards;
mod health;
mod limits;
mod policies;
mod reload;
mod retries;
mod tiers;
mod uploads;
