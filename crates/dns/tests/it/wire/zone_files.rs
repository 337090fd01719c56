//! Zone files: what is read, and what is refused, with its line.

use sojourn_dns::{ServiceId, Zone, Zones};

use super::{Bench, open};

/// Two lines that every zone has.
const HEAD: &str = "@ 60 SOA ns.example.net. root.example.net. 1 1 1 1 5\n@ 60 NS ns.example.net.\n";

fn with(lines: &str) -> Result<Zone, String> {
    Zone::parse("example.org", &format!("{HEAD}{lines}"), &[])
}

#[test]
fn a_mistake_is_told_with_its_line_and_what_would_be_right() {
    for (lines, expected) in [
        ("www 60 A 192.0.2.256", "line 3: `192.0.2.256` is no data of A"),
        ("www 60 A 192.0.2.256", "it is as in `192.0.2.1`"),
        ("www 60 A 192.0.2.1 192.0.2.2", "line 3: the data of A has 1 part, and here are 2"),
        ("www 60 AAAA 192.0.2.1", "line 3: `192.0.2.1` is no data of AAAA"),
        ("\n\nwww 60 A", "line 5: the data of A has 1 part, and here are 0"),
        ("\n ; a note\nmail 60 MX mail", "line 5: the data of MX has 2 parts, and here are 1; it is as in"),
        ("www 60 IN ADDRESS 192.0.2.1", "line 3: `ADDRESS` is no type known; a record is `NAME TTL IN TYPE DATA`"),
        ("www 60 IN", "line 3: the record has no type"),
        ("www 60 CH TXT x", "line 3: class `CH` is not served"),
        ("www 6x A 192.0.2.1", "line 3: `6x` is no time to live; write seconds as in `300`"),
        ("www 99999999999 A 192.0.2.1", "line 3: `99999999999` is no time to live"),
        ("www.example.com. 60 A 192.0.2.1", "line 3: `www.example.com.` is not in the zone `example.org.`"),
        ("$ORIGIN example.com.\nwww 60 A 192.0.2.1", "line 4: `www.example.com.` is not in the zone"),
        ("$INCLUDE other", "line 3: `$INCLUDE` is not known so; `$ORIGIN NAME` and `$TTL TIME` are"),
        ("$GENERATE 1-9 www$ A 192.0.2.$", "line 3: `$GENERATE` is not known"),
        ("$TTL", "line 3: `$TTL` is not known so"),
        ("www 60 TXT \"open", "line 3: a quote without its end"),
        ("www 60 TXT (\n open", "line 3: `(` without a `)` after it"),
        ("www 60 TXT ( ( x ) )", "line 3: `(` within parentheses"),
        ("www 60 TXT x )", "line 3: `)` without a `(` before it"),
        ("www 60 TXT \"\\19\"", "line 3: `\"\\19\"` is no data of TXT (`\\19` is no byte: three digits, 000 to 255)"),
        ("www 60 TXT \\256", "`\\256` is no byte: three digits, 000 to 255"),
        ("www 60 TXT a\\", "line 3: `a\\` is no data of TXT (`\\` at the end)"),
        ("k\\1y 60 A 192.0.2.1", "line 3: `k\\1y` is no name (`\\1` is no byte"),
        ("www 60 HINFO a\\032b", "line 3: `a\\032b` is no data of HINFO (it has 2 parts, and here are 1)"),
        ("www 60 SSHFP 1 1 \\065", "is no data of SSHFP (it has no text in which a `\\` could be)"),
        ("www 60 A \\# 4 C00002", "line 3: `\\# 4 C00002` is no data (after `\\#` stand how many bytes"),
        ("www 60 DNSKEY x", "line 3: `x` is no data of DNSKEY"),
        ("www..x 60 A 192.0.2.1", "line 3: `www..x` is no name"),
        (
            "www 60 CNAME x\nwww 60 A 192.0.2.1",
            "line 3: `www.example.org.` is an alias here and has other records on line 4",
        ),
        ("www 60 CNAME x\nwww 60 CNAME y", "line 4: there is one already on line 3, and a name has one only"),
        ("@ 60 SOA a b 1 1 1 1 1", "line 3: there is one already on line 1"),
        ("www 60 SOA a b 1 1 1 1 1", "line 3: SOA stands at the zone's own name, which is `example.org.`"),
        ("@ 60 NS ns", "line 2: `ns.example.org.` has no address; give it one, as in `ns.example.org. A 192.0.2.53`"),
        ("sub 60 NS ns.sub", "line 3: `ns.sub.example.org.` has no address"),
        ("*.sub 60 NS ns.example.net.", "line 3: `*.sub.example.org.` cannot be delegated"),
        (
            "sub 60 NS ns.example.net.\nx.sub 60 TXT x",
            "line 4: `x.sub.example.org.` is delegated at `sub.example.org.`; only the addresses of its name servers",
        ),
        ("sub 60 NS ns.example.net.\nsub 60 TXT x", "line 4: `sub.example.org.` is delegated at `sub.example.org.`"),
    ] {
        let error = with(lines).expect_err(lines);
        assert!(error.contains(expected), "{lines:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let long = "x".repeat(64);
    assert!(with(&format!("{long} 60 A 192.0.2.1")).expect_err("too long").contains("is no name"));
    let longer = ["x".repeat(63), "x".repeat(63), "x".repeat(63), "x".repeat(60)].join(".");
    assert!(with(&format!("{longer} 60 A 192.0.2.1")).expect_err("too long").contains("is no name"));
}

#[test]
fn a_zone_without_what_makes_it_one_is_refused() {
    for (text, expected) in [
        ("", "the zone `example.org.` has no SOA record; it is as in `@ 3600 IN SOA"),
        ("@ 60 SOA ns.example.net. root 1 1 1 1 5", "the zone `example.org.` has no name server"),
        (
            "@ SOA ns.example.net. root 1 1 1 1 5",
            "line 1: the record has no time to live; `$TTL 300` on the first line",
        ),
        ("  60 A 192.0.2.1", "line 1: a line that begins with a blank needs a name on a line before it"),
    ] {
        let error = Zone::parse("example.org", text, &[]).expect_err(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let zone = || with("").expect("a zone");
    let error = Zones::new(vec![zone(), zone()]).expect_err("twice");
    assert!(error.contains("`example.org.` is there twice"), "{error}");
}

#[test]
fn services_have_a_place_of_their_own() {
    let lines = "mail 60 A 192.0.2.1\nalias 60 CNAME mail\nsub 60 NS ns.example.net.\n_why.told 60 TXT x\n";
    for (names, expected) in [
        (&["mail"][..], "service `mail`: line 3 of the zone file gives addresses to `mail.example.org.`"),
        (&["alias"], "service `alias`: line 4 of the zone file gives addresses"),
        (&["x.sub"], "service `x.sub.example.org.`: it is delegated at `sub.example.org.`"),
        (&["told"], "service `told`: `_why.told.example.org.` is made for it, and on line 6 of the zone file too"),
        (&["www.example.com."], "service `www.example.com.`: `www.example.com.` is not in the zone"),
        (&["www", "www"], "service `www`: it is there twice"),
        (&["a..b"], "service `a..b`: `a..b` is no name"),
    ] {
        let services: Vec<_> = names.iter().map(|name| (name.to_string(), ServiceId(0))).collect();
        let error = Zone::parse("example.org", &format!("{HEAD}{lines}"), &services).expect_err(expected);
        assert!(error.contains(expected), "{names:?}: {error}");
    }
}

#[test]
fn a_zone_can_be_made_without_a_file() {
    let services = [("www".to_string(), ServiceId(1))];
    let zone = Zone::made("example.org", &["ns1.example.net".into()], 9, &services).expect("a zone");
    let mut bench = Bench::new(open());
    bench.zones = Zones::new(vec![zone]).expect("zones");
    let soa = "ns1.example.net. hostmaster.example.org. 9 3600 900 1209600 60";
    assert_eq!(bench.ask("example.org.", "SOA"), format!("NoError aa\nexample.org. 3600 SOA {soa}"));
    assert_eq!(bench.ask("example.org.", "NS"), "NoError aa\nexample.org. 3600 NS ns1.example.net.");
    assert!(bench.ask("www.example.org.", "A").contains("198.51.100.2"));
    assert_eq!(bench.ask("x.example.org.", "A"), format!("NXDomain aa\nauthority example.org. 60 SOA {soa}"));
    let inside = Zone::made("example.org", &["ns1.example.org".into()], 9, &[]).expect_err("no address");
    assert!(inside.contains("name server `ns1.example.org.` is in the zone, and only a zone file"), "{inside}");
    let none = Zone::made("example.org", &[], 9, &[]).expect_err("no name server");
    assert!(none.contains("has no name server"), "{none}");
}

#[test]
fn the_zone_of_the_guide_is_one() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dns-wire.md");
    let guide = std::fs::read_to_string(guide).expect("a guide");
    let zone = guide.split("```").nth(1).expect("an example");
    let mut bench = Bench::new(open());
    bench.zones = Zones::new(vec![Zone::parse("example.org", zone, &[]).expect("a zone")]).expect("zones");
    assert_eq!(bench.ask("x.users.example.org.", "A"), "NoError aa\nx.users.example.org. 300 A 192.0.2.77");
    assert_eq!(bench.ask("lab.example.org.", "A"), "NoError\nauthority lab.example.org. 300 NS ns.example.net.");
}

/// Origins, times, comments, parentheses, quotes and escapes are read as in the standard.
#[test]
fn all_forms_of_lines_are_read() {
    let lines = r#"
$TTL 1h30m ; of those that follow
txt          TXT "a;b" ( "c (d)"   ; comment ) "
                 e ) f\.g "say \"x\""
$ORIGIN sub.example.org.
www      A   192.0.2.1
    120  A   192.0.2.2
    IN 60 A  192.0.2.2
         AAAA 2001:db8::1
$ORIGIN other
x   1D   MX  5 @
@   in a 192.0.2.3
dot\.ted A   192.0.2.4
"#;
    let mut bench = Bench::new(open());
    bench.zones = Zones::new(vec![with(lines).expect("a zone")]).expect("zones");
    for (name, kind, expected) in [
        ("txt.example.org.", "TXT", r#"txt.example.org. 5400 TXT "a;b" "c (d)" "e" "f.g" "say \"x\"""#),
        // The least of all times is that of all, and what is there twice is there once.
        ("www.sub.example.org.", "A", "www.sub.example.org. 60 A 192.0.2.1\nwww.sub.example.org. 60 A 192.0.2.2"),
        ("www.sub.example.org.", "AAAA", "www.sub.example.org. 5400 AAAA 2001:db8::1"),
        ("x.other.sub.example.org.", "MX", "x.other.sub.example.org. 86400 MX 5 other.sub.example.org."),
        ("other.sub.example.org.", "A", "other.sub.example.org. 5400 A 192.0.2.3"),
        ("dot\\.ted.other.sub.example.org.", "A", "dot\\.ted.other.sub.example.org. 5400 A 192.0.2.4"),
    ] {
        assert_eq!(bench.ask(name, kind), format!("NoError aa\n{expected}"), "{name} {kind}");
    }
}

/// `\DDD` is a byte in decimal, in names and in texts, with or without quotes (RFC 1035, 5.1; hickory report 3955 is of this
/// kind). `@` is a name only where a name can be.
#[test]
fn escapes_are_decimal_everywhere() {
    let lines = r#"
$TTL 1h
k\101y  A      192.0.2.1
c       CNAME  k\101y
t1      TXT    a\032b
t2      TXT    a\.b a\\b "a\.b" "\@" a\@b @
t3      TXT    \065 "\065\195\188" a\;b
mx      MX     10 a\.b
srv     SRV    1 2 443 \097\.b
h       HINFO  a\032b "x\\y"
caa     CAA    0 issue "a\;b"
raw     A      \# 4 C0 000207
"#;
    let mut bench = Bench::new(open());
    bench.zones = Zones::new(vec![with(lines).expect("a zone")]).expect("zones");
    for (name, kind, expected) in [
        ("key", "A", "A 192.0.2.1"),
        ("c", "CNAME", "CNAME key.example.org."),
        ("t1", "TXT", r#"TXT "a b""#),
        ("t2", "TXT", r#"TXT "a.b" "a\\b" "a.b" "@" "a@b" "@""#),
        ("t3", "TXT", "TXT \"A\" \"A\u{fc}\" \"a;b\""),
        ("mx", "MX", r"MX 10 a\.b.example.org."),
        ("srv", "SRV", r"SRV 1 2 443 a\.b.example.org."),
        ("h", "HINFO", r"HINFO a b x\y"),
        ("caa", "CAA", r#"CAA 0 issue "a;b""#),
        ("raw", "A", "A 192.0.2.7"),
    ] {
        let answer = bench.ask(&format!("{name}.example.org."), kind);
        assert_eq!(answer.split_once("3600 ").expect(&answer).1, expected, "{name} {kind}: {answer}");
    }
}
