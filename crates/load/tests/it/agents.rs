//! A coordinator and its agents, in threads of this process.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use sojourn_load::agents::{Agent, Coordinator, Host, new_secret};
use sojourn_load::{Load, Progress, Rotation, Verdict};
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, quit) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let agent = Agent { host: Here, secret: Some(secret.into()), quit: Arc::clone(&quit) };
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
        assert!(!matches!(report.verdict, Verdict::Incomplete(_)));
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
