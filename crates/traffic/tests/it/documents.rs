//! Documents with Zipf popularity.

use sojourn_stats::{Dimension, Law};
use sojourn_traffic::{Sizes, Workload};

use crate::support::{first, open};

const TEXT: &str = "documents(n = 200, zipf = 0.9, size = lognormal(mean = 10 kB, cv = 2))";

#[test]
fn popularity_and_sizes_are_what_they_say() {
    let Sizes::Documents(set) = Sizes::parse(TEXT).unwrap() else { panic!() };
    let (sizes, chances): (Vec<u64>, Vec<f64>) = set.sizes().unzip();
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((chances[0] / chances[9] - 10f64.powf(0.9)).abs() < 1e-9);
    assert_eq!((set.paths()[0].as_str(), set.paths().len()), ("/document/1", 200));
    // 200 draws of the law, by the Dvoretzky-Kiefer-Wolfowitz inequality at 1e-6.
    let law = Law::parse("lognormal(mean = 10 kB, cv = 2)", Dimension::Size).unwrap();
    let drawn: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
    assert!(sojourn_stats::goodness::kolmogorov(&drawn, |x| law.cdf(x)).p_value > 1e-6);
    // Requests in a plan are for documents as often as their chances say: 6 errors of the first's.
    let n = 50_000;
    let plan = first(&Workload::Open(open("constant(1 ms)", 1, TEXT)), 7, n);
    let firsts = plan.iter().filter(|planned| planned.request.object == 0).count() as f64 / n as f64;
    assert!((firsts - chances[0]).abs() < 6.0 * (chances[0] / n as f64).sqrt(), "{firsts} for {}", chances[0]);
    assert!(plan.iter().all(|planned| planned.request.size == sizes[planned.request.object as usize]));
    // The documents are the same whatever the seed of the plan, and others by a seed of their own.
    let Sizes::Documents(again) = Sizes::parse(TEXT).unwrap() else { panic!() };
    assert!(again.sizes().eq(set.sizes()));
    let Sizes::Documents(other) = Sizes::parse(&TEXT.replace("))", "), seed = 2)")).unwrap() else { panic!() };
    assert!(!other.sizes().eq(set.sizes()));
}

#[test]
fn the_mean_request_is_scaled() {
    let text = TEXT.replace("))", "), mean = 12 kB)");
    let sizes = Sizes::parse(&text).unwrap();
    // To the nearest byte of each document.
    assert!((sizes.moments().0 - 12_000.0).abs() < 1.0, "{}", sizes.moments().0);
    assert_eq!(sizes.site().unwrap().pages().len(), 200);
}

#[test]
fn what_is_no_set_of_documents() {
    for (text, says) in [
        ("documents(n = 0, zipf = 1, size = 1 kB)", "n is a whole number"),
        ("documents(n = 5, size = 1 kB)", "zipf is an exponent"),
        ("documents(n = 5, zipf = -1, size = 1 kB)", "zipf is an exponent"),
        ("documents(n = 5, zipf = 1)", "sizes is missing"),
        ("documents(n = 5, zipf = 1, size = 1 s)", "1 s"),
        ("documents(n = 5, zipf = 1, size = 1 kB, mean = 0 B)", "at least 1 B"),
        ("documents(n = 5, zipf = 1, size = 1 kB, files = 3)", "`files` is none of n, zipf, size, mean and seed"),
        ("document(n = 5)", "did you mean `documents`"),
    ] {
        let error = Sizes::parse(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}
