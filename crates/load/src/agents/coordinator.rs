//! The coordinator: one order to all agents, one start, one report.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::Serialize;
use sojourn_stats::{Law, Span};
use thiserror::Error;

use super::message::{FromAgent, Messages, PROVED_MAX, ToAgent, UNPROVED_MAX, send};
use super::secret::proof;
use crate::generator::clock::realtime_ns;
use crate::generator::progress::Progress;
use crate::outcome::Counts;
use crate::recorder::watch::Recent;
use crate::report::Report;
use crate::report::doubt::{Cause, Doubt};
use crate::report::measured::ShareReport;
use crate::report::verdict::Proof;
use crate::share::Share;

/// The agents of one program, connected. They run any number of loads, one after another.
#[derive(Debug)]
pub struct Coordinator {
    links: Vec<Link>,
    events: Receiver<(usize, Event)>,
    sender: Sender<(usize, Event)>,
    clocks: Vec<AgentClock>,
}

/// How an agent's clock stands to this process's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentClock {
    /// The agent.
    pub name: String,
    /// Ahead by this much (ns).
    pub offset_ns: i64,
    /// Known within this much (ns).
    pub within_ns: u64,
}

/// Why agents ran no load, or not to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// One agent was not there, refused or failed.
    #[error("{agent}: {what}")]
    Agent {
        /// Its name.
        agent: String,
        /// What happened.
        what: String,
    },
    /// No agent is there to run the load.
    #[error("no agent has joined: expected at least one")]
    NoAgents,
    /// One of them owes an answer.
    #[error("an agent did not answer within {} s", within.as_secs())]
    Silent {
        /// How long was waited.
        within: Duration,
    },
}

#[derive(Debug)]
struct Link {
    name: String,
    stream: TcpStream,
}

#[derive(Debug)]
enum Event {
    /// A message and when it came.
    Message(FromAgent, u64),
    /// The connection ended; why.
    Closed(String),
}

const CONNECT: Duration = Duration::from_secs(5);
const HELLO: Duration = Duration::from_secs(10);
/// Reading a site or drawing many users takes a while.
const PREPARE: Duration = Duration::from_secs(120);
const PINGS: u32 = 10;
const PONG: Duration = Duration::from_secs(5);
/// From the order to start until the start: agents connect to the target once before it.
const LEAD_NS: u64 = 1_000_000_000;
/// An agent that runs tells how far it is four times a second.
const SILENCE_NS: u64 = 20_000_000_000;
/// How long stopped agents have for their reports.
const STOPPED: Duration = Duration::from_secs(20);
/// Shares whose starts are further apart than this are no longer one arrival process at rates where it matters.
const WITHIN_MAX_NS: u64 = 10_000_000;

impl Default for Coordinator {
    fn default() -> Coordinator {
        Coordinator::new()
    }
}

impl Coordinator {
    /// A coordinator without agents.
    pub fn new() -> Coordinator {
        let (sender, events) = channel();
        Coordinator { links: Vec::new(), events, sender, clocks: Vec::new() }
    }

    /// Connects to the agent at `address`, which messages call `name`, and proves that this process knows its secret.
    ///
    /// # Errors
    /// When no agent answers there, or it refuses.
    pub fn join(&mut self, name: String, address: SocketAddr, secret: &[u8]) -> Result<(), AgentsError> {
        let fail = |what: String| AgentsError::Agent { agent: name.clone(), what };
        let refused = |error: io::Error| fail(format!("cannot connect: {error}"));
        let silent = |error: io::Error| {
            fail(format!("does not answer as an agent: {error} (is it one, and not busy with another coordinator?)"))
        };
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        stream.set_read_timeout(Some(HELLO)).map_err(refused)?;
        let mut messages = Messages::new(stream.try_clone().map_err(refused)?);
        let Some(FromAgent::Hello { nonce, .. }) = messages.next(UNPROVED_MAX).map_err(silent)? else {
            return Err(fail("is no agent".into()));
        };
        let version = env!("CARGO_PKG_VERSION").into();
        send(&stream, &ToAgent::<()>::Hello { version, proof: proof(secret, &nonce) }).map_err(silent)?;
        match messages.next(UNPROVED_MAX).map_err(silent)? {
            Some(FromAgent::Welcome) => {}
            Some(FromAgent::Failed { message }) => return Err(fail(message)),
            _ => return Err(fail("went away".into())),
        }
        stream.set_read_timeout(None).map_err(silent)?;
        let (index, sender) = (self.links.len(), self.sender.clone());
        self.links.push(Link { name, stream });
        std::thread::spawn(move || {
            loop {
                let event = match messages.next(PROVED_MAX) {
                    Ok(Some(message)) => Event::Message(message, realtime_ns()),
                    Ok(None) => Event::Closed("went away".into()),
                    Err(error) => Event::Closed(format!("went away: {error}")),
                };
                let last = matches!(event, Event::Closed(_));
                if sender.send((index, event)).is_err() || last {
                    return;
                }
            }
        });
        Ok(())
    }

    /// How the agents' clocks stood before the last run.
    pub fn clocks(&self) -> &[AgentClock] {
        &self.clocks
    }

    /// Runs `order` on all agents. `asked` is the law (s) of the gaps of its open plan, as in [`crate::Load::asked`];
    /// `watched` and `cancel` are as in a run by one process, and so is `progress`, which is of all agents together.
    ///
    /// # Errors
    /// When one agent fails: the others are stopped then, and there is no report.
    pub fn run(
        &mut self,
        order: &impl Serialize,
        asked: Option<Law>,
        watched: bool,
        cancel: &AtomicBool,
        progress: &dyn Fn(&Progress),
    ) -> Result<Report, AgentsError> {
        let of = self.links.len() as u32;
        if of == 0 {
            return Err(AgentsError::NoAgents);
        }
        for index in 0..of {
            let share = Share { index, of };
            self.send(index as usize, &ToAgent::Prepare { order: Box::new(order), share, watched })?;
        }
        for _ in 0..of {
            match self.receive(PREPARE)? {
                (_, FromAgent::Prepared, _) => {}
                (index, other, _) => return Err(self.unexpected(index, &other)),
            }
        }
        self.clocks = (0..self.links.len()).map(|index| self.compare_clock(index)).collect::<Result<_, _>>()?;
        let start = realtime_ns() + LEAD_NS;
        for index in 0..self.links.len() {
            let at_ns = start.saturating_add_signed(self.clocks[index].offset_ns);
            self.send(index, &ToAgent::<()>::Start { at_ns })?;
        }
        let mut shares = self.collect(cancel, progress)?;
        if let Some(first) = shares.first_mut() {
            first.asked = asked;
        }
        let mut report = Report::of_shares(shares);
        let doubts = doubts(&self.clocks);
        match &mut report.verdict {
            Proof::Valid if !doubts.is_empty() => report.verdict = Proof::Suspect(doubts),
            Proof::Suspect(reasons) => reasons.extend(doubts),
            _ => {}
        }
        Ok(report)
    }

    /// What the agents measured, once all have reported.
    fn collect(&mut self, cancel: &AtomicBool, progress: &dyn Fn(&Progress)) -> Result<Vec<ShareReport>, AgentsError> {
        let mut shares: Vec<Option<ShareReport>> = self.links.iter().map(|_| None).collect();
        let mut latest: Vec<Option<Progress>> = shares.iter().map(|_| None).collect();
        let mut received_at = vec![realtime_ns(); shares.len()];
        let mut unseen = Recent::default();
        let mut stopped = false;
        let mut alive_at = 0;
        while shares.iter().any(Option::is_none) {
            let now = realtime_ns();
            if cancel.load(Ordering::Relaxed) && !stopped {
                stopped = true;
                self.stop_all();
            }
            if now.saturating_sub(alive_at) >= 1_000_000_000 {
                alive_at = now;
                for index in 0..self.links.len() {
                    self.send(index, &ToAgent::<()>::Alive)?;
                }
            }
            let silent = |&index: &usize| shares[index].is_none() && now > received_at[index] + SILENCE_NS;
            if let Some(index) = (0..shares.len()).find(silent) {
                return Err(self.fail(index, &format!("has not been heard of for {} s", SILENCE_NS / 1_000_000_000)));
            }
            let Ok((index, event)) = self.events.recv_timeout(Duration::from_millis(200)) else { continue };
            received_at[index] = now;
            match event {
                Event::Message(FromAgent::Report(mut report), _) => {
                    report.clock_offset_ns = self.clocks[index].offset_ns;
                    shares[index] = Some(*report);
                }
                Event::Message(FromAgent::Progress(now), _) => {
                    if let Some(seen) = &now.seen {
                        unseen.merge(&seen.1);
                    }
                    latest[index] = Some(*now);
                    if index == 0 {
                        progress(&sum(&latest, &mut unseen));
                    }
                }
                Event::Message(FromAgent::Failed { message }, _) => return Err(self.fail(index, &message)),
                Event::Message(other, _) => return Err(self.unexpected(index, &other)),
                Event::Closed(why) => return Err(self.fail(index, &why)),
            }
        }
        Ok(shares.into_iter().flatten().collect())
    }

    /// How the clock of an agent stands to this one, by the ping with the shortest way.
    fn compare_clock(&mut self, index: usize) -> Result<AgentClock, AgentsError> {
        let mut best: Option<(u64, i64)> = None;
        for number in 0..PINGS {
            let sent = realtime_ns();
            self.send(index, &ToAgent::<()>::Ping { number })?;
            let (from, message, back) = self.receive(PONG)?;
            let (true, FromAgent::Pong { number: answered, at_ns }) = (from == index, &message) else {
                return Err(self.unexpected(from, &message));
            };
            assert_eq!(*answered, number, "pings are answered in order");
            let round_trip = back.saturating_sub(sent);
            let offset = at_ns.cast_signed() - (sent + round_trip / 2).cast_signed();
            if best.is_none_or(|(shortest, _)| round_trip < shortest) {
                best = Some((round_trip, offset));
            }
        }
        let (round_trip, offset_ns) = best.expect("there was at least one ping");
        Ok(AgentClock { name: self.links[index].name.clone(), offset_ns, within_ns: round_trip / 2 })
    }

    fn send<O: Serialize>(&mut self, index: usize, message: &ToAgent<O>) -> Result<(), AgentsError> {
        match send(&self.links[index].stream, message) {
            Ok(()) => Ok(()),
            Err(error) => {
                // The agent's last message, if there was one, says more than a broken pipe does.
                let last = self.events.try_iter().find_map(|(from, event)| match event {
                    Event::Message(FromAgent::Failed { message }, _) if from == index => Some(message),
                    _ => None,
                });
                Err(self.fail(index, &last.unwrap_or_else(|| format!("went away: {error}"))))
            }
        }
    }

    fn receive(&mut self, within: Duration) -> Result<(usize, FromAgent, u64), AgentsError> {
        match self.events.recv_timeout(within) {
            Ok((index, Event::Message(FromAgent::Failed { message }, _))) => Err(self.fail(index, &message)),
            Ok((index, Event::Message(message, at_ns))) => Ok((index, message, at_ns)),
            Ok((index, Event::Closed(why))) => Err(self.fail(index, &why)),
            Err(_) => {
                self.stop_all();
                Err(AgentsError::Silent { within })
            }
        }
    }

    fn unexpected(&mut self, index: usize, message: &FromAgent) -> AgentsError {
        let text = format!("{message:?}");
        self.fail(index, &format!("said something unexpected: {}", text.chars().take(40).collect::<String>()))
    }

    /// One agent has failed: the others stop, and what they measured is not the load that was asked for.
    fn fail(&mut self, index: usize, why: &str) -> AgentsError {
        self.stop_all();
        let mut waiting: VecDeque<usize> = (0..self.links.len()).filter(|other| *other != index).collect();
        while !waiting.is_empty() {
            match self.events.recv_timeout(STOPPED) {
                Ok((from, Event::Message(FromAgent::Report(_) | FromAgent::Failed { .. }, _) | Event::Closed(_))) => {
                    waiting.retain(|other| *other != from);
                }
                // Those that had not started say nothing more.
                Ok((_, Event::Message(FromAgent::Prepared | FromAgent::Pong { .. }, _))) => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        AgentsError::Agent {
            agent: self.links[index].name.clone(),
            what: format!("{why}; the other clients were stopped"),
        }
    }

    fn stop_all(&mut self) {
        for link in &self.links {
            // One that cannot be told has gone already.
            let _ = send(&link.stream, &ToAgent::<()>::Stop);
        }
    }
}

/// The agents whose start is not known well enough.
fn doubts(clocks: &[AgentClock]) -> Vec<Doubt> {
    let vague = clocks.iter().filter(|clock| clock.within_ns > WITHIN_MAX_NS);
    let doubt = |clock: &AgentClock| {
        let (within, limit) = (Span(clock.within_ns), Span(WITHIN_MAX_NS));
        let text = format!("{}: its start is known only within {within:.3} (limit {limit})", clock.name);
        Cause::Start.doubt(text)
    };
    vague.map(doubt).collect()
}

/// How far all are together; takes what was seen since the last time.
fn sum(latest: &[Option<Progress>], unseen: &mut Recent) -> Progress {
    let all = || latest.iter().flatten();
    let mut counts = Counts::default();
    all().filter_map(|one| one.seen.as_ref()).for_each(|seen| counts.add(&seen.0));
    Progress {
        elapsed: all().map(|one| one.elapsed).max().unwrap_or_default(),
        share: all().map(|one| one.share).sum::<f64>() / latest.len() as f64,
        planned: all().map(|one| one.planned).sum(),
        ok: all().map(|one| one.ok).sum(),
        failed: all().map(|one| one.failed).sum(),
        seen: Some(Box::new((counts, std::mem::take(unseen)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_not_known_well_is_a_doubt() {
        let clock = |within_ns| AgentClock { name: "agent a".into(), offset_ns: 1_000_000_000, within_ns };
        assert_eq!(doubts(&[clock(9_900_000)]), [], "however far it is ahead");
        let found = doubts(&[clock(9_900_000), clock(10_100_000)]);
        assert!(
            found.len() == 1 && found[0].text.contains("agent a: its start is known only within 10.1 ms (limit 10 ms)")
        );
    }
}
