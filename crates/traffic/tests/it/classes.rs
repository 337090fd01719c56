//! Requests of several classes.

use sojourn_traffic::generate::Until;
use sojourn_traffic::{Classes, Open, Planned, Script, Sizes, Workload, WorkloadError, generate};

use crate::support::{closed, demand, first, open};

const REQUESTS: usize = 100_000;

fn sizes(text: &str) -> Sizes {
    Sizes::parse(text).unwrap()
}

fn with(sizes: Sizes) -> Workload {
    Workload::Open(Open { sizes, ..open("exponential(rate = 374 /s)", 100, "1 kB") })
}

fn two(of_static: &str, of_dynamic: &str) -> Workload {
    let classes = Classes::each(vec![("static", 0.8, sizes(of_static)), ("dynamic", 0.2, sizes(of_dynamic))]);
    with(Sizes::ByClass(classes.unwrap()))
}

/// Each count is binomial: it leaves 5.5 standard deviations once in 26 million runs.
#[test]
fn every_class_has_its_share_and_its_sizes() {
    let plan = first(&two("constant(700 B)", "exponential(mean = 2 kB)"), 1, REQUESTS);
    let dynamic: Vec<f64> = plan.iter().filter(|p| p.request.class == 1).map(|p| p.request.size as f64).collect();
    let deviation = (REQUESTS as f64 * 0.2 * 0.8).sqrt();
    assert!((dynamic.len() as f64 - 0.2 * REQUESTS as f64).abs() < 5.5 * deviation, "{} dynamic", dynamic.len());
    let mean = dynamic.iter().sum::<f64>() / dynamic.len() as f64;
    assert!((mean - 2000.0).abs() < 5.5 * 2000.0 / (dynamic.len() as f64).sqrt(), "{mean} bytes");
    assert!(plan.iter().all(|p| p.request.class == 1 || p.request.class == 0 && p.request.size == 700));
}

#[test]
fn classes_leave_all_other_numbers() {
    type Seen = fn(&Planned) -> (u64, u32, u64);
    let when_and_what: Seen = |p| (p.at.0, p.request.client, p.request.size);
    let seen = |workload: &Workload| first(workload, 1, 2000).iter().map(when_and_what).collect::<Vec<_>>();
    let whole = Workload::Open(open("exponential(rate = 374 /s)", 100, "exponential(mean = 5 kB)"));
    let alike = |share| {
        let shares = [("static", share), ("dynamic", 1.0 - share)];
        with(Sizes::ByClass(Classes::alike(&shares, sizes("exponential(mean = 5 kB)")).unwrap()))
    };
    assert_eq!(seen(&whole), seen(&alike(0.8)));
    assert_eq!(seen(&whole), seen(&alike(0.3)));
    // Another law for one class leaves the requests of the others.
    let of_static = |plan: &[Planned]| -> Vec<Planned> {
        plan.iter().filter(|p| p.request.class == 0).map(|p| Planned { request: sized(p), ..*p }).collect()
    };
    let one = first(&two("exponential(mean = 5 kB)", "2 kB"), 1, 2000);
    let other = first(&two("exponential(mean = 5 kB)", "lognormal(mean = 9 kB, cv = 2)"), 1, 2000);
    assert_eq!(of_static(&one), of_static(&other));
    assert_ne!(one, other);
}

/// The request without its demand, which draws for all classes together.
fn sized(planned: &Planned) -> sojourn_traffic::Request {
    sojourn_traffic::Request { demand: sojourn_stats::Span::ZERO, ..planned.request }
}

#[test]
fn users_ask_for_classes_too() {
    let classes = Classes::alike(&[("gold", 0.5), ("silver", 0.5)], sizes("1 kB")).unwrap();
    let workload = sojourn_traffic::Closed { sizes: Sizes::ByClass(classes), ..closed(2) };
    let drawn = |user| {
        let mut script = Script::new(&workload, user, 1, demand());
        (0..64).map(|_| script.step().request.class).collect::<Vec<_>>()
    };
    assert!(drawn(0).contains(&0) && drawn(0).contains(&1));
    assert_eq!(drawn(0), drawn(0));
    assert_ne!(drawn(0), drawn(1));
    assert_eq!(Workload::Closed(workload.clone()).classes(), ["gold", "silver"]);
}

#[test]
fn the_files_of_each_class_are_its_own_and_what_is_drawn_anew_comes_after_them() {
    let workload = two("webstone", "exponential(mean = 2 kB)");
    let files = sizes("webstone").objects().len() as u32;
    assert_eq!(workload.objects().len() as u32, files);
    assert_eq!(workload.objects()[0], "/static/file500.html");
    let mut fresh = files;
    for Planned { request, .. } in first(&workload, 1, 1000) {
        match request.class {
            0 => assert!(request.object < files),
            _ => {
                assert_eq!(request.object, fresh);
                fresh += 1;
            }
        }
    }
    let Workload::Open(Open { sizes: mixed, .. }) = &workload else { panic!("open") };
    assert!(mixed.site().is_none(), "a size that is drawn anew is no file");

    let both = two("webstone", "specweb99");
    let Workload::Open(Open { sizes: mixed, .. }) = &both else { panic!("open") };
    let site = mixed.site().unwrap();
    assert_eq!(site.paths(), both.objects());
    let (mean, variance) = both.size_moments();
    let (of_site, variance_of_site) = site.size_moments();
    assert!((mean / of_site - 1.0).abs() < 1e-9 && (variance / variance_of_site - 1.0).abs() < 1e-9);
    for Planned { request, .. } in first(&both, 1, 1000) {
        assert_eq!(site.files()[request.object as usize].size, request.size);
    }
    // Where all ask for the same, the paths stay what they are.
    let alike = Classes::alike(&[("a", 0.5), ("b", 0.5)], sizes("webstone")).unwrap();
    assert_eq!(alike.paths()[0], "/file500.html");
}

/// A mixture's variance is the mean of the variances and the variance of the means.
#[test]
fn moments_are_those_of_the_mixture() {
    let workload = two("constant(1 kB)", "exponential(mean = 6 kB)");
    let (mean, variance) = workload.size_moments();
    assert!((mean - 2000.0).abs() < 1e-9);
    assert!((variance - (0.2 * 36e6 + 0.8 * 1e6 + 0.2 * 16e6)).abs() < 1e-3);
    let (cost, _) = workload.moments(|class, (mean, variance)| match class {
        "static" => (1.0, 0.0),
        "dynamic" => (mean, variance),
        other => panic!("{other}"),
    });
    assert!((cost - (0.8 + 0.2 * 6000.0)).abs() < 1e-9);
    // A class that never comes counts for nothing, even without a mean.
    let parts = vec![("a", 1.0, sizes("1 kB")), ("b", 0.0, sizes("pareto(alpha = 0.9, min = 1 kB)"))];
    assert_eq!(with(Sizes::ByClass(Classes::each(parts).unwrap())).size_moments(), (1000.0, 0.0));
}

#[test]
fn a_plan_as_csv_names_the_class() {
    let mut text = Vec::new();
    generate(&two("1 kB", "2 kB"), 1, demand(), Until::requests(200), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        assert_eq!(words[4], if words[2] == "static" { "1000" } else { "2000" }, "{line}");
    }
    assert!(text.contains(",dynamic,") && text.contains(",static,"));
}

#[test]
fn bad_classes_are_refused_in_one_line() {
    let refused = |shares: &[(&str, f64)]| {
        let error: WorkloadError = Classes::alike(shares, sizes("1 kB")).unwrap_err();
        error.to_string()
    };
    let many: Vec<String> = (0..256).map(|class| format!("c{class}")).collect();
    let many: Vec<(&str, f64)> = many.iter().map(|name| (name.as_str(), 1.0 / 256.0)).collect();
    let cases: [(&[(&str, f64)], &str); 8] = [
        (&[("a", 0.8), ("b", 0.3)], "sum to 1.1"),
        (&[("a", 0.8), ("b", 0.2 - 1e-8)], "not to 1"),
        (&[("a", 1.2), ("b", -0.2)], "a = 1.2: a share is from 0 to 1"),
        (&[("a", f64::NAN)], "a share is from 0 to 1"),
        (&[("a", 0.5), ("a", 0.5)], "`a` comes twice"),
        (&[("other", 1.0)], "`other` means all classes"),
        (&[("a b", 1.0)], "`a b` is no name"),
        (&[], "from 1 to 255"),
    ];
    for (shares, needle) in cases.into_iter().chain([(&many[..], "256 of them")]) {
        let message = refused(shares);
        assert!(message.contains(needle) && !message.contains('\n'), "{message}, not {needle}");
    }
    assert!(Classes::alike(&[("a", 0.7), ("b", 0.1), ("c", 0.2)], sizes("1 kB")).is_ok(), "their sum is 1 - 1e-16");
    let inner = Sizes::ByClass(Classes::alike(&[("a", 1.0)], sizes("1 kB")).unwrap());
    assert!(Classes::alike(&[("b", 1.0)], inner).unwrap_err().to_string().contains("of its own"));
}
