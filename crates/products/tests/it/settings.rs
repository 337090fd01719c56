//! A person's own configuration for a run: what is taken of it is as the product wants it, and who serves is replaced.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use sojourn_part::program::{Balancer, Spot};
use sojourn_products::{Behind, ImportError, Product, Settings, Version, haproxy, read};

use crate::decider::{answered_by, servers};
use crate::judge::{configuration, configurations};
use crate::skip::skipped;

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn behind(settings: &Settings) -> Vec<Behind> {
    let weights = settings.weights.iter().zip(8001..);
    weights
        .map(|(weight, port)| Behind {
            name: format!("server-{port}"),
            address: local(port),
            weight: *weight,
            at_most: None,
        })
        .collect()
}

fn text(settings: &Settings) -> String {
    let (folder, log) = (Path::new("/tmp/run"), Path::new("/tmp/run/access.log"));
    settings.configuration(&behind(settings), &Spot { address: local(8000), folder, access_log: log, user: None })
}

fn of(product: Product, name: &str, text: &str, pool: Option<&str>) -> Result<Settings, ImportError> {
    Settings::read(product, Path::new(name), text, None, pool)
}

const OWN: &str = "\
global
  chroot /nowhere
  setenv WAIT 3s
defaults
  mode http
  log 127.0.0.1 local0
  balance random
  timeout connect \"${WAIT}\"
  option httplog
defaults other
  mode tcp
frontend www
  bind :80
  redirect scheme https
  use_backend app if TRUE
backend app from other
  mode http
  balance leastconn   # the rule
  option httpchk GET /health
  stick on src
  http-request deny if TRUE
  http-request set-header x-a b
  default-server maxconn 7 check
  server s1 10.0.0.1:80 weight 2
  server s2 10.0.0.2:80 weight 5 maxconn 9
  server sorry 10.0.0.9:80 backup
backend last
  server s1 10.0.0.1:80
";

#[test]
fn what_chooses_is_taken_and_the_servers_are_those_of_the_run() {
    let settings = of(Product::Haproxy, "my.cfg", OWN, Some("app")).unwrap();
    assert_eq!((settings.policy.as_str(), &settings.weights[..]), ("haproxy(2.6, leastconn)", &[2, 5][..]));
    assert_eq!((&settings.limits[..], settings.waits), (&[7, 9][..], true));
    let said = settings.notes.join("\n");
    assert!(!said.contains("requests at once") && said.contains("that do not serve"), "{said}");
    let written = text(&settings);
    for line in [
        "  setenv WAIT 3s\n",
        "  balance leastconn   # the rule\n",
        "  # left out: option httpchk GET /health\n",
        "  # left out: stick on src\n",
        "  # left out: http-request deny if TRUE\n",
        "  http-request set-header x-a b\n",
        "  server server-8001 127.0.0.1:8001 weight 2 maxconn 7\n",
        "  server server-8002 127.0.0.1:8002 weight 5 maxconn 9\n",
        "  bind 127.0.0.1:8000\n",
    ] {
        assert!(written.contains(line), "{line} in\n{written}");
    }
    // No server of the file is asked, and what stands in other sections is not there.
    let lines: Vec<&str> = written.lines().filter(|line| !line.trim().starts_with('#')).collect();
    let gone = ["10.0.0.", "chroot", "redirect", "balance random", "sorry"];
    assert!(!lines.iter().any(|line| gone.iter().any(|gone| line.contains(gone))), "{written}");
}

/// Requests wait for the server that a hash names, which the twin cannot do: that is said, and no limit is simulated.
#[test]
fn a_limit_behind_a_hash_is_a_note() {
    let text = "defaults\n mode http\nbackend app\n balance uri\n hash-type consistent\n server a 10.0.0.1:80 maxconn 4\n \
                server b 10.0.0.2:80\n";
    let settings = of(Product::Haproxy, "my.cfg", text, None).unwrap();
    assert!(settings.limits.is_empty() && !settings.waits);
    let said = settings.notes.join("\n");
    assert!(said.contains("my.cfg:6: at most 4 requests at once, which its twin does not have"), "{said}");
}

#[test]
fn what_cannot_be_taken_is_refused_in_a_line() {
    let app = "backend app\n server s1 10.0.0.1:80\n";
    let refused = |product, text: &str, pool| of(product, "my.cfg", text, pool).unwrap_err().to_string();
    let haproxy = |text: &str, pool| refused(Product::Haproxy, text, pool);
    let several = haproxy(OWN, None);
    assert_eq!(several, "my.cfg: it has several backends: say by `backend` which is meant; there are `app`, `last`");
    assert_eq!(haproxy(OWN, Some("ap")), "my.cfg: it has no backend `ap`; there are `app`, `last`");
    assert_eq!(haproxy(app, None), "my.cfg:1: `app` passes on tcp, and a run asks by HTTP: `mode http`");
    assert!(haproxy(&format!("{app} mode http\n balance rdp-cookie\n"), None).starts_with("my.cfg:4: "));
    assert_eq!(haproxy("global\n", None), "my.cfg: it has no backend with servers");
    let hashed = "upstream a { hash $cookie_a consistent; server 10.0.0.1:80; server 10.0.0.2:80; }";
    let hashed = refused(Product::Nginx, &format!("http {{\n{hashed} }}"), None);
    assert_eq!(hashed, "my.cfg:2: `hash` hashes what requests of a run do not have");
    let map_based = haproxy("defaults\n mode http\n balance uri\nbackend app\n server s1 10.0.0.1:80\n", None);
    assert!(map_based.starts_with("my.cfg:3: `uri` is no rule that is known here; "), "{map_based}");
    let stream = "stream { upstream a { server 10.0.0.1:80; } }";
    assert_eq!(refused(Product::Nginx, stream, None), "my.cfg:1: it is in `stream`, and a run asks by HTTP");
    assert!(refused(Product::Envoy, "a: [", None).starts_with("my.cfg:1: it is no YAML"));
}

/// Every pool of the configurations of the tests, over as many servers as it has: the product's own parser takes it.
#[test]
fn the_products_take_what_is_written() {
    let files = ["haproxy/debian.cfg", "haproxy/shop.cfg", "haproxy/conditions.cfg", "nginx/nginx.conf"];
    takes(&[Product::Haproxy, Product::Nginx], &files);
}

/// Its program is large; `make nightly` fetches it and says where it is.
#[test]
fn envoy_takes_what_is_written() {
    if std::env::var_os("SOJOURN_ENVOY").is_some() {
        takes(&[Product::Envoy], &["envoy/front.yaml", "envoy/tcp.json"]);
    }
}

fn takes(products: &[Product], files: &[&str]) {
    let mut taken = 0;
    for product in products {
        let executable = match product.installed() {
            Ok(executable) => executable,
            Err(missing) => return skipped(missing),
        };
        let folder = tempfile::tempdir().unwrap();
        for name in files.iter().filter(|name| name.starts_with(product.name())) {
            let path = configurations(product.name()).join(name.split_once('/').unwrap().1);
            let own = configuration(product.name(), name.split_once('/').unwrap().1);
            let own_files = [(path.display().to_string(), own.clone())];
            let pools = read(*product, &own_files, haproxy::NEWEST_MEASURED, &|_| None).unwrap().pools;
            for pool in pools.iter().filter(|pool| pool.serving().next().is_some()) {
                // What no rule here says, or no HTTP is, is refused in a line.
                let Ok(settings) = Settings::read(*product, &path, &own, None, Some(&pool.name)) else { continue };
                let log = folder.path().join("access.log");
                let spot = Spot { address: local(8000), folder: folder.path(), access_log: &log, user: None };
                let written = settings.configuration(&behind(&settings), &spot);
                let file = folder.path().join(format!("x.{}", product.extension()));
                fs::write(&file, &written).unwrap();
                product
                    .check(&executable, &file)
                    .unwrap_or_else(|error| panic!("{name} {}: {error}\n{written}", pool.name));
                taken += 1;
            }
        }
    }
    assert!(taken >= 3, "{taken}");
}

#[test]
fn it_decides_by_the_rule_of_the_file() {
    let cases = [
        (
            Product::Haproxy,
            "defaults\n mode http\n timeout connect 5s\n timeout server 9s\nbackend a\n balance roundrobin\n \
                            server a 10.0.0.1:80 check\n server b 10.0.0.2:80 weight 2\n",
        ),
        (
            Product::Nginx,
            "events {}\nhttp { upstream a { server 10.0.0.1:80; server 10.0.0.2 weight=2; keepalive 4; }\n server { \
                          location / { proxy_pass http://a; proxy_set_header x-a \"b c\"; } } }\n",
        ),
    ];
    for (product, own) in cases {
        it_is_asked(product, own);
    }
}

#[test]
fn envoy_decides_by_the_rule_of_the_file() {
    if std::env::var_os("SOJOURN_ENVOY").is_some() {
        let host = |address: &str, weight: u32| {
            format!(
                "{{ endpoint: {{ address: {{ socket_address: {{ address: {address}, port_value: 80 }} }} }}, \
                 loadBalancingWeight: {weight} }}"
            )
        };
        let hosts = [host("10.0.0.1", 1), host("10.0.0.2", 2)].join(", ");
        it_is_asked(
            Product::Envoy,
            &format!(
                "staticResources:\n  clusters:\n  - name: a b\n    connectTimeout: 1s\n    type: STRICT_DNS\n    healthChecks: \
                 []\n    loadAssignment: {{ clusterName: a, endpoints: [{{ lbEndpoints: [{hosts}] }}] }}\n"
            ),
        );
    }
}

fn it_is_asked(product: Product, own: &str) {
    if let Err(missing) = product.installed() {
        return skipped(missing);
    }
    let settings = of(product, "my.cfg", own, None).unwrap();
    assert_eq!(settings.weights, [1, 2]);
    let servers = servers();
    let running = Balancer::new(product).start(|spot| settings.configuration(&servers, spot)).unwrap();
    let second = (0..3).filter(|_| answered_by(running.address()) == "server-2").count();
    assert_eq!(second, 2, "{product:?}: twice the weight, twice as often");
}

#[test]
fn the_rule_is_that_of_the_version_that_is_named() {
    let own = "defaults\n mode http\nbackend a\n server a 10.0.0.1:80\n";
    let policy = |version| Settings::read(Product::Haproxy, Path::new("a"), own, version, None).unwrap().policy;
    assert_eq!(policy(None), "haproxy(2.6, roundrobin)");
    assert_eq!(policy(Some(Version::new(3, 3))), "haproxy(3.3, default)");
}
