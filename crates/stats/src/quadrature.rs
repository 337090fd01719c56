//! Integrals of functions that are smooth but for a few kinks and jumps.
//!
//! Gauss-Kronrod with 7 and 15 points (Kronrod 1965; the nodes of QUADPACK, Piessens et al. 1983), a stretch halved where
//! the two differ. Deterministic, no memory, and a jump costs some forty halvings, not the answer. The price: an
//! integrand with a thousand jumps is slow, and one with a spike that no node meets is not seen; [`over_scales`] begins
//! at a width that the caller names, so that the spike at the origin is.

/// Nodes on (0, 1) from the outside in; the last is the middle.
const NODES: [f64; 8] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
    0.0,
];
/// Kronrod's weights of them.
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_55,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_9,
    0.209_482_141_084_727_82,
];
/// Gauss's weights of every second of them.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];
/// Stretches in an integral at most: enough for a dozen jumps, and an end where noise keeps the two rules apart.
const STRETCHES: u32 = 4000;

/// The integral of `f` from `a` to `b`, to a relative error of about `relative` of itself where `f` does not change sign.
pub fn integral(a: f64, b: f64, relative: f64, f: impl Fn(f64) -> f64) -> f64 {
    if a >= b {
        return 0.0;
    }
    let (rough, _) = rule(a, b, &f);
    halved(a, b, relative, relative * rough.abs(), &mut { STRETCHES }, &f)
}

/// The integral of `f` from `a` to `b`, which may be infinite, in stretches that double from `width` on: for functions
/// that change on many scales, and decay. `f` does not change sign. Ends where a stretch adds nothing any more: less than
/// `relative` of the whole by as much as the last ones shrank.
pub fn over_scales(a: f64, b: f64, width: f64, relative: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut width, mut sum, mut before) = (a, width, 0.0f64, f64::INFINITY);
    let mut left = STRETCHES;
    while low < b {
        let high = (low + width).min(b);
        let part = halved(low, high, relative, relative * sum.abs(), &mut left, &f);
        sum += part;
        // What is still to come, if it goes on shrinking as it did.
        let shrinking = (part / before).abs();
        let negligible =
            part == 0.0 || (shrinking < 1.0 && part.abs() * shrinking / (1.0 - shrinking) < relative * sum.abs());
        if (negligible && sum != 0.0 && part.abs() < 1e-3 * sum.abs()) || high == low || !sum.is_finite() {
            break;
        }
        (low, width, before) = (high, 2.0 * width, part);
        if width > 1e300 {
            break;
        }
    }
    sum
}

/// The points of Kronrod's rule on the stretch from `a` to `b`, each with its weight.
pub fn points(a: f64, b: f64) -> impl Iterator<Item = (f64, f64)> {
    let (middle, half) = (a + 0.5 * (b - a), 0.5 * (b - a));
    let below = NODES.iter().zip(&KRONROD).map(move |(node, weight)| (middle - half * node, half * weight));
    let above = NODES.iter().zip(&KRONROD).rev().skip(1);
    below.chain(above.map(move |(node, weight)| (middle + half * node, half * weight)))
}

fn halved(a: f64, b: f64, relative: f64, absolute: f64, left: &mut u32, f: &impl Fn(f64) -> f64) -> f64 {
    let (fine, error) = rule(a, b, f);
    *left = left.saturating_sub(1);
    // Kronrod's error is far below its difference from Gauss's.
    if *left == 0 || error <= absolute || error <= relative * fine.abs() || !fine.is_finite() {
        return fine;
    }
    let middle = a + 0.5 * (b - a);
    if middle <= a || middle >= b {
        return fine;
    }
    halved(a, middle, relative, absolute, left, f) + halved(middle, b, relative, absolute, left, f)
}

/// Kronrod's value and its difference from Gauss's.
fn rule(a: f64, b: f64, f: &impl Fn(f64) -> f64) -> (f64, f64) {
    let (middle, half) = (a + 0.5 * (b - a), 0.5 * (b - a));
    let (mut kronrod, mut gauss) = (0.0, 0.0);
    for (index, (&node, &weight)) in NODES.iter().zip(&KRONROD).enumerate() {
        let value = if node == 0.0 { f(middle) } else { f(middle - half * node) + f(middle + half * node) };
        kronrod += weight * value;
        if index % 2 == 1 {
            gauss += GAUSS[index / 2] * value;
        }
    }
    (half * kronrod, (half * (kronrod - gauss)).abs())
}
