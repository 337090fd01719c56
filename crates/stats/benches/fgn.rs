//! What does a path of 2^24 points of fractional Gaussian noise cost, in Fourier transforms of that length by the same
//! library? At most three; a plan with its eigenvalues, which serves any number of paths, is shown beside it.
//!
//! `cargo bench --profile dev -p sojourn-stats --bench fgn`

use std::time::Instant;

use realfft::num_complex::Complex;
use rustfft::FftPlanner;
use sojourn_stats::{Fgn, Stream};

const POINTS: usize = 1 << 24;
const MOST: f64 = 3.0;
const ROUNDS: usize = 5;

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads the clock and answers on the terminal"
)]
fn main() {
    let mut stream = Stream::new(1, "bench", "fgn");
    let transform = FftPlanner::<f64>::new().plan_fft_forward(POINTS);
    let mut numbers: Vec<Complex<f64>> =
        (0..POINTS).map(|_| Complex::new(stream.uniform() - 0.5, stream.uniform() - 0.5)).collect();
    let mut scratch = vec![Complex::ZERO; transform.get_inplace_scratch_len()];
    let start = Instant::now();
    let mut fgn = Fgn::new(0.8, POINTS).expect("0.8 is a Hurst parameter");
    let plan_s = start.elapsed().as_secs_f64();
    let (mut transform_s, mut path_s) = (f64::INFINITY, f64::INFINITY);
    // In turns, so that both meet the same machine.
    for _ in 0..ROUNDS {
        let start = Instant::now();
        transform.process_with_scratch(&mut numbers, &mut scratch);
        transform_s = transform_s.min(start.elapsed().as_secs_f64());
        // Growing numbers would end as infinities.
        numbers.iter_mut().for_each(|number| *number *= 1.0 / (POINTS as f64).sqrt());
        let start = Instant::now();
        let path = fgn.path(&mut stream);
        path_s = path_s.min(start.elapsed().as_secs_f64());
        assert_eq!(path.len(), POINTS);
    }
    let ratio = path_s / transform_s;
    println!("FFT of 2^24 complex points: {:.0} ms", transform_s * 1e3);
    println!("fGn, a path of 2^24 points: {:.0} ms, {ratio:.2} FFTs (limit {MOST})", path_s * 1e3);
    println!("fGn, the plan: {:.0} ms, {:.2} FFTs", plan_s * 1e3, plan_s / transform_s);
    println!("fGn: {:.1} million points/s", POINTS as f64 / path_s / 1e6);
    assert!(ratio <= MOST, "the limit is missed");
}
