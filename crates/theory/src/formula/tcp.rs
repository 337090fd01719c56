//! The latency of TCP over a path that loses packets independently: Cardwell, Savage and Anderson, Modeling TCP latency,
//! IEEE INFOCOM 2000, which extends Padhye, Firoiu, Towsley and Kurose, Modeling TCP throughput, ACM SIGCOMM 1998, to
//! short transfers. Equation numbers are theirs.
//!
//! Of the stack, the segment, the windows, the growth and the SYN time-out are read. The formulas take one loss after slow
//! start, Reno's halving, and no loss of acknowledgements; a transfer ends when its sender has the last acknowledgement.

use sojourn_model::TcpStack;

/// Mean time (s) to set a connection up when shares `there` and `back` of the packets are lost (4); infinite from a half
/// on, since waiting times double.
pub fn connect_mean(stack: &TcpStack, rtt: f64, there: f64, back: f64) -> f64 {
    if there >= 0.5 || back >= 0.5 {
        return f64::INFINITY;
    }
    let losses = |p: f64| (1.0 - p) / (1.0 - 2.0 * p);
    rtt + stack.syn_timeout.as_secs_f64() * (losses(there) + losses(back) - 2.0)
}

/// Mean time (s) to send `bytes` over a connection that is new, when a share `p` of the segments is lost and a first time-out
/// takes `timeout` (25), without delayed acknowledgements.
pub fn transfer_mean(stack: &TcpStack, bytes: u64, rtt: f64, p: f64, timeout: f64) -> f64 {
    let segments = bytes.div_ceil(stack.segment).max(1) as f64;
    let first = f64::from(stack.initial_window);
    let most = (stack.receive_window / stack.segment).max(1) as f64;
    let growth = 1.0 + stack.growth;
    let slow_start = |segments: f64| {
        if p == 0.0 { segments } else { segments.min((1.0 - (1.0 - p).powf(segments)) * (1.0 - p) / p + 1.0) }
    };
    // (5): segments of slow start; (11): the window at its end; (15): its time.
    let begun = slow_start(segments);
    let window = begun * (growth - 1.0) / growth + first / growth;
    let rounds = |ratio: f64| ratio.ln() / growth.ln();
    let slow_start_rounds = if window > most {
        rounds(most / first) + 1.0 + (begun - (growth * most - first) / (growth - 1.0)) / most
    } else {
        rounds(begun * (growth - 1.0) / first + 1.0)
    };
    if p == 0.0 {
        return rtt * slow_start_rounds;
    }
    // (16) to (20): the loss that ends slow start.
    let loses = 1.0 - (1.0 - p).powf(segments);
    let by_timeout = timeout_share(p, window.min(most));
    let loss = loses * (by_timeout * timeouts(p, timeout) + (1.0 - by_timeout) * rtt);
    // (21), (24): the rest.
    rtt * slow_start_rounds + loss + (segments - begun).max(0.0) / throughput(stack, rtt, p, timeout)
}

/// Segments per second of a transfer that goes on for ever (22): Padhye et al., equation 31.
pub fn throughput(stack: &TcpStack, rtt: f64, p: f64, timeout: f64) -> f64 {
    let most = (stack.receive_window / stack.segment).max(1) as f64;
    // Segments per acknowledgement; (23): the mean window at which a loss is found.
    let b = 1.0 / stack.increase;
    let shift = (2.0 + b) / (3.0 * b);
    let window = shift + (8.0 * (1.0 - p) / (3.0 * b * p) + shift * shift).sqrt();
    let waits = |window: f64| timeout_share(p, window) * timeouts(p, timeout);
    let sent = |window: f64| (1.0 - p) / p + window / 2.0 + timeout_share(p, window);
    if window < most {
        sent(window) / (rtt * (b / 2.0 * window + 1.0) + waits(window))
    } else {
        sent(most) / (rtt * (b / 8.0 * most + (1.0 - p) / (p * most) + 2.0) + waits(most))
    }
}

/// The share of the losses that only a time-out finds (17).
fn timeout_share(p: f64, window: f64) -> f64 {
    if window <= 3.0 {
        return 1.0;
    }
    let kept = |segments: f64| (1.0 - p).powf(segments);
    let found = (1.0 - kept(3.0)) * (1.0 + kept(3.0) * (1.0 - kept(window - 3.0))) / (1.0 - kept(window));
    found.min(1.0)
}

/// Mean length (s) of time-outs that double up to the sixth (18, 19).
fn timeouts(p: f64, timeout: f64) -> f64 {
    let doubled: f64 = (0..6).map(|times| f64::from(1 << times) * p.powi(times + 1)).sum();
    timeout * (1.0 + doubled) / (1.0 - p)
}
