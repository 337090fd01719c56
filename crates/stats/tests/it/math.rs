//! The elementary functions against double-double arithmetic, and what they are at the ends of their ranges.

use std::hint::black_box;

use sojourn_stats::{Stream, math};

/// Points of each range: some six millions in all.
const POINTS: usize = 300_000;

/// A number of some 105 bits (Dekker 1971; products by fused multiply-add, which the library does without).
#[derive(Clone, Copy, Debug)]
struct Double(f64, f64);

const LN_2: Double = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

fn quick(a: f64, b: f64) -> Double {
    let sum = a + b;
    Double(sum, b - (sum - a))
}

fn plus(a: Double, b: Double) -> Double {
    let both = |a: f64, b: f64| {
        let sum = a + b;
        let part = sum - a;
        Double(sum, (a - (sum - part)) + (b - part))
    };
    let (high, low) = (both(a.0, b.0), both(a.1, b.1));
    let sum = quick(high.0, high.1 + low.0);
    quick(sum.0, sum.1 + low.1)
}

fn times(a: Double, b: Double) -> Double {
    let product = a.0 * b.0;
    quick(product, a.0.mul_add(b.0, -product) + (a.0 * b.1 + a.1 * b.0))
}

fn minus(a: Double) -> Double {
    Double(-a.0, -a.1)
}

fn over(a: Double, b: f64) -> Double {
    let first = a.0 / b;
    let second = plus(a, minus(times(Double(first, 0.0), Double(b, 0.0)))).0 / b;
    quick(first, second)
}

fn scaled(a: Double, factor: f64) -> Double {
    Double(a.0 * factor, a.1 * factor)
}

fn whole(x: f64) -> Double {
    Double(x, 0.0)
}

/// e^x - 1 of a small x: Taylor's series of a 2^-12th part, doubled twelve times by (1 + y)^2 - 1 = 2y + y^2.
fn exp_m1(x: Double) -> Double {
    let part = scaled(x, 1.0 / 4096.0);
    let (mut term, mut sum) = (whole(1.0), whole(0.0));
    for k in 1..=12 {
        term = over(times(term, part), f64::from(k));
        sum = plus(sum, term);
    }
    (0..12).fold(sum, |sum, _| plus(scaled(sum, 2.0), times(sum, sum)))
}

/// e^x as a number near 1 and a power of two.
fn exp(x: Double) -> (Double, i32) {
    let k = (x.0 / LN_2.0).round();
    let rest = plus(x, minus(times(LN_2, whole(k))));
    (plus(whole(1.0), exp_m1(rest)), k as i32)
}

/// By two steps of Newton's method from the platform's logarithm.
fn ln(x: f64) -> Double {
    let (normal, mut k) = if x < f64::MIN_POSITIVE { (x * 2f64.powi(64), -64) } else { (x, 0) };
    let mut m = f64::from_bits(normal.to_bits() & ((1 << 52) - 1) | 0x3ff << 52);
    k += (normal.to_bits() >> 52) as i32 - 1023;
    if m > 1.5 {
        (m, k) = (0.5 * m, k + 1);
    }
    let mut y = whole(m.ln());
    for _ in 0..2 {
        let (power, j) = exp(minus(y));
        let off = plus(times(whole(m), scaled(power, 2f64.powi(j))), whole(-1.0));
        y = plus(y, plus(off, scaled(times(off, off), -0.5)));
    }
    plus(times(LN_2, whole(f64::from(k))), y)
}

/// Distance in units in the last place of what is right.
fn ulps(value: f64, right: Double) -> f64 {
    let size = right.0.abs();
    // A power of two has the smaller unit below it.
    let below = right.1 != 0.0 && (right.1 < 0.0) == (right.0 > 0.0) && size.to_bits() << 12 == 0;
    let bits = if below { size.to_bits() - 1 } else { size.to_bits() };
    let unit = f64::from_bits(bits + 1) - f64::from_bits(bits);
    ((value - right.0) - right.1).abs() / unit
}

/// The worst of many points.
fn worst(name: &str, mut point: impl FnMut(&mut Stream) -> (f64, Double)) -> f64 {
    let mut stream = Stream::new(1, "math", name);
    (0..POINTS).fold(0.0, |worst: f64, _| {
        let (value, right) = point(&mut stream);
        worst.max(ulps(value, right))
    })
}

fn between(stream: &mut Stream, low: f64, high: f64) -> f64 {
    low + (high - low) * stream.uniform()
}

/// Any positive number, each exponent as often.
fn any(stream: &mut Stream) -> f64 {
    f64::from_bits(1 + stream.below(0x7fef_ffff_ffff_ffff) as u64)
}

#[test]
fn exponentials_are_off_by_less_than_an_ulp() {
    for (low, high) in [(-0.4, 0.4), (-2.0, 2.0), (-40.0, 40.0), (-700.0, 709.0)] {
        let off = worst("exp", |stream| {
            let x = between(stream, low, high);
            let (power, k) = exp(whole(x));
            (math::exp(x), scaled(power, 2f64.powi(k - 1) * 2.0))
        });
        assert!(off < 0.67, "e^x from {low} to {high}: {off} ulp");
    }
    for high in [1e-9, 1e-3, 1.0, 20.0] {
        let off = worst("exp_m1", |stream| {
            let x = between(stream, -high, high);
            (math::exp_m1(x), exp_m1(whole(x)))
        });
        assert!(off < 0.95, "e^x - 1 up to {high}: {off} ulp");
    }
}

#[test]
fn logarithms_are_off_by_less_than_an_ulp() {
    for (low, high) in [(1e-20, 1.0), (0.5, 2.0), (0.99, 1.01), (1.0, 1e6)] {
        let off = worst("ln", |stream| {
            let x = between(stream, low, high);
            (math::ln(x), ln(x))
        });
        assert!(off < 0.85, "ln from {low} to {high}: {off} ulp");
    }
    let off = worst("ln of any", |stream| {
        let x = any(stream);
        (math::ln(x), ln(x))
    });
    assert!(off < 0.85, "ln of any number: {off} ulp");
    for (low, high) in [(-0.99, 1.0), (-1e-2, 1e-2), (-1e-9, 1e-9), (0.0, 1e3)] {
        let off = worst("ln_1p", |stream| {
            let x = between(stream, low, high);
            let sum = 1.0 + x;
            // ln(1 + x) is ln(sum) and ln(1 + lost / sum).
            let lost = over(if sum >= 2.0 { whole(1.0 - (sum - x)) } else { whole(x - (sum - 1.0)) }, sum);
            (math::ln_1p(x), plus(ln(sum), plus(lost, scaled(times(lost, lost), -0.5))))
        });
        assert!(off < 0.9, "ln(1 + x) from {low} to {high}: {off} ulp");
    }
}

#[test]
fn powers_are_off_by_less_than_an_ulp() {
    let right = |x: f64, y: f64| {
        let (power, k) = exp(times(ln(x), whole(y)));
        scaled(power, 2f64.powi(k - 1) * 2.0)
    };
    for (low, high, most) in [(1e-9, 1.0, 3.0), (0.5, 2.0, 300.0), (0.9, 1.1, 5e3), (1.0, 1e6, 40.0)] {
        let off = worst("pow", |stream| {
            let (x, y) = (between(stream, low, high), between(stream, -most, most));
            (math::pow(x, y), right(x, y))
        });
        assert!(off < 0.67, "x from {low} to {high}: {off} ulp");
    }
    let off = worst("pow of any", |stream| {
        let x = any(stream);
        let y = between(stream, -690.0, 690.0) / x.ln().abs().max(1e-3);
        (math::pow(x, y), right(x, y))
    });
    assert!(off < 0.67, "any number: {off} ulp");
}

/// Where nothing is rounded, or there is no number, they are the platform's.
#[test]
fn ends_of_the_ranges_are_as_usual() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let same = |ours: f64, platform: f64, what: &str| {
        assert!(
            ours.to_bits() == platform.to_bits() || (ours.is_nan() && platform.is_nan()),
            "{what}: {ours} {platform}"
        );
    };
    let numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        inf,
        -inf,
        nan,
        5e-324,
        -5e-324,
        1e-310,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        1e-300,
        709.9,
        -745.2,
        -746.0,
        1e9,
        -1e9,
    ];
    for x in numbers {
        same(math::exp(x), x.exp(), &format!("exp({x})"));
        if x.abs() != 1.0 {
            same(math::exp_m1(x), x.exp_m1(), &format!("exp_m1({x})"));
        }
        same(math::ln_1p(x), x.ln_1p(), &format!("ln_1p({x})"));
        if x != 1e-310 && x != 1e9 {
            same(math::ln(x), x.ln(), &format!("ln({x})"));
        }
        for y in numbers
            .into_iter()
            .filter(|_| x == 0.0 || x >= 1.0 || x.is_nan())
            .filter(|y| y.abs() < 1e-3 || y.abs() >= 1.0)
        {
            // A power of a huge number by a tiny one is near 1 and rounded.
            if x.to_bits() >> 63 == 0 && (x == 0.0 || x == 1.0 || !x.is_finite() || y.abs() > 700.0 || y.fract() == 0.0)
            {
                same(math::pow(x, y), x.powf(y), &format!("{x}^{y}"));
            }
        }
        same(math::pow(-2.0, x), if x == 0.0 { 1.0 } else { nan }, &format!("(-2)^{x}"));
    }
    // The largest exponent, and those whose powers have fewer bits than others.
    same(math::exp(709.782712893384), 709.782712893384f64.exp(), "the largest");
    for x in [-708.5, -720.0, -740.0, -744.0, -745.0] {
        let (ours, platform) = (math::exp(x).to_bits(), x.exp().to_bits());
        assert!(ours.abs_diff(platform) <= 1, "exp({x})");
    }
    same(math::pow(2.0, -1074.0), 5e-324, "2^-1074");
    same(math::pow(10.0, 22.0), 1e22, "10^22");
    same(math::pow(3.0, 33.0), 5_559_060_566_555_523.0, "3^33");
}

type Function = fn(f64) -> f64;
type OfAll = fn(&[f64]) -> Vec<f64>;

/// The same bits one by one and in a loop that is vector code, on this machine and on every other.
#[test]
fn bits_are_pinned() {
    let mut stream = Stream::new(1, "math", "bits");
    let numbers: Vec<f64> = (0..10_000).map(|_| between(&mut stream, -30.0, 30.0)).collect();
    let functions: [(&str, Function, u64); 5] = [
        ("exp", math::exp, 0x9ca7502065c40de8),
        ("exp_m1", math::exp_m1, 0x4361532fdc0852b3),
        ("ln", |x| math::ln(x.abs()), 0x59d7d159aeb00986),
        ("ln_1p", |x| math::ln_1p(x.abs()), 0x15c7a7c26b6aac2b),
        ("pow", |x| math::pow(x.abs(), 1.7), 0xed6803e0a2cf5d7d),
    ];
    let loops: [OfAll; 5] = [
        |all| all.iter().map(|x| math::exp(*x)).collect(),
        |all| all.iter().map(|x| math::exp_m1(*x)).collect(),
        |all| all.iter().map(|x| math::ln(x.abs())).collect(),
        |all| all.iter().map(|x| math::ln_1p(x.abs())).collect(),
        |all| all.iter().map(|x| math::pow(x.abs(), 1.7)).collect(),
    ];
    for ((name, function, pinned), of_all) in functions.into_iter().zip(loops) {
        let one_by_one: Vec<f64> = numbers.iter().map(|x| black_box(function)(*x)).collect();
        let in_a_loop = of_all(&numbers);
        assert!(one_by_one.iter().zip(&in_a_loop).all(|(one, other)| one.to_bits() == other.to_bits()), "{name}");
        // FNV-1a over the bits.
        let hash = one_by_one
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, value| (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(hash, pinned, "{name}: {hash:#018x}");
    }
}
