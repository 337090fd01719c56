//! Flows over shared links, against water filling by its definition and against what is known of processor sharing.

use sojourn_model::Flows;
use sojourn_stats::{Moments, Stream, Time};

const SECOND: f64 = 1e9;

/// By its definition: raise all rates together by little steps of what is left; exact through fractions of the least
/// slack. Flow i has a cap and crosses its server's link and the shared one.
fn water_filling(flows: &[(f64, usize)], servers: &[f64], shared: f64) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut rising: Vec<bool> = vec![true; flows.len()];
    while rising.iter().any(|rises| *rises) {
        let count = |server: Option<usize>| {
            let there = |i: &usize| rising[*i] && server.is_none_or(|server| flows[*i].1 == server);
            (0..flows.len()).filter(there).count() as f64
        };
        let used = |rates: &[f64], server: Option<usize>| -> f64 {
            let there = |i: &usize| server.is_none_or(|server| flows[*i].1 == server);
            (0..flows.len()).filter(there).map(|i| rates[i]).sum()
        };
        let mut step = (shared - used(&rates, None)) / count(None);
        for (server, rate) in servers.iter().enumerate().filter(|(server, _)| count(Some(*server)) > 0.0) {
            step = step.min((rate - used(&rates, Some(server))) / count(Some(server)));
        }
        for i in (0..flows.len()).filter(|i| rising[*i]) {
            step = step.min(flows[i].0 - rates[i]);
        }
        (0..flows.len()).filter(|i| rising[*i]).for_each(|i| rates[i] += step);
        let full: Vec<bool> =
            servers.iter().enumerate().map(|(s, rate)| used(&rates, Some(s)) >= rate * (1.0 - 1e-12)).collect();
        let all_full = used(&rates, None) >= shared * (1.0 - 1e-12);
        for i in 0..flows.len() {
            rising[i] &= !(all_full || full[flows[i].1] || rates[i] >= flows[i].0 * (1.0 - 1e-12));
        }
    }
    rates
}

#[test]
fn rates_are_max_min_fair() {
    let mut stream = Stream::new(1, "flows", "test");
    for case in 0..60 {
        let (clients, lanes, servers) = (1 + stream.below(8), 1 + stream.below(4), 1 + stream.below(3));
        let client_rate = 10e6;
        let server_rate = [1e9, 25e6, 8e6][stream.below(3)];
        let shared_rate = [1e9, 40e6, 12e6][stream.below(3)];
        let rates = [client_rate, server_rate, shared_rate].map(Some);
        let mut links = Flows::new(clients as u32, lanes as u32, servers as u32, rates[0], rates[1], rates[2]);
        // (client, lane) to server.
        let mut under_way = std::collections::BTreeMap::new();
        let mut now = Time::ZERO;
        for _ in 0..200 {
            let place = (stream.below(clients) as u32, stream.below(lanes) as u32);
            now = Time(now.0 + stream.below(20_000_000) as u64);
            while links.next_end() <= now {
                let ended = links.end(links.next_end()).unwrap();
                assert!(under_way.remove(&ended).is_some());
            }
            if let std::collections::btree_map::Entry::Vacant(free) = under_way.entry(place) {
                free.insert(stream.below(servers));
                let server = under_way[&place] as u32;
                links.start(now, place.0, place.1, server, stream.below(200_000) as u64);
            }
            let count = |client: u32| under_way.keys().filter(|(of, _)| *of == client).count() as f64;
            let flows: Vec<_> =
                under_way.iter().map(|((client, _), server)| (client_rate / count(*client), *server)).collect();
            let exact = water_filling(&flows, &vec![server_rate; servers], shared_rate);
            for (((client, lane), _), exact) in under_way.iter().zip(&exact) {
                let rate = links.rate(*client, *lane).unwrap();
                assert!((rate - exact).abs() < 1e-6 * exact, "case {case}: {rate} against {exact}");
            }
            links.assert_balanced();
        }
        while links.next_end() != Time::NEVER {
            links.end(links.next_end()).unwrap();
        }
        links.assert_balanced();
        assert_eq!(links.under_way(), 0);
    }
}

/// Two flows of one client, by hand: 10 Mbit/s, 1 MB at 0 s and 0.5 MB at 0.4 s.
#[test]
fn a_client_divides_its_link_among_its_flows() {
    let mut links = Flows::new(1, 2, 1, Some(10e6), None, Some(100e6));
    links.start(Time::ZERO, 0, 0, 0, 1_000_000);
    links.start(Time((0.4 * SECOND) as u64), 0, 1, 0, 500_000);
    // 4 Mbit done at 0.4 s; then 4 Mbit each at 5 Mbit/s: both end at 1.2 s, the lower lane first.
    let ends = [links.next_end(), {
        links.end(Time(1_200_000_000)).unwrap();
        links.next_end()
    }];
    assert_eq!(ends, [Time(1_200_000_000); 2]);
    assert_eq!(links.end(Time(1_200_000_000)), Some((0, 1)));
    assert_eq!(links.next_end(), Time::NEVER);
    links.assert_balanced();
}

/// A flow that is given up leaves its rate to the others, and what it got stays carried.
#[test]
fn flows_can_be_given_up() {
    let mut links = Flows::new(2, 2, 1, Some(10e6), None, Some(10e6));
    links.start(Time::ZERO, 0, 0, 0, 1_000_000);
    links.start(Time::ZERO, 1, 0, 0, 1_000_000);
    links.cancel(Time(400_000_000), 1, 0);
    links.assert_balanced();
    // 2 Mbit done by then, and 6 to go at 10 Mbit/s.
    assert_eq!((links.next_end(), links.rate(1, 0)), (Time(1_000_000_000), None));
    assert_eq!(links.end(Time(1_000_000_000)), Some((0, 0)));
    links.assert_balanced();
}

/// Poisson flows of many clients over one shared link are M/G/1 processor sharing, whose mean is E[S]/(1 - rho)
/// whatever the law of sizes (Kleinrock, Queueing Systems II, section 4.4). Here sizes of two values, rho = 0.7.
#[test]
fn a_shared_link_is_processor_sharing() {
    let mut stream = Stream::new(2, "flows", "test");
    let (rate, clients) = (8e6, 20_000u32);
    let mut links = Flows::new(clients, 1, 1, None, None, Some(rate));
    let mut idle: Vec<u32> = (0..clients).rev().collect();
    let mut began = vec![Time::ZERO; clients as usize];
    // 1 kB or 19 kB with chances 0.5: 10 ms on the mean.
    let gap_s = 0.01 / 0.7;
    let mut arrival_s = 0.0;
    let mut batches = Moments::new();
    let (mut batch, mut samples) = (0.0, 0);
    while batches.count() < 60 {
        arrival_s += -gap_s * (1.0 - stream.uniform()).ln();
        let now = Time::from_secs_f64(arrival_s);
        while links.next_end() <= now {
            let at = links.next_end();
            let (client, _) = links.end(at).unwrap();
            idle.push(client);
            batch += (at - began[client as usize]).as_secs_f64();
            samples += 1;
            if samples == 5_000 {
                batches.push(batch / 5_000.0);
                (batch, samples) = (0.0, 0);
            }
        }
        let client = idle.pop().expect("20,000 at once do not happen at this load");
        began[client as usize] = now;
        links.start(now, client, 0, 0, if stream.below(2) == 0 { 1_000 } else { 19_000 });
    }
    links.assert_balanced();
    // False-alarm rate 1e-6: a Student interval of 59 degrees at 5.5 standard errors.
    let mean = batches.mean();
    let hair = 5.5 * (batches.variance() / batches.count() as f64).sqrt();
    let exact = 0.01 / 0.3;
    assert!((mean - exact).abs() < hair && hair < 0.1 * exact, "{mean} +- {hair}, exactly {exact}");
}
