//! The least value of a smooth function of one variable.

/// Where `f` is least between `low` and `high`, to `tolerance`: the least of seven equidistant points, then Brent's
/// search between its neighbours (Algorithms for Minimization without Derivatives, 1973, chapter 5): parabolas through
/// the three best points so far, golden sections where they do not help. An end is approached to `tolerance`.
pub(super) fn minimum(low: f64, high: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    const POINTS: usize = 7;
    let at = |i: usize| low + (high - low) * i as f64 / (POINTS - 1) as f64;
    let values: Vec<f64> = (0..POINTS).map(|i| f(at(i))).collect();
    let least = (0..POINTS).min_by(|i, j| values[*i].total_cmp(&values[*j])).expect("there are seven points");
    brent(at(least.saturating_sub(1)), at((least + 1).min(POINTS - 1)), tolerance, f)
}

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

fn brent(low: f64, high: f64, tolerance: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    /// (3 - sqrt 5) / 2.
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    const MOST_STEPS: usize = 200;
    let (mut low, mut high) = (low, high);
    let first = low + GOLDEN * (high - low);
    let mut best = Point { x: first, y: f(first) };
    let (mut second, mut third) = (best, best);
    // The last step and the one before it: parabolas must shrink their steps by half every second time.
    let (mut step, mut step_before) = (0.0f64, 0.0f64);
    for _ in 0..MOST_STEPS {
        let middle = 0.5 * (low + high);
        if (best.x - middle).abs() + 0.5 * (high - low) <= 2.0 * tolerance {
            break;
        }
        let parabolic = vertex(best, second, third).map(|x| x - best.x).filter(|to| {
            let target = best.x + to;
            to.abs() < 0.5 * step_before.abs() && target > low + tolerance && target < high - tolerance
        });
        step_before = step;
        step = parabolic.unwrap_or_else(|| {
            let side = if best.x < middle { high - best.x } else { low - best.x };
            step_before = side;
            GOLDEN * side
        });
        let x = best.x + if step.abs() >= tolerance { step } else { tolerance.copysign(step) };
        let tried = Point { x, y: f(x) };
        if tried.y <= best.y {
            if tried.x < best.x {
                high = best.x
            } else {
                low = best.x
            }
            (third, second, best) = (second, best, tried);
        } else {
            if tried.x < best.x {
                low = tried.x
            } else {
                high = tried.x
            }
            if tried.y <= second.y || second.x == best.x {
                (third, second) = (second, tried);
            } else if tried.y <= third.y || third.x == best.x || third.x == second.x {
                third = tried;
            }
        }
    }
    best.x
}

/// Where the parabola through three points has its vertex; none where they do not make one.
fn vertex(a: Point, b: Point, c: Point) -> Option<f64> {
    let (left, right) = ((a.x - b.x) * (a.y - c.y), (a.x - c.x) * (a.y - b.y));
    let denominator = 2.0 * (left - right);
    let x = a.x - ((a.x - b.x) * left - (a.x - c.x) * right) / denominator;
    (denominator != 0.0 && x.is_finite()).then_some(x)
}

#[cfg(test)]
mod tests {
    use super::minimum;

    #[test]
    fn a_minimum_is_found_inside_at_an_end_and_beside_a_higher_one() {
        let mut calls = 0;
        let count = |x: f64| {
            calls += 1;
            (x - 0.3).powi(2) + (x - 0.3).powi(4)
        };
        assert!((minimum(0.0, 1.0, 1e-8, count) - 0.3).abs() < 1e-7);
        assert!(calls < 25, "{calls} calls");
        assert!((minimum(0.0, 1.0, 1e-8, |x| -x) - 1.0).abs() < 1e-6);
        assert!(minimum(0.0, 1.0, 1e-8, |x| x.exp()) < 1e-6);
        assert!((minimum(0.0, 10.0, 1e-8, |x| (1.3 * x).cos() + 0.1 * x) - 2.36).abs() < 0.02);
        assert!((minimum(0.0, 1.0, 1e-8, |x| (x - 0.71).abs()) - 0.71).abs() < 1e-6);
    }
}
