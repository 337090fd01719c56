//! What an emulated node does with requests whose clients leave or have a deadline, and when it stands still.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use sojourn_model::Server;
use sojourn_part::settings::node::{Abandoned, NodeSettings};
use sojourn_part::{clock, now};
use sojourn_stats::Span;
use sojourn_web::Node;

use crate::support::{Client, ms, until};

fn node_of(model: &str, abandoned: Abandoned) -> Node {
    let model = Some(Server::from_toml(model).expect("a model").to_toml());
    let settings = NodeSettings { model, abandoned, grace: Some(Span::ZERO), ..NodeSettings::new("n") };
    Node::start(settings).expect("a node starts")
}

const FCFS: &str = "discipline = \"fcfs\"\ndemand = \"1 ms\"";

/// Sends a request for so much work and leaves, with a FIN, once the node has it.
fn leave(node: &Node, demand_ms: u64) {
    let stream = TcpStream::connect(node.address()).expect("it listens");
    let before = node.counts().in_flight;
    let request = format!("GET /work HTTP/1.1\r\nhost: t\r\nx-sojourn-demand: {}\r\n\r\n", ms(demand_ms).0);
    std::io::Write::write_all(&mut &stream, request.as_bytes()).expect("it is taken");
    until("it has the request", || node.counts().in_flight > before);
    stream.shutdown(Shutdown::Both).expect("it was open");
}

#[test]
fn who_has_left_is_dropped_or_served() {
    let cancelling = node_of(FCFS, Abandoned::Cancelled);
    leave(&cancelling, 10_000);
    until("it learns of that", || cancelling.counts().cancelled == 1);
    let serving = node_of(FCFS, Abandoned::Served);
    leave(&serving, 100);
    // Who comes next waits until the work for nothing is done.
    let mut client = Client::new(serving.address());
    let (waited, stayed) = client.ask("GET", "/work?demand=1ms", "").service();
    assert!(waited > ms(10).0 && stayed == waited + ms(1).0, "{waited} {stayed}");
    let counts = serving.counts();
    assert_eq!((counts.served, counts.cancelled), (2, 0));
}

/// A request that could not be finished before its deadline gets no answer, and no work; one without a deadline does.
#[test]
fn what_would_be_too_late_is_dropped_in_silence() {
    let node = node_of("discipline = \"fcfs\"\ndrops = \"too-late\"\ndemand = \"1 ms\"", Abandoned::Cancelled);
    let mut first = Client::new(node.address());
    first.send("GET /work?demand=200ms HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is there", || node.counts().in_flight == 1);
    let ask = |deadline_ms: u64| {
        let mut late = TcpStream::connect(node.address()).expect("it listens");
        let deadline = clock::wall() + ms(deadline_ms).0;
        let request = format!("GET /work?demand=10ms HTTP/1.1\r\nhost: t\r\nx-sojourn-deadline: {deadline}\r\n\r\n");
        std::io::Write::write_all(&mut late, request.as_bytes()).expect("it is taken");
        late.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
        late.read(&mut [0; 1]).ok()
    };
    assert_eq!(ask(100), None, "no answer");
    assert_eq!(first.reply(true).expect("a reply").service(), (0, ms(200).0));
    assert_eq!((node.counts().dropped, node.counts().served), (1, 1));
    assert_eq!(ask(10_000), Some(1), "in time");
    until("who has left is let go", || node.counts().in_flight == 0);
    let wrong = Client::new(node.address()).ask("GET", "/work", "x-sojourn-deadline: soon\r\n");
    assert!(wrong.status == 400 && wrong.text().contains("whole number of nanoseconds"), "{}", wrong.text());
    // Nor does what finds the server full, where that is dropped too.
    let limits = "limits = { jobs = 1, overflow = \"dropped\" }";
    let full = node_of(&format!("discipline = \"fcfs\"\ndemand = \"1 ms\"\n{limits}"), Abandoned::Cancelled);
    let mut first = Client::new(full.address());
    first.send("GET /work?demand=300ms HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is there", || full.counts().in_flight == 1);
    let mut second = TcpStream::connect(full.address()).expect("it listens");
    std::io::Write::write_all(&mut second, b"GET /work HTTP/1.1\r\nhost: t\r\n\r\n").expect("it is taken");
    second.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    assert!(second.read(&mut [0; 1]).is_err());
    assert_eq!(first.reply(true).expect("a reply").status, 200);
}

/// While it stands still no work is done, and on its own clock no time has passed; a deadline runs out all the same.
#[test]
fn a_node_that_stood_still_goes_on_where_it_was() {
    let node = node_of("discipline = \"fcfs\"\ndrops = \"too-late\"\ndemand = \"1 ms\"", Abandoned::Cancelled);
    let mut client = Client::new(node.address());
    let sent = now();
    client.send("GET /work?demand=30ms HTTP/1.1\r\nhost: t\r\n\r\n");
    until("it is there", || node.counts().in_flight == 1);
    let mut late = TcpStream::connect(node.address()).expect("it listens");
    let deadline = clock::wall() + ms(150).0;
    let request = format!("GET /work?demand=10ms HTTP/1.1\r\nhost: t\r\nx-sojourn-deadline: {deadline}\r\n\r\n");
    std::io::Write::write_all(&mut late, request.as_bytes()).expect("it is taken");
    until("both are there", || node.counts().in_flight == 2);
    let before = node.counts().busy_s;
    node.standing().during(|| {
        until("a while has passed", || now() - sent > ms(200));
        assert!(node.counts().busy_s - before < 0.031 && node.counts().served == 0);
    });
    assert_eq!(client.reply(true).expect("a reply").service(), (0, ms(30).0));
    assert!(now() - sent > ms(200));
    until("the other one is dropped", || node.counts().dropped == 1);
}
