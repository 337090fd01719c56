//! The products themselves are asked, and do as their rules say; `docs/products.md` shows what was found.
//!
//! A difference in a choice is a difference. Where shares are compared, the false-alarm rate is one in a million each.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sojourn_bed::install;
use sojourn_dispatch::policies::{Evidence, PRODUCTS};
use sojourn_products::conform::{Agreement, Case, Comparison, ConformError};
use sojourn_products::{Product, Version};

use crate::judge::has;

/// Rule, weights, choices.
type Asked = (&'static str, &'static [u32], usize);

const OF_HAPROXY: [Asked; 16] = [
    ("leastconn", &[1, 1, 1, 1], 300),
    ("leastconn", &[1, 2, 3, 5], 200),
    ("leastconn", &[256, 1, 7], 200),
    ("random(2)", &[1, 1, 1, 1], 300),
    ("random(2)", &[1, 2, 3], 200),
    ("random(3)", &[1, 2, 3], 200),
    ("random(1)", &[1, 1, 1, 1], 200),
    ("roundrobin", &[1, 2, 3, 5], 200),
    ("roundrobin", &[7, 7, 1, 256], 200),
    ("default", &[1, 1, 1, 1], 100),
    ("first", &[1, 1, 1], 200),
    ("source", &[1, 1, 1, 1], 200),
    ("source", &[1, 2, 3], 200),
    ("source, avalanche = false", &[1, 2, 3], 100),
    ("uri", &[1, 1, 1, 1], 400),
    ("uri", &[1, 2, 3], 400),
];
const OF_NGINX: [Asked; 10] = [
    ("round-robin", &[5, 1, 1], 100),
    ("round-robin", &[1, 2, 3, 5], 200),
    ("least_conn", &[1, 1, 1, 1], 300),
    ("least_conn", &[1, 2, 3, 5], 200),
    ("ip_hash", &[1, 1, 1, 1], 200),
    ("ip_hash", &[1, 2, 3], 200),
    ("random", &[1, 2, 3], 400),
    ("random two", &[1, 1, 1, 1], 600),
    ("random two", &[1, 2, 3, 4], 400),
    ("hash consistent", &[1, 2, 3, 4], 400),
];
const OF_ENVOY: [Asked; 8] = [
    ("maglev", &[1, 1, 1, 1], 500),
    ("maglev", &[1, 2, 5], 300),
    ("ring-hash", &[1, 1, 1, 1], 500),
    ("ring-hash", &[1, 2, 5], 300),
    ("least-request", &[1, 1, 1, 1], 600),
    ("least-request", &[1, 2, 5], 400),
    ("round-robin", &[1, 2, 5], 400),
    ("random", &[1, 1, 1, 1], 400),
];

fn case(product: Product, (rule, weights, choices): Asked) -> Case {
    let (rule, weights) = (rule.to_owned(), weights.to_vec());
    Case { product, rule, weights, choices, held: 23, seed: 1, program: None, rules_of: None }
}

/// All cases, one after the other, and their rows of the page.
fn rows(product: Product, asked: &[Asked], program: Option<PathBuf>) -> (String, Vec<String>) {
    let mut version = String::new();
    let row = |asked: &Asked| {
        let case = Case { program: program.clone(), ..case(product, *asked) };
        let Comparison { version: found, policy, agreement } =
            case.compare().unwrap_or_else(|error| panic!("{product:?} {asked:?}: {error}"));
        assert!(agreement.holds(), "{policy}, {asked:?}: {agreement:?}");
        let branch = Version::from_str(&found).expect("it was read").to_string();
        let weights = case.weights.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let what = match agreement {
            Agreement::Choices { equal, of, .. } => format!("{equal} of {of} choices equal"),
            Agreement::Shares { .. } => format!("shares of {} choices as the rule's", case.choices),
        };
        let row = format!("| {} {branch} | `{}` | {weights} | {what} |", product.title(), case.rule);
        version = branch;
        row
    };
    let rows = asked.iter().map(row).collect();
    (version, rows)
}

/// The page has these rows between its marks; with `SOJOURN_WRITE` set it gets them.
fn is_on_the_page(mark: &str, rows: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/products.md");
    let page = fs::read_to_string(&path).expect("there is a page");
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (head, rest) = page.split_once(&begin).expect("the page has the mark");
    let (shown, tail) = rest.split_once(&end).expect("and its end");
    let table = format!("\n| product | rule | weights | found |\n|---|---|---|---|\n{}\n\n", rows.join("\n"));
    if std::env::var_os("SOJOURN_WRITE").is_some() {
        fs::write(&path, format!("{head}{begin}{table}{end}{tail}")).expect("the page can be written");
    } else {
        assert_eq!(shown, table, "docs/products.md shows something else; SOJOURN_WRITE=1 writes it anew");
    }
}

#[test]
fn haproxy_does_as_its_rules_say() {
    if !has("haproxy") {
        return;
    }
    let (version, rows) = rows(Product::Haproxy, &OF_HAPROXY, None);
    // Another one that agrees is as good, but not the one of the page.
    if version == "2.6" {
        is_on_the_page("haproxy", &rows);
    }
}

#[test]
fn nginx_does_as_its_rules_say() {
    if !has("nginx") {
        return;
    }
    let (version, rows) = rows(Product::Nginx, &OF_NGINX, None);
    if version == "1.22" {
        is_on_the_page("nginx", &rows);
    }
}

/// Its program is large; `make nightly` fetches it and says where it is.
#[test]
fn envoy_does_as_its_rules_say() {
    let Some(program) = std::env::var_os("SOJOURN_ENVOY") else {
        return; // no part of `make test`
    };
    let (version, rows) = rows(Product::Envoy, &OF_ENVOY, Some(program.into()));
    if version == "1.40" {
        is_on_the_page("envoy", &rows);
    }
}

/// A bundle says that it was measured if and only if the page has a row of it.
#[test]
fn no_rule_claims_more_than_the_page_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/products.md");
    let page = fs::read_to_string(path).expect("there is a page");
    for rules in PRODUCTS {
        let product = Product::from_str(rules.entry.name).expect("each can be asked");
        for bundle in rules.bundles {
            let inside = bundle.text.split_once('(').expect("it has a rule").1.trim_end_matches(')');
            // `random(2)` loses its own bracket too.
            let inside = if inside.contains('(') { format!("{inside})") } else { inside.to_owned() };
            let (version, rule) = match inside.split_once(", ") {
                Some((version, rule)) if product == Product::Haproxy => (version, rule),
                _ => ("", inside.as_str()),
            };
            let begin = format!("| {} {version}", product.title());
            let is_row = |line: &&str| line.starts_with(&begin) && line.contains(&format!("| `{rule}` |"));
            let found = page.lines().find(is_row).map(|row| row.contains("choices equal"));
            let said = match bundle.evidence {
                Evidence::EqualChoices => Some(true),
                Evidence::EqualShares => Some(false),
                Evidence::Source => None,
            };
            assert_eq!(found, said, "{}", bundle.text);
        }
    }
}

/// Another rule than the product's is found out: HAProxy 3.2 has other ties, 3.3 another default.
#[test]
fn another_rule_is_found_out() {
    if !has("haproxy") {
        return;
    }
    for (rule, version) in [("leastconn", "3.2"), ("default", "3.3")] {
        let other = Case { rules_of: Some(version.into()), ..case(Product::Haproxy, (rule, &[1, 1, 1, 1], 200)) };
        let comparison = other.compare().expect("it can be compared");
        let Agreement::Choices { equal, difference: Some(difference), .. } = &comparison.agreement else {
            panic!("{rule} of {version}: {comparison:?}")
        };
        assert!(*equal < 50 && difference.choice == equal + 1, "{comparison:?}");
        assert!(difference.to_string().starts_with(&format!("choice {}: the product took server", equal + 1)));
        assert_eq!(comparison.policy, format!("haproxy({version}, {rule})"));
    }
}

fn refusal(case: &Case) -> ConformError {
    case.compare().expect_err("it cannot be compared")
}

#[test]
fn what_cannot_be_compared_is_refused_in_a_line() {
    let of = |rule| case(Product::Haproxy, (rule, &[1, 1], 10));
    let missing = refusal(&Case { program: Some("/nowhere/haproxy".into()), ..of("leastconn") }).to_string();
    assert_eq!(missing, "/nowhere/haproxy: there is no such program");
    let other = refusal(&Case { program: Some("/bin/echo".into()), ..of("leastconn") }).to_string();
    assert_eq!(other, "/bin/echo is no HAProxy: -v");
    if !has("haproxy") {
        return;
    }
    let cases = [
        (
            Case { rules_of: Some("4.0".into()), ..of("leastconn") },
            "of haproxy 4.0 are not known; those of 2.4 to 3.4 are",
        ),
        (of("leastcon"), "did you mean `leastconn`?"),
        (of("hdr(host)"), "`hdr(host)` is none of its rules; known are leastconn"),
        (Case { weights: vec![1, 300], ..of("leastconn") }, "a weight is a whole number from 1 to 256"),
        (Case { weights: Vec::new(), ..of("leastconn") }, "there is no server"),
    ];
    for (case, part) in cases {
        let error = refusal(&case);
        let said = error.to_string();
        assert!(matches!(error, ConformError::Rule(_)) && said.contains(part) && !said.contains('\n'), "{said}");
    }
}

/// A program of this text, that answers `-v` as HAProxy does.
fn pretended(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("haproxy");
    install(&path, &format!("#!/bin/sh\n[ \"$1\" = -v ] && exec haproxy -v\n{text}\n")).expect("it can be written");
    path
}

#[test]
fn a_product_that_breaks_off_is_said_to() {
    if !has("haproxy") || !has("setpriv") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let long = case(Product::Haproxy, ("leastconn", &[1, 1], 1_000_000));
    let with = |text: &str| refusal(&Case { program: Some(pretended(folder.path(), text)), ..long.clone() });
    let refuses = with("echo 'no such option' >&2; exit 1");
    let said = "HAProxy did not start: haproxy refuses its configuration: no such option";
    assert_eq!(refuses.to_string(), said);
    let dies = with("haproxy \"$@\" & pid=$!; sleep 1; kill -KILL $pid; echo killed >&2");
    assert!(matches!(dies, ConformError::Broken { how: "ended", choices: 1.., .. }), "{dies}");
    assert!(dies.to_string().starts_with("HAProxy ended after ") && dies.to_string().ends_with("killed"), "{dies}");
}

#[test]
fn the_configuration_is_shown_as_the_product_gets_it() {
    let text = case(Product::Haproxy, ("random(2)", &[1, 5], 10)).configuration().expect("a rule of it");
    assert!(
        text.contains("  balance random(2)\n  server 127.0.0.1:8001 127.0.0.1:8001 weight 1\n")
            && text.contains("nbthread 1")
    );
    let text = case(Product::Nginx, ("least_conn", &[1, 5], 10)).configuration().expect("a rule of it");
    assert!(text.contains("    least_conn;\n    server 127.0.0.1:8001 weight=1 max_fails=0;\n"));
    let text = case(Product::Envoy, ("maglev", &[1, 5], 10)).configuration().expect("a rule of it");
    assert!(text.contains("lb_policy: MAGLEV\n") && text.contains("load_balancing_weight: 5\n"));
}
