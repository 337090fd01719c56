//! Transfers drawn round by round against the published mean of their latency.

use sojourn_model::{Loss, LossLaw, Recovery, TcpStack, Way};
use sojourn_stats::{Span, Stream};
use sojourn_theory::formula::tcp::{connect_mean, throughput, transfer_mean};

use crate::agree;

/// What the formulas are of: Reno, and every other acknowledgement left out from the first segment on.
fn reno() -> TcpStack {
    TcpStack { quick_acks: 0, receive_window: 1 << 20, recovery: Recovery::NewReno, ..TcpStack::LINUX_2_2 }
}

/// Equation 4 is what is drawn, but for an answer that is lost twice, which a server here repeats sooner: with 2 % lost each way
/// that is half a per cent of the mean. 1,000,000 connections have a mean within 2 % of it (six standard errors; false alarm
/// 2e-9).
#[test]
fn connections_take_the_published_mean() {
    let stack = TcpStack::LINUX_2_2;
    let (rtt, times) = (Span(100_000_000), 1_000_000);
    let (mut there, mut back) = (loss(0.02, "there"), loss(0.02, "back"));
    let mut way = Way { rtt, rate: None, there: &mut there, back: &mut back, spells: &[] };
    let sum: f64 = (0..times).map(|_| stack.connect(&mut way).after.as_secs_f64()).sum();
    agree(sum / f64::from(times), connect_mean(&stack, 0.1, 0.02, 0.02), 0.02);
    assert!(connect_mean(&stack, 0.1, 0.5, 0.0).is_infinite());
}

/// Without loss a transfer takes whole rounds, and the formula the same number not rounded up.
#[test]
fn transfers_without_loss_take_the_published_rounds() {
    let stack = reno();
    for bytes in [1, 5_000, 50_000, 500_000, 1_000_000] {
        let (drawn, formula) = (sampled(&stack, 0.1, 0.0, bytes, 1), transfer_mean(&stack, bytes, 0.1, 0.0, 0.2));
        assert!((0.0..0.1).contains(&(drawn - formula)), "{bytes} B: {drawn} s, {formula} s by formula");
    }
}

/// With loss the two are the same within what the formula leaves out. Short transfers take up to 40 % longer than it says: they
/// take whole rounds, and their first time-outs are longer than the later ones. Long ones are up to 20 % faster: it takes all
/// that follows a loss in its window as lost too.
#[test]
fn transfers_with_loss_take_about_the_published_mean() {
    let stack = reno();
    for rtt in [0.03, 0.15] {
        for p in [0.005, 0.02, 0.05] {
            for (bytes, times, most) in [(5_000, 4_000, 1.4), (50_000, 4_000, 1.2), (500_000, 1_000, 1.0)] {
                let drawn = sampled(&stack, rtt, p, bytes, times);
                let ratio = drawn / transfer_mean(&stack, bytes, rtt, p, f64::max(0.2, rtt));
                assert!((0.8..most).contains(&ratio), "{bytes} B, {rtt} s, {p}: {ratio} of the formula's");
            }
        }
    }
}

/// What goes on for ever has Padhye's throughput.
#[test]
fn long_transfers_have_the_published_throughput() {
    let (stack, segments) = (reno(), 5_000_u32);
    for (rtt, p) in [(0.03, 0.02), (0.15, 0.005), (0.15, 0.05)] {
        let drawn = f64::from(segments) / sampled(&stack, rtt, p, u64::from(segments) * stack.segment, 100);
        let ratio = drawn / throughput(&stack, rtt, p, f64::max(0.2, rtt));
        assert!((1.0..1.25).contains(&ratio), "{rtt} s, {p}: {ratio} of the formula's");
    }
}

fn loss(share: f64, direction: &str) -> Loss {
    Loss::new(LossLaw::independent(share), Stream::new(1, direction, "losses"))
}

/// Mean time (s) of new connections' transfers, up to the last acknowledgement.
fn sampled(stack: &TcpStack, rtt_s: f64, p: f64, bytes: u64, times: u32) -> f64 {
    let rtt = Span::from_secs_f64(rtt_s);
    let (mut there, mut back, mut never) = (loss(p, "there"), loss(0.0, "back"), loss(0.0, "never"));
    let new = stack
        .connect(&mut Way { rtt, rate: None, there: &mut never, back: &mut back, spells: &[] })
        .connection
        .expect("it is set up");
    let mut way = Way { rtt, rate: None, there: &mut there, back: &mut back, spells: &[] };
    let transfer = |_| {
        let carried = stack.send(&mut { new }, bytes, &mut way);
        assert!(carried.is_whole);
        carried.after.as_secs_f64()
    };
    (0..times).map(transfer).sum::<f64>() / f64::from(times) + 0.5 * rtt_s
}
