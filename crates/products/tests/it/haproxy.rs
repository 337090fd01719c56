//! `haproxy.cfg`: what its words mean, and what is refused, beside HAProxy's own verdict.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sojourn_products::{Configuration, HashKey, ImportError, Pool, Reading, Standing, Version, haproxy};
use sojourn_stats::Span;

use crate::judge::{configuration, configurations, haproxy_refuses, has};

const NEWEST: Version = haproxy::NEWEST_MEASURED;

fn read(text: &str) -> Result<Configuration, ImportError> {
    haproxy::read(&[("haproxy.cfg".into(), text.into())], NEWEST, &|_| None)
}

fn of_file(name: &str) -> Configuration {
    haproxy::read(&[(name.into(), configuration("haproxy", name))], NEWEST, &|_| None).unwrap()
}

fn pool<'a>(configuration: &'a Configuration, name: &str) -> &'a Pool {
    configuration.pools.iter().find(|pool| pool.name == name).unwrap_or_else(|| panic!("{:?}", configuration.pools))
}

/// The notes of a pool, inherited ones first, with their lines.
fn notes(pool: &Pool, reading: Reading) -> Vec<String> {
    let all = pool.inherited.iter().flat_map(|notes| &notes.kept).chain(&pool.notes.kept);
    all.filter(|note| note.reading == reading).map(|note| format!("{}: {}", note.at, note.text)).collect()
}

#[test]
fn debians_file_with_four_servers_is_read() {
    let configuration = of_file("debian.cfg");
    let app = &configuration.pools[0];
    assert_eq!((configuration.pools.len(), app.name.as_str(), app.at.line), (1, "app", 28));
    assert_eq!((app.rule.name.as_str(), app.rule.said.as_ref().unwrap().line), ("roundrobin", 29));
    let servers: Vec<_> = app.servers.iter().map(|server| (server.name.as_str(), server.address.as_str())).collect();
    let expected: Vec<_> = [1, 2, 3, 4].map(|n| (format!("app{n}"), format!("10.0.0.1{n}:8080"))).into();
    assert_eq!(servers, expected.iter().map(|(name, address)| (name.as_str(), address.as_str())).collect::<Vec<_>>());
    assert!(app.serving().all(|server| server.weight == 1 && server.at_most.is_none()) && app.serving().count() == 4);
    let timeout = app.timeout.clone().unwrap();
    assert_eq!((timeout.span, timeout.said.unwrap().to_string()), (Span(50_000_000_000), "debian.cfg:22".into()));
    assert_eq!(notes(app, Reading::NotUnderstood), [""; 0]);
    assert!(configuration.notes.kept.is_empty(), "{:?}", configuration.notes.kept);
    let led = notes(app, Reading::LeftOut);
    assert!(led.iter().any(|note| note.starts_with("debian.cfg:26: frontend `www` sends here")), "{led:?}");
}

#[test]
fn sections_inherit_from_defaults_by_name_or_by_place() {
    let configuration = of_file("shop.cfg");
    let names: Vec<&str> = configuration.pools.iter().map(|pool| pool.name.as_str()).collect();
    assert_eq!(names, ["pages", "pictures", "jobs"]);

    let pages = pool(&configuration, "pages");
    assert_eq!(pages.rule.name, "leastconn");
    assert_eq!(pages.timeout.as_ref().unwrap().span, Span(20_000_000_000), "of the nearer defaults");
    let of = |name: &str| pages.servers.iter().find(|server| server.name == name).unwrap();
    assert_eq!(
        (of("page-1").weight, of("page-1").at_most, of("page-1").address.as_str()),
        (100, Some(40), "192.0.2.11:8443")
    );
    assert_eq!((of("page-3").weight, of("page-3").address.as_str()), (50, "[2001:db8::13]:443"));
    let standings: Vec<Standing> = pages.servers.iter().map(|server| server.standing).collect();
    use Standing::{Backup, Out, Serves};
    assert_eq!(standings, [Serves, Serves, Serves, Out, Out, Backup]);
    assert_eq!(of("sorry").at_most, Some(1000));
    let left_out = notes(pages, Reading::LeftOut).join("\n");
    for part in [
        "shop.cfg:18: slowstart 30s",
        "cookie SHOP",
        "sends here what no `use_backend`",
        "timeout queue 5s",
        "deny_status 403",
    ] {
        assert!(left_out.contains(part), "{part} in\n{left_out}");
    }
    assert_eq!(notes(pages, Reading::NotUnderstood), ["shop.cfg:39: \"stick-table\" is not understood"]);

    let pictures = pool(&configuration, "pictures");
    let (rule, servers) = (&pictures.rule, &pictures.servers);
    assert_eq!((rule.name.as_str(), rule.key, rule.is_consistent), ("uri", Some(HashKey::Path), true));
    assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["pic1", "pic2", "pic3"]);
    assert_eq!((servers[0].address.as_str(), servers[0].at_most), ("pictures.example:80", None), "names are kept");
    assert_eq!(pictures.timeout.as_ref().unwrap().span, Span(60_000_000_000));

    let jobs = pool(&configuration, "jobs");
    assert_eq!((jobs.rule.name.as_str(), jobs.servers[0].at_most), ("random(2)", Some(4)));
    let of_process = &configuration.notes;
    assert_eq!(of_process.kept.len(), 3, "{of_process:?}");
    assert!(of_process.kept[1].text.starts_with("nbthread 4: threads"), "{of_process:?}");
    assert_eq!(of_process.kept[2].text, "listen `stats` has no servers");
    assert!(of_process.kept[0].text.starts_with("maxconn 20000"), "{of_process:?}");
    assert_eq!(of_process.passed_over["tune.bufsize"][0].line, 5);
}

#[test]
fn conditions_quotes_and_variables_are_haproxys() {
    let configuration = of_file("conditions.cfg");
    let app = pool(&configuration, "app");
    let servers: Vec<_> = app.servers.iter().map(|server| (server.name.as_str(), server.weight)).collect();
    assert_eq!(servers, [("small1", 3), ("small2", 1)]);
    assert_eq!(app.timeout.as_ref().unwrap().span, Span(25_000_000_000));
    let unknown = notes(app, Reading::LeftOut);
    assert!(
        unknown.iter().any(|note| note.contains("conditions.cfg:20: whether `.if feature(OPENSSL)`")),
        "{unknown:?}"
    );
    let large = |name: &str| (name == "SOJOURN_TEST_SIZE").then(|| "large".to_owned());
    let text = configuration_text("conditions.cfg");
    let configuration = haproxy::read(&[("c.cfg".into(), text)], NEWEST, &large).unwrap();
    assert_eq!(configuration.pools[0].servers.len(), 3);
}

fn configuration_text(name: &str) -> String {
    configuration("haproxy", name)
}

/// What stands without `balance` depends on the version.
#[test]
fn the_default_is_the_versions() {
    let text = "backend app\n server a 10.0.0.1:80\n";
    let of =
        |version| haproxy::read(&[("h.cfg".into(), text.into())], version, &|_| None).unwrap().pools[0].rule.clone();
    assert_eq!(
        (of(Version::new(2, 6)).name.as_str(), of(Version::new(3, 2)).name.as_str()),
        ("roundrobin", "roundrobin")
    );
    assert_eq!((of(Version::new(3, 3)).name.as_str(), of(Version::new(3, 3)).said), ("default", None));
}

/// Several files are one configuration, as with several `-f`.
#[test]
fn several_files_are_one_configuration() {
    let files = [("1.cfg", "defaults\n balance first\n"), ("2.cfg", "backend app\n server a 10.0.0.1:80\n")];
    let files: Vec<_> = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let configuration = haproxy::read(&files, NEWEST, &|_| None).unwrap();
    assert_eq!(configuration.pools[0].rule.name, "first");
    assert_eq!(configuration.pools[0].servers[0].at.to_string(), "2.cfg:2");
}

/// Mistakes: each is refused with its line, and HAProxy refuses it too.
#[test]
fn mistakes_are_refused_with_their_line() {
    let head = "defaults\n mode http\n timeout connect 1s\n timeout client 1s\n timeout server 1s\n";
    let cases = [
        ("server a 10.0.0.1:80\n", 1, "outside of a section"),
        ("backend app\n balance leastcon\n server a 10.0.0.1:80\n", 2, "did you mean `leastconn`?"),
        (
            "backend app\n server a 10.0.0.1:80\n server a 10.0.0.2:80\n",
            3,
            "a server `a` was defined already, at h.cfg:2",
        ),
        ("backend app\n server a 10.0.0.1:80 weight 257\n", 2, "from 0 to 256"),
        ("backend app\n server a 10.0.0.1:80 weight\n", 2, "`weight` of a server needs an argument"),
        ("backend app\n server a\n", 2, "needs a name and an address"),
        ("backend app\n server a/b 10.0.0.1:80\n", 2, "`/` is not permitted"),
        ("backend app\n balance random(0)\n", 2, "at least 1"),
        ("backend app\n timeout server 1 second\n", 2, "unexpected `second` after `timeout server 1`"),
        ("backend app\n timeout server 30 s\n", 2, "after `timeout server 30`: write `30s`"),
        ("backend app\n timeout queue 3 m\n", 2, "write `3m`"),
        ("backend app\n retries 3 x\n", 2, "unexpected `x` after `retries 3`"),
        ("backend app\n fullconn 10 x\n", 2, "unexpected `x`"),
        ("backend app\n http-reuse safe x\n", 2, "unexpected `x`"),
        ("backend app\n mode http x\n", 2, "unexpected `x`"),
        ("backend app\n disabled x\n", 2, "unexpected `x` after `disabled`"),
        ("backend app\n option persist x\n", 2, "unexpected `x` after `option persist`"),
        ("backend app\n dispatch 127.0.0.1:80 x\n", 2, "unexpected `x`"),
        ("frontend f\n maxconn 3 x\n", 2, "unexpected `x`"),
        ("frontend f\n backlog 3 x\n", 2, "unexpected `x`"),
        ("backend b\nfrontend f\n default_backend b x\n", 3, "unexpected `x`"),
        ("backend b\nfrontend f\n use_backend b iff TRUE\n", 3, "unexpected `iff`"),
        ("backend b x\n", 1, "unexpected `x` after `backend b`"),
        ("global x\n", 1, "unexpected `x` after `global`"),
        ("global\n maxconn 100 200\n", 2, "unexpected `200`"),
        ("global\n nbthread 2 x\n", 2, "unexpected `x`"),
        ("global\n daemon x\n", 2, "unexpected `x`"),
        ("backend app\n timeout server 30x\n", 2, "us, ms, s, m, h or d"),
        ("backend app\n timeout server 25d\n", 2, "24.8 days"),
        ("backend app\n timeout sever 1s\n", 2, "did you mean `server`?"),
        ("backend\n server a 10.0.0.1:80\n", 1, "needs a name"),
        ("backend app\nbackend app\n", 2, "was declared already, at h.cfg:1"),
        ("backend app from nowhere\n", 1, "there is no `defaults nowhere`"),
        ("defaults d\ndefaults d\nbackend app from d\n", 3, "several sections are called"),
        ("backend \"app\n", 1, "a quote is not closed"),
        ("backend \"${APP\"\n", 1, "the brace of"),
        (".if 1\nbackend app\n", 2, "ends inside an `.if`"),
        (".endif\n", 1, "without an `.if`"),
        (".else\n", 1, "without an `.if`"),
        (".if nonsense(1)\n.endif\n", 1, "a condition is"),
        (".if 1\n.else\n.else\n.endif\n", 3, "after `.else`"),
        (".alert stop\n", 1, "stop"),
        (".what\n", 1, "unknown directive `.what`"),
        ("backend app\n server-template a 3-1 10.0.0.1:80\n", 2, "no range"),
        ("backend app\n hash-type consistant\n", 2, "did you mean `consistent`?"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let judged = has("haproxy");
    for (text, line, part) in cases {
        // HAProxy's own file has what it asks for besides; the defaults do not change which line is wrong.
        if judged {
            let path = folder.path().join("h.cfg");
            fs::write(&path, format!("{head}{text}")).unwrap();
            let leads = text.starts_with("server");
            assert!(leads || haproxy_refuses(&path).is_some(), "HAProxy takes {text}");
        }
        match haproxy::read(&[("h.cfg".into(), text.into())], NEWEST, &|_| None) {
            Err(error) => {
                let said = error.to_string();
                assert!(said.starts_with(&format!("h.cfg:{line}: ")) && said.contains(part), "{text}: {said}");
            }
            Ok(_) => assert_eq!(part, "", "{text}"),
        }
    }
}

/// Every configuration of the tests is HAProxy's own too.
#[test]
fn haproxy_itself_takes_the_configurations() {
    if !has("haproxy") {
        return;
    }
    let mut files = 0;
    for entry in fs::read_dir(configurations("haproxy")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(haproxy_refuses(&path), None, "{}", path.display());
        files += 1;
    }
    assert!(files >= 3);
}

/// Each directive that HAProxy knows is obeyed, left out or passed over, by name; what it does not know is said so.
#[test]
fn what_is_not_known_is_said() {
    let text = "global\n maxcon 5\ndefaults\n option nonsense\nbackend app\n balence leastconn\n server a b:80 wieght 3 check\n";
    let configuration = read(text).unwrap();
    let app = &configuration.pools[0];
    assert_eq!(configuration.notes.kept[0].text, "\"maxcon\" is not understood (did you mean `maxconn`?)");
    let own = notes(app, Reading::NotUnderstood);
    assert_eq!(own[0], "haproxy.cfg:6: \"balence\" is not understood (did you mean `balance`?)");
    assert!(own[1].starts_with("haproxy.cfg:7: \"wieght\" is not understood (did you mean `weight`?)"), "{own:?}");
}

/// Options that stand alone in HAProxy do so here.
#[test]
fn options_that_stand_alone_take_no_argument() {
    let options = "abortonclose allbackups checkcache clitcpka contstats dontlognull http-buffer-request http-no-delay \
                   http-pretend-keepalive independent-streams log-health-checks log-separate-errors logasap nolinger persist \
                   prefer-last-server socket-stats";
    let folder = tempfile::tempdir().unwrap();
    let judged = has("haproxy");
    for option in options.split_whitespace() {
        let text = format!("defaults\n option {option} x\n");
        let said = read(&text).unwrap_err().to_string();
        assert!(said.starts_with(&format!("haproxy.cfg:2: unexpected `x` after `option {option}`")), "{said}");
        if judged {
            let path = folder.path().join("h.cfg");
            fs::write(&path, &text).unwrap();
            assert!(haproxy_refuses(&path).is_some_and(|why| why.contains("unexpected argument")), "{option}");
        }
    }
}

/// What stands before a backend is said with it: what comes to it hangs on that.
#[test]
fn nothing_of_a_frontend_is_left_out_in_silence() {
    let lines = [
        "global\n nbthred 2\nfrontend www\n bind :80\n maxconn 10000\n acl is_api path_beg /api\n http-request deny if is_api",
        " http-request redirect scheme https\n redirect prefix /x\n defalt_backend app\n include /etc/x.cfg\n bakend foo",
        " use_backend app if is_apii { src 10.0.0.1 } or !TRUE\n use_backend ap if is_api\n default_backend web",
        "listen stats\n bind :81\n stats enable\n sttas uri /",
        "backend app\n default-server inter 2s fall 3\n server a web.example:80 check rise 2 ssl\n",
    ];
    let text = &lines.join("\n");
    let configuration = read(text).unwrap();
    let app = pool(&configuration, "app");
    let all = |notes: &sojourn_products::Notes| {
        notes.kept.iter().map(|note| format!("{}: {}", note.at.line, note.text)).collect::<Vec<_>>()
    };
    let inherited = app.inherited.iter().flat_map(|notes| all(notes)).collect::<Vec<_>>().join("\n");
    let (own, of_all) = (all(&app.notes).join("\n") + &inherited, all(&configuration.notes).join("\n"));
    for part in [
        "5: maxconn 10000",
        "7: \"http-request deny if is_api\"",
        "8: \"http-request redirect scheme https\"",
        "10: \"defalt_backend\" is not understood (did you mean `default_backend`?)",
        "11: \"include\" is not understood",
        "12: \"bakend\" is not understood (did you mean `backend`?)",
        "13: \"is_apii\" is not understood (did you mean `is_api`?)",
        "13: frontend `www` sends here a part",
        "22: web.example: HAProxy asks the DNS",
        "21: default-server inter 2s fall 3: how it is found out which servers are down",
        "22: check rise 2: how it is found out which servers are down",
    ] {
        assert!(own.contains(part), "{part} in\n{own}");
    }
    assert!(!own.contains("\"TRUE\"") && !own.contains("\"src\"") && !own.contains("\"is_api\" is"), "{own}");
    for part in [
        "2: \"nbthred\" is not understood (did you mean `nbthread`?)",
        "14: \"ap\" is not understood (did you mean `app`?)",
        "15: \"web\" is not understood",
        "16: listen `stats` has no servers",
        "19: \"sttas\" is not understood (did you mean `stats`?)",
    ] {
        assert!(of_all.contains(part), "{part} in\n{of_all}");
    }
    for (word, line) in [("bind", 4), ("acl", 6), ("ssl", 22)] {
        let of = app.inherited.iter().map(|notes| &**notes).chain([&app.notes]);
        let lines: Vec<_> = of.filter_map(|notes| notes.passed_over.get(word)).flatten().collect();
        assert!(lines.iter().any(|at| at.line == line), "{word}: {lines:?}");
    }
    let nowhere = read("frontend www\n maxconn 5\nbackend app\n server a 10.0.0.1:80\n").unwrap();
    let of_all = all(&nowhere.notes).join("\n");
    assert!(of_all.contains("1: frontend `www` leads to no backend") && of_all.contains("2: maxconn 5"), "{of_all}");
}

/// Whatever decides which servers are down has its note: once for all servers that are checked alike, of which there may be more
/// than notes are kept.
#[test]
fn how_servers_are_checked_is_never_passed_over() {
    let alike: String = (0..300).map(|n| format!(" server s{n} 10.0.0.1:{} check inter 5s\n", 1000 + n)).collect();
    let text = format!(
        "defaults\n timeout check 2s\n option httpchk GET /health\nbackend app\n http-check expect status 200\n \
         tcp-check connect\n external-check path /bin\n default-server observe layer7 error-limit 10 on-error mark-down\n{alike} \
         server t1 10.0.0.2:80 check agent-check agent-port 99 rise 2 fall 5 slowstart 10s backup\n \
         server t2 10.0.0.2:81 no-check\n retries 3\n option redispatch\n timeout queue 2s\n"
    );
    let configuration = read(&text).unwrap();
    let app = pool(&configuration, "app");
    let told = notes(app, Reading::LeftOut);
    for part in [
        "2: timeout check 2s: how",
        "3: option httpchk: how",
        "5: http-check expect status 200: how",
        "6: tcp-check connect: how",
        "7: external-check path /bin: how",
        "8: default-server observe layer7 error-limit 10 on-error mark-down: how",
        "9: check inter 5s (300 servers): how it is found out which servers are down",
        "309: check agent-check agent-port 99 rise 2 fall 5: how",
        "309: slowstart 10s",
        "311: retries 3",
        "312: option redispatch",
        "313: timeout queue 2s",
    ] {
        assert!(told.iter().any(|note| note.starts_with(&format!("haproxy.cfg:{part}"))), "{part} in {told:#?}");
    }
    assert_eq!(told.iter().filter(|note| note.contains("how it is found out")).count(), 8, "{told:#?}");
    let spread = read("global\n spread-checks 5\nbackend app\n server a 10.0.0.1:80\n").unwrap();
    let is_told = |note: &sojourn_products::Note| {
        note.at.line == 2 && note.text.starts_with("spread-checks 5: how it is found out")
    };
    assert!(spread.notes.kept.iter().any(is_told), "{:?}", spread.notes);
    let passed =
        app.inherited.iter().map(|notes| &**notes).chain([&app.notes]).flat_map(|notes| notes.passed_over.keys());
    let passed: Vec<&str> = passed.map(String::as_str).collect();
    assert!(passed.iter().all(|word| *word == "no-check"), "{passed:?}");
}

/// HAProxy itself has the servers that are read, by `show servers state`: names, weights, and which are out.
#[test]
fn haproxy_itself_has_the_same_servers() {
    if !has("haproxy") {
        return;
    }
    for name in ["debian.cfg", "shop.cfg", "conditions.cfg"] {
        let folder = tempfile::tempdir().unwrap();
        let socket = |name: &str| format!("unix@{}/{name}", folder.path().display());
        // Where it listens does not matter, and a port may be taken.
        let on_sockets = |(number, line): (usize, &str)| match line.trim_start().starts_with("bind ") {
            true => format!("bind {}\n", socket(&number.to_string())),
            false => format!("{line}\n"),
        };
        let text: String = configuration("haproxy", name).lines().enumerate().map(on_sockets).collect();
        let text =
            text.replace(" usesrc clientip", "").replace("\tdaemon\n", "").replace("maxconn 20000", "maxconn 200");
        let (path, extra) = (folder.path().join(name), folder.path().join("extra.cfg"));
        fs::write(&path, &text).unwrap();
        fs::write(&extra, format!("global\n stats socket {} level admin\n", socket("admin"))).unwrap();
        let mut haproxy = Command::new("haproxy");
        haproxy.arg("-db").arg("-f").arg(&path).arg("-f").arg(&extra).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(haproxy.spawn().unwrap());
        let state = ask(&folder.path().join("admin"), "show servers state\n");
        drop(running);
        // be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight
        let rows =
            state.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|row| row.len() > 8 && row[0] != "#");
        let its_own: Vec<_> = rows
            .map(|row| {
                let is_out = row[6].parse::<u32>().unwrap() & 1 != 0 || row[8] == "0";
                (row[1].to_owned(), row[3].to_owned(), row[8].parse::<u32>().unwrap(), is_out)
            })
            .collect();
        let configuration = of_file(name);
        let ours: Vec<_> = configuration
            .pools
            .iter()
            .flat_map(|pool| pool.servers.iter().map(|server| (pool.name.clone(), server)))
            .map(|(pool, server)| (pool, server.name.clone(), server.weight, server.standing == Standing::Out))
            .collect();
        assert_eq!(ours, its_own, "{name}: {state}");
        assert!(!ours.is_empty());
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is answered over a socket that will be there soon.
#[allow(clippy::disallowed_methods, reason = "a test that waits for a process gives up some day")]
fn ask(socket: &Path, command: &str) -> String {
    for _ in 0..1000 {
        if let Ok(mut stream) = UnixStream::connect(socket) {
            stream.write_all(command.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            return answer;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("HAProxy does not listen on {}", socket.display());
}
