//! The periodogram, its bins, and the estimator that draws a line through it.

use std::f64::consts::{PI, TAU};

use realfft::RealFftPlanner;

use super::plot::LogLog;
use super::{HurstError, Reading};
use crate::measure::CONFIDENCE;

/// Frequencies up to this one have a bin of their own, and from there on bins are 1 / FINEST of their frequency wide.
const FINEST: usize = 2048;
/// Bins of a drawing.
const DRAWN_PER_DECADE: f64 = 24.0;

/// The power of a series at its Fourier frequencies 2 pi j / n strictly between 0 and pi.
///
/// The frequency pi is left out, whose power has another law; so is 0, which is the mean.
pub(super) struct Periodogram {
    /// |sum of x e^(-i lambda t)|^2 / (2 pi n) for j = 1, 2, ...
    power: Vec<f64>,
    /// n.
    points: usize,
}

/// Neighbouring frequencies added up, so that ten million points cost the likelihood no more than ten thousand. Inside a
/// bin of relative width w a density lambda^-a is taken for its value in the middle, which is off by a (a + 1) w^2 / 24:
/// below 1e-7, where ten million points know their own level to 5e-4.
pub(super) struct Bins {
    pub(super) bins: Vec<Bin>,
    /// Fourier frequencies in all bins.
    pub(super) count: f64,
}

/// One of them.
pub(super) struct Bin {
    /// The frequency in cycles per sample, up to 1/2.
    pub(super) x: f64,
    pub(super) ln_x: f64,
    /// Logarithm of 2 sin(lambda / 2).
    pub(super) ln_double_sine: f64,
    /// Fourier frequencies inside.
    pub(super) count: f64,
    /// Sum of their power.
    pub(super) power: f64,
}

impl Periodogram {
    /// Of a series whose mean is 0.
    ///
    /// # Errors
    /// When there is nothing between the frequencies 0 and pi.
    pub(super) fn new(series: &[f64]) -> Result<Periodogram, HurstError> {
        let points = series.len();
        let plan = RealFftPlanner::<f64>::new().plan_fft_forward(points);
        let (mut input, mut transform) = (series.to_vec(), plan.make_output_vec());
        plan.process(&mut input, &mut transform).expect("the vectors have the lengths that the plan asks for");
        drop(input);
        let scale = 1.0 / (TAU * points as f64);
        let power: Vec<f64> = transform[1..=(points - 1) / 2].iter().map(|z| z.norm_sqr() * scale).collect();
        // Of all variance, the part between 0 and pi.
        let between: f64 = power.iter().sum::<f64>() * 2.0 * TAU;
        let all: f64 = series.iter().map(|x| x * x).sum();
        if between > 1e-20 * all { Ok(Periodogram { power, points }) } else { Err(HurstError::Alternating) }
    }

    /// Power at the lowest frequency, the next, and so on.
    pub(super) fn power(&self) -> &[f64] {
        &self.power
    }

    /// The angular frequency of the `j`th, from 1.
    pub(super) fn frequency(&self, j: usize) -> f64 {
        TAU * j as f64 / self.points as f64
    }

    pub(super) fn bins(&self) -> Bins {
        self.bins_as_fine_as(FINEST)
    }

    pub(super) fn bins_as_fine_as(&self, finest: usize) -> Bins {
        let (mut bins, mut first) = (Vec::new(), 1);
        while first <= self.power.len() {
            let last = (first + first / finest).min(self.power.len());
            let x = 0.5 * (first + last) as f64 / self.points as f64;
            bins.push(Bin {
                x,
                ln_x: x.ln(),
                ln_double_sine: (2.0 * (PI * x).sin()).ln(),
                count: (last - first + 1) as f64,
                power: self.power[first - 1..last].iter().sum(),
            });
            first = last + 1;
        }
        Bins { bins, count: self.power.len() as f64 }
    }

    /// Mean power over a bin's frequencies, few enough to draw, up to the `most`th frequency.
    pub(super) fn drawn(&self, most: usize) -> Vec<(f64, f64)> {
        let ratio = 10f64.powf(1.0 / DRAWN_PER_DECADE);
        let (mut drawn, mut first) = (Vec::new(), 1);
        while first <= most.min(self.power.len()) {
            let last = ((first as f64 * ratio) as usize).clamp(first, most.min(self.power.len()));
            let mean = self.power[first - 1..last].iter().sum::<f64>() / (last - first + 1) as f64;
            drawn.push((self.frequency(first).sqrt() * self.frequency(last).sqrt(), mean));
            first = last + 1;
        }
        drawn
    }
}

/// The slope of log power over log frequency among the lowest tenth of the frequencies, 1 - 2 H (Taqqu, Teverovsky and
/// Willinger, Fractals 3(4), 1995). The logarithm of a periodogram scatters with variance pi^2 / 6 about its own, which
/// gives the interval.
pub(super) fn estimate(periodogram: &Periodogram) -> Reading {
    let used = (periodogram.power.len() / 10).max(8).min(periodogram.power.len());
    let point = |j: usize| (periodogram.frequency(j).ln(), periodogram.power[j - 1]);
    let points: Vec<(f64, f64)> = (1..=used).map(point).filter(|(_, power)| *power > 0.0).collect();
    let mut plot = LogLog { x: "frequency (rad)", y: "power", points: periodogram.drawn(usize::MAX), line: Vec::new() };
    if points.len() < 3 {
        return Reading::biased(f64::NAN, BIAS, plot);
    }
    let count = points.len() as f64;
    let center = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - center).powi(2)).sum();
    let slope = points.iter().map(|(x, power)| (x - center) * power.ln()).sum::<f64>() / spread;
    let h = 0.5 * (1.0 - slope);
    let half = 0.5 * super::quantile(CONFIDENCE) * (PI * PI / 6.0 / spread).sqrt();
    let level = points.iter().map(|(_, power)| power.ln()).sum::<f64>() / count;
    let line = |j: usize| {
        let x = periodogram.frequency(j);
        // The mean logarithm of power lies below the logarithm of its mean by Euler's constant.
        (x, (level + 0.577_215_664_901_532_9 + slope * (x.ln() - center)).exp())
    };
    plot.line = vec![line(1), line(used)];
    Reading { h, ci_low: Some(h - half), ci_high: Some(h + half), known_bias: Some(BIAS), plot }
}

const BIAS: &str = "a power law up to a tenth of all frequencies is assumed: short-range dependence moves it, and the \
                    interval does not know";
