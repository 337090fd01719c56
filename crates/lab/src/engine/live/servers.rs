//! The servers of a live run, as they are started: programs that serve files, or nodes that emulate the model.

mod serving;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sojourn_bed::{Ground, Host as Place};
use sojourn_model::system::{Abandoned, Host, Tier};
use sojourn_part::program as serve;
use sojourn_part::settings::node::{LogSettings, NodeSettings};
use sojourn_part::settings::{self, Section};
use sojourn_stats::Span;
use sojourn_traffic::Workload;

pub(super) use self::serving::Serving;
use self::serving::{Real, Served, on};
use super::load::site;
use super::part::Part;
use super::{Conditions, bed, nodes, parts, switch, tls};
use crate::spec::{Program, Spec, SystemQuestion};
use crate::topology::{as_host, origin_of};

/// Sites written so far: their folders have different names.
static SITES: AtomicU32 = AtomicU32::new(0);

pub(super) fn start_servers(
    experiment: &Spec,
    asked: &SystemQuestion,
    ground: &mut dyn Ground,
    conditions: &Conditions<'_>,
) -> Result<Vec<Serving>, String> {
    match &asked.program {
        Some(program) => start_programs(asked, program, ground),
        None => start_nodes(experiment, asked, ground, conditions),
    }
}

/// Every server serves the same folder; of a proxy, the web server behind it does.
fn start_programs(asked: &SystemQuestion, program: &Program, ground: &mut dyn Ground) -> Result<Vec<Serving>, String> {
    let name = format!("sojourn-site-{}-{}", std::process::id(), SITES.fetch_add(1, Ordering::Relaxed));
    let served = Arc::new(Served(std::env::temp_dir().join(name)));
    let unwritten = |e| format!("cannot write the files to {}: {e}", served.0.display());
    site(asked).write(&served.0).map_err(unwritten)?;
    let mut server = serve::Program { root: served.0.clone(), ..program.server.clone() };
    if let (Workload::Sessions(sessions), false) = (&asked.workload, program.has_keep_alive) {
        server.keep_alive = sessions.keep_alive().unwrap_or(Span::ZERO);
    }
    let serve_one = |host: &Host| {
        let place = match bed::is_needed(asked) {
            true => Some(ground.host(&host.name).map_err(|e| e.to_string())?),
            false => None,
        };
        // The web server behind a proxy has a host of its own there.
        let behind = match (place, &program.origin) {
            (Some(_), Some(_)) => Some(ground.host(&origin_of(&host.name)).map_err(|e| e.to_string())?),
            _ => None,
        };
        let start = |server: &serve::Program, place: Option<Place>| {
            let listen = place.map_or(server.listen, |place| SocketAddr::new(ground.address(place), 0));
            let server = serve::Program { listen, ..server.clone() };
            on(ground, place, || server.start().map_err(|e| e.to_string()))?
        };
        let origin = match &program.origin {
            Some(origin) => Some(start(&serve::Program { root: served.0.clone(), ..origin.clone() }, behind)?),
            None => None,
        };
        let mut server = server.clone();
        if let (Some(behind), serve::Kind::Squid { origin: Some(origin), .. }) = (&origin, &mut server.kind) {
            *origin = behind.address();
        }
        let (is_forward_proxy, _files) = (program.is_forward_proxy(), Arc::clone(&served));
        let running = start(&server, place)?;
        Ok(Serving::Program(Box::new(Real { place, running, origin, behind, is_forward_proxy, _files })))
    };
    asked.system.hosts.iter().map(serve_one).collect()
}

fn start_nodes(
    experiment: &Spec,
    asked: &SystemQuestion,
    ground: &mut dyn Ground,
    conditions: &Conditions<'_>,
) -> Result<Vec<Serving>, String> {
    let (system, program) = (&asked.system, conditions.program);
    if tls::is_asked_for(system) {
        tls::make(ground, system, nodes::SERVICE)?;
    }
    let node = |(index, host): (usize, &Host)| {
        let settings = NodeSettings {
            model: Some(host.server.to_toml()),
            seed: experiment.seed,
            classes: asked.workload.classes().into_iter().map(Into::into).collect(),
            grace: parts::grace(&asked.system),
            abandoned: match system.rules.abandoned {
                Abandoned::Cancelled => settings::node::Abandoned::Cancelled,
                Abandoned::Served => settings::node::Abandoned::Served,
            },
            log: Section(switch::access_log(&asked.system, index).map(LogSettings::new)),
            ..NodeSettings::new(&host.name)
        };
        let is_on_it = |tier: &&Tier| tier.seats.iter().any(|seat| seat.host == Some(index));
        match (nodes::tier_of(system).filter(is_on_it), switch::entrance(ground, &host.name)) {
            (Some(tier), _) => {
                let record = experiment.run.live.record.then(|| parts::record_of(conditions, &as_host(&host.name)));
                nodes::Node { program, system, tier, host: index, record }.start(ground, settings)
            }
            (None, Some(_)) => switch::server(ground, program, settings),
            (None, None) => Part::start(ground, program, &host.name, "node", &settings),
        }
        .map(|part| Serving::Node(Box::new(part)))
    };
    asked.system.hosts.iter().enumerate().map(node).collect()
}
