//! Words that others use: each mistake is answered with what was probably meant, in a line that ends there.

use crate::sojourn::{experiment, file, sojourn, stderr, stdout};

/// What is said of these arguments, which are refused.
fn refused(arguments: &[&str]) -> String {
    let output = sojourn(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    let said = stderr(&output);
    assert!(!said.contains("?;") && !said.contains("? ;"), "{arguments:?}: {said}");
    said
}

#[test]
fn a_queue_that_is_nearly_one_is_named() {
    let laws = ["--arrivals", "exponential(rate = 0.5 /s)", "--service", "exponential(mean = 1 s)"];
    let ask = |queue: &str| refused(&[&["queue", queue], &laws[..]].concat());
    for (queue, meant) in [
        ("MM1", "did you mean `M/M/1`?\n"),
        ("M/M/4/JSQ", "did you mean `M/M/4-JSQ`?\n"),
        ("M/M/4/JSQ(2)", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("M/M/1/PS", "did you mean `M/M/1-PS`?\n"),
        ("M/M/4-power-of-d(2)", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("power-of-d(2)", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("M/M/4-leastconn", "did you mean `M/M/4-JSQ`?\n"),
        ("M/M/1-processor-sharing", "did you mean `M/M/1-PS`?\n"),
        ("M/M/x", "`x` is a letter; did you mean a number, for example `M/M/4`?\n"),
        ("M/M/c/K-PS", "`c` is a letter; did you mean a number, for example `M/M/4/10-PS`?\n"),
        ("M/M/c-JSQ", "`c` is a letter; did you mean a number, for example `M/M/4`?\n"),
        ("M/M/4-POD(2)", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("M/M/4-JSQ2", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("jsq2", "did you mean `M/M/4-JSQ(2)`?\n"),
        ("jsqq", "did you mean `M/M/4-JSQ`?\n"),
        ("M/M/4-jsqq", "there is no discipline `jsqq`; did you mean `M/M/4-JSQ`?\n"),
        ("M/M/4-JSQ-PS", "after the dash JSQ, or JSQ(2), stands alone"),
        ("M/M/JSQ", "the number of servers is missing; did you mean `M/M/4-JSQ`?\n"),
        ("M/M-JSQ", "the number of servers is missing; did you mean `M/M/4-JSQ`?\n"),
        ("M/G/PS", "the number of servers is missing; did you mean `M/G/1-PS`?\n"),
        ("M/M", "the number of servers is missing; did you mean `M/M/1`?\n"),
        ("M/M/4-lc", "did you mean `M/M/4-JSQ`?\n"),
        ("M/M/4-JIQ", "discipline `JIQ` (join the idle queue) is none of FCFS, PS"),
        ("M/G/1-SRPT", "(shortest remaining processing time) is none of FCFS, PS"),
        ("M/M/4-ewma", "`peak-ewma` is a policy of a dispatcher; here queues side by side are JSQ or JSQ(2)"),
        ("M/M/4-round-robin", "`round-robin` is a policy of a dispatcher"),
        ("M/M/4-RR", "needs its quantum"),
        ("M/M/-1", "the number of servers is `-1`, not a whole number from 1 to 1000000, nor `inf`"),
    ] {
        assert!(ask(queue).contains(meant), "{queue}: {}", ask(queue));
    }
    let by = refused(&[&["queue", "M/M/1", "--by", "simulation"], &laws[..]].concat());
    assert!(by.contains("--by simulation: did you mean `sim`?"), "{by}");
    let arrivals = ["queue", "M/M/1", "--arrivals", "exponential(lambda = 1 /s)", "--service", "1 s"];
    for (law, meant) in [
        ("exponential(150 rps)", "`150 rps`: name the parameter of exponential, e.g. rate = 150 /s"),
        ("150 rps", "write `exponential(rate = 150 /s)`"),
        ("D(1 s)", "`D` is not a law; did you mean `constant`?"),
        (
            "poison(rate = 1 /s)",
            "`poison` is not a law: the gaps of a Poisson process are exponential; did you mean `exponential`?\n",
        ),
        ("lambda = 0.5 /s", "did you mean `exponential(rate = 0.5 /s)`?\n"),
    ] {
        let told = refused(&["queue", "M/M/1", "--arrivals", law, "--service", "1 s"]);
        assert!(told.contains(meant), "{law}: {told}");
    }
    let told = refused(&arrivals);
    assert!(told.contains("did you mean `rate`? (known: utilization, mean, rate"), "{told}");
}

#[test]
fn a_setting_that_is_called_otherwise_is_named() {
    let four = experiment("four-servers.toml").display().to_string();
    let set = |setting: &str| refused(&["run", &four, "--by", "theory", "--set", setting]);
    for (setting, meant) in [
        ("policy=JSQ", "did you mean `least-connections`?"),
        ("policy=jsqq", "unknown policy `jsqq`; did you mean `least-connections`?"),
        ("policy=JSQ(2)", "did you mean `power-of-d(d = 2)`?"),
        ("policy=power-of-d(2)", "`2`: did you mean `power-of-d(d = 2)`?"),
        ("policy=LeastConn", "did you mean `haproxy(2.6, leastconn)` or `least-connections`?"),
        ("policy=haproxy(leastconn)", "did you mean `haproxy(2.6, leastconn)`?"),
        ("policy=first", "did you mean `haproxy(2.6, first)`?"),
        ("policy=hash", "did you mean `nginx(hash consistent)`, `haproxy(2.6, uri)` or `path-hash`?"),
        ("policy=least_time", "did you mean `peak-ewma`, the nearest that goes by response times?"),
        ("policy=random two least_conn", "did you mean `nginx(random two)` or `power-of-d`?"),
        ("maxconn=20", "did you mean `limit`?"),
        ("policy=haproxy", "it takes a version and a rule, as in `haproxy("),
        ("discipline=processor-sharing", "did you mean `ps`?"),
        ("lambda=3", "unknown setting `lambda`; did you mean `rate`?"),
        ("policy=jsq2", "did you mean `power-of-d(d = 2)`?"),
        ("policy=ewma", "did you mean `peak-ewma`?"),
        ("policy=lc", "unknown policy `lc`; did you mean `least-connections`?"),
        ("policy=wlc", "did you mean `weighted-least-connections`?"),
        ("arrivals=poison(rate = 8 /s)", "did you mean `exponential`?"),
        ("mu=1", "unknown setting `mu`; did you mean `demand = \"exponential(rate = 1 /s)\"`?"),
        ("mu=150 /min", "did you mean `demand = \"exponential(rate = 150 /min)\"`?"),
        ("service_time=0.5", "did you mean `demand = \"exponential(mean = 0.5 s)\"`?"),
        ("service=exponential(mean = 1 s)", "did you mean `demand`?"),
        ("serverz=4", "unknown setting `serverz`; did you mean `servers`?"),
        ("precision=", "there is no such setting; did you mean `run.precision`?"),
        ("timeout=1 s", "there is no such setting; did you mean `client.timeout`?"),
        ("rate=8", "it is a text in quotes, with its unit where it has one, e.g. \"8 /s\""),
        ("arrivals=constant(8 /s)", "`8 /s` is a rate: write `constant(rate = 8 /s)`"),
        ("arrivals=8 /s", "write `exponential(rate = 8 /s)`, or `constant(rate = 8 /s)` for even gaps"),
        ("nonsense=1", "or a dotted path such as `workload.size`"),
        ("workload.utilization=70%", "it is a number, without quotes, such as 0.7"),
        ("workload.polices=random", "unknown key `polices`; did you mean `policy` of a gateway under [[system.tier]]?"),
        ("client.retry=2", "unknown key `retry`; did you mean `retries`?"),
        ("client.max_retries=2", "did you mean `retries`?"),
        ("client.retries.at_mots=2", "did you mean `at_most`?"),
        ("client.retries.max=2", "did you mean `at_most`?"),
        ("objective.p99=<= 500 ms", "measured numbers are never equal to a limit: did you mean `< 500 ms`?"),
        ("objective.p99==< 500 ms", "did you mean `< 500 ms`?"),
        ("max_fails=3", "unknown setting `max_fails`; did you mean `ejection` of a gateway under [[system.tier]]?"),
        ("system.max_fails=3", "unknown key `max_fails`; did you mean `ejection` of a gateway under [[system.tier]]?"),
        ("system.tier.0.max_fails=3", "unknown key `max_fails`; did you mean `ejection`?"),
    ] {
        assert!(set(setting).contains(meant), "{setting}: {}", set(setting));
    }
    for (by, meant) in [("simulation", "sim"), ("formula", "theory"), ("measured", "live")] {
        let told = refused(&["run", &four, "--by", by]);
        assert!(told.contains(&format!("unknown engine `{by}`; did you mean `{meant}`?")), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(experiment("four-servers.toml")).unwrap();
    let percent = text.replace("[vary]\n", "[vary]\n\"workload.utilization\" = \"50 %..70 % step 10 %\"\n");
    let told = refused(&["run", &file(folder.path(), "x.toml", percent), "--by", "theory"]);
    assert!(told.contains("it is a number, without quotes, such as 0.5"), "{told}");
}

/// Names of policies, laws, disciplines and metrics, wherever they may stand.
#[test]
fn a_name_that_is_called_otherwise_is_named_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let four = std::fs::read_to_string(experiment("four-servers.toml")).unwrap();
    let told = |text: String| refused(&["run", &file(folder.path(), "x.toml", text), "--by", "theory"]);
    let without = |part: &str, with: &str| {
        assert!(four.contains(part), "{part}");
        four.replace(part, with)
    };
    let policies = [
        ("round_robin", "did you mean `round-robin`?"),
        ("least_conn", "did you mean `nginx(least_conn)` or `least-connections`?"),
        ("leastconn", "did you mean `haproxy(2.6, leastconn)` or `least-connections`?"),
        ("JSQ", "did you mean `least-connections`?"),
        ("poisson", "a Poisson process is one of arrivals: "),
    ];
    let disciplines = [("fifo", "did you mean `fcfs`?"), ("processor_sharing", "did you mean `ps`?")];
    let laws = [
        ("exp(rate = 8 /s)", "did you mean `exponential`?"),
        ("poisson(rate = 8 /s)", "did you mean `exponential`?"),
        ("lognorm(mean = 1 s, cv = 2)", "did you mean `lognormal`?"),
        ("weibul(shape = 2, mean = 1 s)", "did you mean `weibull`?"),
        ("fng(h = 0.8, rate = 8 /s)", "did you mean `fgn`?"),
        ("batches(n = 5, evry = 1 s)", "(did you mean `every`?)"),
    ];
    let metrics = [
        ("p999", "< 5 ms", "did you mean `p99.9`?"),
        ("latency", "< 5 ms", "did you mean `mean`?"),
        ("error_rate", "< 1%", "did you mean `error_ratio`?"),
        ("p75", "< 5 ms", "unknown metric `p75`; known are mean, p50"),
    ];
    let mut cases = Vec::new();
    for (policy, meant) in policies {
        let single = "policy = \"random\"\ndiscipline";
        cases.push((without("policy = \"least-connections\"", &format!("policy = \"{policy}\"")), meant));
        cases.push((without("  \"round-robin\",", &format!("  \"{policy}\",")), meant));
        cases.push((without(single, &format!("policy = \"{policy}\"\ndiscipline")), meant));
    }
    for (discipline, meant) in disciplines {
        cases.push((without("discipline = \"limited-ps\"", &format!("discipline = \"{discipline}\"")), meant));
        cases.push((without("discipline = \"ps\"", &format!("discipline = \"{discipline}\"")), meant));
    }
    for (law, meant) in laws {
        let given = "arrivals = \"exponential(utilization = 0.7)\"";
        cases.push((without(given, &format!("arrivals = \"{law}\"")), meant));
    }
    for (metric, limit, meant) in metrics {
        cases.push((format!("{four}\n[objective]\n{metric} = \"{limit}\"\n"), meant));
    }
    for (text, meant) in cases {
        let said = told(text);
        assert!(said.contains(meant), "{meant}: {said}");
    }
    let four = experiment("four-servers.toml").display().to_string();
    for (setting, meant) in [
        ("policy=round_robin", "did you mean `round-robin`?"),
        ("discipline=fifo", "did you mean `fcfs`?"),
        ("size=lognorm(mean = 6 kB, cv = 2)", "did you mean `lognormal`?"),
        ("objective.error_rate=< 1%", "did you mean `error_ratio`?"),
    ] {
        let said = refused(&["run", &four, "--by", "theory", "--set", setting]);
        assert!(said.contains(meant), "{setting}: {said}");
    }
    for (option, meant) in [("--policy", "--set policy=NAME"), ("--servers", "--set servers=N")] {
        for verb in ["run", "plan"] {
            let said = refused(&[verb, &four, option, "random"]);
            assert!(said.contains(&format!("unknown option '{option}'; did you mean '{meant}'?")), "{verb}: {said}");
        }
    }
    let said = refused(&["load", "http://127.0.0.1:1/", "--data", "x"]);
    assert!(said.contains("unknown option '--data'; did you mean '--body'?"), "{said}");
}

/// `retries = 3` is short for a table, which has room for its other keys.
#[test]
fn a_key_of_retries_that_are_a_number_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let four = std::fs::read_to_string(experiment("four-servers.toml")).unwrap();
    let path = file(folder.path(), "x.toml", format!("{four}\n[client]\ntimeout = \"1 s\"\nretries = 3\n"));
    let told = refused(&["run", &path, "--by", "theory", "--set", "client.retries.at_mots=2"]);
    assert!(told.contains("did you mean `at_most`?"), "{told}");
    let output = sojourn(&["run", &path, "--check", "--set", "client.retries.backoff=50 ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_fault_that_is_called_otherwise_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let four = std::fs::read_to_string(experiment("four-servers.toml")).unwrap();
    for (what, meant) in [
        ("crash", "down"),
        ("dead", "down"),
        ("killed", "down"),
        ("crash(1)", "down"),
        ("hang", "frozen"),
        ("partition", "cut"),
    ] {
        let fault = format!("[[fault]]\nserver = 1\nat = \"0 s\"\nwhat = \"{what}\"\n");
        let told = refused(&["run", &file(folder.path(), "x.toml", format!("{four}\n{fault}")), "--by", "sim"]);
        assert!(told.contains(&format!("did you mean `{meant}`?")), "{what}: {told}");
    }
}

#[test]
fn a_verb_or_an_option_that_others_have_is_named() {
    for (arguments, meant) in [
        (&["describe", "x.log"][..], "unknown subcommand 'describe'; did you mean 'sojourn traffic describe'?"),
        (&["simulate", "x.toml"], "did you mean 'sojourn run --by sim'?"),
        (&["bench", "http://x/"], "did you mean 'sojourn load'?"),
        (&["stats", "access.log"], "unknown subcommand 'stats'; did you mean 'sojourn traffic describe'?"),
        (&["summary", "access.log"], "did you mean 'sojourn traffic describe'?"),
        (&["convert", "haproxy.cfg"], "did you mean 'sojourn import'?"),
        (&["capacity", "plan.toml"], "did you mean 'sojourn plan'?"),
        (&["queue", "M/M/1", "--lambda", "0.8"], "unknown option '--lambda'; did you mean '--arrivals'?"),
        (&["queue", "M/M/1", "--mu", "1"], "unknown option '--mu'; did you mean '--service'?"),
        (&["load", "http://127.0.0.1:1/", "--qps", "5"], "unknown option '--qps'; did you mean '--rate'?"),
        (&["load", "http://127.0.0.1:1/", "--rps=5"], "unknown option '--rps'; did you mean '--rate'?"),
        (&["load", "http://127.0.0.1:1/", "--concurrency", "5"], "did you mean '--connections'?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "P99 < 3 ms"], "`P99` is no metric; did you mean `p99`?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "errors < 1%"], "did you mean `error_ratio`?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "p999 < 5 ms"], "did you mean `p99.9`?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "latency_p99 < 5 ms"], "did you mean `p99`?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "latency < 5 ms"], "did you mean `mean`?"),
        (&["load", "http://127.0.0.1:1/", "--objective", "p99=<= 500 ms"], "did you mean `p99 < 500 ms`?"),
        (
            &["load", "http://127.0.0.1:1/", "--search", "p99 =< 500 ms", "--rate", "9 /s"],
            "did you mean `p99 < 500 ms`?",
        ),
        (&["load", "http://127.0.0.1:1/", "--limit", "lateness=5 ms"], "did you mean `late`?"),
    ] {
        assert!(refused(arguments).contains(meant), "{arguments:?}: {}", refused(arguments));
    }
    // Where a verb has no such option, nothing is offered.
    let told = refused(&["run", "x.toml", "--qps", "5"]);
    assert!(!told.contains("--rate"), "{told}");
}
