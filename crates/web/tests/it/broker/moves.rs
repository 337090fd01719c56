//! What moves, where to, and how often.

use sojourn_part::certificate::{self, CertificateFiles};
use sojourn_part::settings::node::{Certificates, TlsSettings};

use super::{Cluster, SERVICE, ask, cluster};
use crate::secure::{get_secure, trusting};
use crate::support::Client;

#[test]
fn a_request_of_the_service_moves_to_the_idle_node_and_stays_there() {
    let nodes = Cluster::<2>::start(|_, _| {});
    let [a, b] = nodes.addresses.map(|address| address.to_string());
    let busy = nodes.burden(0, 20);

    // 21 share the processor of `a`, and nothing but this request that of `b`.
    let reply = nodes.ask(0, "/work?demand=100ms&n=1");
    assert_eq!((reply.status, reply.backend(), reply.body.len()), (307, "a", 0));
    assert_eq!(reply.header("location"), Some(format!("http://{b}/work?demand=100ms&n=1").as_str()));
    // The client asks there, under that node's own name.
    let reply = nodes.ask_for(1, &b, "/work?demand=100ms&n=1");
    assert_eq!((reply.status, reply.backend()), (200, "b"));
    // Where it is idle it stays.
    assert_eq!(nodes.ask(1, "/work?demand=1ms").status, 200);
    // Under a node's own name, and under any other that is not the service's, it stays however busy the node is.
    for host in [a.as_str(), "a.other.test", "service.test.other", "xservice.test"] {
        assert_eq!(nodes.ask_for(0, host, "/bytes/3").status, 200, "{host}");
        let reply = nodes.ask_for(0, host, "/work?demand=1ms");
        assert_eq!((reply.status, reply.backend()), (200, "a"), "{host}");
    }
    // A client of HTTP/1.0 may leave the name out.
    let mut old = Client::new(nodes.addresses[0]);
    old.send("GET /work?demand=1ms HTTP/1.0\r\n\r\n");
    assert_eq!(old.reply(true).expect("a reply").status, 200);
    // The service's name in a URL counts as in the host line, however it is written.
    for host in ["SERVICE.test", "service.test:8080", "service.test."] {
        assert_eq!(nodes.ask_for(0, host, "/work?demand=100ms").status, 307, "{host}");
    }
    let url = format!("http://{SERVICE}/work?demand=100ms");
    assert_eq!(ask(nodes.addresses[0], "GET", &a, &url, "").status, 307);

    let counts = nodes.nodes[0].counts().cluster.expect("a cluster");
    assert_eq!((counts.redirected, counts.stayed, counts.peers[0].redirected), (5, 0, 5), "{counts:?}");
    drop(busy);
}

/// What comes over TLS is sent on over TLS or not at all: `b` has no address for it, `c` has one.
#[test]
fn what_came_over_tls_is_sent_on_over_tls_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = CertificateFiles { chain: folder.path().join("n.pem"), key: folder.path().join("n.key") };
    certificate::make(&[SERVICE.into()], &files).expect("a certificate");
    let nodes = Cluster::<3>::start(|_, config| {
        let listen = vec![([127, 0, 0, 1], 0).into()];
        config.tls = TlsSettings { listen, certificates: Certificates(vec![files.clone()]) }.into();
        let cluster = cluster(config);
        // What is asked of `a` moves to one of the others.
        cluster.policy = "sweb(dedicated = a, class = 1)".into();
        for peer in cluster.peers.iter_mut().filter(|peer| peer.name == "c") {
            peer.tls_url = Some("https://c.service.test:8443/".into());
        }
    });
    let trusting = trusting(&[&files], &["http/1.1"]);
    let secure = nodes.nodes[0].tls_addresses()[0];
    for number in 0..10 {
        let path = format!("/work?demand=1ms&n={number}");
        let reply = get_secure(secure, &trusting, SERVICE, &path).expect("a reply");
        assert!(reply.contains(&format!("location: https://c.service.test:8443{path}\r\n")), "{reply}");
        // By now `c` has been chosen more often.
        let reply = nodes.ask(0, &path);
        assert_eq!(reply.header("location"), Some(format!("http://{}{path}", nodes.addresses[1]).as_str()));
    }
    drop(nodes);

    let alone = Cluster::<2>::start(|_, config| {
        let listen = vec![([127, 0, 0, 1], 0).into()];
        config.tls = TlsSettings { listen, certificates: Certificates(vec![files.clone()]) }.into();
        cluster(config).policy = "sweb(dedicated = a, class = 1)".into();
    });
    let reply = get_secure(alone.nodes[0].tls_addresses()[0], &trusting, SERVICE, "/work?demand=1ms").expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    assert_eq!(alone.ask(0, "/work?demand=1ms").status, 307);
}

#[test]
fn what_cannot_be_served_elsewhere_stays() {
    let local = String::from("/work/local*");
    let nodes = Cluster::<2>::start(|_, config| {
        cluster(config).local = vec![local.clone()];
        cluster(config).redirect = 302;
    });
    let _busy = nodes.burden(0, 20);
    let status = |method, path, more| ask(nodes.addresses[0], method, SERVICE, path, more).status;
    let work = "/work?demand=10ms";
    assert_eq!(status("GET", work, ""), 302);
    assert_eq!(status("HEAD", work, ""), 302);
    assert_eq!(status("POST", work, "content-length: 0\r\n"), 200);
    assert_eq!(status("GET", "/work/local/a?demand=10ms", ""), 200);
}

/// In turns one request of two moves; questions for this node's load and health do not, since they are for it.
#[test]
fn a_node_answers_for_its_own_load_and_health() {
    let nodes = Cluster::<2>::start(|_, config| cluster(config).policy = "round-robin".into());
    let statuses = |path: &str| {
        let mut statuses: Vec<u16> = (0..4).map(|_| nodes.ask(0, path).status).collect();
        statuses.sort_unstable();
        statuses
    };
    assert_eq!(statuses("/bytes/1"), [200, 200, 307, 307]);
    assert_eq!(statuses("/load"), [200; 4]);
    assert_eq!(statuses("/health"), [200; 4]);
}

#[test]
fn a_post_moves_where_that_is_allowed_and_its_connection_goes_on() {
    let nodes = Cluster::<2>::start(|_, config| cluster(config).post = true);
    let _busy = nodes.burden(0, 20);
    let mut client = Client::new(nodes.addresses[0]);
    for _ in 0..2 {
        client.send(&format!("POST /work?demand=100ms HTTP/1.1\r\nhost: {SERVICE}\r\ncontent-length: 5\r\n\r\nhello"));
        let reply = client.reply(true).expect("a reply");
        assert_eq!((reply.status, reply.header("connection")), (307, None));
    }
    // One that waits to be asked for its body is not asked, and sends it elsewhere.
    let head = format!("POST /work?demand=100ms HTTP/1.1\r\nhost: {SERVICE}\r\ncontent-length: 5\r\n");
    client.send(&format!("{head}expect: 100-continue\r\n\r\n"));
    let reply = client.reply(true).expect("a reply");
    assert_eq!((reply.status, reply.header("connection")), (307, Some("close")));
}

/// Whatever a client says, a request moves once at most.
#[test]
fn no_request_goes_round_in_circles() {
    let nodes = Cluster::<3>::start(|_, _| {});
    let _busy = [nodes.burden(0, 12), nodes.burden(1, 6)];
    let mut moved = 0;
    for round in 0..60 {
        let reply = ask(nodes.addresses[round % 3], "GET", SERVICE, "/work?demand=2ms", "x-sojourn-hops: 0\r\n");
        let Some(place) = reply.header("location") else {
            assert_eq!(reply.status, 200);
            continue;
        };
        moved += 1;
        let (host, path) = place.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let address = host.parse().expect("an address");
        let reply = ask(address, "GET", host, &format!("/{path}"), "x-sojourn-hops: 0\r\n");
        assert_eq!((reply.status, reply.header("location")), (200, None));
    }
    assert!(moved >= 5, "the busiest node sends its clients away: {moved}");
}
