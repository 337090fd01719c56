//! M/M/c: Poisson arrivals, exponential service, c servers and one queue, unlimited room.
//!
//! Source: Erlang (1917); Kleinrock, Queueing Systems I (1975), section 3.5; Gross et al., Fundamentals of Queueing
//! Theory (4th ed. 2008), chapter 2. The offered load `a` is arrival rate x mean service. Means are infinite at a
//! utilisation a/c of 1 or more.
//!
//! The means are also those of M/G/c-PS (n jobs share c cores, each at most one): its number in the system does not
//! depend on the service law (Cohen, The multiple phase service network with generalized processor sharing, Acta
//! Informatica 12, 1979).

use crate::numeric;

/// Blocking probability (Erlang B): the probability that `servers` servers without a queue are all busy.
///
/// By the recursion B(n) = a B(n-1) / (n + a B(n-1)), in which every term is a probability: stable for any size
/// (Gross et al., chapter 2).
pub fn erlang_b(offered: f64, servers: u32) -> f64 {
    (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
}

/// Delay probability (Erlang C): the probability that an arrival at M/M/c must wait, c B / (c - a (1 - B)); 1 when
/// unstable.
pub fn erlang_c(offered: f64, servers: u32) -> f64 {
    let (b, c) = (erlang_b(offered, servers), f64::from(servers));
    if offered >= c { 1.0 } else { c * b / (c - offered * (1.0 - b)) }
}

/// Mean waiting time (s), C(a, c) E\[S\] / (c - a).
pub fn waiting_time_mean(servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let (offered, c) = (arrival_rate * service_mean_s, f64::from(servers));
    if offered >= c {
        return f64::INFINITY;
    }
    erlang_c(offered, servers) * service_mean_s / (c - offered)
}

/// Mean response time (s): the mean wait and the mean service.
pub fn response_time_mean(servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    service_mean_s + waiting_time_mean(servers, arrival_rate, service_mean_s)
}

/// Mean number in the system (Little's law).
pub fn number_mean(servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    arrival_rate * response_time_mean(servers, arrival_rate, service_mean_s)
}

/// Mean time before service starts (s) when at most `helpers` >= c jobs share the c cores and the others wait in FIFO
/// order: the number in the system is that of M/M/c, and C(a, c) rho^(helpers-c+1) / (1-rho) of them wait.
pub fn limited_ps_waiting_time_mean(servers: u32, helpers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let utilisation = arrival_rate * service_mean_s / f64::from(servers);
    let beyond = f64::from(helpers.saturating_sub(servers));
    utilisation.powf(beyond) * waiting_time_mean(servers, arrival_rate, service_mean_s)
}

/// Tail P(T > t) of the FCFS response time: the wait (0, or exponential of rate c mu - lambda) plus the service.
pub fn response_time_tail(t_s: f64, servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let drain = f64::from(servers) / service_mean_s - arrival_rate;
    if drain <= 0.0 {
        return 1.0;
    }
    delayed_tail(t_s, erlang_c(arrival_rate * service_mean_s, servers), drain, service_mean_s)
}

/// Tail P(T > t) of a wait that is 0 or, with the probability `delayed`, exponential of the rate `drain` (1/s),
/// followed by an exponential service.
pub fn delayed_tail(t_s: f64, delayed: f64, drain: f64, service_mean_s: f64) -> f64 {
    let rate = 1.0 / service_mean_s;
    // (e^(-rate t) - e^(-drain t)) / (drain - rate), without cancellation when the two rates are close.
    let gap = drain - rate;
    let both = if (gap * t_s).abs() > 1.0 {
        ((-rate * t_s).exp() - (-drain * t_s).exp()) / gap
    } else if gap == 0.0 {
        t_s * (-rate * t_s).exp()
    } else {
        -(-gap * t_s).exp_m1() / gap * (-rate * t_s).exp()
    };
    (-rate * t_s).exp() + delayed * rate * both
}

/// Quantile at `p` of the FCFS response time (s), the root of its tail to the last digit.
pub fn response_time_quantile(p: f64, servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let scale = response_time_mean(servers, arrival_rate, service_mean_s);
    numeric::quantile(p, scale, |t| response_time_tail(t, servers, arrival_rate, service_mean_s))
}

/// Quantile at `p` of the FCFS waiting time (s): P(W > t) = C(a, c) e^(-(c mu - lambda) t).
pub fn waiting_time_quantile(p: f64, servers: u32, arrival_rate: f64, service_mean_s: f64) -> f64 {
    let (offered, c) = (arrival_rate * service_mean_s, f64::from(servers));
    if offered >= c {
        return f64::INFINITY;
    }
    (erlang_c(offered, servers) / (1.0 - p)).ln().max(0.0) * service_mean_s / (c - offered)
}
