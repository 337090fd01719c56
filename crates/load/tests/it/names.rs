//! Names are resolved per user, by a real name server's packets, for as long as the answer says.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use socket2::{Domain, SockRef, Socket, Type};
use sojourn_load::{Load, LoadError, Method, Outcome, Resolves, Schedule, Stop, Targets, Url, Version};
use sojourn_stats::Span;

use crate::run::{MS, run, steady, try_run};
use crate::server::{Act, Server, ok, reply};

/// A name server on a free port; what it answers to a question, in order of the questions for addresses (A).
struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<RecordType>>>,
    stop: Arc<AtomicBool>,
}

/// How a name server says what does not fit into a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Long {
    /// Its packets hold all.
    Never,
    /// It cuts its packets, and answers over TCP.
    OverTcp,
    /// It cuts its packets, and closes what comes over TCP.
    Nowhere,
}

/// What to say to the question number n (of those for A) for a name: code, records as TTL and data; none: no answer.
type Say = dyn Fn(usize, RecordType) -> Option<(ResponseCode, Vec<(u32, RData)>)> + Send + Sync;

impl NameServer {
    fn start(say: Box<Say>) -> NameServer {
        NameServer::start_as(Long::Never, say)
    }

    /// One whose answers are too long for its packets.
    fn start_as(long: Long, say: Box<Say>) -> NameServer {
        // A port that is free for UDP may be taken for TCP.
        let (socket, listener) = std::iter::repeat_with(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let listener = TcpListener::bind(socket.local_addr().unwrap());
            listener.map(|listener| (socket, listener))
        })
        .find_map(Result::ok)
        .expect("it is endless");
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<RecordType>>> = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let (log, over) = (Arc::clone(&asked), Arc::clone(&stop));
        let say = Arc::new(say);
        let said = Arc::clone(&say);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut length = [0; 2];
                if long == Long::Nowhere || stream.read_exact(&mut length).is_err() {
                    continue;
                }
                let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut question).unwrap();
                let question = Message::from_vec(&question).unwrap();
                let query = question.queries[0].clone();
                let (code, records) = said(1, query.query_type).unwrap();
                let mut answer = Message::response(question.metadata.id, OpCode::Query);
                answer.metadata.response_code = code;
                answer.add_query(query.clone());
                for (ttl, data) in records {
                    answer.add_answer(Record::from_rdata(query.name.clone(), ttl, data));
                }
                let answer = answer.to_vec().unwrap();
                // In two parts, as a network may bring it.
                stream.write_all(&(answer.len() as u16).to_be_bytes()).unwrap();
                stream.write_all(&answer).unwrap();
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !over.load(Ordering::SeqCst) {
                let Ok((read, from)) = socket.recv_from(&mut buffer) else { continue };
                let question = Message::from_vec(&buffer[..read]).unwrap();
                let query = question.queries[0].clone();
                assert!(question.metadata.recursion_desired && query.name.is_fqdn());
                let number = {
                    let mut log = log.lock().unwrap();
                    log.push(query.query_type);
                    log.iter().filter(|kind| **kind == RecordType::A).count() - usize::from(!log.is_empty())
                };
                let Some((code, records)) = say(number, query.query_type) else { continue };
                let mut answer = Message::response(question.metadata.id, OpCode::Query);
                answer.metadata.response_code = code;
                answer.add_query(query.clone());
                if long != Long::Never {
                    answer.metadata.truncation = true;
                    // The first of them fits: it is not all, and not to be used.
                    let (ttl, data) = (3600, data(IpAddr::V4(Ipv4Addr::new(127, 9, 9, 9))));
                    answer.add_answer(Record::from_rdata(query.name.clone(), ttl, data));
                    socket.send_to(&answer.to_vec().unwrap(), from).unwrap();
                    continue;
                }
                for (ttl, data) in records {
                    answer.add_answer(Record::from_rdata(query.name.clone(), ttl, data));
                }
                socket.send_to(&answer.to_vec().unwrap(), from).unwrap();
            }
        });
        NameServer { address, asked, stop }
    }

    /// One that gives every name these addresses.
    fn constant(ttl: u32, addresses: &[IpAddr]) -> NameServer {
        let addresses = addresses.to_vec();
        NameServer::start(Box::new(move |_, kind| {
            let fits = |ip: &&IpAddr| ip.is_ipv4() == (kind == RecordType::A);
            Some((ResponseCode::NoError, addresses.iter().filter(fits).map(|ip| (ttl, data(*ip))).collect()))
        }))
    }

    /// Questions for A so far, but for the one before the start.
    fn questions(&self) -> usize {
        self.asked.lock().unwrap().iter().filter(|kind| **kind == RecordType::A).count() - 1
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

fn data(ip: IpAddr) -> RData {
    match ip {
        IpAddr::V4(v4) => RData::A(A(v4)),
        IpAddr::V6(v6) => RData::AAAA(AAAA(v6)),
    }
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// `requests` requests by `users` users to a name, on connections that the server closes after each reply.
fn named(server: &Server, names: &NameServer, users: u32, requests: u64) -> Load {
    let url = Url::parse(&format!("http://shop.test:{}/", server.address.port())).unwrap();
    let mut load = Load::to(&[url], Schedule::saturate(users), Targets::Own);
    load.stop = Stop::Requests(requests);
    load.resolver = Some(names.address);
    load.keep_records = true;
    load
}

fn closing() -> Server {
    Server::start(|_| vec![reply("200 OK", "connection: close\r\n", "x"), Act::Close])
}

#[test]
fn an_answer_is_kept_for_as_long_as_it_says_by_each_user_for_itself() {
    let server = closing();
    let names = NameServer::constant(3600, &[HERE]);
    let report = run(named(&server, &names, 4, 40));
    assert_eq!((report.counts.ok, names.questions()), (40, 4), "each of the users asks once");
    let records = report.records.unwrap();
    assert_eq!(records.iter().filter(|record| record.resolved.is_some()).count(), 4);
    assert!(records.iter().all(|record| record.resolved.is_none_or(|at| at <= record.connected.unwrap())));
    assert!(server.heads()[0].contains("host: shop.test:"), "{}", server.heads()[0]);

    let names = NameServer::constant(0, &[HERE]);
    let report = run(named(&server, &names, 4, 40));
    assert_eq!((report.counts.ok, names.questions()), (40, 40), "an answer that is not to be kept serves once");

    // With a second to live it is asked for again after a second, and only then.
    let names = NameServer::constant(1, &[HERE]);
    let mut load = named(&server, &names, 1, 0);
    load.schedule = Schedule::open(steady(14, Span(100 * MS)));
    load.connections_max = 1;
    load.stop = Stop::Requests(14);
    let report = run(load);
    assert_eq!((report.counts.ok, names.questions()), (14, 2));
}

#[test]
fn a_connection_that_is_kept_needs_no_name() {
    let server = Server::start(|_| vec![ok("x")]);
    let names = NameServer::constant(0, &[HERE]);
    let report = run(named(&server, &names, 2, 40));
    assert_eq!((report.counts.ok, names.questions()), (40, 2));
}

#[test]
fn an_answer_is_kept_for_a_set_time_whatever_it_says() {
    let server = closing();
    let held = |ttl: u32, resolves: Resolves| {
        let names = NameServer::constant(ttl, &[HERE]);
        let report = run(Load { resolves, ..named(&server, &names, 4, 40) });
        assert_eq!((report.counts.ok, report.connections.resolutions), (40, names.questions() as u64));
        names.questions()
    };
    assert_eq!(held(0, Resolves::Every(Span(3_600_000 * MS))), 4, "longer than its TTL");
    assert_eq!(held(3600, Resolves::Every(Span(1))), 40, "shorter than its TTL");
    assert_eq!(held(3600, Resolves::EachConnection), 40);
}

#[test]
fn a_client_of_a_plan_asks_for_itself_where_each_request_has_a_connection() {
    let server = closing();
    let url = Url::parse(&format!("http://shop.test:{}/", server.address.port())).unwrap();
    for threads in [1, 2] {
        let names = NameServer::constant(3600, &[HERE]);
        let load = Load {
            method: Method::Get,
            http: Version::Http10,
            resolver: Some(names.address),
            threads,
            ..Load::to(std::slice::from_ref(&url), Schedule::open(steady(60, Span(MS))), Targets::Own)
        };
        let report = run(load);
        let clients = steady(60, Span(MS)).map(|planned| planned.request.client).collect::<HashSet<_>>().len();
        assert!(clients > 1);
        assert_eq!((report.counts.ok, names.questions()), (60, clients), "{threads} threads");
    }
}

/// A listener at the port of `server` that takes no connection: its queue is full with these.
fn deaf(server: &Server, address: Ipv4Addr) -> (TcpListener, Vec<TcpStream>) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let at = SocketAddr::new(address.into(), server.address.port());
    socket.bind(&at.into()).unwrap();
    socket.listen(0).unwrap();
    let connect = |_| TcpStream::connect_timeout(&at, Duration::from_millis(100));
    // One more than it has room for: the last one is given up.
    let waiting: Vec<_> = (0..3).map(connect).map_while(Result::ok).collect();
    assert!(waiting.len() < 3, "it has room for all");
    (socket.into(), waiting)
}

#[test]
fn the_next_address_is_tried_beside_one_that_does_not_answer() {
    let server = closing();
    let silent = Ipv4Addr::new(127, 7, 8, 1);
    let _full = deaf(&server, silent);
    let names = NameServer::constant(3600, &[silent.into(), HERE]);
    let report = run(Load { tries_first: false, ..named(&server, &names, 2, 20) });
    assert_eq!((report.counts.ok, report.counts.failed()), (20, 0));
    let connections = report.connections;
    assert_eq!((connections.retried_addresses, connections.failed_over), (2, 2), "once for each user");
    assert_eq!(connections.resolutions, 2, "what works is kept until the answer ends");
    let records = report.records.unwrap();
    let connecting = |record: &sojourn_load::Record| record.connected.unwrap() - record.begun.unwrap();
    assert_eq!(records.iter().filter(|record| connecting(record) >= Span(250 * MS)).count(), 2);
}

#[test]
fn an_address_that_answers_late_is_still_taken() {
    let server = closing();
    let late = Ipv4Addr::new(127, 7, 8, 2);
    let (listener, waiting) = deaf(&server, late);
    // An attempt that is given up does not come.
    SockRef::from(&listener).set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // Where nothing listens: when that one has failed, the first is all there is.
    let names = NameServer::constant(3600, &[late.into(), Ipv4Addr::new(127, 7, 8, 3).into()]);
    let relenting = std::thread::spawn(move || {
        // Nothing comes to those in the queue, and meanwhile the attempt at the other address is made and refused.
        let mut first = waiting.first().expect("the queue has room for one");
        first.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
        assert!(first.read(&mut [0]).is_err());
        waiting.iter().for_each(|_| drop(listener.accept().unwrap()));
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx").unwrap();
    });
    let report = run(Load { tries_first: false, ..named(&server, &names, 1, 1) });
    relenting.join().unwrap();
    assert_eq!(report.counts.ok, 1, "{:?}", report.counts);
    assert_eq!((report.connections.retried_addresses, report.connections.failed_over), (1, 0));
    assert_eq!(server.heads().len(), 0);
}

#[test]
fn the_next_address_is_tried_when_one_is_dead() {
    let server = closing();
    // Nothing listens on that port of the first two.
    let dead = [IpAddr::V4(Ipv4Addr::new(127, 7, 7, 7)), IpAddr::V4(Ipv4Addr::new(127, 7, 7, 8)), HERE];
    let names = NameServer::constant(3600, &dead);
    let report = run(named(&server, &names, 3, 30));
    assert_eq!((report.counts.ok, report.counts.failed()), (30, 0));
    assert_eq!(report.connections.retried_addresses, 6, "the dead ones go last from then on");
    assert_eq!(report.connections.failed_over, 3, "each user once");
    // Where all are dead the request is refused.
    let names = NameServer::start(Box::new(move |number, kind| {
        let address = if number == 0 { HERE } else { dead[0] };
        let records = if kind == RecordType::A { vec![(0, data(address))] } else { Vec::new() };
        Some((ResponseCode::NoError, records))
    }));
    let report = run(named(&server, &names, 1, 2));
    assert_eq!((report.counts.refused, report.connections.retried_addresses), (2, 0));
}

#[test]
fn other_families_and_other_names_lead_there_too() {
    let server = closing();
    let names = NameServer::start(Box::new(|_, kind| {
        let alias = (0, RData::CNAME(CNAME(Name::from_ascii("www.shop.test.").unwrap())));
        let records = if kind == RecordType::A { vec![alias, (3600, data(HERE))] } else { Vec::new() };
        Some((ResponseCode::NoError, records))
    }));
    let report = run(named(&server, &names, 1, 5));
    assert_eq!((report.counts.ok, names.questions()), (5, 5), "the alias has the shorter life");
    // A name that has only an IPv6 address, where nothing listens.
    let names = NameServer::constant(60, &[IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    let error = try_run(named(&server, &names, 1, 5)).expect_err("nothing listens there");
    assert!(matches!(error, LoadError::Refused { target } if target.is_ipv6()), "{error}");
}

#[test]
fn names_without_an_address_are_counted_and_said() {
    let server = closing();
    let no_such_name = || (ResponseCode::NXDomain, Vec::new());
    // From the second connection on.
    let names = NameServer::start(Box::new(move |number, kind| match (number, kind) {
        (0, RecordType::A) => Some((ResponseCode::NoError, vec![(0, data(HERE))])),
        (0, _) => Some((ResponseCode::NoError, Vec::new())),
        _ => Some(no_such_name()),
    }));
    let report = run(named(&server, &names, 1, 3));
    assert_eq!((report.counts.not_resolved, report.counts.ok), (3, 0));
    let records = report.records.unwrap();
    assert!(records.iter().all(|record| record.outcome == Outcome::NotResolved && record.sent.is_none()));

    let names = NameServer::start(Box::new(move |_, _| Some(no_such_name())));
    let error = try_run(named(&server, &names, 1, 3)).expect_err("no such name").to_string();
    assert!(error.contains("`shop.test`") && error.contains("no such name") && !error.contains('\n'), "{error}");
}

#[test]
fn a_name_server_that_does_not_answer_is_asked_again_and_then_given_up() {
    let server = closing();
    // The second question of each kind is answered: the first is lost.
    let lost = Mutex::new(HashSet::new());
    let names = NameServer::start(Box::new(move |_, kind| {
        if lost.lock().unwrap().insert(kind) {
            return None;
        }
        Some((ResponseCode::NoError, if kind == RecordType::A { vec![(0, data(HERE))] } else { Vec::new() }))
    }));
    let mut load = named(&server, &names, 1, 2);
    load.timeout = Span(800 * MS);
    assert_eq!(run(load).counts.ok, 2);

    let names = NameServer::start(Box::new(|number, kind| match (number, kind) {
        (0, RecordType::A) => Some((ResponseCode::NoError, vec![(0, data(HERE))])),
        (0, _) => Some((ResponseCode::NoError, Vec::new())),
        _ => None,
    }));
    let mut load = named(&server, &names, 1, 2);
    load.timeout = Span(800 * MS);
    let counts = run(load).counts;
    assert_eq!((counts.not_resolved, counts.timeout), (2, 0));
}

#[test]
fn the_own_host_needs_no_name_server() {
    let server = closing();
    let url = Url::parse(&format!("http://LOCALHOST:{}/", server.address.port())).unwrap();
    let mut load = Load::to(&[url], Schedule::saturate(1), Targets::Own);
    load.stop = Stop::Requests(3);
    load.keep_records = true;
    // No name server is there.
    load.resolver = Some("127.0.0.1:1".parse().unwrap());
    let report = run(load);
    assert_eq!(report.counts.ok, 3);
    assert!(report.records.unwrap().iter().all(|record| record.resolved.is_none()));
}

/// A cut answer is not all that there is: the whole one is asked for over TCP, before the start and during it.
#[test]
fn a_cut_answer_is_asked_for_again_over_tcp() {
    let server = closing();
    let say = || -> Box<Say> {
        Box::new(|_, kind| {
            let many = (0..80).map(|_| (3600, data(HERE))).filter(|_| kind == RecordType::A);
            Some((ResponseCode::NoError, many.collect()))
        })
    };
    let names = NameServer::start_as(Long::OverTcp, say());
    let report = run(named(&server, &names, 4, 40));
    assert_eq!(report.counts.ok, 40, "{:?}", report.counts);
    assert_eq!(names.questions(), 4, "each of the users asks once, and keeps the answer");

    let names = NameServer::start_as(Long::Nowhere, say());
    let why = try_run(named(&server, &names, 1, 1)).expect_err("a cut answer is not used").to_string();
    assert!(why.contains("the name server's answer is cut, and over TCP it gives none"), "{why}");
}
