//! What clients do beyond asking.

use sojourn_model::system::Face;
use sojourn_traffic::Workload;

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Browse, Request};
use super::{Row, names, row};

pub(super) const ROWS: &[Row] = &[
    row(None, Any, "clients that hedge ([client])", No, No, |of| of.system.rules.hedge.is_some()),
    row(None, Browse, "users who browse and wait only so long, retry or fail over ([client])", No, No, |of| {
        let rules = &of.system.rules;
        rules.timeout.is_some() || rules.retries.is_some() || rules.fails_over
    }),
    row(None, Request, "clients that retry and lose patience", Instead("leave `patience` out"), No, |of| {
        let is_impatient = match of.workload {
            Workload::Open(open) => open.patience.is_some(),
            Workload::Closed(closed) => closed.patience.is_some(),
            Workload::Trace(_) | Workload::Replay(_) | Workload::Sessions(_) => false,
        };
        of.system.rules.retries.is_some() && is_impatient
    }),
    row(None, Request, "clients that retry ([client])", Yes, No, |of| of.system.rules.retries.is_some()),
    row(
        None,
        Request,
        "clients that fail over ([client]) but behind a DNS that is a process, over packet switches",
        Yes,
        No,
        |of| of.system.rules.fails_over && !names::is_served(of),
    ),
    row(Some(Face::Client), Request, "tier of face `client` for the clients of a log", No, No, |of| {
        of.tiers(Face::Client).next().is_some() && matches!(of.workload, Workload::Replay(_))
    }),
    row(
        Some(Face::Client),
        Request,
        "polls by clients, which go by what happens to their own requests",
        Instead("leave `information` out"),
        No,
        |of| of.tiers(Face::Client).any(|tier| tier.polled.is_some()),
    ),
    row(Some(Face::Client), Request, "tier of face `client`", Yes, No, |of| of.tiers(Face::Client).next().is_some()),
];
