//! The response time law of M/D/1-PS: Poisson arrivals, constant service, one processor shared equally.
//!
//! Let the clock run with the service that the tagged job attains. Each job present then gives birth to arrivals at the
//! arrival rate and lives for its own remaining service, so that the time in the system is the integral of a branching
//! process (Yashkov, Problems of Control and Information Theory 12, 1983). For a constant service its transform has a
//! closed form. It is inverted by Euler summation, after the atom of the jobs that meet no other has been taken out.

use num_complex::Complex64;

use crate::numeric::inversion::invert;

/// Tail P(T > t) of the response time of M/D/1-PS.
///
/// With arrival rate l and service D, a newborn in the branching process contributes b = (l+s)/(l + s e^((l+s)D)) to
/// the transform by the time the tagged job ends, as does the tagged job itself; one of those met on arrival, a
/// geometric number with uniform residuals, contributes B = b (l D + s (e^((l+s)D) - 1)/(l+s)) / ((l+s) D). So
/// E\[e^(-sT)\] = b (1-rho)/(1 - rho B).
pub fn response_time_tail(t_s: f64, arrival_rate: f64, service_s: f64) -> f64 {
    let rho = arrival_rate * service_s;
    if t_s < service_s {
        return 1.0;
    }
    if rho >= 1.0 {
        return 1.0;
    }
    // In units of the service: the rate is rho.
    let beyond = t_s / service_s - 1.0;
    let alone = (1.0 - rho) * (-rho).exp();
    if beyond < 1e-9 {
        return 1.0 - alone;
    }
    // The transform of the time beyond D, and of its tail: (1 - f(s)) / s with the atom taken out.
    let transform = |s: Complex64| {
        let sum = s + rho;
        let shrunk = (-s).exp();
        // b e^s, and B, with e^s multiplied out.
        let own = sum / (shrunk * rho + s * rho.exp());
        let met = own * (s * (-shrunk + rho.exp()) / sum + shrunk * rho) / sum;
        own * (1.0 - rho) / (-(met * rho) + 1.0)
    };
    let tail = |s: Complex64| (1.0 - transform(s)) / s;
    invert(beyond, tail).clamp(0.0, 1.0 - alone)
}
