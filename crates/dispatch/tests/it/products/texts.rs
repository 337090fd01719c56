//! How policies of products are written, and what is said of a bad text.

use sojourn_dispatch::policies::{Evidence, PRODUCTS};
use sojourn_dispatch::{Catalogue, Dispatcher, Signals};

use crate::common::{equal, weighted};

#[test]
fn every_bundle_can_be_made_and_says_how_it_is_known() {
    for bundle in PRODUCTS.iter().flat_map(|product| product.bundles) {
        Catalogue::default().check(bundle.text).expect(bundle.text);
        assert!(Catalogue::default().knows(bundle.text), "{}", bundle.text);
        assert!(!bundle.summary.is_empty() && !bundle.summary.contains('\n'));
    }
    let of_source = |text: &str| {
        let bundles = PRODUCTS.iter().flat_map(|product| product.bundles);
        bundles.filter(|bundle| bundle.text == text).all(|bundle| bundle.evidence == Evidence::Source)
    };
    assert!(of_source("haproxy(3.2, leastconn)"), "no HAProxy of 3.2 or later was measured by this tree");
    assert_eq!(Evidence::Source.in_words(), "from source, not measured");
}

#[test]
fn texts_of_products_are_positional_first() {
    for text in [
        "haproxy(2.6, leastconn)",
        " haproxy ( 3.1.4 , leastconn ) ",
        "haproxy(2.6, random(2), numbers = own)",
        "haproxy(2.6, random( 3 ))",
        "haproxy(2.4, default)",
        "haproxy(3.4, random(1))",
        "nginx(1.31.5, least_conn)",
        "nginx(random  two)",
        "envoy(1.40, LEAST_REQUEST, choices = 5, bias = 1.5)",
        "cookie(policy = haproxy(2.6, leastconn))",
    ] {
        Catalogue::default().check(text).expect(text);
    }
}

#[test]
fn bad_texts_of_products_say_what_would_be_right() {
    let cases = [
        ("haproxy", "policy `haproxy`: it takes a version and a rule, as in `haproxy(2.6, ...)`"),
        ("haproxy(leastconn)", "the version comes first; did you mean `haproxy(2.6, leastconn)`?"),
        (
            "nginx(least_time header)",
            "`least_time header` is not modelled; the nearest policy by response times is `peak-ewma`",
        ),
        ("nginx(random two least_time)", "the nearest policy by response times is `peak-ewma`"),
        ("nginx(hash)", "`hash` is not modelled; `nginx(hash consistent)` is"),
        ("haproxy(2.6)", "policy `haproxy`: `` is none of its rules; known are leastconn, random,"),
        ("haproxy(2.6, leastcon)", "`leastcon` is none of its rules; did you mean `leastconn`?"),
        (
            "haproxy(1.9, leastconn)",
            "the rules of haproxy 1.9 are not known; those of 2.4 to 3.4 are, and 2.4 is the nearest",
        ),
        ("haproxy(4.0, leastconn)", "and 3.4 is the nearest"),
        ("haproxy(2.6, random(0))", "`random(N)`: N is a whole number of at least 1, as in `random(2)`"),
        ("haproxy(2.6, leastconn, 3)", "policy `haproxy`: `3` is one value too many"),
        ("haproxy(2.6, leastconn, ties = first)", "policy `haproxy` has no parameter `ties`"),
        ("haproxy(2.6, uri, avalanche = false)", "`uri` without avalanche"),
        ("haproxy(2.8, random(2), numbers = own)", "only 2.4 to 2.6 begin at the same number each time"),
        ("haproxy(3.4, random(2))", "is not modelled; the nearest rule is `haproxy(3.3, random(2))`"),
        ("nginx", "policy `nginx`: `` is none of its rules; known are round-robin, least_conn"),
        ("nginx(least-conn)", "did you mean `least_conn`?"),
        (
            "nginx(0.8, least_conn)",
            "the rules of nginx 0.8 are not known; those of 1.22 to 1.31 are, and 1.22 is the nearest",
        ),
        ("envoy(least-request, choices = 1)", "choices = 1: it is a whole number from 2 to 1000"),
        ("envoy(maglev, table = 100)", "table = 100: the size of the table is a prime number"),
        ("envoy(ring-hash, minimum = 9, maximum = 8)", "minimum = 9 is above maximum = 8"),
        ("envoy(round-robin, slow_start = 30 s)", "policy `envoy`: `slow_start` is not modelled; leave it out"),
        ("envoy(least-request, panic = 50)", "`panic` is not modelled"),
        ("envoy(least-request, priorities = 2)", "`priorities` is not modelled"),
        ("leastconn", "unknown policy `leastconn`; did you mean `haproxy(2.6, leastconn)` or `least-connections`?"),
        ("least_conn", "unknown policy `least_conn`; did you mean `nginx(least_conn)` or `least-connections`?"),
        ("round_robin", "unknown policy `round_robin`; did you mean `round-robin`?"),
        ("p2c", "unknown policy `p2c`; did you mean `power-of-d`?"),
        ("random(2)", "policy `random`: `2`: a parameter is written `name = value`"),
    ];
    for (text, part) in cases {
        let said = Catalogue::default().check(text).expect_err(text).to_string();
        assert!(said.contains(part), "`{text}` got: {said}");
        assert!(!said.contains('\n'));
    }
}

#[test]
fn weights_are_those_that_the_product_takes() {
    let refusal = |policy: &str, weight: f64| {
        let made = Dispatcher::new(policy, &weighted(&[1.0, weight]), Default::default(), Signals::GATEWAY, 1, "test");
        made.expect_err(policy).to_string()
    };
    for policy in ["haproxy(2.6, leastconn)", "cookie(policy = haproxy(2.6, leastconn))"] {
        let said = refusal(policy, 0.5);
        assert_eq!(
            said,
            format!(
                "backend `s2` has weight 0.5; with policy `{policy}` a weight is a whole number from 1 to 256, or 0 for one \
                 that is never chosen"
            )
        );
    }
    assert!(refusal("haproxy(2.6, random(2))", 257.0).contains("from 1 to 256"));
    assert!(refusal("nginx(least_conn)", 1.5).contains("a whole number from 1 to 65535"));
    let mut dispatcher =
        Dispatcher::new("haproxy(2.6, leastconn)", &equal(2), Default::default(), Signals::GATEWAY, 1, "t")
            .expect("it is known");
    assert!(dispatcher.join("s3", 2.5, sojourn_stats::Time::ZERO).is_err());
}
