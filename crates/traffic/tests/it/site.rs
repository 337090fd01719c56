//! Sites as they are drawn.

use std::collections::HashSet;

use sojourn_stats::goodness::kolmogorov;
use sojourn_traffic::site::{Kind, Site, SiteLaw};

/// No test of a law here fails a correct program more often than this.
const FALSE_ALARM: f64 = 1e-7;

fn site(law: &SiteLaw) -> Site {
    Site::generate(law, 1).unwrap()
}

fn surge() -> Site {
    site(&SiteLaw::surge())
}

fn value(site: &Site, name: &str) -> f64 {
    let facts = site.describe();
    let fact = facts.iter().find(|fact| fact.name == name).unwrap_or_else(|| panic!("no {name}"));
    serde_json::to_value(&fact.value).unwrap().as_f64().unwrap()
}

fn sizes(site: &Site, kind: Kind) -> Vec<f64> {
    site.files().iter().filter(|file| file.kind == kind).map(|file| file.size as f64).collect()
}

#[test]
fn files_are_of_three_kinds_in_their_shares() {
    let surge = surge();
    let count = |kind| sizes(&surge, kind).len();
    assert_eq!((count(Kind::Base), count(Kind::Embedded), count(Kind::Loner)), (600, 760, 640));
    assert_eq!(surge.pages().len(), 1240);
    let pages: HashSet<u32> = surge.pages().iter().map(|page| page.file).collect();
    assert_eq!(pages.len(), 1240, "every base file and every loner is one page");
    for page in surge.pages() {
        let kind = surge.files()[page.file as usize].kind;
        assert_ne!(kind, Kind::Embedded);
        assert_eq!(page.embedded.is_empty(), kind == Kind::Loner);
        assert!(page.embedded.iter().all(|file| surge.files()[*file as usize].kind == Kind::Embedded));
        assert_eq!(page.embedded.iter().collect::<HashSet<_>>().len(), page.embedded.len());
    }
    let odd = site(&SiteLaw { files: 7, shares: [0.5, 0.25, 0.25], ..SiteLaw::surge() });
    assert_eq!(odd.files().len(), 7);
}

#[test]
fn sizes_follow_their_laws() {
    for sigma in [1.143, 2.5] {
        let law = SiteLaw { files: 100_000, ..SiteLaw::surge().with_loner_sigma(sigma).unwrap() };
        let site = site(&law);
        for (index, kind) in [Kind::Base, Kind::Embedded, Kind::Loner].into_iter().enumerate() {
            // To the nearest byte; smaller than the smallest becomes that.
            let found = kolmogorov(&sizes(&site, kind), |size| law.sizes[index].cdf(size + 0.5));
            assert!(found.p_value > FALSE_ALARM, "{kind:?} at {sigma}: {found:?}");
        }
        assert!(sizes(&site, Kind::Base).iter().all(|size| *size >= 75.0));
    }
}

#[test]
fn embedded_references_follow_their_law() {
    let law = SiteLaw { files: 100_000, ..SiteLaw::surge() };
    let site = site(&law);
    let base = || site.pages().iter().filter(|page| !page.embedded.is_empty());
    let counts: Vec<f64> = base().map(|page| page.embedded.len() as f64).collect();
    assert_eq!(counts.len(), 30_000);
    // Rounded down.
    let found = kolmogorov(&counts, |count| law.references.cdf(count + 1.0 - 1e-9));
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
    assert!(counts.iter().all(|count| (2.0..=150.0).contains(count)));
    // Who is shown: any embedded file as likely as another, page by page.
    let firsts: Vec<f64> = base().map(|page| f64::from(page.embedded[0] - 30_000)).collect();
    let found = kolmogorov(&firsts, |file| (file + 1.0) / 38_000.0);
    assert!(found.p_value > FALSE_ALARM, "{found:?}");
}

#[test]
fn popularity_is_zipfs() {
    let surge = surge();
    let shares: Vec<f64> = surge.pages().iter().map(|page| page.popularity).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    for (rank, share) in shares.iter().enumerate() {
        assert!((share * (rank + 1) as f64 / shares[0] - 1.0).abs() < 1e-12);
    }
    let flat = site(&SiteLaw { popularity: 0.0, ..SiteLaw::surge() });
    assert!(flat.pages().iter().all(|page| (page.popularity * 1240.0 - 1.0).abs() < 1e-9));
    let (one, ten) = (value(&surge, "top_1_percent_of_pages_share"), value(&surge, "top_10_percent_of_pages_share"));
    assert!((one - shares[..13].iter().sum::<f64>()).abs() < 1e-12);
    assert!((ten - shares[..124].iter().sum::<f64>()).abs() < 1e-12);
}

/// Rank 1 alone is a step of 13 %, so no matching is nearer than half of that; ours stays within the whole.
#[test]
fn sizes_asked_for_follow_their_law_as_closely_as_ranks_allow() {
    for (seed, sigma) in (1..=30).flat_map(|seed| [(seed, 1.143), (seed, 1.7145), (seed, 2.5)]) {
        let law = SiteLaw::surge().with_loner_sigma(sigma).unwrap();
        let site = Site::generate(&law, seed).unwrap();
        let mut asked: Vec<(f64, f64)> =
            site.pages().iter().map(|page| (site.files()[page.file as usize].size as f64, page.popularity)).collect();
        asked.sort_by(|one, other| one.0.total_cmp(&other.0));
        let whole = law.requests.cdf(asked[asked.len() - 1].0);
        let (mut up_to, mut distance) = (0.0, 0.0f64);
        for (size, share) in asked {
            let due = law.requests.cdf(size) / whole;
            distance = distance.max((up_to - due).abs()).max((up_to + share - due).abs());
            up_to += share;
        }
        let first = site.pages()[0].popularity;
        assert!(distance < first, "seed {seed}, sigma {sigma}: {distance} against {first}");
        assert!(distance > 0.5 * first - 1e-12);
        // Files of one size are one step, so the site's own figure can be smaller.
        assert!(value(&site, "request_size_deviation") <= distance + 1e-9);
    }
}

/// With more pages and a flatter law no rank weighs much, and what is left is small.
#[test]
fn many_pages_come_close_to_the_law_of_sizes() {
    let site = site(&SiteLaw { files: 50_000, popularity: 0.8, ..SiteLaw::surge() });
    let (deviation, first) = (value(&site, "request_size_deviation"), site.pages()[0].popularity);
    assert!(first < 0.03 && deviation < first, "{deviation} against {first}");
}

#[test]
fn base_files_get_their_share_of_the_requests() {
    for share in [0.1, 0.3, 0.5, 0.9] {
        let site = site(&SiteLaw { base_requests: Some(share), ..SiteLaw::surge() });
        let rarest = site.pages()[1239].popularity;
        let found = value(&site, "base_request_share");
        assert!((found - share).abs() < 2.0 * rarest, "{found} for {share}");
        let first = site.pages()[0].popularity;
        assert!(value(&site, "request_size_deviation") < first, "at {share}");
    }
    // 600 of 1240 pages cannot have less than the 600 rarest ranks, nor more than the 600 first.
    for share in [0.0, 0.056, 1.0] {
        let site = site(&SiteLaw { base_requests: Some(share), ..SiteLaw::surge() });
        let shares: Vec<f64> = site.pages().iter().map(|page| page.popularity).collect();
        let least: f64 = if share < 0.5 { shares[640..].iter().sum() } else { shares[..600].iter().sum() };
        let found = value(&site, "base_request_share");
        assert!((found - least).abs() < 1e-9, "{found} for {share}, at best {least}");
    }
}

#[test]
fn classes_are_dealt_in_their_shares() {
    let with = |dynamic, secure| site(&SiteLaw { dynamic, secure, ..SiteLaw::surge() });
    let of = |site: &Site, class| {
        let files = site.files().iter().enumerate();
        files.filter(|(_, file)| file.class == class).map(|(index, _)| index).collect::<HashSet<_>>()
    };
    let (few, many) = (with(0.1, 0.05), with(0.3, 0.7));
    assert_eq!((of(&few, 1).len(), of(&few, 2).len()), (200, 100));
    assert_eq!((of(&many, 0).len(), of(&many, 1).len(), of(&many, 2).len()), (0, 600, 1400));
    assert!(of(&few, 1).is_subset(&of(&many, 1)) && of(&few, 2).is_subset(&of(&many, 2)));
    assert_eq!(value(&few, "dynamic_files"), 200.0);
    // Classes change nothing else.
    let plain = surge();
    assert!(plain.pages() == few.pages() && plain.paths() == few.paths());
}

#[test]
fn a_site_is_its_seeds() {
    let (one, same) = (surge(), surge());
    assert!(one.files() == same.files() && one.pages() == same.pages());
    let other = Site::generate(&SiteLaw::surge(), 2).unwrap();
    assert!(one.files() != other.files());
    // The loners' sigma leaves base files, embedded files and what each page shows as they are.
    let films = site(&SiteLaw::surge().with_loner_sigma(2.5).unwrap());
    assert_eq!(sizes(&one, Kind::Embedded), sizes(&films, Kind::Embedded));
    let shown = |site: &Site| {
        let mut shown: Vec<_> = site.pages().iter().map(|page| (page.file, page.embedded.clone())).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown(&one), shown(&films));
}

#[test]
fn impossible_sites_are_refused() {
    let surge = SiteLaw::surge;
    let cases = [
        (SiteLaw { files: 0, ..surge() }, "files = 0: a site has at least one"),
        (SiteLaw { shares: [0.3, 0.3, 0.3], ..surge() }, "shares = [0.3, 0.3, 0.3]: base, embedded and loner shares"),
        (SiteLaw { shares: [-0.5, 1.0, 0.5], ..surge() }, "shares = [-0.5, 1, 0.5]"),
        (SiteLaw { shares: [0.0, 1.0, 0.0], ..surge() }, "there is no base file and no loner"),
        (SiteLaw { popularity: -1.0, ..surge() }, "popularity = -1: Zipf's exponent is 0 or above"),
        (SiteLaw { popularity: f64::NAN, ..surge() }, "popularity = NaN"),
        (SiteLaw { base_requests: Some(1.2), ..surge() }, "base_requests = 1.2: a share"),
        (SiteLaw { dynamic: 0.7, secure: 0.4, ..surge() }, "dynamic = 0.7, secure = 0.4"),
    ];
    for (law, says) in cases {
        let message = Site::generate(&law, 1).unwrap_err().to_string();
        assert!(message.starts_with(says) && message.lines().count() == 1, "{message}");
    }
    assert!(surge().with_loner_sigma(0.0).unwrap_err().to_string().contains("sigma = 0"));
}

#[test]
fn small_and_lopsided_sites_work() {
    for (files, shares) in
        [(1, [1.0, 0.0, 0.0]), (1, [0.0, 0.0, 1.0]), (3, [0.4, 0.3, 0.3]), (10, [0.0, 0.0, 1.0]), (10, [0.9, 0.1, 0.0])]
    {
        for base_requests in [None, Some(0.3)] {
            let site = site(&SiteLaw { files, shares, base_requests, ..SiteLaw::surge() });
            assert_eq!(site.files().len(), files as usize);
            assert!((site.pages().iter().map(|page| page.popularity).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(!site.describe().is_empty());
        }
    }
}
