//! GI/G/1 and GI/G/c FCFS: renewal arrivals of any law. Exact for exponential service and one server, otherwise
//! approximations from two moments.
//!
//! How wrong the approximations are: D/M/1 at rho = .8 waits 1.692731 exactly, 1.692963 by Kraemer and
//! Langenbach-Belz and 2.0 by Allen and Cunneen; H2/M/1 (balanced means, C2 = 4) at rho = .5 waits 2.162278 exactly
//! and 2.0726 by Kraemer and Langenbach-Belz (times in mean services). With Poisson arrivals and one server all of
//! them are exact.

use sojourn_stats::root;

use crate::formula::markovian::mmc;
use crate::law::Gaps;

/// Upper bound on the mean wait (s) by Kingman, lambda (var A + var S) / (2 (1-rho)); also the heavy-traffic limit.
///
/// Source: Kingman, Some inequalities for the queue GI/G/1, Biometrika 49 (1962); Kleinrock, Queueing Systems
/// II (1976), chapter 2.
pub fn kingman_bound(gaps: &Gaps, service_mean_s: f64, service_scv: f64) -> f64 {
    let rate = gaps.rate();
    let rho = rate * service_mean_s;
    if rho >= 1.0 {
        return f64::INFINITY;
    }
    let variances = gaps.scv() * gaps.mean_s().powi(2) + service_scv * service_mean_s.powi(2);
    rate * variances / (2.0 * (1.0 - rho))
}

/// Mean wait (s) by Kraemer and Langenbach-Belz, approximate: rho/(1-rho) (ca2+cs2)/2 E\[S\] g.
///
/// Source: Kraemer and Langenbach-Belz, Approximate formulae for the delay in the queueing system GI/G/1, 8th
/// International Teletraffic Congress (1976).
pub fn kraemer_langenbach_belz(gaps: &Gaps, service_mean_s: f64, service_scv: f64) -> f64 {
    let (ca2, cs2, rho) = (gaps.scv(), service_scv, gaps.rate() * service_mean_s);
    if rho >= 1.0 {
        return f64::INFINITY;
    }
    if ca2 + cs2 == 0.0 {
        return 0.0;
    }
    let exponent = if ca2 <= 1.0 {
        -2.0 * (1.0 - rho) * (1.0 - ca2).powi(2) / (3.0 * rho * (ca2 + cs2))
    } else {
        -(1.0 - rho) * (ca2 - 1.0) / (ca2 + 4.0 * cs2)
    };
    rho / (1.0 - rho) * (ca2 + cs2) / 2.0 * service_mean_s * exponent.exp()
}

/// Mean wait (s) of GI/G/1 by Marchal, approximate: Kingman's bound times (1+cs2)/(1/rho^2+cs2).
///
/// Source: Marchal, An approximate formula for waiting time in single server queues, AIIE Transactions 8 (1976).
pub fn marchal(gaps: &Gaps, service_mean_s: f64, service_scv: f64) -> f64 {
    let rho = gaps.rate() * service_mean_s;
    if rho >= 1.0 {
        return f64::INFINITY;
    }
    let scale = (1.0 + service_scv) / (1.0 + rho * rho * service_scv);
    rho * scale * (gaps.scv() + rho * rho * service_scv) / (2.0 * (1.0 - rho)) * service_mean_s
}

/// Mean wait (s) of GI/G/c by Allen and Cunneen, approximate: the wait of M/M/c times (ca2+cs2)/2.
///
/// Source: Allen, Probability, Statistics and Queueing Theory (2nd ed. 1990), chapter 5.
pub fn allen_cunneen(servers: u32, gaps: &Gaps, service_mean_s: f64, service_scv: f64) -> f64 {
    mmc::waiting_time_mean(servers, gaps.rate(), service_mean_s) * (gaps.scv() + service_scv) / 2.0
}

/// What is known of the error of Kraemer and Langenbach-Belz: see [`single_server_error`]. Of gaps of other laws it has been seen
/// 27 % low (gamma of cv 2 at a constant service and a utilisation of 0.7) and 11 % high (lognormal of cv 2 at 0.8).
pub(crate) const SINGLE_SERVER_ERROR: &str = "with Erlang, exponential and hyperexponential laws of C2 from 1/8 to 10 the \
                                              response time was off by up to 4 % for gaps of C2 <= 1; for burstier ones \
                                              10 % low, and below a utilisation of 0.7 up to 34 % high; other laws of the same \
                                              moments may be further off: sim tells";
/// What is known of the error of Allen and Cunneen: see [`several_servers_error`]. Of lognormal service of cv 4 it has been seen
/// 30 % high (four servers at a utilisation of 0.5).
pub(crate) const SEVERAL_SERVERS_ERROR: &str = "with Erlang, exponential and hyperexponential laws and two or four \
                                                servers the response time was off by up to 24 %; other laws and numbers may be \
                                                further off: sim tells";

/// Largest relative errors (low, high; low is negative) of the mean response time by Kraemer and Langenbach-Belz, as
/// measured against exact solutions of GI/G/1 for gaps and service of Erlang, exponential and hyperexponential laws
/// with C2 from 1/8 to 10 and utilisations from .3 to .95. Of the wait alone the error may be many times that where
/// there hardly is one.
pub fn single_server_error(gaps_scv: f64, utilisation: f64) -> (f64, f64) {
    match (gaps_scv <= 1.0, utilisation >= 0.7) {
        (true, _) => (-0.041, 0.034),
        (false, true) => (-0.1, 0.001),
        (false, false) => (-0.105, 0.34),
    }
}

/// Largest relative errors (low, high) of the mean response time by Allen and Cunneen, as measured for GI/G/2 and
/// GI/G/4.
pub fn several_servers_error() -> (f64, f64) {
    (-0.16, 0.24)
}

/// Mean wait (s) by every approximation of GI/G/c that is known here, with its name; Kingman's is an upper bound. Only
/// Allen and Cunneen's is meant for several servers, and is the heavy-traffic form for one.
pub fn approximations(servers: u32, gaps: &Gaps, service_mean_s: f64, service_scv: f64) -> Vec<(&'static str, f64)> {
    if !(gaps.scv().is_finite() && service_scv.is_finite()) {
        return Vec::new();
    }
    let mut known = vec![("allen_cunneen", allen_cunneen(servers, gaps, service_mean_s, service_scv))];
    if servers == 1 {
        known.push(("kraemer_langenbach_belz", kraemer_langenbach_belz(gaps, service_mean_s, service_scv)));
        known.push(("marchal", marchal(gaps, service_mean_s, service_scv)));
        known.push(("kingman_bound", kingman_bound(gaps, service_mean_s, service_scv)));
    }
    known
}

/// Queue GI/M/1, solved exactly: the response time under FCFS is exponential with mean E\[S\]/(1-sigma), where an
/// arrival finds the server busy with probability sigma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GiM1 {
    /// Probability that an arrival finds the server busy.
    pub sigma: f64,
    service_mean_s: f64,
    idle: f64,
}

impl GiM1 {
    /// Solution of sigma = A*(mu (1-sigma)), the root inside (0, 1) (Kleinrock, Queueing Systems I, 1975, chapter 6).
    /// None when the transform A* of the gaps is not known or the utilisation is 1 or more.
    pub fn solve(gaps: &Gaps, service_mean_s: f64) -> Option<GiM1> {
        if gaps.rate() * service_mean_s >= 1.0 {
            return None;
        }
        gaps.transform_complement(1.0)?;
        let idle = idle_root(|x| gaps.transform_complement(x / service_mean_s).unwrap_or(x));
        Some(GiM1 { sigma: 1.0 - idle, service_mean_s, idle })
    }

    /// Mean response time (s); the same under FCFS, PS and limited PS, whose numbers in the system move alike.
    pub fn response_time_mean(&self) -> f64 {
        self.service_mean_s / self.idle
    }

    /// Mean time before service starts (s) when `helpers` jobs (FCFS: 1) are served at once: sigma^helpers E\[T\].
    pub fn waiting_time_mean(&self, helpers: u32) -> f64 {
        self.sigma.powf(f64::from(helpers)) * self.response_time_mean()
    }

    /// Quantile at `p` of the FCFS response time (s).
    pub fn response_time_quantile(&self, p: f64) -> f64 {
        -(-p).ln_1p() * self.response_time_mean()
    }
}

/// Root x = 1 - omega in (0, 1) of x = 1 - A*(x c mu), where `complement` is the right side, at a utilisation below 1.
/// Sought in x, which keeps its digits in heavy traffic.
pub(super) fn idle_root(complement: impl Fn(f64) -> f64) -> f64 {
    // Convex, 0 and falling at 0, positive at 1: the sign changes once in between.
    let excess = |x: f64| x - complement(x);
    let mut low = 0.5;
    while excess(low) >= 0.0 && low > f64::MIN_POSITIVE {
        low /= 2.0;
    }
    root::find(low, 1.0, 0.0, excess).unwrap_or(low)
}
