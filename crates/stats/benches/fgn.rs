//! What do 2^24 points of fractional Gaussian noise cost, in Fourier transforms of that length by the same library? At
//! most three, like with like: a path of a plan that is there against a transform whose plan is there, and a first call,
//! with its plan, eigenvalues and memory, against a first transform with its own.
//!
//! `cargo bench --profile dev -p sojourn-stats --bench fgn`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use sojourn_stats::{Fgn, Stream};

const POINTS: usize = 1 << 24;
const MOST: f64 = 3.0;
const ROUNDS: usize = 5;

#[allow(clippy::print_stdout, reason = "a bench answers on the terminal")]
fn main() {
    let mut stream = Stream::new(1, "bench", "fgn");
    let first = best(|| Transform::new().run(), || drop(black_box(noise().path(&mut stream))));
    let (mut transform, mut fgn) = (Transform::new(), noise());
    let planned = best(|| transform.run(), || drop(black_box(fgn.path(&mut stream))));
    println!("{:<36}{:>9}{:>9}{:>7}", "2^24 points", "FFT", "fGn", "ratio");
    for (name, (transform_s, path_s)) in [("first call, with the plan", first), ("planned before", planned)] {
        let ratio = path_s / transform_s;
        println!("{name:<36}{:>6.0} ms{:>6.0} ms{ratio:>7.2}", transform_s * 1e3, path_s * 1e3);
        assert!(ratio <= MOST, "the limit of {MOST} transforms is missed");
    }
    println!("fGn: {:.1} million points/s", POINTS as f64 / planned.1 / 1e6);
}

/// Seconds that one and the other take, each in its best round, in turns, so that both meet the same machine.
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn best(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let time_s = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).fold((f64::INFINITY, f64::INFINITY), |(a, b), _| (a.min(time_s(&mut one)), b.min(time_s(&mut other))))
}

fn noise() -> Fgn {
    Fgn::new(0.8, POINTS).expect("0.8 is a Hurst parameter")
}

/// A complex transform, planned, with its memory.
struct Transform {
    fft: Arc<dyn Fft<f64>>,
    numbers: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Transform {
    fn new() -> Transform {
        let fft = FftPlanner::new().plan_fft_forward(POINTS);
        let scratch = vec![Complex::ZERO; fft.get_inplace_scratch_len()];
        // An impulse, whose transform and the transform of that neither grow without limit nor vanish.
        let mut numbers = vec![Complex::ZERO; POINTS];
        numbers[1] = Complex::new(1.0, 0.0);
        Transform { fft, numbers, scratch }
    }

    fn run(&mut self) {
        self.fft.process_with_scratch(&mut self.numbers, &mut self.scratch);
    }
}
