//! M/M/1 by formula: how mean and tail of the response time grow with the utilisation.

use sojourn_theory::formula::markovian::mm1;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let service_mean_s = 0.010;
    println!("utilisation  mean (ms)  p99 (ms)");
    for utilisation in [0.5, 0.8, 0.9, 0.95, 0.99] {
        let arrival_rate = utilisation / service_mean_s;
        let mean_s = mm1::response_time_mean(arrival_rate, service_mean_s);
        let p99_s = mm1::response_time_quantile(0.99, arrival_rate, service_mean_s);
        println!("{utilisation:11.2} {:10.1} {:9.1}", 1e3 * mean_s, 1e3 * p99_s);
    }
}
