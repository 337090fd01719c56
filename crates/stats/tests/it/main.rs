//! What the crate promises, one file per behaviour. Statistical tests are seeded and state how often a correct
//! program would fail them over all seeds: at most one in a million each.

#![allow(clippy::disallowed_methods, reason = "what is right is computed by the platform's functions")]

mod amounts;
mod config;
mod coverage;
mod fgn;
mod fits;
mod goodness;
mod histogram;
mod hurst_estimators;
mod hurst_imitations;
mod hurst_input;
mod hurst_spectrum;
mod hurst_whittle;
mod input;
mod intervals;
mod lanes;
mod law_errors;
mod law_quantiles;
mod law_samples;
mod law_shapes;
mod law_text;
mod law_transforms;
mod laws;
mod line;
mod math;
mod moments;
mod nearest;
#[allow(dead_code, reason = "shared by several tests")]
mod noise;
mod parts;
mod quantities;
mod regression;
mod renewal;
mod root;
mod series;
mod streams;
mod tails;
mod time;
mod warm_up;
mod ziggurat;
