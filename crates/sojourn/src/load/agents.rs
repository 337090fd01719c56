//! One load from several client processes: the coordinator's side.
//!
//! Every agent gets the very same order and the number of its part, so that the one plan is split by arithmetic and not
//! by anybody's word. Clocks are compared by pings (the shortest round trip counts, as in NTP; the true offset is within
//! half of it), the start is told to each in its own time, and the parts are merged before anything is concluded. When one
//! agent fails all others are stopped: part of a load is not the load.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use sojourn_load::{Counts, Progress, Recent, Report, Share, ShareReport, Verdict, realtime_ns};
use sojourn_serve::supervisor::Child;

use super::order::Order;
use super::wire::{FRIEND, FromAgent, Messages, STRANGER, ToAgent, nonce, proof, send};
use crate::agent::{TOKEN, token};
use crate::exit::{Exit, Failure, bad_input, failed};

/// Who puts the load on the server, if not this process.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Clients {
    /// Split the load over this many processes on this machine
    #[arg(long, value_name = "N", conflicts_with = "agents", help_heading = "Clients")]
    processes: Option<u32>,
    /// Split it over `sojourn agent`s on other machines: HOST:PORT,...
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Clients")]
    agents: Vec<String>,
    /// File with the secret of these agents
    #[arg(long, value_name = "FILE", requires = "agents", help_heading = "Clients")]
    token_file: Option<PathBuf>,
}

/// How an agent's clock stands to this one's.
#[derive(Clone, Debug)]
pub(crate) struct ClientClock {
    pub(crate) name: String,
    /// Ahead by this much (ns).
    pub(crate) offset_ns: i64,
    /// Known within this much (ns).
    pub(crate) within_ns: u64,
}

/// The agents of this program, connected.
pub(crate) struct Crew {
    links: Vec<Link>,
    news: Receiver<(usize, News)>,
    clocks: Vec<ClientClock>,
    /// Ended when the crew is dropped.
    _children: Vec<Child>,
}

struct Link {
    name: String,
    stream: TcpStream,
}

enum News {
    /// With the time at which it came.
    Said(FromAgent, u64),
    Gone(String),
}

/// More processes than this are a slip of the finger.
const PROCESSES_MAX: u32 = 256;
const CONNECT: Duration = Duration::from_secs(5);
const HELLO: Duration = Duration::from_secs(10);
/// A child has to be there by then.
const READY: Duration = Duration::from_secs(20);
/// Reading a site or drawing many users takes a while.
const PREPARE: Duration = Duration::from_secs(120);
const PINGS: u32 = 10;
const PONG: Duration = Duration::from_secs(5);
/// From the word to the start: agents connect to the target once before it.
const LEAD_NS: u64 = 1_000_000_000;
/// An agent that runs tells how far it is four times a second.
const SILENCE_NS: u64 = 20_000_000_000;
/// How long stopped agents have for their reports.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// Parts whose starts are further apart than this are no longer one arrival process at rates where it matters.
const WITHIN_MAX_NS: u64 = 10_000_000;

impl Clients {
    /// Starts or connects to all of them; none when this process is to do it alone.
    pub(crate) fn gather(&self, yes_i_may: bool) -> Result<Option<Crew>, Failure> {
        let (tell, news) = channel();
        let mut crew = Crew { links: Vec::new(), news, clocks: Vec::new(), _children: Vec::new() };
        if let Some(count) = self.processes {
            if !(1..=PROCESSES_MAX).contains(&count) {
                return Err(bad_input(format!("--processes {count}: 1 to {PROCESSES_MAX}")));
            }
            let secret = nonce().map_err(failed)?;
            let program = std::env::current_exe().map_err(failed)?;
            for number in 1..=count {
                let name = format!("process {number}");
                let mut command = Command::new(&program);
                command.args(["agent", "--child"]).args(yes_i_may.then_some("--yes-i-may")).env(TOKEN, &secret);
                let child = Child::start(command, READY).map_err(|error| failed(format!("{name}: {error}")))?;
                let address = SocketAddr::from(([127, 0, 0, 1], child.port()));
                crew._children.push(child);
                crew.join(name, address, secret.as_bytes(), &tell)?;
            }
            return Ok(Some(crew));
        }
        if self.agents.is_empty() {
            return Ok(None);
        }
        let secret = self.token_file.as_deref().map(token).transpose()?.unwrap_or_default();
        for name in &self.agents {
            let wrong = |why: String| bad_input(format!("--agents {name}: {why}; write HOST:PORT"));
            let mut found = name.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
            let address = found.next().ok_or_else(|| wrong("it has no address".into()))?;
            crew.join(format!("agent {name}"), address, &secret, &tell)?;
        }
        Ok(Some(crew))
    }
}

impl Crew {
    /// Connects to an agent and shows who this is.
    fn join(
        &mut self,
        name: String,
        address: SocketAddr,
        secret: &[u8],
        tell: &Sender<(usize, News)>,
    ) -> Result<(), Failure> {
        let fail = |why: String| failed(format!("{name}: {why}"));
        let refused = |error: std::io::Error| fail(format!("cannot connect: {error}"));
        let silent = |error: std::io::Error| {
            fail(format!("does not answer as an agent: {error} (is it one, and not busy with another coordinator?)"))
        };
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        stream.set_read_timeout(Some(HELLO)).map_err(refused)?;
        let mut messages = Messages::new(stream.try_clone().map_err(refused)?);
        let Some(FromAgent::Hello { nonce, .. }) = messages.next(STRANGER).map_err(silent)? else {
            return Err(fail("is no agent".into()));
        };
        let hello = ToAgent::Hello { version: env!("CARGO_PKG_VERSION").into(), proof: proof(secret, &nonce) };
        send(&stream, &hello).map_err(silent)?;
        match messages.next(STRANGER).map_err(silent)? {
            Some(FromAgent::Welcome) => {}
            Some(FromAgent::Failed { message }) => return Err(fail(message)),
            _ => return Err(fail("went away".into())),
        }
        stream.set_read_timeout(None).map_err(silent)?;
        let (index, tell) = (self.links.len(), tell.clone());
        self.links.push(Link { name, stream });
        std::thread::spawn(move || {
            loop {
                let news = match messages.next(FRIEND) {
                    Ok(Some(message)) => News::Said(message, realtime_ns()),
                    Ok(None) => News::Gone("went away".into()),
                    Err(error) => News::Gone(format!("went away: {error}")),
                };
                let last = matches!(news, News::Gone(_));
                if tell.send((index, news)).is_err() || last {
                    return;
                }
            }
        });
        Ok(())
    }

    /// How the agents' clocks stood before the last run.
    pub(crate) fn clocks(&self) -> &[ClientClock] {
        &self.clocks
    }

    /// Runs `order` on all of them.
    pub(crate) fn run(
        &mut self,
        order: &Order,
        watched: bool,
        cancel: &AtomicBool,
        show: &dyn Fn(&Progress),
    ) -> Result<Report, Failure> {
        // What is wrong with it is wrong everywhere, and is better said once.
        order.load()?;
        let of = self.links.len() as u32;
        for index in 0..self.links.len() {
            let part = Share { index: index as u32, of };
            self.tell(index, &ToAgent::Prepare { order: Box::new(order.clone()), part, watched })?;
        }
        for _ in 0..self.links.len() {
            match self.hear(PREPARE)? {
                (_, FromAgent::Prepared, _) => {}
                (index, other, _) => return Err(self.surprised(index, &other)),
            }
        }
        self.clocks = (0..self.links.len()).map(|index| self.compare_clock(index)).collect::<Result<_, _>>()?;
        let start = realtime_ns() + LEAD_NS;
        for index in 0..self.links.len() {
            let at_ns = start.saturating_add_signed(self.clocks[index].offset_ns);
            self.tell(index, &ToAgent::Start { at_ns })?;
        }
        let parts = self.collect(cancel, show)?;
        let mut report = Report::of_shares(parts);
        let doubts = self.clocks.iter().filter(|clock| clock.within_ns > WITHIN_MAX_NS).map(|clock| {
            let (within, limit) = (clock.within_ns as f64 * 1e-6, WITHIN_MAX_NS as f64 * 1e-6);
            format!("{}: its start is known only within {within:.1} ms (limit {limit:.0} ms)", clock.name)
        });
        let doubts: Vec<String> = doubts.collect();
        match &mut report.verdict {
            Verdict::Valid if !doubts.is_empty() => report.verdict = Verdict::Suspect(doubts),
            Verdict::Suspect(reasons) => reasons.extend(doubts),
            _ => {}
        }
        Ok(report)
    }

    /// The agents' parts, once all have come.
    fn collect(&mut self, cancel: &AtomicBool, show: &dyn Fn(&Progress)) -> Result<Vec<ShareReport>, Failure> {
        let mut parts: Vec<Option<ShareReport>> = self.links.iter().map(|_| None).collect();
        let mut told: Vec<Option<Progress>> = parts.iter().map(|_| None).collect();
        let mut heard = vec![realtime_ns(); parts.len()];
        let mut unseen = Recent::default();
        let mut stopped = false;
        let mut alive_at = 0;
        while parts.iter().any(Option::is_none) {
            let now = realtime_ns();
            if cancel.load(Ordering::Relaxed) && !stopped {
                stopped = true;
                self.stop_all();
            }
            if now.saturating_sub(alive_at) >= 1_000_000_000 {
                alive_at = now;
                for index in 0..self.links.len() {
                    self.tell(index, &ToAgent::Alive)?;
                }
            }
            if let Some(index) = (0..parts.len()).find(|&i| parts[i].is_none() && now > heard[i] + SILENCE_NS) {
                return Err(self.fail(index, &format!("has not been heard of for {} s", SILENCE_NS / 1_000_000_000)));
            }
            let (index, news) = match self.news.recv_timeout(Duration::from_millis(200)) {
                Ok(news) => news,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(failed("all agents went away")),
            };
            heard[index] = now;
            match news {
                News::Said(FromAgent::Report(mut report), _) => {
                    report.clock_offset_ns = self.clocks[index].offset_ns;
                    parts[index] = Some(*report);
                }
                News::Said(FromAgent::Progress(now), _) => {
                    if let Some(seen) = &now.seen {
                        unseen.merge(&seen.1);
                    }
                    told[index] = Some(*now);
                    if index == 0 {
                        show(&sum(&told, &mut unseen));
                    }
                }
                News::Said(FromAgent::Failed { message }, _) => return Err(self.fail(index, &message)),
                News::Said(other, _) => return Err(self.surprised(index, &other)),
                News::Gone(why) => return Err(self.fail(index, &why)),
            }
        }
        Ok(parts.into_iter().flatten().collect())
    }

    /// How the clock of an agent stands to this one, by the ping with the shortest way.
    fn compare_clock(&mut self, index: usize) -> Result<ClientClock, Failure> {
        let mut best: Option<(u64, i64)> = None;
        for number in 0..PINGS {
            let sent = realtime_ns();
            self.tell(index, &ToAgent::Ping { number })?;
            let (from, message, back) = self.hear(PONG)?;
            let (true, FromAgent::Pong { number: answered, at_ns }) = (from == index, &message) else {
                return Err(self.surprised(from, &message));
            };
            assert_eq!(*answered, number, "pings are answered in order");
            let round_trip = back.saturating_sub(sent);
            let offset = at_ns.cast_signed() - (sent + round_trip / 2).cast_signed();
            if best.is_none_or(|(shortest, _)| round_trip < shortest) {
                best = Some((round_trip, offset));
            }
        }
        let (round_trip, offset_ns) = best.expect("there was at least one ping");
        Ok(ClientClock { name: self.links[index].name.clone(), offset_ns, within_ns: round_trip / 2 })
    }

    fn tell(&mut self, index: usize, message: &ToAgent) -> Result<(), Failure> {
        match send(&self.links[index].stream, message) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Its own last words, if it had any, say more than a broken pipe does.
                let said = self.news.try_iter().find_map(|(from, news)| match news {
                    News::Said(FromAgent::Failed { message }, _) if from == index => Some(message),
                    _ => None,
                });
                Err(self.fail(index, &said.unwrap_or_else(|| format!("went away: {error}"))))
            }
        }
    }

    fn hear(&mut self, within: Duration) -> Result<(usize, FromAgent, u64), Failure> {
        match self.news.recv_timeout(within) {
            Ok((index, News::Said(FromAgent::Failed { message }, _))) => Err(self.fail(index, &message)),
            Ok((index, News::Said(message, at_ns))) => Ok((index, message, at_ns)),
            Ok((index, News::Gone(why))) => Err(self.fail(index, &why)),
            Err(_) => {
                self.stop_all();
                Err(failed(format!("an agent did not answer within {} s", within.as_secs())))
            }
        }
    }

    fn surprised(&mut self, index: usize, message: &FromAgent) -> Failure {
        let text = format!("{message:?}");
        self.fail(index, &format!("said something unexpected: {}", text.chars().take(40).collect::<String>()))
    }

    /// One agent has failed: the others stop, and what they measured is not the load that was asked for.
    fn fail(&mut self, index: usize, why: &str) -> Failure {
        self.stop_all();
        let mut waiting: VecDeque<usize> = (0..self.links.len()).filter(|other| *other != index).collect();
        while !waiting.is_empty() {
            match self.news.recv_timeout(LAST_WORDS) {
                Ok((from, News::Said(FromAgent::Report(_) | FromAgent::Failed { .. }, _) | News::Gone(_))) => {
                    waiting.retain(|other| *other != from);
                }
                // Those that had not started say nothing more.
                Ok((_, News::Said(FromAgent::Prepared | FromAgent::Pong { .. }, _))) => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Failure {
            exit: Exit::Failed,
            message: format!("{}: {why}; the other clients were stopped", self.links[index].name),
        }
    }

    fn stop_all(&mut self) {
        for link in &self.links {
            // One that cannot be told has gone already.
            let _ = send(&link.stream, &ToAgent::Stop);
        }
    }
}

/// How far all are together; takes what was seen since the last time.
fn sum(told: &[Option<Progress>], unseen: &mut Recent) -> Progress {
    let all = || told.iter().flatten();
    let mut counts = Counts::default();
    all().filter_map(|one| one.seen.as_ref()).for_each(|seen| counts.add(&seen.0));
    Progress {
        elapsed: all().map(|one| one.elapsed).max().unwrap_or_default(),
        share: all().map(|one| one.share).sum::<f64>() / told.len() as f64,
        planned: all().map(|one| one.planned).sum(),
        ok: all().map(|one| one.ok).sum(),
        failed: all().map(|one| one.failed).sum(),
        seen: Some(Box::new((counts, std::mem::take(unseen)))),
    }
}
