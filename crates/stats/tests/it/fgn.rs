//! Fractional Gaussian noise has the covariance it is defined by, from the circulant and from the recursion alike.

use sojourn_stats::fgn::{Fgn, FgnError, autocovariance, hosking};
use sojourn_stats::goodness::kolmogorov;
use sojourn_stats::renewal::dependence;
use sojourn_stats::{Moments, Stream};
use statrs::function::erf::erfc;

fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

fn stream(purpose: &str) -> Stream {
    Stream::new(1, "fgn", purpose)
}

fn paths(h: f64, n: usize, count: usize) -> Vec<Vec<f64>> {
    let mut fgn = Fgn::new(h, n).unwrap();
    let mut stream = stream(&format!("{h} {n}"));
    (0..count).map(|_| fgn.path(&mut stream)).collect()
}

/// Paths made white by the inverse of the covariance matrix's Cholesky factor: independent standard normals if and only if
/// the covariances are those of the definition.
struct Whitener(Vec<Vec<f64>>);

impl Whitener {
    fn new(h: f64, n: usize) -> Whitener {
        let mut factor = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
                let rest: f64 = autocovariance(h, i - j) - known;
                factor[i][j] = if i == j { rest.sqrt() } else { rest / factor[j][j] };
            }
        }
        Whitener(factor)
    }

    fn whiten(&self, path: &[f64]) -> Vec<f64> {
        let mut white: Vec<f64> = Vec::new();
        for (row, point) in self.0.iter().zip(path) {
            let known: f64 = row.iter().zip(&white).map(|(weight, new)| weight * new).sum();
            white.push((point - known) / row[white.len()]);
        }
        white
    }
}

/// Six digits from the definition.
#[test]
fn autocovariances_are_the_known_ones() {
    for (h, lags) in [
        (0.7, [0.319508, 0.070389, 0.017667]),
        (0.8, [0.515717, 0.191181, 0.076075]),
        (0.9, [0.741101, 0.454380, 0.286638]),
    ] {
        for (lag, known) in [1, 10, 100].into_iter().zip(lags) {
            let found = autocovariance(h, lag);
            assert!((found - known).abs() < 6e-7, "H = {h}, lag {lag}: {found} for {known}");
        }
    }
    assert!((1..100_000).all(|lag| autocovariance(0.5, lag) == 0.0), "0.5 is independence, exactly");
}

/// The mean of m points has the variance m^(2H - 2): every lag up to m is in that sum, far ones too.
#[test]
fn sums_are_self_similar() {
    for h in [0.05, 0.3, 0.5, 0.6, 0.75, 0.9, 0.99] {
        for m in [2usize, 7, 8, 100, 4096, 200_000] {
            let lags = (1..m).map(|lag| (m - lag) as f64 * autocovariance(h, lag));
            let sum = m as f64 + 2.0 * lags.sum::<f64>();
            let known = (m as f64).powf(2.0 * h);
            assert!(
                (sum / known - 1.0).abs() < 1e-8 * (m as f64 / known).max(1.0),
                "H = {h}, {m} points: {sum} for {known}"
            );
        }
    }
}

/// Whitened by the covariance of the definition, paths are independent standard normals. False alarm: 1e-8 for each of
/// two tests (Dvoretzky-Kiefer-Wolfowitz; correlation and dispersion) of each of ten sets.
#[test]
fn paths_have_the_covariance_of_the_definition() {
    for h in [0.1, 0.5, 0.7, 0.8, 0.95] {
        // A length that fits its circulant, and one that does not.
        for n in [128, 77] {
            let whitener = Whitener::new(h, n);
            let white: Vec<Vec<f64>> = paths(h, n, 400).iter().map(|path| whitener.whiten(path)).collect();
            independent_normals(&white, &format!("H = {h}, {n} points"));
        }
    }
}

/// The same of the recursion. False alarm: as above, for three sets.
#[test]
fn the_recursion_has_the_same_covariance() {
    for h in [0.3, 0.8, 0.95] {
        let mut stream = stream(&format!("hosking {h}"));
        let whitener = Whitener::new(h, 100);
        let white: Vec<Vec<f64>> = (0..400).map(|_| whitener.whiten(&hosking(h, 100, &mut stream))).collect();
        independent_normals(&white, &format!("H = {h}"));
    }
}

fn independent_normals(white: &[Vec<f64>], what: &str) {
    let fit = kolmogorov(&white.concat(), normal_cdf);
    assert!(fit.p_value > 1e-8, "{what}: {fit:?}");
    let found = dependence(white, 1e-8).unwrap();
    assert!(found.correlation.abs() < found.correlation_limit, "{what}: {found:?}");
    assert!(found.dispersions.iter().all(|sum| (sum.low..sum.high).contains(&sum.ratio)), "{what}: {found:?}");
    // Point by point: the mean square of each is 1 (variance 2 / count).
    for at in 0..white[0].len() {
        let squares: Moments = white.iter().map(|path| path[at] * path[at]).collect();
        let off = (squares.mean() - 1.0) / (2.0 / white.len() as f64).sqrt();
        // The chi-squared law of 400 degrees is skewed: beyond 8 of its deviations lies less than 1e-11 of it.
        assert!(off.abs() < 8.0, "{what}: point {at} has the mean square {}", squares.mean());
    }
}

/// The largest lags of a long path: the mean of a whole path is normal with variance n^(2H - 2). False alarm: 1e-8 for
/// each of three.
#[test]
fn whole_paths_sum_up_as_they_should() {
    for h in [0.2, 0.8, 0.95] {
        let n = 3000;
        let mean = |path: Vec<f64>| path.iter().sum::<f64>() / n as f64 / (n as f64).powf(h - 1.0);
        let means: Vec<f64> = paths(h, n, 1000).into_iter().map(mean).collect();
        let fit = kolmogorov(&means, normal_cdf);
        assert!(fit.p_value > 1e-8, "H = {h}: {fit:?}");
    }
}

/// Lags of a path that is long enough for the shortened way to its covariances. The sum of the products at one lag
/// over a path has no simple variance: it is taken from 200 paths. False alarm: below 1e-8 for each of four (Student's t with 199
/// degrees of freedom beyond 7 is 4e-11; the means of products over 10,000 points are near normal).
#[test]
fn far_lags_are_right_too() {
    let (h, n) = (0.8, 20_000);
    let paths = paths(h, n, 200);
    for lag in [1, 10, 5000, 9000] {
        let products: Moments = paths
            .iter()
            .map(|path| path.iter().zip(&path[lag..]).map(|(x, y)| x * y).sum::<f64>() / (n - lag) as f64)
            .collect();
        let off = (products.mean() - autocovariance(h, lag)) / (products.variance() / 200.0).sqrt();
        assert!(off.abs() < 7.0, "lag {lag}: {} for {}", products.mean(), autocovariance(h, lag));
    }
}

#[test]
fn every_length_has_paths_and_the_same_stream_gives_the_same() {
    for n in (1..40).chain([97, 1009, 4096]) {
        let path = paths(0.7, n, 1).remove(0);
        assert_eq!(path.len(), n);
        assert!(path.iter().all(|point| point.is_finite()));
        assert_eq!(path, paths(0.7, n, 1).remove(0));
    }
    let two = paths(0.7, 64, 2);
    assert_ne!(two[0], two[1]);
    assert_eq!(hosking(0.7, 0, &mut stream("none")), [] as [f64; 0]);
}

/// One path does not tell of the next. False alarm: 5e-9 (the mean of 2,000 products of independent means of paths,
/// each of variance 1 but for their scale; beyond 6 deviations, with what the products' long tails add).
#[test]
fn paths_of_one_plan_are_independent() {
    let paths = paths(0.9, 64, 4000);
    let mean = |path: &[f64]| path.iter().sum::<f64>() / 64.0 / 64f64.powf(-0.1);
    let products: f64 = paths.chunks_exact(2).map(|pair| mean(&pair[0]) * mean(&pair[1])).sum();
    assert!((products / 2000f64.sqrt()).abs() < 6.5, "{products}");
}

#[test]
fn impossible_noise_is_refused() {
    for h in [0.0, 1.0, -0.2, 1.2, f64::NAN, f64::INFINITY] {
        let error = Fgn::new(h, 10).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("above 0 and below 1") && !text.contains('\n'), "{text}");
    }
    assert_eq!(Fgn::new(0.8, 0).unwrap_err(), FgnError::Length(0));
    assert!(Fgn::new(0.8, usize::MAX).unwrap_err().to_string().contains("points"));
}
