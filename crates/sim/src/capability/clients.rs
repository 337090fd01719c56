//! What clients do beyond asking.

use sojourn_model::system::Face;
use sojourn_traffic::Workload;

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Browse, Request};
use super::{Row, names};

pub(super) const ROWS: &[Row] = &[
    Row {
        face: None,
        users: Any,
        what: "clients that hedge ([client])",
        sim: No,
        live: No,
        is_in: |of| of.system.rules.hedge.is_some(),
    },
    Row {
        face: None,
        users: Browse,
        what: "users who browse and wait only so long, retry or fail over ([client])",
        sim: No,
        live: No,
        is_in: |of| {
            let rules = &of.system.rules;
            rules.timeout.is_some() || rules.retries.is_some() || rules.fails_over
        },
    },
    Row {
        face: None,
        users: Request,
        what: "clients that retry and lose patience",
        sim: Instead("leave `patience` out"),
        live: No,
        is_in: |of| {
            let is_impatient = match of.workload {
                Workload::Open(open) => open.patience.is_some(),
                Workload::Closed(closed) => closed.patience.is_some(),
                Workload::Trace(_) | Workload::Replay(_) | Workload::Sessions(_) => false,
            };
            of.system.rules.retries.is_some() && is_impatient
        },
    },
    Row {
        face: None,
        users: Request,
        what: "clients that retry ([client])",
        sim: Yes,
        live: No,
        is_in: |of| of.system.rules.retries.is_some(),
    },
    Row {
        face: None,
        users: Request,
        what: "clients that fail over ([client]) but behind a DNS that is a process, over packet switches",
        sim: Yes,
        live: No,
        is_in: |of| of.system.rules.fails_over && !names::is_served(of),
    },
    Row {
        face: Some(Face::Client),
        users: Request,
        what: "tier of face `client` for the clients of a log",
        sim: No,
        live: No,
        is_in: |of| of.tiers(Face::Client).next().is_some() && matches!(of.workload, Workload::Replay(_)),
    },
    Row {
        face: Some(Face::Client),
        users: Request,
        what: "polls by clients, which go by what happens to their own requests",
        sim: Instead("leave `information` out"),
        live: No,
        is_in: |of| of.tiers(Face::Client).any(|tier| tier.polled.is_some()),
    },
    Row {
        face: Some(Face::Client),
        users: Request,
        what: "tier of face `client`",
        sim: Yes,
        live: No,
        is_in: |of| of.tiers(Face::Client).next().is_some(),
    },
];
