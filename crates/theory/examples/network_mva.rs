//! Mean value analysis: a processor and two disks, from one user to fifty, beside the bounds that need no solution.
//!
//! The demands are those of Jain, The Art of Computer Systems Performance Analysis (1991), example 34.2.

use sojourn_theory::network::bounds::Bounds;
use sojourn_theory::network::{Demands, Serving, mva};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    println!("users  throughput (1/s)  at most (1/s)  response time (s)");
    for users in [1, 2, 5, 10, 20, 50] {
        let network = Demands::single(vec![Serving::cores(1); 3], users, 4.0, vec![2.0, 3.0, 1.0]);
        let steady = mva::exact(&network).expect("stations of one core have a fixed rate");
        let bounds = Bounds::of(&network).expect("it is one closed chain");
        println!(
            "{users:5} {:17.4} {:14.4} {:18.2}",
            steady.throughput[0],
            bounds.throughput_high,
            steady.response_time_mean_s(0)
        );
    }
}
