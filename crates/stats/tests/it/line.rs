//! Straight lines with intervals.

use sojourn_stats::interval::normal_quantile;
use sojourn_stats::{Line, Stream};

fn normal(stream: &mut Stream) -> f64 {
    normal_quantile(stream.uniform().clamp(1e-12, 1.0 - 1e-12))
}

#[test]
fn a_line_of_the_literature_is_found() {
    // Anscombe, Graphs in statistical analysis, The American Statistician 27 (1973), data set 1: 3.0001 + 0.50009 x,
    // standard errors 1.1247 and 0.1179.
    let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
    let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    let points: Vec<(f64, f64, f64)> = x.iter().zip(&y).map(|(x, y)| (*x, *y, 2.0)).collect();
    let line = Line::fit(&points, 0.95).unwrap();
    let t = 2.262157; // of 9 degrees of freedom
    let near = |found: f64, known: f64| assert!((found - known).abs() < 1e-3 * known.abs(), "{found} is not {known}");
    near(line.intercept, 3.00009);
    near(line.slope, 0.50009);
    near(line.intercept_half_width, t * 1.12475);
    near(line.slope_half_width, t * 0.11791);
    let (at, half) = line.at(0.0);
    near(at, line.intercept);
    near(half, line.intercept_half_width);
    near(line.at(9.0).0, 7.5009);
}

/// 2000 lines: fewer than 93 % or more than 97 % covered have a chance below 1e-4 each; by 5 standard deviations, 1e-6.
#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let mut stream = Stream::new(7, "line", "errors");
    let (mut fixed, mut slope, mut there) = (0, 0, 0);
    for _ in 0..2000 {
        // Errors in proportion to y, and weights that say so.
        let points: Vec<(f64, f64, f64)> = (0..12)
            .map(|k| {
                let x = f64::from(k % 4) * 10.0;
                let truth = 5.0 + 0.5 * x;
                (x, truth * (1.0 + 0.02 * normal(&mut stream)), 1.0 / (truth * truth))
            })
            .collect();
        let line = Line::fit(&points, 0.95).unwrap();
        fixed += i32::from((line.intercept - 5.0).abs() <= line.intercept_half_width);
        slope += i32::from((line.slope - 0.5).abs() <= line.slope_half_width);
        let (at, half) = line.at(15.0);
        there += i32::from((at - 12.5).abs() <= half);
    }
    for covered in [fixed, slope, there] {
        assert!((covered - 1900).abs() < 50, "{covered} of 2000");
    }
}

#[test]
fn points_that_make_no_line_are_refused() {
    let refused = |points: &[(f64, f64, f64)], words: &str| {
        let error = Line::fit(points, 0.95).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&[(1.0, 1.0, 1.0), (2.0, 1.0, 1.0)], "3 points");
    refused(&[(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 2.0, 1.0)], "2 different x");
    refused(&[(1.0, f64::NAN, 1.0), (1.0, 1.0, 1.0), (2.0, 2.0, 1.0)], "no point");
    refused(&[(1.0, 1.0, 0.0), (1.0, 1.0, 1.0), (2.0, 2.0, 1.0)], "no point");
}
