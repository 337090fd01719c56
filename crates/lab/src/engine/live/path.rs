//! What the way to the servers and back takes when they have nothing to do.
//!
//! Rounds of requests without work, evenly spaced, go straight to a server and through a gateway of their own (the run's
//! has not begun to draw and to count). A round counts by its median, and the rounds by theirs: a machine that stands still for a
//! moment spoils one round of five. How far the middle three lie apart is what the answer is uncertain by.

use std::net::SocketAddr;

use sojourn_bed::Loopback;
use sojourn_load::{Load, Schedule, Stop};
use sojourn_model::system::{Face, server_name};
use sojourn_part::Backend;
use sojourn_part::settings::gateway::{GatewaySettings, RedirectorSettings};
use sojourn_products::Behind;
use sojourn_stats::{Span, Time};
use sojourn_traffic::{Planned, Request};

use super::Conditions;
use super::load::{REDIRECTS, pacing, probe_targets, through};
use super::part::Part;
use super::parts::Entrances;
use super::product::Started;
use super::servers::Serving;
use crate::answer::PathDelay;
use crate::spec::{Spec, SystemQuestion};

/// Rounds, requests of a round, and the time between these: half a second in all.
const ROUNDS: u64 = 5;
const PROBES: u64 = 40;
const GAP: Span = Span(2_500_000);

/// The share of a run's mean response time by which the path may be uncertain.
const UNCERTAIN_MOST: f64 = 0.1;

/// The path, as it was measured.
pub(super) struct Measured {
    pub(super) delay: PathDelay,
    /// How far the middle rounds lie apart.
    spread: Span,
}

/// Measures the path to the servers of `asked`.
pub(super) fn measure(
    experiment: &Spec,
    asked: &SystemQuestion,
    servers: &[Serving],
    conditions: &Conditions<'_>,
) -> Result<Measured, String> {
    let rounds_by = |entrance: Entrances| {
        let round = |_| round(experiment, asked, &entrance, conditions);
        (0..ROUNDS).map(round).collect::<Result<Vec<_>, _>>().map(middle)
    };
    let rounds = |target: SocketAddr| rounds_by(Entrances::One(target));
    let (to_server, spread) = rounds_by(servers[0].entrance())?;
    let tiers = asked.system.tiers.iter().zip(&asked.deciders);
    let Some((tier, decider)) = tiers.into_iter().find(|(tier, _)| tier.face != Face::Dns) else {
        return Ok(Measured { delay: PathDelay { client: to_server, cluster: Span::ZERO }, spread });
    };
    if let Some(decider) = decider {
        let behind = Behind { name: server_name(0), address: servers[0].address(), weight: 1, at_most: None };
        let started = Started::start(&mut Loopback::new(), &tier.name, decider, &[behind], None)?;
        let (through, spread_through) = rounds(started.address())?;
        let delay = PathDelay { client: Span(through.0.saturating_sub(to_server.0)), cluster: to_server };
        return Ok(Measured { delay, spread: spread.max(spread_through) });
    }
    let backends = vec![Backend::new(server_name(0), servers[0].address())];
    let mut ground = Loopback::new();
    let (program, name) = (conditions.program, "probed");
    let decider = match tier.face {
        Face::Redirect => Part::start(
            &mut ground,
            program,
            name,
            "redirect",
            &RedirectorSettings { backends, ..RedirectorSettings::default() },
        )?,
        face => Part::start(
            &mut ground,
            program,
            name,
            face.name(),
            &GatewaySettings { backends, ..GatewaySettings::default() },
        )?,
    };
    let (through, spread_through) = rounds(decider.address())?;
    let delay = match tier.face {
        // The client goes there and back, and then to the server.
        Face::Redirect => PathDelay { client: Span(through.0 / 2), cluster: Span::ZERO },
        _ => PathDelay { client: Span(through.0.saturating_sub(to_server.0)), cluster: to_server },
    };
    Ok(Measured { delay, spread: spread.max(spread_through) })
}

/// The median of one round.
fn round(
    experiment: &Spec,
    asked: &SystemQuestion,
    entrance: &Entrances,
    conditions: &Conditions<'_>,
) -> Result<Span, String> {
    // A file that no client asks for, without a byte where a disk would have to read it: memory stays as it was.
    let is_read = asked.system.servers().any(|server| server.machine.is_some());
    let (object, size) = if is_read { (u32::MAX, 0) } else { (0, 1000) };
    let nothing = Request { client: 0, class: 0, object, size, demand: Span::ZERO, patience: Span::FOREVER };
    let plan = (1..=PROBES).map(move |k| Planned { at: Time(k * GAP.0), request: nothing });
    let load = match entrance {
        Entrances::One(to) => Load::new(*to, to.to_string(), Schedule::open(plan), probe_targets(asked)),
        Entrances::Proxy { proxy, origin } => through(*proxy, *origin, Schedule::open(plan), probe_targets(asked)),
        Entrances::Rotated(..) | Entrances::Named(_) => unreachable!("a single server or decider is probed"),
    };
    let load = Load { pacing: pacing(experiment), stop: Stop::Requests(PROBES), redirects: REDIRECTS, ..load };
    let report = sojourn_load::run(load, conditions.cancel, &|_| {}).map_err(|e| e.to_string())?;
    Ok(Span(report.response.quantile(0.5).unwrap_or(0)))
}

/// The median of the rounds, and how far those beside it lie apart.
fn middle(mut rounds: Vec<Span>) -> (Span, Span) {
    rounds.sort();
    let at = rounds.len() / 2;
    (rounds[at], rounds[at + 1] - rounds[at - 1])
}

impl Measured {
    /// Why the twin of a run of this mean response time (ns) may have another path than live had.
    pub(super) fn doubt(&self, response_mean_ns: Option<f64>) -> Option<String> {
        let mean_ns = response_mean_ns?;
        let whole = self.delay.client + self.delay.cluster;
        if whole.0 as f64 > mean_ns {
            return Some(format!(
                "the path that the twin takes was measured at {whole:.3}, longer than the mean response time over it: the \
                 machine was slower then"
            ));
        }
        (self.spread.0 as f64 > UNCERTAIN_MOST * mean_ns).then(|| {
            format!(
                "the path that the twin takes was uncertain by {:.3} while it was measured, which is {:.0} % of the mean \
                 response time (limit {:.0} %): leave the machine alone",
                self.spread,
                100.0 * self.spread.0 as f64 / mean_ns,
                100.0 * UNCERTAIN_MOST
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rounds_us: [u64; 5]) -> Measured {
        let (delay, spread) = middle(rounds_us.map(|us| Span(us * 1000)).to_vec());
        Measured { delay: PathDelay { client: delay, cluster: Span::ZERO }, spread }
    }

    #[test]
    fn a_stall_in_one_round_moves_nothing() {
        let path = measured([110, 100, 80_000, 120, 105]);
        assert_eq!((path.delay.client, path.spread), (Span(110_000), Span(15_000)));
        assert_eq!(path.doubt(Some(1e6)), None);
    }

    #[test]
    fn a_path_that_was_uncertain_is_a_doubt_where_it_matters() {
        let path = measured([80_000, 100, 80_000, 120, 80_500]);
        let doubt = path.doubt(Some(100e6)).unwrap();
        assert!(doubt.contains("uncertain by 79.9 ms") && doubt.contains("80 %"), "{doubt}");
        assert_eq!(path.doubt(Some(10e9)), None, "of a response time of 10 s it is little");
        let doubt = path.doubt(Some(12e6)).unwrap();
        assert!(doubt.contains("longer than the mean"), "{doubt}");
        assert_eq!(path.doubt(None), None);
    }
}
