//! Every law's draws against its distribution function, and its moments against the integral of its survival function.

use sojourn_stats::{Dimension, Law, Moments, Stream};

use crate::laws::{all, parsed};

const DRAWS: usize = 200_000;

fn draws(law: &Law, purpose: &str) -> Vec<f64> {
    let mut stream = Stream::new(1, "law", purpose);
    (0..DRAWS).map(|_| law.sample(&mut stream)).collect()
}

/// By the Dvoretzky-Kiefer-Wolfowitz inequality (Massart 1990) the empirical distribution function of n draws of any
/// law is farther than sqrt(ln(2/q)/(2n)) from the true one with chance at most q, here 1e-8 per law (some 60 laws).
#[test]
fn draws_follow_the_distribution_function() {
    let allowed = ((2.0 / 1e-8f64).ln() / (2.0 * DRAWS as f64)).sqrt();
    for (text, law) in all() {
        let mut draws = draws(&law, &text);
        draws.sort_by(f64::total_cmp);
        let (low, high) = law.limits();
        assert!(draws[0] >= low && draws[DRAWS - 1] <= high, "{text}: a draw outside of {low} to {high}");
        for at in (0..DRAWS).step_by(199) {
            let share = draws.partition_point(|draw| *draw <= draws[at]) as f64 / DRAWS as f64;
            let off = (share - law.cdf(draws[at])).abs();
            assert!(off < allowed, "{text}: P(X <= {}) is {} but {share} of the draws", draws[at], law.cdf(draws[at]));
        }
    }
}

/// 6 sigma two-sided (2e-9) per law that has four moments. The heavier tails have too slow a central limit; they
/// rest on the two other tests.
#[test]
fn draws_have_the_mean_and_variance() {
    for (text, law) in all() {
        if ["pareto", "lognormal", "hyperexponential", "weibull(shape = 0", "cv = 2", "0.07"]
            .iter()
            .any(|heavy| text.contains(heavy))
        {
            continue;
        }
        let draws = draws(&law, &text);
        let moments: Moments = draws.iter().copied().collect();
        let n = DRAWS as f64;
        let allowed = 6.0 * (law.variance() / n).sqrt() + 1e-12 * law.mean();
        assert!((moments.mean() - law.mean()).abs() <= allowed, "{text}: mean {} drawn {}", law.mean(), moments.mean());
        let fourth = draws.iter().map(|draw| (draw - law.mean()).powi(4)).sum::<f64>() / n;
        let allowed = 6.0 * ((fourth - law.variance().powi(2)).max(0.0) / n).sqrt() + 1e-4 * law.variance();
        let off = (moments.variance() - law.variance()).abs();
        assert!(off <= allowed, "{text}: variance {} drawn {}", law.variance(), moments.variance());
    }
}

/// E[X^k] is the integral of k x^(k-1) P(X > x): midpoint rule on a logarithmic axis. Where the survival function
/// jumps the rule is off by half a step (3e-5 of that jump's place).
#[test]
fn moments_are_those_of_the_survival_function() {
    const STEP: f64 = 6e-5;
    for (text, law) in all() {
        let (low, high) = law.limits();
        let from = if low > 0.0 { low } else { law.mean() * 1e-14 };
        let most = if high.is_finite() { high } else { law.mean() * 1e30 };
        let (mut mean, mut square) = (from, from * from);
        let mut edge = from;
        while edge < most {
            let next = (edge * (1.0 + STEP)).min(most);
            let middle = 0.5 * (edge + next);
            let survival = law.survival(middle);
            mean += (next - edge) * survival;
            square += (next - edge) * 2.0 * middle * survival;
            edge = next;
            if survival < 1e-300 {
                break;
            }
        }
        let off = (mean / law.mean() - 1.0).abs();
        assert!(off < 1e-4, "{text}: mean {} but the integral is {mean}", law.mean());
        let second = law.variance() + law.mean() * law.mean();
        let off = (square / second - 1.0).abs();
        assert!(off < 2e-4, "{text}: second moment {second} but the integral is {square}");
    }
}

#[test]
fn survival_and_distribution_function_add_up() {
    for (text, law) in all() {
        for factor in [0.0, 1e-3, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 100.0] {
            let x = factor * law.mean();
            let sum = law.cdf(x) + law.survival(x);
            assert!((sum - 1.0).abs() < 1e-12, "{text} at {x}: {sum}");
        }
        assert_eq!(law.cdf(-1.0), 0.0, "{text}");
        assert!((law.cdf(law.limits().1) - 1.0).abs() < 1e-12, "{text}");
    }
}

/// Closed forms found elsewhere, to the digits printed there.
#[test]
fn published_moments() {
    // Bounded Pareto of alpha 1.1 and max/min = 10^4: mean 6.621085 min, squared coefficient of variation 109.97.
    let heavy = parsed("bounded-pareto(alpha = 1.1, min = 1, max = 10000)", Dimension::Number);
    assert!((heavy.mean() - 6.621085).abs() < 5e-7, "{}", heavy.mean());
    assert!((heavy.scv() - 109.97).abs() < 5e-3, "{}", heavy.scv());
    let heavy = parsed("bounded-pareto(alpha = 1.5, min = 1, max = 10000)", Dimension::Number);
    assert!((heavy.scv() - 32.67).abs() < 5e-3, "{}", heavy.scv());
    // Normal given X >= 0 at mean 0+: the half-normal law has mean sd sqrt(2/pi) and variance sd^2 (1 - 2/pi).
    let half = parsed("normal(mean = 0.000000000001, sd = 1)", Dimension::Number);
    assert!((half.mean() - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-9);
    assert!((half.variance() - (1.0 - 2.0 / std::f64::consts::PI)).abs() < 1e-9);
    // Weibull of shape 2 is Rayleigh: mean sqrt(pi)/2, variance 1 - pi/4.
    let rayleigh = parsed("weibull(shape = 2, scale = 1)", Dimension::Number);
    assert!((rayleigh.mean() - std::f64::consts::PI.sqrt() / 2.0).abs() < 1e-14);
    assert!((rayleigh.variance() - (1.0 - std::f64::consts::PI / 4.0)).abs() < 1e-13);
    // The sum of 1/r for r = 1 to 10^6 is 14.392726722865724 (OEIS A001008/A002805), so Zipf's mean is 10^6 over it.
    let zipf = parsed("zipf(n = 1000000, s = 1)", Dimension::Number);
    assert!((zipf.mean() * 14.392726722865724 / 1e6 - 1.0).abs() < 1e-13, "{}", zipf.mean());
}

#[test]
fn infinite_moments_are_said() {
    let moments = |text: &str| {
        let law = parsed(text, Dimension::Size);
        (law.mean(), law.variance(), law.scv())
    };
    let forever = f64::INFINITY;
    assert_eq!(moments("pareto(alpha = 1, min = 1 kB)"), (forever, forever, forever));
    assert_eq!(moments("mix(0.5: 1 kB, 0.5: pareto(alpha = 0.9, min = 1 kB))"), (forever, forever, forever));
    let (mean, variance, scv) = moments("pareto(alpha = 2, min = 1 kB)");
    assert!((mean - 2000.0).abs() < 1e-9 && variance == forever && scv == forever);
    let (mean, variance, _) = moments("mix(0.5: 1 kB, 0.5: pareto(alpha = 1.5, min = 1 kB))");
    assert!((mean - 2000.0).abs() < 1e-9 && variance == forever);
    assert_eq!(parsed("0 s", Dimension::Time).scv(), 0.0);
}

#[test]
fn only_exponentials_are_exponential() {
    let yes = [
        "exponential(mean = 1 s)",
        "erlang(k = 1, mean = 1 s)",
        "gamma(mean = 1 s, cv = 1)",
        "weibull(shape = 1, mean = 1 s)",
        "hyperexponential(mean = 1 s, cv = 1)",
    ];
    let no = [
        "1 s",
        "erlang(k = 2, mean = 1 s)",
        "exponential(mean = 1 s, cap = 9 s)",
        "exponential(mean = 1 s, max = 9 s)",
    ];
    for text in yes {
        assert!(parsed(text, Dimension::Time).is_exponential(), "{text}");
    }
    for text in no {
        assert!(!parsed(text, Dimension::Time).is_exponential(), "{text}");
    }
}
