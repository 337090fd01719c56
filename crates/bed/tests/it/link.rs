//! One direction of a link, packet by packet, without a clock.

use sojourn_bed::link::{Link, LinkError, LinkSpec, Queue};
use sojourn_model::{LossLaw, LossModel};
use sojourn_stats::{Dimension, Law, Span, Time};

const ROOM: Queue = Queue::DropTail { bytes: 3_000 };

/// Lets packets of these sizes come at these instants (ns); the number of each packet that arrives, and when.
fn arrivals(link: &mut Link<usize>, packets: impl IntoIterator<Item = (u64, u32)>) -> Vec<(usize, u64)> {
    let mut arrived = Vec::new();
    let mut end: Option<Time> = None;
    let mut advance = |link: &mut Link<usize>, end: &mut Option<Time>, until: Time| {
        while let Some(at) = end.filter(|at| *at <= until) {
            let (packet, next) = link.send(at);
            arrived.extend(packet.map(|(at, number)| (number, at.0)));
            *end = next;
        }
    };
    for (number, (at, bytes)) in packets.into_iter().enumerate() {
        advance(link, &mut end, Time(at));
        if let Some(sent) = link.offer(Time(at), bytes, number) {
            end = Some(sent);
        }
    }
    advance(link, &mut end, Time::NEVER);
    arrived
}

fn link(spec: LinkSpec) -> Link<usize> {
    Link::new(spec, 7).expect("a link")
}

/// The numbers of `packets` packets, 1 us apart, that a link of this loss loses.
fn lost(loss: LossLaw, packets: usize) -> Vec<usize> {
    let mut link = link(LinkSpec::constant("lossy", Span::ZERO).losing(loss));
    let arrived = arrivals(&mut link, (0..packets).map(|k| (k as u64 * 1000, 100)));
    let mut is_there = vec![false; packets];
    arrived.iter().for_each(|(number, _)| is_there[*number] = true);
    let counts = link.counts();
    assert_eq!(counts.offered, counts.passed + counts.lost + counts.dropped, "each packet has one fate");
    (0..packets).filter(|number| !is_there[*number]).collect()
}

#[test]
fn a_delay_is_what_was_asked_to_the_nanosecond() {
    let mut link = link(LinkSpec::constant("far", Span(45_000_000)));
    let arrived = arrivals(&mut link, [(0, 40), (5, 1500), (5, 40), (1_000_000, 40)]);
    assert_eq!(arrived, [(0, 45_000_000), (1, 45_000_005), (2, 45_000_005), (3, 46_000_000)]);
}

#[test]
fn a_rate_spaces_packets_and_a_full_queue_drops_them() {
    // 1000 bytes at 8 Mbit/s take 1 ms.
    let mut link = link(LinkSpec::constant("slow", Span(10)).at(8e6, ROOM));
    let arrived = arrivals(&mut link, (0..6).map(|k| (k * 100, 1000)));
    let millisecond = |k: u64| k * 1_000_000 + 10;
    // One is in transmission and three wait; the fifth and the sixth find no room.
    assert_eq!(arrived, [(0, millisecond(1)), (1, millisecond(2)), (2, millisecond(3)), (3, millisecond(4))]);
    assert_eq!((link.counts().dropped, link.counts().passed_bytes), (2, 4000));
    // Idle again, it begins when a packet comes.
    assert_eq!(arrivals(&mut link, [(9_000_000, 500)]), [(0, 9_500_010)]);
}

/// Errors do not add up: a million packets take a million times as long as one.
#[test]
fn a_long_transmission_has_the_rate_that_was_asked() {
    let mut link = link(LinkSpec::constant("steady", Span::ZERO).at(10e6, Queue::DropTail { bytes: u64::MAX }));
    let arrived = arrivals(&mut link, (0..1_000_000).map(|_| (0, 1500)));
    assert_eq!(arrived.last(), Some(&(999_999, 1_200_000_000_000)));
}

#[test]
fn jitter_keeps_the_order_unless_reordering_was_asked() {
    let spec = |reorders| LinkSpec {
        delay: Law::parse("uniform(10 ms, 20 ms)", Dimension::Time).expect("a law"),
        reorders,
        ..LinkSpec::constant("jitter", Span::ZERO)
    };
    let packets = || (0..10_000).map(|k| (k * 1_000_000, 100));
    let ordered = arrivals(&mut link(spec(false)), packets());
    assert!(ordered.windows(2).all(|pair| pair[0].1 <= pair[1].1), "none overtakes another");
    let free = arrivals(&mut link(spec(true)), packets());
    let delays: Vec<f64> = free.iter().map(|(number, at)| *at as f64 * 1e-6 - *number as f64).collect();
    assert!(delays.iter().all(|delay| (10.0..20.0).contains(delay)), "each has the delay of the law");
    // The mean of 10,000 uniform draws (sd 2.89 ms) is within 5 standard errors: false alarms below one in a million.
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 15.0).abs() < 5.0 * 2.89 / 100.0, "{mean}");
    // Every pair of neighbours, 1 ms apart, changes places where the second drew a delay shorter by more than 1 ms: with
    // probability 0.9^2 / 2. Of 9,999 dependent pairs, within 6 standard errors of independent ones.
    let changed = free.windows(2).filter(|pair| pair[0].1 > pair[1].1).count() as f64 / 9_999.0;
    assert!((changed - 0.405).abs() < 6.0 * 0.0049, "{changed}");
}

#[test]
fn independent_losses_have_the_share_that_was_asked() {
    let lost = lost(LossLaw::independent(0.02), 100_000);
    // Binomial: 2000, standard deviation 44.3; 5 of them are passed once in 1.7 million runs.
    assert!((lost.len() as f64 - 2000.0).abs() < 5.0 * 44.3, "{}", lost.len());
    let pairs = lost.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    // Neighbours both lost: 40 expected, nearly Poisson; 77 or more have a chance of 2e-7.
    assert!(pairs < 77, "{pairs}");
}

/// The share that was asked, and of the packets after a lost one the share that the correlation makes.
#[test]
fn correlated_losses_have_their_mean_and_their_correlation() {
    let lost = lost(LossLaw { correlation: 0.5, ..LossLaw::independent(0.05) }, 400_000);
    let share = lost.len() as f64 / 400_000.0;
    // The variance is that of independent losses times (1 + 0.5) / (1 - 0.5).
    assert!((share - 0.05).abs() < 5.5 * (0.05 * 0.95 / 400_000.0 * 3.0_f64).sqrt(), "{share}");
    let again = lost.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() as f64 / lost.len() as f64;
    // 0.05 + 0.5 * 0.95 of some 20,000 lost packets: a chain's steps out of one state are independent.
    assert!((again - 0.525).abs() < 5.5 * (0.525 * 0.475 / lost.len() as f64).sqrt(), "{again}");
}

/// A queue that never empties: CoDel drops to keep waits near its target, drop-tail lets them grow to what fits.
#[test]
fn codel_keeps_a_standing_queue_short() {
    let longest_late_wait = |queue| {
        let mut link = link(LinkSpec::constant("busy", Span::ZERO).at(12e6, queue));
        // 1500 bytes take 1 ms and come every 0.95 ms, for 60 s.
        let arrived = arrivals(&mut link, (0..63_000).map(|k| (k * 950_000, 1500)));
        let waits = arrived.iter().map(|(number, at)| at - *number as u64 * 950_000);
        let late = waits.zip(&arrived).filter(|(_, (number, _))| *number > 50_000).map(|(wait, _)| wait);
        (late.max().expect("packets pass"), link.counts().dropped)
    };
    let (drop_tail, _) = longest_late_wait(Queue::DropTail { bytes: 300_000 });
    let (codel, dropped) = longest_late_wait(Queue::Codel { bytes: 300_000 });
    assert!(drop_tail > 190_000_000, "200 packets wait: {drop_tail} ns");
    assert!(codel < 40_000_000 && dropped > 1000, "{codel} ns, {dropped} dropped");
}

/// As the same seed gives: another name or seed draws other losses, another rate none.
#[test]
fn draws_repeat_and_belong_to_one_link() {
    let of = |name: &str, seed, rate: Option<f64>| {
        let spec = LinkSpec::constant(name, Span::ZERO).losing(LossLaw::independent(0.1));
        let spec = rate.map_or(spec.clone(), |rate| spec.at(rate, Queue::DropTail { bytes: 1 << 30 }));
        let mut link = Link::new(spec, seed).expect("a link");
        arrivals(&mut link, (0..1000).map(|k| (k * 1000, 100))).iter().map(|(number, _)| *number).collect::<Vec<_>>()
    };
    assert_eq!(of("a", 1, None), of("a", 1, None));
    assert_eq!(of("a", 1, None), of("a", 1, Some(1e6)), "what a link loses does not depend on its rate");
    assert_ne!(of("a", 1, None), of("b", 1, None));
    assert_ne!(of("a", 1, None), of("a", 2, None));
}

/// Delays as well: two links of one law do not delay alike.
#[test]
fn delays_belong_to_one_link() {
    let of = |name: &str, seed| {
        let delay = Law::parse("uniform(10 ms, 20 ms)", Dimension::Time).expect("a law");
        let spec = LinkSpec { delay, reorders: true, ..LinkSpec::constant(name, Span::ZERO) };
        arrivals(&mut Link::new(spec, seed).expect("a link"), (0..100).map(|k| (k * 1000, 100)))
    };
    assert_eq!(of("a", 1), of("a", 1));
    assert_ne!(of("a", 1), of("b", 1));
    assert_ne!(of("a", 1), of("a", 2));
}

/// The same loss set again draws anew: of 1000 packets not the same are lost.
#[test]
fn a_loss_that_is_set_again_draws_others() {
    let mut link = link(LinkSpec::constant("a", Span::ZERO));
    let mut lost = |begin: u64| {
        link.lose_besides(LossLaw::independent(0.5));
        let packets = (0..1000).map(|number| (begin + number * 1000, 100));
        arrivals(&mut link, packets).iter().map(|(number, _)| *number).collect::<Vec<_>>()
    };
    assert_ne!(lost(0), lost(1_000_000_000));
}

/// What a link loses besides is drawn for each packet, those that it loses anyway included: together they lose what each loses.
#[test]
fn further_losses_change_nothing_of_a_links_own() {
    let lost = |own: f64, further: f64| {
        let mut link = link(LinkSpec::constant("a", Span::ZERO).losing(LossLaw::independent(own)));
        link.lose_besides(LossLaw::independent(further));
        let arrived = arrivals(&mut link, (0..1000).map(|number| (number * 1000, 100)));
        let mut is_lost = vec![true; 1000];
        arrived.iter().for_each(|(number, _)| is_lost[*number] = false);
        is_lost
    };
    let (own, further) = (lost(0.3, 0.0), lost(0.0, 0.3));
    let either: Vec<bool> = own.iter().zip(&further).map(|(own, further)| *own || *further).collect();
    assert_eq!(lost(0.3, 0.3), either);
}

#[test]
fn a_link_that_cannot_be_is_refused_by_name() {
    let refused = |spec: LinkSpec| Link::<()>::new(spec, 1).expect_err("it cannot be");
    let plain = || LinkSpec::constant("uplink", Span::ZERO);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(plain().at(rate, ROOM));
        assert!(matches!(error, LinkError::Rate(..)) && error.to_string().contains("link uplink"), "{error}");
    }
    assert!(refused(plain().at(0.0, ROOM)).to_string().contains("0 bit/s transmits nothing"));
    let below_zero = LinkSpec { delay: Law::constant(-0.01), ..plain() };
    assert!(matches!(refused(below_zero), LinkError::Delay(_)));
    let endless = Law::parse("pareto(alpha = 0.9, min = 1 ms)", Dimension::Time).expect("a law");
    assert!(matches!(refused(LinkSpec { delay: endless, ..plain() }), LinkError::Delay(_)));
    let correlation = |correlation| LossLaw { correlation, model: LossModel::Nistnet, ..LossLaw::independent(0.1) };
    for loss in [LossLaw::independent(1.1), LossLaw::independent(-0.1), correlation(1.0)] {
        assert!(matches!(refused(plain().losing(loss)), LinkError::Loss(_)), "{loss:?}");
    }
    assert!(matches!(refused(plain().at(1e6, Queue::Codel { bytes: 100 })), LinkError::Queue(_, 100)));
}

/// A queue of one packet is short whatever that one waited, and one of two is not. Each packet is passed or dropped.
#[test]
fn codel_leaves_the_last_packet() {
    // 1500 bytes take 50 ms and come as often, behind so many that came at once.
    let dropped = |ahead: u64| {
        let mut link = link(LinkSpec::constant("busy", Span::ZERO).at(240e3, Queue::Codel { bytes: 300_000 }));
        let packets = (0..ahead).map(|_| 0).chain((1..100).map(|k| k * 50_000_000)).map(|at| (at, 1500));
        let arrived = arrivals(&mut link, packets).len() as u64;
        let counts = link.counts();
        assert_eq!((counts.passed, counts.dropped), (arrived, 99 + ahead - arrived));
        counts.dropped
    };
    assert_eq!(dropped(2), 0);
    assert!(dropped(3) > 0);
}

#[test]
fn jitter_comes_on_top_and_a_queue_has_room_for_a_packet() {
    let jitter = Some(Law::constant(0.002));
    let spec = LinkSpec { jitter, ..LinkSpec::constant("far", Span(10_000_000)) };
    assert_eq!(arrivals(&mut link(spec), [(0, 40)]), [(0, 12_000_000)]);
    let least = LinkSpec::constant("narrow", Span::ZERO).at(1e6, Queue::DropTail { bytes: 1500 });
    assert!(Link::<()>::new(least, 1).is_ok());
}
