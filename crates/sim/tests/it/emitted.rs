//! The pages that users ask for in a simulated run are those of their scripts, and in law what was asked for.

use std::sync::Arc;

use sojourn_model::system::{Affinity, Attachment};
use sojourn_sim::demand_of;
use sojourn_stats::Span;
use sojourn_stats::goodness::kolmogorov;
use sojourn_traffic::stream::{nth, session_lengths, share_within, stack_distances};
use sojourn_traffic::{Sessions, Site, SiteLaw, Visit, Visitor};

use crate::sessions::{Cluster, behind, cluster};

/// No test here fails a correct program more often than this.
const FALSE_ALARM: f64 = 1e-7;

const SERVER: &str = "discipline = \"ps\"\ndemand = \"100 us\"";

/// SURGE's users, who think a hundredth as long.
fn surge(users: u32) -> Cluster {
    let mut many = cluster("path,kind,class,bytes,requests,embedded\n/p,loner,static,1,1,\n", 1, 1.0, SERVER);
    let site = Arc::new(Site::generate(&SiteLaw::surge(), 1).unwrap());
    many.sessions = Sessions { time_scale: 100.0, ..Sessions::surge(users, site) };
    (many.network.client_rate, many.network.cluster_rate) = (None, None);
    behind(many, "round-robin", 8, Affinity::Connection)
}

fn visits_of_run(cluster: &Cluster, seed: u64, duration: Span) -> Vec<Vec<Visit>> {
    sojourn_sim::visits_of_run(&cluster.system(), &cluster.sessions, seed, duration).unwrap()
}

#[test]
fn users_follow_their_scripts_whatever_the_policy() {
    let many = surge(30);
    let emitted = visits_of_run(&many, 5, Span(10_000_000_000));
    for (user, visits) in emitted.iter().enumerate() {
        let mut visitor = Visitor::new(&many.sessions, user as u32, 5, demand_of(&many.servers[0]));
        let script: Vec<Visit> = visits.iter().map(|_| visitor.visit(&mut Vec::new())).collect();
        assert!(visits.len() > 20 && *visits == script);
    }
    let mut other = many.clone();
    (other.tier.policy, other.tier.affinity) = ("least-connections".into(), Affinity::Session);
    other.tier.attachment = Attachment::Session;
    let others = visits_of_run(&other, 5, Span(10_000_000_000));
    let agree = |(one, other): (&Vec<Visit>, &Vec<Visit>)| one.iter().zip(other).all(|(one, other)| one == other);
    assert!(emitted.iter().zip(&others).all(agree));
}

#[test]
fn popularity_stack_distance_and_session_length_are_those_asked_for() {
    let many = surge(600);
    let emitted = visits_of_run(&many, 7, Span(20_000_000_000));
    let streams: Vec<Vec<u32>> = emitted.iter().map(|visits| visits.iter().map(|visit| visit.page).collect()).collect();
    // One request of each user: independent draws.
    let pages = many.sessions.site.pages();
    let up_to: Vec<f64> = pages
        .iter()
        .scan(0.0, |sum, page| {
            *sum += page.popularity;
            Some(*sum)
        })
        .collect();
    let sample: Vec<f64> = nth(streams.iter().map(Vec::as_slice), 10).iter().map(|page| f64::from(*page)).collect();
    assert!(sample.len() > 500, "{}", sample.len());
    let popularity = kolmogorov(&sample, |page| up_to[page as usize]);
    assert!(popularity.p_value > FALSE_ALARM, "{popularity:?}");
    // The first sessions of all users that asked for at least 95 pages, which is as long as one can be: none of these
    // is left out for being long.
    let law = &many.sessions.length;
    let first = |visits: &&Vec<Visit>| visits.len() >= 95;
    let lengths: Vec<f64> = emitted
        .iter()
        .filter(first)
        .filter_map(|visits| session_lengths(visits.iter().copied()).first().map(|pages| f64::from(*pages)))
        .collect();
    assert!(lengths.len() > 200, "{}", lengths.len());
    // Draws are rounded, to at least 1.
    let length = kolmogorov(&lengths, |pages| law.cdf(pages + 0.5));
    assert!(length.p_value > FALSE_ALARM, "{length:?}");
    // Stack distances of one user hang together, so users are the independent samples here.
    let locality = many.sessions.locality.as_ref().unwrap();
    for distance in [1, 3, 6] {
        let shares: Vec<f64> = streams
            .iter()
            .filter(|stream| stream.len() >= 60)
            .map(|stream| share_within(&stack_distances(stream), distance))
            .filter(|share| share.is_finite())
            .collect();
        let mut moments = sojourn_stats::Moments::new();
        shares.iter().for_each(|share| moments.push(*share));
        let hair = 6.0 * (moments.variance() / shares.len() as f64).sqrt();
        let exact = locality.cdf(f64::from(distance));
        assert!((moments.mean() - exact).abs() < hair, "{distance}: {} against {exact}", moments.mean());
        assert!(hair < 0.1 && shares.len() > 100, "{hair}, {}", shares.len());
    }
}
