//! What the guides tell a reader to type works.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sojourn_bed::Child;

use crate::bed::{can, has};
use crate::sojourn::{PROGRAM, estimates, file, root, sojourn, stderr};

fn guides() -> Vec<(String, String)> {
    let in_folder = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let readme = [root().join("README.md")];
    let named = in_folder("docs")
        .chain(in_folder("docs/guides"))
        .chain(readme)
        .filter(|path| path.extension().is_some_and(|e| e == "md"));
    named.map(|path| (path.display().to_string(), joined(&path))).collect()
}

/// A document in which a command that goes on after a backslash is one line.
fn joined(path: &Path) -> String {
    fs::read_to_string(path).unwrap().replace("\\\n", "")
}

/// The blocks of `language` in a document.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(open.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_queue_and_plan_in_the_guides_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for (guide, text) in guides() {
        for line in blocks(&text, "sh").concat().lines() {
            let instant = ["sojourn queue", "sojourn traffic generate", "sojourn doctor", "sojourn completions"];
            if !instant.iter().any(|start| line.starts_with(start)) {
                continue;
            }
            let command = line
                .replacen("sojourn", PROGRAM, 1)
                .replace("experiments/", &format!("{}/experiments/", root().display()));
            let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
            assert!(output.status.success(), "{guide}: {line}\n{}", stderr(&output));
            tried += 1;
        }
    }
    assert!(tried >= 5, "only {tried} commands were found");
}

/// The folders of runs that a text names, without their numbers; names that a reader gives (`runs/mine`) have none.
fn numbered_runs(text: &str) -> Vec<&str> {
    let named = text.split("runs/").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        &rest[..end]
    });
    let numbered = named.filter_map(|name| name.rsplit_once('-'));
    numbered.filter(|(_, number)| number.parse::<u32>().is_ok()).map(|(name, _)| name).collect()
}

/// A folder that a guide opens is one that its own experiment is written to.
#[test]
fn the_folders_of_the_guides_are_those_that_their_runs_make() {
    let mut found = 0;
    for (guide, text) in guides() {
        let names = blocks(&text, "toml").into_iter().flat_map(str::lines).filter_map(|line| {
            let name = line.strip_prefix("name = \"")?.split('"').next()?;
            let free = sojourn_lab::folder::free(name).display().to_string();
            Some(numbered_runs(&free)[0].to_owned())
        });
        let made: Vec<String> = names.collect();
        for name in numbered_runs(&text) {
            assert!(made.iter().any(|of| of == name), "{guide} names runs/{name}, and its experiments make {made:?}");
            found += 1;
        }
    }
    assert!(found >= 5, "only {found} folders were found");
}

/// The commands of the section, in their order, with a rough precision: the run, and the plot of what it has written.
#[test]
fn the_guide_from_one_queue_to_the_shortest_of_several_works() {
    let folder = tempfile::tempdir().unwrap();
    let text = joined(&root().join("docs/queues.md"));
    let of =
        |language: &str, part: &str| blocks(&text, language).into_iter().find(|block| block.contains(part)).unwrap();
    file(folder.path(), "dispatch.toml", of("toml", "[[system.tier]]"));
    let quick = "sojourn run dispatch.toml --set 'run.precision=20% at 95% of mean'";
    let script = of("sh", "sojourn run dispatch.toml").replace("sojourn run dispatch.toml", quick);
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("set -eu -o pipefail\n{script}")]).env("PATH", path).current_dir(folder.path());
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let p99 = fs::read_to_string(folder.path().join("p99.svg")).unwrap();
    assert!(folder.path().join("dispatch.svg").exists() && p99.contains("99th percentile"), "{p99}");
}

#[test]
fn the_first_experiment_runs() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/first-experiment.md")).unwrap();
    let path = file(folder.path(), "first.toml", blocks(&text, "toml")[0]);
    let out = folder.path().join("out").display().to_string();
    let output = sojourn(&["run", &path, "--by", "theory,sim", "--set", "run.precision=20% at 95%", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn every_experiment_of_the_project_can_be_read() {
    let in_folder = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect::<Vec<_>>()
    };
    let folders = [
        "experiments",
        "experiments/zhang-2002",
        "experiments/zhang-2002/live",
        "experiments/agarwal-2001",
        "experiments/agarwal-2001/live",
        "experiments/fujita-2000",
        "experiments/fujita-2000/models",
        "experiments/fujita-2000/plan",
    ];
    for path in folders.into_iter().flat_map(in_folder) {
        let variants = sojourn_lab::Experiment::read(&path).and_then(|source| source.variants());
        let needs_a_log = Path::new("replay-a-day.toml");
        match path.file_name().map(Path::new) {
            Some(name) if name == needs_a_log => {
                assert!(variants.unwrap_err().to_string().contains("--set workload.log"))
            }
            _ => assert!(!variants.unwrap().is_empty()),
        }
    }
}

#[test]
fn the_guide_to_comparing_dispatchers_works() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/compare-dispatchers.md")).unwrap();
    let site = file(folder.path(), "site.csv", blocks(&text, "csv")[0]);
    let described = sojourn(&["traffic", "site", "--read", &site]);
    assert_eq!(described.status.code(), Some(0), "{}", stderr(&described));
    let path = file(folder.path(), "shop.toml", blocks(&text, "toml")[0]);
    let out = folder.path().join("out").display().to_string();
    let short = ["--set", "run.duration=60 s", "--set", "run.precision=30% at 95%"];
    let output = sojourn(&[&["run", &path, "--by", "sim", "--out", &out], &short[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(folder.path().join("out/replications.csv").exists());
}

/// All blocks of the guide, as one who types them would run them; what it shows of the experiment is what is written.
#[test]
fn the_guide_to_simulating_haproxy_works() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/simulate-your-haproxy.md")).unwrap();
    // Roughly, and without the one server more.
    let quick = "sojourn run app.toml --set servers=4 --set 'run.precision=20% at 95% of mean'\n";
    let script = blocks(&text, "sh").concat().replace("sojourn run app.toml\n", quick);
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("set -eu -o pipefail\n{script}")]).env("PATH", path).env("COLUMNS", "1000");
    let output = bash.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", stderr(&output));
    for file in ["app.toml", "nginx.toml", "envoy.toml"] {
        assert!(
            stderr(&output).contains(&format!("wrote {file}")) || told.contains(&format!("wrote {file}")),
            "{told}"
        );
    }
    let written = fs::read_to_string(folder.path().join("app.toml")).unwrap();
    let shown = blocks(&text, "toml")[0];
    let missing: Vec<&str> = shown.lines().filter(|line| !written.lines().any(|other| other == *line)).collect();
    assert!(missing.is_empty() && shown.lines().count() > 20, "{missing:?} in\n{written}");
    let notes = blocks(&text, "text").into_iter().find(|block| block.contains("is not understood")).unwrap();
    assert!(notes.lines().all(|line| written.contains(line)), "{notes}\n{written}");
}

/// All blocks of the guide, with fewer variants: from a log to what happened beside what would have.
#[test]
fn the_guide_from_a_log_works() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/from-your-log.md")).unwrap();
    let script: String = blocks(&text, "sh")
        .into_iter()
        .filter(|block| !block.starts_with("alias"))
        .map(|block| block.to_owned() + "\n")
        .collect();
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("set -eu -o pipefail\n{script}")]).env("PATH", path).env("COLUMNS", "1000");
    let output = bash.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", stderr(&output));
    for line in blocks(&text, "text").into_iter().flat_map(str::lines) {
        // awk's random numbers are not the same everywhere.
        let begins = line.split("mean =").next().unwrap();
        assert!(told.contains(begins), "no `{begins}` in {told}");
    }
}

#[test]
fn the_guide_to_measuring_a_server_predicts() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/measure-a-server.md")).unwrap();
    file(folder.path(), "server.toml", blocks(&text, "toml")[0]);
    let path = file(folder.path(), "nginx.toml", blocks(&text, "toml")[1]);
    let out = folder.path().join("out").display().to_string();
    let far = folder.path().join("far").display().to_string();
    let runs: [(&str, &[&str]); 2] = [(&out, &[]), (&far, &["--set", "system.network.rtt=100.31 ms"])];
    for (out, settings) in runs {
        let output = sojourn(&[&["run", &path, "--by", "theory,sim", "--out", out], settings].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let p90 = |out: &str, engine| estimates(Path::new(out), engine, "response_time_p90")[0];
    // Both are near: the simulator's interval is 5 % at most.
    for out in [&out, &far] {
        assert!((p90(out, "theory") / p90(out, "sim") - 1.0).abs() < 0.1, "{out}: {}", p90(out, "theory"));
    }
    let added_s = p90(&far, "theory") - p90(&out, "theory");
    assert!((added_s - 0.1).abs() < 1e-9, "a longer way is added: {added_s}");
}

#[test]
fn every_load_of_the_guide_to_load_can_be_put_on_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/load.md")).unwrap();
    let model = file(folder.path(), "server.toml", blocks(&text, "toml")[0]);
    file(folder.path(), "buy.toml", blocks(&text, "toml")[1]);
    let arguments = ["node", "--child", "--model", &model];
    let node = Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap();
    let address = format!("127.0.0.1:{}", node.port());
    let mut tried = 0;
    for line in blocks(&text, "sh").concat().lines().filter(|line| !line.starts_with("sojourn node")) {
        let quick = line.replacen("sojourn", PROGRAM, 1).replace("127.0.0.1:8080", &address);
        let quick = quick.replace("-d 10s", "-d 500ms").replace("--warm-up 1s", "--warm-up 100ms");
        let output = Command::new("sh").args(["-c", &quick]).current_dir(folder.path()).output().unwrap();
        // Half a second is too short for a verdict, and nothing else.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}\n{}", stderr(&output));
        tried += 1;
    }
    assert!(tried >= 15, "only {tried} commands were found");
    for made in ["curve.svg", "requests.csv", "run.hlog"] {
        assert!(folder.path().join(made).exists(), "{made}");
    }
}

#[test]
fn the_readme_measures_the_server_that_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let text = joined(&root().join("README.md"));
    let block = blocks(&text, "sh").into_iter().find(|block| block.contains("sojourn node")).unwrap();
    let run = |line: &str| Command::new("sh").args(["-c", line]).current_dir(folder.path()).output().unwrap();
    assert!(run(block.lines().next().unwrap()).status.success());
    assert!(block.lines().nth(1).unwrap().ends_with("sojourn node --listen 127.0.0.1:8080 --model node.toml &"));
    let model = folder.path().join("node.toml").display().to_string();
    let node =
        Child::spawn(Path::new(PROGRAM), ["node", "--child", "--model", &model], Duration::from_secs(20)).unwrap();
    let mut tried = 0;
    for line in block.lines().filter(|line| line.starts_with("sojourn load")) {
        let quick = line.split('#').next().unwrap().replacen("sojourn", PROGRAM, 1).replace("--duration 10s", "");
        let quick = quick.replace("127.0.0.1:8080", &format!("127.0.0.1:{}", node.port()));
        let quick = quick.replace("p99 < 50 ms", "mean < 1 us");
        let output = run(&format!("{quick} -d 200ms"));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}\n{}", stderr(&output));
        tried += 1;
    }
    assert_eq!(tried, 2);
}

/// All blocks of the guide, as one who types them would run them, on ports that are free here.
#[test]
fn the_guide_to_serving_a_site_works() {
    if !["curl", "openssl"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/serve-a-site.md")).unwrap();
    let free: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports = free.iter().map(|listener| listener.local_addr().unwrap().port().to_string());
    // Nothing that it starts outlives it; and a load of three seconds on a busy machine is no failure of the guide.
    let head = "set -eu -o pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n";
    let mut script =
        format!("{head}{}", blocks(&text, "sh").concat().replace("wait $!\n", "wait $! || [ $? -eq 1 ]\n"));
    for (known, port) in ["8080", "8443", "9154"].into_iter().zip(ports) {
        script = script.replace(known, &port);
    }
    let script = script.replace("/tmp/site", &folder.path().join("site").display().to_string());
    drop(free);
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", &script]).env("PATH", path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", stderr(&output));
    for part in [
        "It works.",
        "node.toml: ok; http on",
        "2 200\n",
        "exit code 2\n",
        "handshakes of TLS, whole: ",
        "requests: 50\n",
        "413\n",
        "It is new.",
        "\"event\":\"reloaded\"",
        "\"GET / HTTP/1.1\" 200",
        "sojourn_node_requests_total{method=\"GET\",class=\"2xx\"}",
        "\"event\":\"stopped\"",
    ] {
        assert!(told.contains(part), "{part} in\n{told}\n{}", stderr(&output));
    }
    let lost = told.lines().find(|line| line.contains("error_ratio")).expect("the load says it");
    // One of a million would stand there as 0.000001.
    assert_eq!(lost.split_whitespace().nth(2), Some("0"), "{lost}");
    assert!(stderr(&output).contains("unknown key `rot`; did you mean `root`?"), "{}", stderr(&output));
}

/// All blocks of the guide, as one who types them would run them, on ports that are free here.
#[test]
fn the_guide_to_answering_by_load_and_distance_works() {
    if !["dig", "curl", "unbound"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/geographic-dns.md")).unwrap();
    let known = ["5300", "5301", "7400", "8080", "9153"];
    let free = known.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    // Nothing that it starts outlives it.
    let head = "set -eu -o pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n";
    let geo = folder.path().join("geo").display().to_string();
    let mut script = format!("{head}{}", blocks(&text, "sh").concat());
    // In two steps: a free port may have another's digits in it.
    for (index, known) in known.iter().enumerate() {
        script = script.replace(known, &format!("PORT-{index}"));
    }
    for (index, listener) in free.iter().enumerate() {
        let port = listener.local_addr().unwrap().port();
        script = script.replace(&format!("PORT-{index}"), &port.to_string());
    }
    let script = script.replace("/tmp/geo", &geo);
    drop(free);
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", &script]).env("PATH", path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let whole = format!("{told}\n{}", stderr(&output));
    assert!(output.status.success(), "{whole}");
    // Each region's own site first, and c1 no more once it is silent.
    let (before, after) = told.split_once("x-sojourn-backend: c").unwrap_or_else(|| panic!("no site answers: {whole}"));
    for part in ["ok; ", "127.0.0.11\n127.0.0.12\n127.0.0.12\n127.0.0.11\n", "it is in the client's region"] {
        assert!(before.contains(part), "{part} in\n{whole}");
    }
    assert_eq!(after.lines().nth(1), Some("127.0.0.12"), "{whole}");
    assert_ne!(after.lines().nth(2), Some("127.0.0.11"), "{whole}");
    assert!(after.contains("by nearest-with-room: you are 127.0.0.1"), "{whole}");
    let replayed = sojourn(&["replay", &format!("{geo}/decisions.jsonl")]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));
}

/// All blocks of the guide, in a bed of the test's own.
#[test]
fn the_guide_to_direct_return_works() {
    if !can() || !["nft", "iptables", "ip", "nginx", "curl"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The servers in it are an ordinary user's.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(root().join("docs/guides/direct-return.md")).unwrap();
    let bed = format!("guide-direct-{}", std::process::id());
    let mut script =
        blocks(&text, "sh").concat().replace("/tmp/cluster", &folder.path().join("cluster").display().to_string());
    for verb in ["up", "exec", "down"] {
        script = script.replace(&format!("sojourn bed {verb}"), &format!("sojourn bed {verb} --name {bed}"));
    }
    // Nothing that it starts outlives it.
    let head = format!("set -eu -o pipefail\ntrap 'sojourn bed down --name {bed} 2> /dev/null || true' EXIT\n");
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", &(head + &script)]).env("PATH", path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{told}\n{}", stderr(&output));
    assert!(output.status.success(), "{all}");
    // Pages in turns; then while web-1 is drained; and the same page twice where the path decides.
    let pages: Vec<&str> = told.lines().filter(|line| line.starts_with("web-")).collect();
    assert_eq!(pages.len(), 6, "{all}");
    assert!(pages[0] != pages[1] && pages[2..4] == ["web-2"; 2], "{pages:?}");
    assert_eq!(told.lines().filter(|line| *line == "done").count(), 2, "{all}");
    // What the front node received while a million bytes were fetched.
    let received: Vec<u64> = told
        .lines()
        .filter_map(|line| line.trim().strip_prefix("eth0:"))
        .map(|rest| rest.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(received.len(), 2, "{all}");
    assert!(received[1] - received[0] < 200_000, "{received:?}");
    assert!(told.contains("nothing of a switch is left on this host"), "{all}");
    for (part, times) in [("\"kind\":\"switch\"", 3), ("\"kind\":\"switch-server\"", 6)] {
        assert!(told.matches(part).count() >= times, "{part}: {all}");
    }
}

/// What is typed at the prompt in blocks of `console`.
fn typed(text: &str) -> Vec<&str> {
    blocks(text, "console").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// Block by block, as it is written; the bed has a name of its own, and the browser, where there is one, no display.
#[test]
fn the_guide_to_emulating_a_wan_works() {
    if !can() || !["curl", "busybox", "ip"].into_iter().all(has) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("docs/guides/emulate-a-wan.md")).unwrap();
    file(folder.path(), "far.toml", blocks(&text, "toml")[0]);
    let name = format!("guide-wan-{}", std::process::id());
    let mut script = format!("set -eu -o pipefail\ntrap 'sojourn bed down --name {name} || true' EXIT\n");
    let first = blocks(&text, "sh")[0].lines().collect::<Vec<_>>();
    for line in first.into_iter().chain(typed(&text)) {
        let mut line = line.replace("/tmp/far", &folder.path().join("far").display().to_string());
        for verb in ["up", "exec", "status", "cut", "mend", "down"] {
            line = line.replace(&format!("sojourn bed {verb}"), &format!("sojourn bed {verb} --name {name}"));
        }
        if line.contains("-- chromium ") {
            if !has("chromium") {
                continue;
            }
            line = line.replace("-- chromium ", "-- chromium --headless --dump-dom ");
        }
        script += &format!("echo '> {}'\n{line}\n", line.replace('\'', "\""));
        if line.ends_with('&') {
            // A reader types the next line when the server runs.
            let ask = "curl -s -o /dev/null http://198.0.0.2/";
            script += &format!("until sojourn bed exec --name {name} server-1 -- {ask}; do kill -0 $!; done\n");
        }
        if line.contains("mount --bind") {
            script += &format!("sojourn bed exec --name {name} europe -- cat /etc/resolv.conf\n");
        }
    }
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("bash").args(["-c", &script]).env("PATH", path).current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", stderr(&output));
    // What the guide prints is what comes.
    let up = blocks(&text, "console")[1].lines().skip(1).map(|line| line.replace("`bed`", &format!("`{name}`")));
    for line in up.filter(|line| !line.starts_with('`')) {
        assert!(told.contains(&line), "{line} in\n{told}");
    }
    for part in ["inet 10.0.0.1", "nameserver 194.0.0.1", "europe to server-1"] {
        assert!(told.contains(part), "{part} in\n{told}");
    }
    let times = told.lines().find_map(|line| {
        let (connect, total) = line.split_once(' ')?;
        Some((connect.parse::<f64>().ok()?, total.parse::<f64>().ok()?))
    });
    let (connect_s, total_s) = times.unwrap_or_else(|| panic!("no times in\n{told}"));
    assert!((0.1..0.2).contains(&connect_s) && (1.2..3.0).contains(&total_s), "{connect_s} {total_s}");
    let left = sojourn(&["bed", "status", "--name", &name]);
    assert_ne!(left.status.code(), Some(0), "the bed is gone");
}

#[test]
fn the_verbs_of_the_guides_exist() {
    let help = String::from_utf8(sojourn(&["--help"]).stdout).unwrap();
    for (guide, text) in guides() {
        for line in blocks(&text, "sh").concat().lines() {
            let Some(verb) = line.strip_prefix("sojourn ").and_then(|rest| rest.split_whitespace().next()) else {
                continue;
            };
            assert!(help.contains(&format!("  {verb} ")), "{guide}: there is no verb `{verb}`");
        }
    }
}
