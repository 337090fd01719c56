//! What clients do beyond asking.

use sojourn_model::Server;
use sojourn_model::system::{Abandoned, Face};
use sojourn_traffic::Workload;

use super::Has::{Instead, No, Yes};
use super::Users::{Browse, Request};
use super::{Combination, Has, Row, names, row};

const INSTEAD: Has = Instead("leave `patience` out, and write `deadline` under [client]");

pub(super) const ROWS: &[Row] = &[
    row(None, Browse, "users who browse and wait only so long, retry, hedge or fail over ([client])", No, No, |of| {
        let rules = &of.system.rules;
        let waits = rules.timeout.is_some() || rules.deadline.is_some();
        waits || rules.retries.is_some() || rules.hedge.is_some() || rules.fails_over
    }),
    row(None, Request, "clients that hedge ([client]) and choose for themselves, or over [system.tcp]", No, No, |of| {
        of.system.rules.hedge.is_some() && (of.system.transport.is_some() || of.tiers(Face::Client).next().is_some())
    }),
    row(None, Request, "work that goes on (`abandoned = \"served\"`) over [system.tcp]", No, No, |of| {
        of.system.rules.abandoned == Abandoned::Served && of.system.transport.is_some()
    }),
    row(None, Request, "clients that retry, hedge or leave work behind, and lose patience", INSTEAD, No, |of| {
        let is_impatient = match of.workload {
            Workload::Open(open) => open.patience.is_some(),
            Workload::Closed(closed) => closed.patience.is_some(),
            Workload::Trace(_) | Workload::Replay(_) | Workload::Sessions(_) => false,
        };
        let rules = &of.system.rules;
        let goes_on = rules.abandoned == Abandoned::Served;
        (rules.retries.is_some() || rules.hedge.is_some() || goes_on) && is_impatient
    }),
    row(
        None,
        Request,
        "work that goes on in a real server when its client has left (`abandoned = \"served\"`)",
        Yes,
        No,
        |of| of.live.is_program && of.system.rules.abandoned == Abandoned::Served,
    ),
    row(None, Browse, "users who browse at servers that drop requests without an answer", No, No, drops),
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

fn drops(of: &Combination<'_>) -> bool {
    of.system.servers().any(Server::drops)
}
