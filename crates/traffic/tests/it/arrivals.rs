//! Arrivals and sizes as text.

use sojourn_traffic::{Arrivals, Plan, Sizes, Workload};

use crate::support::{demand, open};

#[test]
fn a_rate_is_a_mean_gap() {
    let by_rate = Arrivals::parse("exponential(rate = 374 /s)").unwrap();
    assert!((by_rate.rate().unwrap() - 374.0).abs() < 1e-9);
    assert!(by_rate.law().unwrap().is_exponential());
    assert_eq!(by_rate.utilization(), None);
    let by_mean = Arrivals::parse("erlang(k = 2, mean = 10 ms)").unwrap();
    assert!((by_mean.rate().unwrap() - 100.0).abs() < 1e-9);
    assert!((by_mean.law().unwrap().scv() - 0.5).abs() < 1e-12);
}

#[test]
fn a_utilisation_is_settled_by_the_capacity() {
    let mut arrivals = Arrivals::parse("hyperexponential(utilization = 0.7, cv = 2)").unwrap();
    assert_eq!(arrivals.utilization(), Some(0.7));
    assert!(arrivals.law().is_none());
    arrivals.settle(400.0);
    assert!((arrivals.rate().unwrap() - 280.0).abs() < 1e-9);
    assert!((arrivals.law().unwrap().scv() - 4.0).abs() < 1e-9);
    // Another system, the same wish.
    arrivals.settle(1000.0);
    assert!((arrivals.rate().unwrap() - 700.0).abs() < 1e-9);
    // A rate that was given stays.
    let mut given = Arrivals::parse("exponential(rate = 374 /s)").unwrap();
    given.settle(400.0);
    assert!((given.rate().unwrap() - 374.0).abs() < 1e-9);
}

#[test]
fn impossible_arrivals_are_refused() {
    for text in [
        "exponential(rate = -3 /s)",
        "exponential(rate = 374)",
        "exponential(utilization = 0)",
        "exponential(utilization = -0.5)",
        "exponential(utilization = 0.5, rate = 3 /s)",
        "exponential()",
        "exponentiel(rate = 3 /s)",
        "0 s",
    ] {
        let error = Arrivals::parse(text).err().unwrap_or_else(|| panic!("`{text}` was taken"));
        assert_eq!(error.to_string().lines().count(), 1, "`{text}`: {error}");
    }
}

#[test]
fn what_is_wrong_with_a_load_is_said() {
    for (text, wanted) in [
        (
            "exponential(utilization = 0)",
            "`exponential(utilization = 0)`: the utilization must be above 0 and finite, such as 0.7",
        ),
        (
            "lambda = 0.5 /s",
            "`lambda = 0.5 /s` is a parameter without its law; did you mean `exponential(rate = 0.5 /s)`?",
        ),
        (
            "utilization = 0.7",
            "`utilization = 0.7` is a parameter without its law; did you mean `exponential(utilization = 0.7)`?",
        ),
        ("rho=70%", "`rho=70%` is a parameter without its law; did you mean `exponential(utilization = 70%)`?"),
    ] {
        assert_eq!(Arrivals::parse(text).err().unwrap().to_string(), wanted, "{text}");
    }
}

#[test]
fn an_unsettled_rate_has_no_plan() {
    let workload = Workload::Open(open("exponential(utilization = 0.7)", 1, "5 kB"));
    let error = Plan::new(&workload, 1, demand()).err().unwrap().to_string();
    assert!(error.contains("exponential(utilization = 0.7)") && error.contains("never settled"), "{error}");
}

#[test]
fn sizes_are_a_law_or_a_webstone_list() {
    let (mean, variance) = Sizes::parse("exponential(mean = 5 kB)").unwrap().moments();
    assert!((mean - 5e3).abs() < 1e-9 && (variance / 25e6 - 1.0).abs() < 1e-12);
    assert!(Sizes::parse("exponential(mean = 5 kB)").unwrap().objects().is_empty());
    assert_eq!(Sizes::parse("webstone").unwrap().objects().len(), 5);
    assert_eq!(Sizes::parse("webstone()").unwrap().objects()[0], "/file500.html");

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.txt"), "/a1k.html 3\n/b.html 1 250\n").unwrap();
    let mine = Sizes::parse_in("webstone(file = \"mine.txt\")", dir.path()).unwrap();
    assert_eq!(mine.objects(), ["/a1k.html", "/b.html"]);
    assert_eq!(mine.moments().0, 812.5);

    let error = Sizes::parse_in("webstone(file = \"yours.txt\")", dir.path()).unwrap_err().to_string();
    assert!(error.contains("yours.txt") && error.contains("No such file"), "{error}");
    let error = Sizes::parse("webstone(list = \"mine.txt\")").unwrap_err().to_string();
    assert!(error.contains("webstone(file = "), "{error}");
    let error = Sizes::parse("webstones").unwrap_err().to_string();
    assert!(error.contains("webstone"), "{error}");
}
