//! Clients that give up and ask again, as theory's model of a retry storm sees them; what that does not have is refused by name.

use sojourn_model::system::{Abandoned, Backoff, Fault, Rules, Subject, Trouble};
use sojourn_model::{Discipline, System};
use sojourn_theory::storm::Storm;
use sojourn_traffic::{Open, Workload};

use super::demand_shape;
use crate::spec::SystemQuestion;

/// A question about such clients; none where they wait for as long as it takes.
///
/// # Errors
/// What of it is in no model, in one line.
pub(super) fn question(asked: &SystemQuestion) -> Option<Result<Storm, String>> {
    let Rules { timeout, deadline, retries, hedge, .. } = &asked.system.rules;
    let gives_up = timeout.is_some() || deadline.is_some() || retries.is_some() || hedge.is_some();
    gives_up.then(|| of(asked))
}

fn of(asked: &SystemQuestion) -> Result<Storm, String> {
    let refuse =
        |why: &str| Err(format!("no formula for clients that give up and ask again unless {why}: sim answers this"));
    let Rules { timeout, deadline, retries, hedge, abandoned, .. } = &asked.system.rules;
    // What they do and one fault aside, it has to be what formulas know.
    let bare = System { rules: Rules::default(), faults: Vec::new(), ..asked.system.clone() };
    let ([host], true) = (&asked.system.hosts[..], bare.is_plain()) else {
        return refuse("there is one server in one place, which does not drop");
    };
    let server = &host.server;
    let is_simple = server.discipline == Discipline::Fcfs && server.cores == 1 && server.capacity.is_none();
    if !is_simple {
        return refuse("the server is one core with fcfs and room for all");
    }
    let links = [bare.network.client_link(), bare.network.cluster_link()];
    if links.iter().any(|link| link.rate.is_some() || link.delay.as_secs_f64() > 0.0) {
        return refuse("they are at the server, without links and round trips");
    }
    let Some(timeout) = timeout else { return refuse("an attempt has a `timeout`") };
    if deadline.is_some() || hedge.is_some() {
        return refuse("they neither hedge nor have a `deadline`");
    }
    let (rate, gaps) = match &asked.workload {
        Workload::Open(Open { arrivals, patience: None, .. }) if arrivals.profile().is_none() => {
            (arrivals.rate(), arrivals.law())
        }
        _ => (None, None),
    };
    let (Some(rate), Some(gaps)) = (rate, gaps) else { return refuse("they come by themselves, at one rate") };
    let standstill_s = match &asked.system.faults[..] {
        [] => None,
        [Fault { at, until: Some(until), trouble: Trouble::Frozen, subject }] if is_of_server(*subject) => {
            Some((*until - *at).as_secs_f64())
        }
        _ => return refuse("nothing breaks but the server, which stands still once"),
    };
    let backoff_s = match retries.as_ref().and_then(|retries| retries.backoff.as_ref()) {
        None => 0.0,
        Some(Backoff::Law(law)) => law.mean(),
        Some(Backoff::FullJitter { base, most }) => {
            let count = retries.as_ref().map_or(1, |retries| retries.at_most).clamp(1, 60);
            let longest = |retry| (base.as_secs_f64() * f64::powi(2.0, retry)).min(most.as_secs_f64());
            (0..count as i32).map(longest).sum::<f64>() / f64::from(count) / 2.0
        }
    };
    let (mean_s, variance) = asked.demand_moments();
    Ok(Storm {
        rate,
        service_s: mean_s / server.speed,
        gaps_scv: gaps.scv(),
        service_scv: variance / (mean_s * mean_s),
        timeout_s: timeout.as_secs_f64(),
        retries: retries.as_ref().map_or(0, |retries| retries.at_most),
        backoff_s,
        budget: retries.as_ref().and_then(|retries| retries.budget),
        work_goes_on: *abandoned == Abandoned::Served,
        is_markovian: gaps.is_exponential() && demand_shape(asked).0,
        standstill_s,
    })
}

/// Whether the only server is what breaks.
fn is_of_server(subject: Subject) -> bool {
    matches!(subject, Subject::Host(0)) || matches!(subject, Subject::Share(share) if share == 1.0)
}
