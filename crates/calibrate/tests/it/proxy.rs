//! A proxy against its hit ratio: one that is emulated and known, and Squid in front of nginx.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_calibrate::{CalibrateError, HitRatios, Interval, Proxy, ProxyFound, Settings, calibrate_proxy};
use sojourn_model::Server;
use sojourn_part::program::{Program, Running};
use sojourn_stats::Span;

use crate::skip::skipped;
use crate::support::{alone, beside_others, node};

fn measure(proxy: &Proxy, mixes: &HitRatios) -> Result<ProxyFound, CalibrateError> {
    let settings = Settings { time: Span(5_000_000_000), rate_max: 1e6, ..Settings::default() };
    calibrate_proxy(proxy, mixes, &settings, &|_| {}, &Arc::new(AtomicBool::new(false)))
}

fn paths<const N: usize>(paths: [&str; N]) -> Vec<String> {
    paths.map(String::from).to_vec()
}

fn brief() -> HitRatios {
    HitRatios { clients: 6, rounds: 3, ratios: vec![0.0, 0.4, 0.7, 1.0], ..HitRatios::default() }
}

/// A processor-sharing node whose demands are in the paths. Six clients of it share it whatever they ask, so that the response
/// is six demands at every hit ratio, and h is 1. A tenth is allowed for what is steady and more for what is drawn or is a
/// slope; no law of errors is known that a rate of false alarms would follow from.
#[test]
fn what_is_known_of_an_emulated_proxy_is_found() {
    let _machine = beside_others();
    let node = node("discipline = \"ps\"\ndemand = \"1 ms\"");
    let work = |bytes: u32, ms: u32| format!("/work?bytes={bytes}&demand={ms}ms");
    let hits = [work(1000, 2), work(50_000, 4)];
    let misses = [work(1000, 5), work(50_000, 7)];
    let proxy = Proxy::parse(&format!("http://{}", node.address()), &hits, &misses, &[], &[]).unwrap();
    let found = measure(&proxy, &brief()).unwrap();
    let near = |what: &str, interval: &Interval, truth: f64, within: f64| {
        // On a busy machine it is less sure, and says so.
        let is_covered = interval.low <= truth && truth <= interval.high;
        let is_near = (interval.value / truth - 1.0).abs() < within;
        assert!(is_near || is_covered, "{what}: {interval:?}, not {truth}: {found:#?}");
        assert!(interval.low <= interval.value && interval.value <= interval.high, "{what}: {interval:?}");
    };
    for (document, (hit_s, miss_s)) in found.documents.iter().zip([(2e-3, 5e-3), (4e-3, 7e-3)]) {
        near("hit", &document.hit_work, hit_s, 0.1);
        near("miss", &document.miss_work, miss_s, 0.1);
    }
    near("slope", &found.hit_work.expect("two sizes").per_x_s, 2e-3 / 49_000.0, 0.3);
    near("g", &found.demand.expect("two sizes").per_x_s, 2e-3 / 49_000.0, 0.3);
    near("all hits", &found.all_hits_s, 3e-3, 0.15);
    near("no hits", &found.no_hits_s, 6e-3, 0.15);
    near("kept out", &found.kept_out_mix.measured, 0.6 * 3e-3 + 0.4 * 6e-3, 0.15);
    for h in [found.below, found.above] {
        let h = h.expect("a document on either side of 20 kB");
        let unsure = (h.fixed.high - h.fixed.low) / 2.0;
        assert!((h.fixed.value + 100.0 * h.per_percent.value - 1.0).abs() < 0.1 + unsure, "{h:?}");
        assert!((h.fixed.value + 40.0 * h.per_percent.value - 1.0).abs() < 0.25 + unsure, "{h:?}");
        near("h kept out", &h.kept_out.measured, 1.0, 0.25);
    }
    assert_eq!(Server::from_toml(&found.to_toml()).unwrap(), found.server);
}

/// None where it is not installed.
fn start(text: &str, root: &Path) -> Option<Running> {
    let program = Program::parse(text, root).unwrap();
    if let Err(missing) = program.kind.installed() {
        skipped(missing);
        return None;
    }
    Some(program.start().expect("it starts"))
}

/// What it finds of real programs on a busy machine is held to what cannot be otherwise: a miss is dearer than the hit of
/// the same small document, and a large document dearer than a small one.
#[test]
fn squid_in_front_of_nginx_is_measured_against_its_hit_ratio() {
    let _machine = alone();
    let site = tempfile::tempdir().unwrap();
    fs::create_dir(site.path().join("miss")).unwrap();
    for folder in [site.path().to_owned(), site.path().join("miss")] {
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("1000"), [b'x'; 1000]).unwrap();
        fs::write(folder.join("200000"), vec![b'x'; 200_000]).unwrap();
    }
    let Some(origin) = start("nginx(keep_alive_requests = 0)", site.path()) else { return };
    let squid = format!("squid(origin = {}, keep_alive_requests = 0)", origin.address());
    let Some(squid) = start(&squid, site.path()) else { return };
    let url = format!("http://{}", squid.address());
    let proxy = Proxy::parse(&url, &paths(["/{size}"]), &paths(["/miss/{size}"]), &[1000, 200_000], &[]).unwrap();
    let found = measure(&proxy, &brief()).unwrap();
    let sizes: Vec<f64> = found.documents.iter().map(|document| document.bytes).collect();
    assert_eq!(sizes, [1000.0, 200_000.0]);
    let (small, large) = (&found.documents[0], &found.documents[1]);
    assert!(small.miss_work.value > small.hit_work.value, "{found:#?}");
    assert!(large.hit_work.value > small.hit_work.value, "{found:#?}");
    assert!(found.no_hits_s.value > found.all_hits_s.value, "{found:#?}");
    let slopes = [found.hit_work, found.demand].map(|line| line.expect("two sizes").per_x_s.value);
    assert!(slopes.iter().all(|slope| *slope > 0.0), "{found:#?}");
    // A line is between its ends.
    let between = found.all_hits_s.value..=found.no_hits_s.value;
    assert!(between.contains(&found.kept_out_mix.predicted.value), "{found:#?}");
    assert!(found.below.is_some() && found.above.is_some(), "{found:#?}");
    assert_eq!(found.ratios.len(), 4);
    assert!(found.summary().iter().any(|line| line.starts_with("60 % hits, not used")), "{:?}", found.summary());
    let table: toml::Table = found.to_toml().parse().unwrap();
    assert_eq!(table["measured"]["proxy"]["document"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_a_proxy_is_said_in_a_line() {
    let _machine = beside_others();
    let node = node("discipline = \"ps\"\ndemand = \"1 ms\"");
    let url = format!("http://{}", node.address());
    let parsed = |hits: &[&str], misses: &[&str], sizes: &[u64], weights: &[f64]| {
        let owned = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        Proxy::parse(&url, &owned(hits), &owned(misses), sizes, weights).unwrap_err().to_string()
    };
    let complaints = [
        (parsed(&["/a", "/b"], &["/c"], &[], &[]), "--hit has 2 documents and --miss 1"),
        (parsed(&[], &[], &[], &[]), "--hit has 0"),
        (parsed(&["/a"], &["/a"], &[], &[]), "kept or it is not"),
        (parsed(&["/{size}"], &["/miss/{size}"], &[], &[]), "needs --x"),
        (parsed(&["/a"], &["/b"], &[10], &[]), "there is no {size}"),
        (parsed(&["a"], &["/b"], &[], &[]), "starts with `/`"),
        (parsed(&["/a"], &["/b"], &[], &[1.0, 2.0]), "--weights has 2 numbers"),
        (parsed(&["/a"], &["/b"], &[], &[0.0]), "--weights: 0"),
    ];
    for (complaint, words) in complaints {
        assert!(complaint.contains(words) && complaint.lines().count() == 1, "{complaint}");
    }
    let proxy = |hit: &str, miss: &str| Proxy::parse(&url, &paths([hit]), &paths([miss]), &[], &[]).unwrap();
    let error = measure(&proxy("/work?bytes=1000", "/work?bytes=5000"), &brief()).unwrap_err().to_string();
    assert!(error.contains("the same documents"), "{error}");
    let same = proxy("/work?bytes=1000", "/work?bytes=1001");
    let wrong = [
        (HitRatios { ratios: vec![0.0, 0.5, 1.5], ..brief() }, "--ratios: 1.5"),
        (HitRatios { ratios: vec![0.0, 0.5, 1.0], ..brief() }, "--ratios: 1 and at least two others"),
        (HitRatios { kept_out: 0.4, ..brief() }, "--held-out: 0.4"),
        (HitRatios { clients: 1, ..brief() }, "--clients"),
        (HitRatios { rounds: 2, ..brief() }, "--rounds"),
        (HitRatios { size_break: f64::NAN, ..brief() }, "--size-break"),
    ];
    for (mixes, words) in wrong {
        let error = measure(&same, &mixes).unwrap_err().to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{error}");
    }
}
