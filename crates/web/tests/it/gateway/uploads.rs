//! What a client does with its upload is the client's: no backend is blamed for it.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;

use sojourn_part::Probe;
use sojourn_part::program::Program;
use sojourn_part::settings::Checks;
use sojourn_part::settings::gateway::{GatewaySettings, Timeouts};
use sojourn_web::Gateway;

use crate::support::{Client, Origin, backends, falling, gateway, ms, ok, until};
use crate::support::{site, start};

const HEAD: &str = "POST /x HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n";

/// One failure would take the backend out, and no probe would bring it back.
fn strict(origin: &Origin, idle_ms: u64) -> Gateway {
    let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(1000) };
    let timeouts = Timeouts { connect: ms(1000), reply: ms(20_000), idle: ms(idle_ms) };
    let settings = GatewaySettings::new("round-robin", backends(&[origin.address]));
    gateway(falling(1, GatewaySettings { health, timeouts, ..settings }))
}

/// Stops the gateway after so many attempts at the backend that its clients spoilt, and so many that came to their end.
#[track_caller]
fn settle(gateway: Gateway, cancelled: u64, completed: u64) {
    until("nothing is in flight", || gateway.counts().backends[0].in_flight == 0);
    assert_eq!(Client::new(gateway.address()).get("/").status, 200, "others are served");
    let counts = gateway.stop();
    let backend = &counts.backends[0];
    assert!(backend.up, "{counts:?}");
    assert_eq!((backend.cancelled, backend.failed, backend.completed), (cancelled, 0, completed + 1), "{counts:?}");
    assert_eq!((counts.broken, counts.timed_out, counts.truncated), (0, 0, 0), "{counts:?}");
    assert_eq!((backend.in_flight_table, backend.connections), (0, 0), "{counts:?}");
}

#[test]
fn a_malformed_upload_is_the_clients_failure() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = strict(&origin, 20_000);
    for _ in 0..5 {
        // The first part goes on to the backend before the second turns out to be none.
        let mut client = Client::new(gateway.address());
        client.send(&format!("{HEAD}3\r\nabc\r\n"));
        until("it is on its way", || gateway.counts().backends[0].in_flight == 1);
        client.send("no chunk\r\n");
        let reply = client.reply(true).expect("a reply");
        assert_eq!((reply.status, reply.backend()), (400, "none"), "{}", reply.text());
        assert!(client.reply(true).is_none(), "the connection is closed: what comes cannot be read");
        until("it is over", || gateway.counts().backends[0].in_flight == 0);
    }
    assert_eq!(origin.requests(), 0, "no backend got one whole");
    settle(gateway, 5, 0);
}

#[test]
fn an_upload_that_its_client_breaks_off_is_the_clients_failure() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = strict(&origin, 20_000);
    for head in [HEAD, "POST /x HTTP/1.1\r\nhost: t\r\ncontent-length: 1000\r\n\r\n"] {
        for reset in [false, true] {
            let stream = TcpStream::connect(gateway.address()).expect("it accepts");
            let mut raw = &stream;
            std::io::Write::write_all(&mut raw, format!("{head}3\r\nabc\r\n").as_bytes()).expect("it reads");
            until("it is on its way", || gateway.counts().backends[0].in_flight == 1);
            if reset {
                let linger = socket2::SockRef::from(&stream.as_fd()).set_linger(Some(std::time::Duration::ZERO));
                linger.expect("it is set");
            } else {
                stream.shutdown(Shutdown::Write).expect("it is open");
            }
            drop(stream);
            until("it is over", || gateway.counts().backends[0].in_flight == 0);
        }
    }
    assert_eq!(origin.requests(), 0, "no backend got one whole");
    settle(gateway, 4, 0);
}

#[test]
fn an_upload_that_stalls_is_the_clients_failure() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    let gateway = strict(&origin, 100);
    for head in [HEAD.to_owned(), "POST /x HTTP/1.1\r\nhost: t\r\ncontent-length: 1000\r\n\r\n".into()] {
        for part in ["", "3\r\nabc\r\n"] {
            let mut client = Client::new(gateway.address());
            client.send(&format!("{head}{part}"));
            let reply = client.reply(true).expect("a reply");
            assert_eq!((reply.status, reply.backend()), (408, "none"), "{}", reply.text());
            assert!(client.reply(true).is_none(), "the connection is closed");
        }
    }
    settle(gateway, 4, 0);
}

/// The backend's time begins when it has the whole request.
#[test]
fn a_slow_upload_takes_as_long_as_it_takes() {
    let origin = Origin::new(|got, stream| ok(stream, &format!("{} bytes", got.body.len())));
    let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(1000) };
    let timeouts = Timeouts { connect: ms(1000), reply: ms(50), idle: ms(20_000) };
    let config =
        GatewaySettings { health, timeouts, ..GatewaySettings::new("round-robin", backends(&[origin.address])) };
    let config = falling(1, config);
    let gateway = gateway(config);
    let mut client = Client::new(gateway.address());
    client.send(HEAD);
    let begun = sojourn_part::now();
    // Longer than the backend would have for its reply alone.
    until("some time has passed", || sojourn_part::now() - begun > ms(200));
    client.send("3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.reply(true).expect("a reply").text(), "3 bytes");
    settle(gateway, 0, 1);
}

/// What the backend does while it is sent to is the backend's, though a refusal need not be a failure.
#[test]
fn a_backend_that_takes_no_upload_is_late() {
    let origin = Origin::new(|_, stream| ok(stream, "ok"));
    // It accepts, and reads nothing.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(1000) };
    let timeouts = Timeouts { connect: ms(1000), reply: ms(20_000), idle: ms(200) };
    let addresses = [deaf.local_addr().expect("an address"), origin.address];
    let config = GatewaySettings { health, timeouts, ..GatewaySettings::new("round-robin", backends(&addresses)) };
    let config = falling(1, config);
    let gateway = gateway(config);
    // More than the buffers between here and there hold.
    let large = "x".repeat(64 << 20);
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let mut client = Client::new(gateway.address());
        client.send(&format!("POST /x HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n{large}", large.len()));
        statuses.push(client.reply(true).expect("a reply").status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 504]);
    let counts = gateway.stop();
    assert_eq!((counts.timed_out, counts.cancelled), (1, 0), "{counts:?}");
    assert_eq!((counts.backends[0].up, counts.backends[1].up), (false, true), "{counts:?}");
}

/// Without an answer it cannot be told whether the server has failed or does not want the upload; any client could send
/// such uploads. The probe tells.
#[test]
fn a_connection_that_breaks_within_an_upload_takes_no_backend_out() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let closing = std::thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _ = stream.read(&mut [0; 16]);
        }
        listener
    });
    let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(1000) };
    let config = GatewaySettings { health, ..GatewaySettings::new("round-robin", backends(&[address])) };
    let config = falling(1, config);
    let gateway = gateway(config);
    for _ in 0..3 {
        let mut client = Client::new(gateway.address());
        client.send(&format!("{HEAD}3\r\nabc\r\n"));
        assert_eq!(client.reply(true).expect("a reply").status, 502);
    }
    let counts = gateway.stop();
    assert!(counts.backends[0].up && counts.broken == 3 && counts.cancelled == 0, "{counts:?}");
    drop(closing.join().expect("it ends"));
}

/// Real servers answer before they have read all, and close. Their refusal reaches the client, and is no failure.
#[test]
fn an_upload_that_the_server_does_not_want_is_refused_by_the_server() {
    let site = site();
    let large = "x".repeat(20 << 20);
    for text in ["nginx(workers = 2)", "apache-prefork(workers = 3)"] {
        let Some(running) = start(&Program::parse(text, site.path()).expect(text)) else { continue };
        let health = Checks { probe: Probe::Connect, every: ms(600_000), timeout: ms(1000) };
        let config = GatewaySettings::new("round-robin", backends(&[running.address()]));
        let gateway = gateway(falling(1, GatewaySettings { health, ..config }));
        for _ in 0..5 {
            let mut client = Client::new(gateway.address());
            client.send(&format!("PUT / HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n{large}", large.len()));
            let status = client.reply(true).expect("a reply").status;
            assert!([405, 413].contains(&status), "{text}: {status}");
        }
        let counts = gateway.stop();
        assert!(counts.backends[0].up && counts.backends[0].failed == 0, "{text}: {counts:?}");
    }
}
