//! The server's half of asymmetric splicing: it translates the replies of this host's server, which go straight to clients.
//!
//! The first packets of a connection tell by how much ([`Offset`]). A reply that nothing was told about goes to the
//! switch: that is the server's answer to a first packet, which only the switch understands, and whatever would be wrong
//! for the client. The price: every packet of a reply passes this process, which runs for as long as the server does.

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use sojourn_part::threads::{Threads, Work};
use sojourn_part::{ServeError, clock};
use sojourn_report::Key;
use sojourn_splice::{Change, EXPERIMENT, FIN, Offset, RST, SYN, Segment, Teller};
use sojourn_stats::{Span, Time};

use crate::kernel::queue::{Depth, Queue, Verdict};
use crate::kernel::system;

/// The number of the netfilter queue.
const QUEUE: u16 = 21_300;

/// How long a connection is remembered without a packet of a reply, and after its end; and most connections.
const OPEN: Span = Span(3_600_000_000_000);
const CLOSING: Span = Span(120_000_000_000);
const CONNECTIONS_MAX: usize = 1 << 18;

/// How often those that are over are looked for.
const LOOKED: Span = Span(10_000_000_000);

/// What a server's half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HalfCounts {
    /// Packets of replies that were translated.
    pub translated: u64,
    /// Packets of replies that went to the switch: answers to first packets, and what nothing was told about.
    pub returned: u64,
    /// Packets that told something with another key.
    pub forged: u64,
}

/// The running half.
pub(crate) struct Half {
    /// Dropped first: what nothing takes from the queue is lost.
    _rules: Rules,
    _threads: Threads,
    counts: Arc<Mutex<HalfCounts>>,
}

/// Rules of iptables; taken away when this is dropped.
struct Rules([String; 2]);

impl Half {
    /// Translates replies of the `service` on this host; those that it cannot translate are sent with this mark.
    pub(crate) fn start(service: SocketAddrV4, key: Key, mark: u32) -> Result<Half, ServeError> {
        let (teller, counts) = (Teller::new(key, service), Arc::new(Mutex::new(HalfCounts::default())));
        let counted = Arc::clone(&counts);
        let threads = Threads::start("splice", vec![()], 1, Span::ZERO, move |_, (), mut stop| {
            let opened = Queue::open(QUEUE, Depth::Whole).and_then(Queue::watched);
            let mut queue = opened.map_err(ServeError::system("cannot take the netfilter queue"))?;
            let mut translator = Translator::new(teller.clone(), service, mark, Arc::clone(&counted));
            Ok(Box::pin(async move {
                let serve = async {
                    while queue.serve(|waiting| translator.take(waiting.packet, clock::now())).await.is_ok() {}
                };
                tokio::select! {
                    () = serve => {}
                    // It is told once, or the side that tells is gone.
                    _ = stop.changed() => {}
                }
            }) as Work)
        })?;
        Ok(Half { _rules: Rules::install(service)?, _threads: threads, counts })
    }

    /// Takes away the rules of halves, whoever made them; whether there were some.
    pub(crate) fn sweep() -> Result<bool, ServeError> {
        let listed = system::ask_iptables(&["-t", "mangle", "-S"])?;
        let asks = format!("--queue-num {QUEUE}");
        let rules = listed.lines().filter_map(|line| line.strip_prefix("-A ")).filter(|rule| rule.ends_with(&asks));
        let rules: Vec<&str> = rules.collect();
        rules.iter().try_for_each(|rule| order("-D", rule))?;
        Ok(!rules.is_empty())
    }

    /// What it has done so far.
    pub(crate) fn counts(&self) -> HalfCounts {
        *self.counts.lock().expect("no thread panics while it counts")
    }
}

impl Rules {
    fn install(service: SocketAddrV4) -> Result<Rules, ServeError> {
        let (address, port) = (service.ip(), service.port());
        let kind = EXPERIMENT;
        let asks = [
            format!("PREROUTING -p tcp --dport {port} --tcp-option {kind} -j NFQUEUE --queue-num {QUEUE}"),
            format!("OUTPUT ! -o lo -s {address} -p tcp --sport {port} -j NFQUEUE --queue-num {QUEUE}"),
        ];
        let rules = Rules(asks);
        for rule in &rules.0 {
            // One that was killed has left its own.
            order("-C", rule).or_else(|_| order("-A", rule))?;
        }
        Ok(rules)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        for rule in &self.0 {
            // What cannot be taken away belongs to a network that is going.
            let _ = order("-D", rule);
        }
    }
}

fn order(verb: &str, rule: &str) -> Result<(), ServeError> {
    let rule: Vec<&str> = rule.split(' ').collect();
    system::iptables(&[&["-t", "mangle", verb], &rule[..]].concat())
}

/// What is known of the connections of a server.
struct Translator {
    teller: Teller,
    service: SocketAddrV4,
    mark: u32,
    told: HashMap<SocketAddrV4, Told>,
    looked: Time,
    counts: Arc<Mutex<HalfCounts>>,
}

/// What was told of a connection.
struct Told {
    offset: Offset,
    heard: Time,
    is_over: bool,
}

impl Translator {
    fn new(teller: Teller, service: SocketAddrV4, mark: u32, counts: Arc<Mutex<HalfCounts>>) -> Translator {
        let told = HashMap::new();
        Translator { teller, service, mark, told, looked: Time::ZERO, counts }
    }

    /// The verdict on a packet.
    fn take(&mut self, packet: &[u8], now: Time) -> Verdict {
        if now.saturating_since(self.looked) >= LOOKED {
            self.looked = now;
            self.told.retain(|_, told| now.saturating_since(told.heard) < if told.is_over { CLOSING } else { OPEN });
        }
        let Some(segment) = Segment::read(packet) else { return Verdict::Drop };
        if segment.from() == self.service { self.reply(&segment, now) } else { self.hear(&segment, now) }
    }

    /// Takes a packet that tells something; it passes, whatever it tells.
    fn hear(&mut self, segment: &Segment<'_>, now: Time) -> Verdict {
        match self.teller.read(segment) {
            Some(Ok(offset)) => {
                let known = self.told.get(&segment.from());
                let is_news = known.is_none_or(|known| offset.is_newer_than(known.offset));
                if is_news && (known.is_some() || self.told.len() < CONNECTIONS_MAX) {
                    self.told.insert(segment.from(), Told { offset, heard: now, is_over: false });
                }
            }
            Some(Err(_)) => self.count(|counts| &mut counts.forged),
            None => {}
        }
        Verdict::Pass(0)
    }

    /// Takes a packet of a reply.
    fn reply(&mut self, segment: &Segment<'_>, now: Time) -> Verdict {
        if segment.flags() & SYN != 0 {
            // What was told is about an earlier connection.
            self.told.remove(&segment.to());
        }
        let Some(told) = self.told.get_mut(&segment.to()) else {
            self.count(|counts| &mut counts.returned);
            return Verdict::Pass(self.mark);
        };
        told.heard = now;
        let Offset { seq, scales, .. } = told.offset;
        told.is_over |= segment.flags() & (FIN | RST) != 0;
        if segment.flags() & RST != 0 {
            // The switch learns by it that the connection is over, which nothing that the client sends would tell.
            self.count(|counts| &mut counts.returned);
            return Verdict::Pass(self.mark);
        }
        self.count(|counts| &mut counts.translated);
        let window = Some(scales.apply(segment.window()));
        Verdict::Change(segment.changed(&Change { seq, window, ..Change::default() }))
    }

    fn count(&self, which: impl FnOnce(&mut HalfCounts) -> &mut u64) {
        *which(&mut self.counts.lock().expect("no thread panics while it counts")) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_splice::{ACK, Draft, Scales};

    const MARK: u32 = 7;

    #[test]
    fn replies_are_translated_as_was_told_last() {
        let end = |last, port| SocketAddrV4::new([10, 0, 0, last].into(), port);
        let (service, client) = (end(100, 80), end(1, 4000));
        let teller = Teller::new(Key::new(b"a key of some bytes"), service);
        let mut half = Translator::new(teller.clone(), service, MARK, Arc::default());
        let reply = |seq, flags| {
            let payload = b"reply";
            Draft { from: service, to: client, seq, ack: 9, flags, window: 4, options: &[], payload }.packet()
        };
        let first = |stamp, seq| {
            let offset = Offset { stamp, seq, scales: Scales { from: 1, to: 0 } };
            let options = teller.write(client, offset);
            let (from, to) = (client, end(11, 80));
            Draft { from, to, seq: 1, ack: 1, flags: ACK, window: 1, options: &options, payload: b"GET" }.packet()
        };
        let translated = |verdict| match verdict {
            Verdict::Change(packet) => {
                let segment = Segment::read(&packet).expect("a segment");
                assert!(segment.is_sound());
                (segment.seq(), segment.window())
            }
            other => panic!("{other:?}"),
        };
        let now = Time(LOOKED.0 * 2);
        assert_eq!(half.take(&reply(100, ACK), now), Verdict::Pass(MARK), "nothing was told");
        assert_eq!(half.take(&first(50, 1_000), now), Verdict::Pass(0));
        assert_eq!(translated(half.take(&reply(100, ACK), now)), (1_100, 8));
        half.take(&first(49, 7_000), now);
        assert_eq!(translated(half.take(&reply(100, ACK), now)), (1_100, 8), "one that was overheard");
        assert_eq!(half.take(&reply(100, SYN | ACK), now), Verdict::Pass(MARK), "the answer to a first packet");
        assert_eq!(half.take(&reply(100, ACK), now), Verdict::Pass(MARK), "nothing was told of this connection");
        half.take(&first(51, 2_000), now);
        assert_eq!(half.take(&reply(100, RST | ACK), now), Verdict::Pass(MARK), "the switch is to know");
        assert_eq!(translated(half.take(&reply(100, FIN | ACK), now)), (2_100, 8));
        half.take(&reply(100, ACK), now + CLOSING);
        assert_eq!(half.take(&reply(100, ACK), now + CLOSING * 2), Verdict::Pass(MARK), "it is over");
    }
}
