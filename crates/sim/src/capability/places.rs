//! Where things are, and what is between them.

use sojourn_model::system::{Directions, Face, Fault, Path, Seat, Subject, Target, Trouble};
use sojourn_model::{System, Tcp, TcpStack};
use sojourn_stats::Span;
use sojourn_traffic::Workload;

use super::Has::{Instead, No, Yes};
use super::Users::{Any, Request};
use super::{Combination, Row, row};

pub(super) const ROWS: &[Row] = &[
    row(None, Any, "regions and sites without paths", Yes, No, |of| {
        !of.live.is_in_bed && (of.system.regions.len() > 1 || !of.system.sites.is_empty())
    }),
    row(
        None,
        Any,
        "`jitter`, `reorders` or `queue` of a path, which packets meet one by one",
        Instead("leave it to live"),
        Yes,
        |of| of.system.paths.iter().any(|path| path.line.first_key().is_some()),
    ),
    row(
        None,
        Request,
        "loss or medium of a path between a gateway or a switch and what it forwards to",
        Instead("give that path a rate only"),
        Yes,
        loses_behind_a_decider,
    ),
    row(None, Any, "clients that share machines without [system.paths]", Yes, Instead("leave `machines` out"), |of| {
        of.live.is_in_bed && !of.system.first_on_machine().is_empty() && of.system.paths.is_empty()
    }),
    row(None, Any, "rate of each client's own where a region has several", Yes, Instead("share a `medium`"), |of| {
        let has_rate = |path: &Path| path.rate != Directions::default();
        let has_rates = || of.system.paths.iter().any(has_rate) || of.system.network.client_rate.is_some();
        of.live.is_in_bed && has_many_clients(of) && has_rates()
    }),
    row(
        None,
        Any,
        "round trips that differ among the clients of a region",
        Yes,
        Instead("write one, such as `rtt = \"80 ms\"`"),
        |of| of.live.is_in_bed && has_many_clients(of) && !are_by_machine(of.system) && round_trips_differ(of.system),
    ),
    row(
        None,
        Any,
        "rates and round trips of [system.network] beside paths",
        Yes,
        Instead("write them in [system.paths]"),
        |of| {
            let network = &of.system.network;
            let has_rates = network.shared_rate().or(network.server_rate).is_some();
            of.live.is_in_bed && !of.system.paths.is_empty() && (has_rates || network.server_rtt > Span::ZERO)
        },
    ),
    row(
        None,
        Any,
        "TCP but this kernel's",
        Yes,
        Instead(
            "write `stack = \"linux-6\"` and nothing else of TCP, or under [run] `live = { tcp = \"kernel\" }` for live and its \
             twin alone",
        ),
        |of| {
            let is_linux = of.system.transport.as_ref().is_none_or(|transport| transport.stack == TcpStack::LINUX_6);
            of.live.is_in_bed && (!(is_linux || of.live.kernel_tcp) || of.system.network.tcp != Tcp::default())
        },
    ),
];

/// Whether the clients of a system have a host for each machine in a bed.
pub fn are_by_machine(system: &System) -> bool {
    !system.paths.is_empty()
        && !system.clients.is_empty()
        && (!system.first_on_machine().is_empty() || round_trips_differ(system))
}

fn round_trips_differ(system: &System) -> bool {
    system.paths.iter().any(|path| path.rtt.variance() > 0.0)
}

fn has_many_clients(of: &Combination<'_>) -> bool {
    if !of.system.clients.is_empty() {
        return of.system.clients.iter().any(|clients| clients.number > 1);
    }
    match of.workload {
        Workload::Closed(closed) => closed.users > 1,
        Workload::Sessions(sessions) => sessions.users > 1,
        Workload::Open(_) | Workload::Replay(_) | Workload::Trace(_) => true,
    }
}

fn loses_behind_a_decider(of: &Combination<'_>) -> bool {
    let (system, tiers) = (of.system, &of.system.tiers);
    let site_of = |target: Target| match target {
        Target::Host(host) => system.hosts[host].site,
        Target::Seat { tier, seat } => tiers[tier].seats[seat].site,
    };
    let loses = |seat: &Seat, target: Target| {
        let regions = [seat.site, site_of(target)].map(|site| system.region_of(site));
        let ends = Subject::Path(regions[0].min(regions[1]), regions[0].max(regions[1]));
        let path = system.paths.between(regions[0], regions[1]);
        let is_lossy = |fault: &Fault| fault.subject == ends && matches!(fault.trouble, Trouble::Loss(_));
        seat.site != site_of(target)
            && (path.is_some_and(|path| path.loses() || path.medium.is_some()) || system.faults.iter().any(is_lossy))
    };
    tiers.iter().enumerate().any(|(index, tier)| {
        let is_forwarding = matches!(tier.face, Face::Gateway | Face::Switch);
        tier.seats.iter().any(|own| {
            let on = own.overflow.iter().map(|&seat| Target::Seat { tier: index, seat });
            let forwards = own.targets.iter().copied().filter(|_| is_forwarding);
            forwards.chain(on).any(|target| loses(own, target))
        })
    })
}
