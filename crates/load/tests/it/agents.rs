//! A coordinator and its agents, in threads of this process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sojourn_load::agents::{Agent, Coordinator, Host, new_secret};
use sojourn_load::{Load, Progress, Proof, Rotation};
use sojourn_stats::{Dimension, Law, Span};

use crate::run::{MS, open, steady};
use crate::server::{Server, ok};

/// Requests for these addresses.
#[derive(Serialize, Deserialize)]
struct Order {
    addresses: Vec<SocketAddr>,
    requests: u64,
}

struct Here;

impl Host for Here {
    type Order = Order;

    fn prepare(&self, order: Order) -> Result<Load, String> {
        let first = *order.addresses.first().ok_or("no address")?;
        Ok(open(first, steady(order.requests, Span(MS))).rotated(&order.addresses, Rotation::Client))
    }
}

/// An agent that stops when it is dropped.
struct Running {
    address: SocketAddr,
    quit: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(secret: &str) -> Running {
        Running::patient(secret, Duration::from_secs(10))
    }

    fn patient(secret: &str, patience: Duration) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, quit) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let agent = Agent { host: Here, secret: Some(secret.into()), patience, quit: Arc::clone(&quit) };
        let thread = std::thread::spawn(move || agent.serve(&listener).unwrap());
        Running { address, quit, thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.quit.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn run(coordinator: &mut Coordinator, order: &Order) -> Result<sojourn_load::Report, String> {
    let ignore = |_: &Progress| {};
    let law = Law::parse("constant(1 ms)", Dimension::Time).unwrap();
    coordinator.run(order, Some(law), false, &AtomicBool::new(false), &ignore).map_err(|error| error.to_string())
}

#[test]
fn agents_run_their_shares_of_one_order_after_another() {
    let servers: Vec<Server> = (0..2).map(|_| Server::start(|_| vec![ok("x")])).collect();
    let secret = new_secret().unwrap();
    let agents: Vec<Running> = (0..2).map(|_| Running::start(&secret)).collect();
    let mut coordinator = Coordinator::new();
    for (number, agent) in agents.iter().enumerate() {
        coordinator.join(format!("agent {number}"), agent.address, secret.as_bytes()).unwrap();
    }
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    for requests in [41, 30] {
        let report = run(&mut coordinator, &Order { addresses: addresses.clone(), requests }).unwrap();
        assert_eq!((report.counts.planned, report.counts.ok), (requests, requests));
        assert!(!matches!(report.verdict, Proof::Incomplete(_)));
        let gaps = report.gaps.unwrap();
        assert!(
            gaps.count == requests - 1 && gaps.from_law.is_some(),
            "all gaps are held to the law that was asked for"
        );
        let records = report.records.unwrap();
        assert!(records.iter().map(|record| record.k).eq(0..requests), "each request once");
        assert!(records.iter().all(|record| u32::from(record.endpoint) == record.client % 2));
        // Both agents read the same clock: what is known of the difference holds 0.
        let clocks = coordinator.clocks();
        assert!(
            clocks.len() == 2 && clocks.iter().all(|clock| clock.offset_ns.unsigned_abs() <= clock.within_ns + 1000)
        );
    }
    let why = run(&mut coordinator, &Order { addresses: Vec::new(), requests: 1 }).unwrap_err();
    assert!(why.starts_with("agent ") && why.contains("no address"), "{why}");
}

#[test]
fn who_does_not_know_the_secret_is_refused() {
    let agent = Running::start("correct horse battery staple");
    let mut coordinator = Coordinator::new();
    let why = coordinator.join("agent x".into(), agent.address, b"incorrect").unwrap_err().to_string();
    assert!(why.contains("agent x") && why.contains("secret"), "{why}");
    let why = run(&mut coordinator, &Order { addresses: Vec::new(), requests: 1 }).unwrap_err();
    assert!(why.contains("no agent"), "{why}");
}

/// Sends a byte of a line without an end every 20 ms, 1000 at most; whether it was kept from going on.
fn drip(mut to: TcpStream, stop: &Receiver<()>) -> bool {
    (0..1000).any(|_| {
        let stopped = stop.recv_timeout(Duration::from_millis(20)) != Err(RecvTimeoutError::Timeout);
        to.write_all(b"x").is_err() || stopped
    })
}

#[test]
fn who_sends_byte_by_byte_holds_no_agent() {
    let secret = new_secret().unwrap();
    let agent = Running::patient(&secret, Duration::from_millis(100));
    let (stop, stopped) = channel();
    let dripping = TcpStream::connect(agent.address).unwrap();
    let dripper = std::thread::spawn(move || drip(dripping, &stopped));
    let mut coordinator = Coordinator::new();
    coordinator.join("agent".into(), agent.address, secret.as_bytes()).unwrap();
    drop((coordinator, stop));
    assert!(dripper.join().unwrap());

    // An agent that is told to stop does, whichever peer it listens to.
    let agent = Running::patient(&secret, Duration::from_secs(600));
    let (_stop, stopped) = channel();
    let mut dripping = TcpStream::connect(agent.address).unwrap();
    dripping.read_exact(&mut [0]).unwrap();
    let dripper = std::thread::spawn(move || drip(dripping, &stopped));
    drop(agent);
    assert!(dripper.join().unwrap(), "its connection was closed long before its last byte");
}
