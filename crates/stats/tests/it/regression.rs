//! Polynomials by least squares.

use sojourn_stats::Stream;
use sojourn_stats::regression::{Fit, polynomial};

/// One loner sigma of Zhang's tables.
struct Published {
    /// Users, measured and predicted delay (s): Table 4.4.
    delays: Vec<(f64, f64, f64)>,
    /// Table 4.5, for up to 140 users.
    light: [f64; 5],
    /// Table 4.6, for more.
    heavy: [f64; 3],
}

fn published() -> Vec<Published> {
    let text = include_str!("../data/zhang_2002_table_4_4.csv");
    let rows = text.lines().filter(|line| !line.starts_with(['#', 's']));
    let rows: Vec<Vec<f64>> = rows.map(|row| row.split(',').map(|word| word.parse().unwrap()).collect()).collect();
    let of = |sigma: f64, light, heavy| Published {
        delays: rows.iter().filter(|row| row[0] == sigma).map(|row| (row[1], row[2], row[3])).collect(),
        light,
        heavy,
    };
    vec![
        of(1.143, [1.206e-2, 2.046e-3, -4.154e-5, 3.428e-7, 4.554e-10], [-2.177, 2.165e-2, -5.327e-7]),
        of(1.7145, [2.122e-2, 4.992e-4, 3.282e-5, -4.828e-7, 4.127e-9], [-2.071, 2.368e-2, -1.710e-6]),
        of(2.5, [5.034e-2, 2.445e-3, -7.504e-5, 1.390e-6, -1.636e-9], [-1.746, 2.869e-2, -3.993e-6]),
    ]
}

fn at(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The measurements are printed in ms, so his inputs were within 0.5 ms of ours and his predictions are rounded by as
/// much again. A least-squares fit takes inputs off by at most e to outputs off by at most e times the sum of the hat
/// matrix's row in absolute values, here at most 1.70.
#[test]
fn his_light_load_curves_are_least_squares_fits_of_his_measurements() {
    for sigma in published() {
        let points: Vec<(f64, f64)> =
            sigma.delays.iter().filter(|row| row.0 <= 140.0).map(|row| (row.0, row.1)).collect();
        let fit = polynomial(&points, 4).unwrap();
        for (users, _, predicted) in sigma.delays.iter().filter(|row| row.0 <= 140.0) {
            assert!((fit.at(*users) - predicted).abs() < 0.5e-3 * 2.7, "{users} users: {}", fit.at(*users));
            assert!((at(&sigma.light, *users) - predicted).abs() < 1e-3);
        }
    }
}

/// Above 140 users no selection of his points gives his coefficients by least squares; but they are what his own
/// predictions lie on, to the rounding of those (0.5 ms times at most 1.65, as above).
#[test]
fn his_heavy_load_predictions_lie_on_his_polynomials() {
    for sigma in published() {
        let heavy = || sigma.delays.iter().filter(|row| row.0 > 140.0);
        let points: Vec<(f64, f64)> = heavy().map(|row| (row.0, row.2)).collect();
        let fit = polynomial(&points, 2).unwrap();
        assert!(fit.residual_rms < 0.5e-3 && fit.r_squared > 1.0 - 1e-8, "{fit:?}");
        for (users, _, _) in heavy() {
            // His coefficients have four digits: at 960 users that is 6 ms.
            let rounding = 0.5e-3 + 0.5e-5 * users + 0.5e-9 * users * users;
            let off = (at(&sigma.heavy, *users) - fit.at(*users)).abs();
            assert!(off < rounding + 0.5e-3 * 1.65, "{users} users: {off}");
        }
        // Nothing of degree 2 is nearer to the measurements than the fit of them.
        let measured: Vec<(f64, f64)> = heavy().map(|row| (row.0, row.1)).collect();
        let own = polynomial(&measured, 2).unwrap();
        let squares: f64 = measured.iter().map(|(x, y)| (at(&sigma.heavy, *x) - y).powi(2)).sum();
        assert!(own.residual_rms < (squares / measured.len() as f64).sqrt());
    }
}

#[test]
fn a_polynomial_is_found_again() {
    let exact = [3.0, -2.0, 0.5, 1e-3, -2e-5, 3e-7];
    let points: Vec<(f64, f64)> = (0..40).map(|x| (f64::from(x) * 5.0, at(&exact, f64::from(x) * 5.0))).collect();
    let fit = polynomial(&points, 5).unwrap();
    for (found, exact) in fit.coefficients.iter().zip(exact) {
        assert!((found / exact - 1.0).abs() < 1e-9, "{found} for {exact}");
    }
    assert!(fit.r_squared > 1.0 - 1e-14 && fit.residual_rms < 1e-6);
    for (x, y) in points {
        assert!((fit.at(x) - y).abs() < 1e-8 * y.abs().max(1.0));
    }
}

/// Degree 12 on 1 to 960, where the powers of x alone span 36 orders of magnitude.
#[test]
fn high_degrees_stay_exact() {
    let points: Vec<(f64, f64)> = (1..=200).map(|x| (f64::from(x) * 4.8, (f64::from(x) * 0.02).sin())).collect();
    let mut last = f64::INFINITY;
    for degree in [2, 4, 6, 8, 10, 12] {
        let fit = polynomial(&points, degree).unwrap();
        assert!(fit.residual_rms < last, "degree {degree}: {}", fit.residual_rms);
        last = fit.residual_rms;
    }
    assert!(last < 1e-7, "{last}");
}

/// The normal equations, in other words: the residuals carry no power of x up to the degree.
#[test]
fn residuals_are_orthogonal_to_what_was_fitted() {
    let mut stream = Stream::new(1, "test", "noise");
    let points: Vec<(f64, f64)> = (0..100).map(|x| (f64::from(x) / 100.0, stream.uniform())).collect();
    let fit: Fit = polynomial(&points, 3).unwrap();
    for power in 0..=3 {
        let sum: f64 = points.iter().map(|(x, y)| (y - fit.at(*x)) * x.powi(power)).sum();
        assert!(sum.abs() < 1e-11, "x^{power}: {sum}");
    }
    let rms = (points.iter().map(|(x, y)| (y - fit.at(*x)).powi(2)).sum::<f64>() / 100.0).sqrt();
    assert!((fit.residual_rms / rms - 1.0).abs() < 1e-12);
}

#[test]
fn constants_and_lines() {
    let fit = polynomial(&[(5.0, 2.0)], 0).unwrap();
    assert_eq!((fit.coefficients, fit.residual_rms, fit.r_squared), (vec![2.0], 0.0, 1.0));
    let fit = polynomial(&[(1.0, 1.0), (1.0, 3.0), (3.0, 6.0)], 1).unwrap();
    assert!((fit.coefficients[0]).abs() < 1e-14 && (fit.coefficients[1] - 2.0).abs() < 1e-14);
}

#[test]
fn too_few_points_are_refused() {
    let message = |points: &[(f64, f64)], degree| polynomial(points, degree).unwrap_err().to_string();
    assert_eq!(
        message(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 2),
        "a polynomial of degree 2 needs points at 3 different x, and there are 2"
    );
    assert_eq!(message(&[], 0), "a polynomial of degree 0 needs points at 1 different x, and there are 0");
    assert_eq!(message(&[(1.0, f64::NAN)], 0), "the point (1, NaN) is not finite");
}
