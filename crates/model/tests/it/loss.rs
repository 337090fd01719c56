//! Losses are as many, and as correlated, as was asked for.

use sojourn_model::{Loss, LossLaw, LossModel};
use sojourn_stats::Stream;

const PACKETS: usize = 2_000_000;

fn losses(share: f64, correlation: f64, model: LossModel) -> Vec<bool> {
    let mut loss = Loss::new(LossLaw { share, correlation, model }, Stream::new(1, "path", "losses"));
    (0..PACKETS).map(|_| loss.next_is_lost()).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Six standard errors: false alarm 2e-9 each.
#[test]
fn two_states_have_the_share_and_the_correlation() {
    for (asked, correlation) in [(0.02, 0.0), (0.05, 0.5), (0.3, 0.85)] {
        let lost = losses(asked, correlation, LossModel::GilbertElliott);
        let variance = asked * (1.0 - asked);
        let effective = PACKETS as f64 * (1.0 - correlation) / (1.0 + correlation);
        let error = 6.0 * (variance / effective).sqrt();
        assert!((share(&lost) - asked).abs() < error, "{} of {asked} +- {error}", share(&lost));
        // The correlation is how much likelier a packet is lost after a loss than after none.
        let after = |previous: bool| -> Vec<bool> {
            lost.windows(2).filter(|pair| pair[0] == previous).map(|pair| pair[1]).collect()
        };
        let (bad, good) = (after(true), after(false));
        let spread = |lost: &[bool]| share(lost) * (1.0 - share(lost)) / lost.len() as f64;
        let (found, error) = (share(&bad) - share(&good), 6.0 * (spread(&bad) + spread(&good)).sqrt());
        assert!((found - correlation).abs() < error, "correlation {found} of {correlation} +- {error}");
    }
}

/// With a correlation of one half x' is the sum of u / 2^n, whose distribution function is Fabius's: 5/72 at 1/4 (J. Fabius,
/// Zeitschrift fuer Wahrscheinlichkeitstheorie 5, 1966), where a share of 25 % was asked for. Neighbours are correlated, so that
/// 0.005 is more than six standard errors (false alarm below 1e-9).
#[test]
fn the_emulators_recursion_loses_less_than_it_is_told() {
    let found = share(&losses(0.25, 0.5, LossModel::Nistnet));
    assert!((found - 5.0 / 72.0).abs() < 0.005, "{found}");
    // 5 % is almost seven standard deviations from the mean of 1/2.
    assert_eq!(share(&losses(0.05, 0.9, LossModel::Nistnet)), 0.0);
    let independent = share(&losses(0.05, 0.0, LossModel::Nistnet));
    assert!((independent - 0.05).abs() < 1e-3, "{independent}");
}

/// NIST Net averages uniform numbers, and an average is seldom small: what is lost falls below what is asked.
#[test]
fn nist_net_loses_less_the_more_it_correlates() {
    let share = |correlation| share(&losses(0.1, correlation, LossModel::Nistnet));
    // Without correlation it is independent: 0.1, standard error 0.00021, 5 of them.
    assert!((share(0.0) - 0.1).abs() < 5.0 * 0.00021, "{}", share(0.0));
    // Losses in a row have a correlation below that of the numbers, so at most (1 + c) / (1 - c) times the variance.
    for correlation in [0.25, 0.5] {
        let (is, expected) = (share(correlation), nist_net(0.1, correlation));
        let error = (expected / PACKETS as f64 * (1.0 + correlation) / (1.0 - correlation)).sqrt();
        assert!(expected < 0.09 && (is - expected).abs() < 5.5 * error, "{correlation}: {is}, expected {expected}");
    }
    // With 0.85 the numbers have a standard deviation of sqrt(0.15/1.85/12) = 0.082: 0.1 is nearly 5 of them below 1/2.
    assert!(share(0.85) < 0.001, "{}", share(0.85));
}

/// The long-run share of numbers below `share`, from the distribution function that one step leaves as it is: F(x) is the
/// mean of F((x - (1 - c) u) / c) over u.
fn nist_net(share: f64, c: f64) -> f64 {
    const CELLS: usize = 1000;
    let mut f: Vec<f64> = (0..=CELLS).map(|k| k as f64 / CELLS as f64).collect();
    let at = |f: &[f64], x: f64| {
        let place = x.clamp(0.0, 1.0) * CELLS as f64;
        let low = (place as usize).min(CELLS - 1);
        f[low] + (f[low + 1] - f[low]) * (place - low as f64)
    };
    for _ in 0..40 {
        let mean = |x: f64| {
            (0..CELLS).map(|k| at(&f, (x - (1.0 - c) * (k as f64 + 0.5) / CELLS as f64) / c)).sum::<f64>()
                / CELLS as f64
        };
        f = (0..=CELLS).map(|k| mean(k as f64 / CELLS as f64)).collect();
    }
    at(&f, share)
}

#[test]
fn nothing_or_everything_is_lost_where_that_is_asked() {
    for model in [LossModel::GilbertElliott, LossModel::Nistnet] {
        assert_eq!(share(&losses(0.0, 0.5, model)), 0.0);
        assert_eq!(share(&losses(1.0, 0.5, model)), 1.0);
    }
}

/// Each share and each correlation at its ends, and beyond them.
#[test]
fn a_law_of_losses_is_possible_or_not() {
    let is_possible = |share, correlation| LossLaw { share, correlation, ..LossLaw::default() }.is_possible();
    assert!(is_possible(0.0, 0.0) && is_possible(1.0, 0.0) && is_possible(0.5, 0.999));
    for (share, correlation) in [(-0.1, 0.0), (1.1, 0.0), (f64::NAN, 0.0), (0.5, -0.1), (0.5, 1.0)] {
        assert!(!is_possible(share, correlation), "{share}, {correlation}");
    }
    let alone = LossLaw { share: 0.3, correlation: 0.0, model: LossModel::GilbertElliott };
    assert_eq!((LossLaw::independent(0.3), LossLaw::independent(0.0)), (alone, LossLaw::default()));
}
