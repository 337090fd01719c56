//! The formulas against published numbers, and against chains solved numerically.

mod approximations;
mod cache;
mod chain;
mod closed_and_finite;
mod disciplines;
mod erlang;
mod file_nodes;
mod finite_fcfs;
mod kendall;
mod limited_ps;
mod naive;
mod network;
mod network_file;
mod oracle;
mod percentiles;
mod phase_lps;
mod published;
mod renewal;
mod single_server;
mod storm;
mod system;
mod tails;
mod tcp;

/// Asserts that `got` is `printed` to the digits printed: half a unit of its last digit.
#[track_caller]
fn printed(got: f64, printed: &str) {
    let wanted: f64 = printed.parse().unwrap();
    let digits = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let half = 0.5000001 * 10f64.powi(-digits);
    assert!((got - wanted).abs() <= half, "{got} is not {printed}");
}

/// Asserts that two ways to the same number agree to `relative`.
#[track_caller]
fn agree(got: f64, wanted: f64, relative: f64) {
    assert!((got - wanted).abs() <= relative * wanted.abs(), "{got} is not {wanted}");
}
