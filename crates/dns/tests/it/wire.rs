//! The DNS's wire half: what it answers to what, over no socket and over real ones. hickory-proto writes the queries and
//! reads the replies.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hickory_proto::op::{Edns, Message, Query};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use sojourn_dns::{Answered, Asker, Chooser, DnsLimits, Done, Family, Responder, ServiceId, Transport, Zone, Zones};
use sojourn_stats::{Span, Time};

mod answers;
mod cookies;
mod edns;
mod hostile;
mod resolvers;
mod secondaries;
mod sockets;
mod transfers;
mod zone_files;

/// A zone with all that zones have.
pub(crate) const ZONE: &str = r#"
$TTL 300
@            IN SOA ns1 hostmaster (
                 7        ; serial
                 1h 15m 2w 60 )
             NS  ns1
             NS  ns.example.net.
             MX  10 mail
             TXT "v=spf1 -all" "second"
             CAA 0 issue "ca.example.net"
ns1          A   192.0.2.53
             AAAA 2001:db8::53
mail    60 IN A  192.0.2.25
             A   192.0.2.26
alias        CNAME mail
far          CNAME www.example.net.
to-www       CNAME www
round        CNAME around
around       CNAME round
dangling     CNAME nowhere
a.b.c        A   192.0.2.1
*.wild       A   192.0.2.77
             TXT "wild"
set.wild     TXT "set"
*.to-wild    CNAME x.wild
_sip._tcp    SRV 0 5 5060 mail
1.2          PTR mail
sub          NS  ns.sub
             NS  ns.example.net.
ns.sub       A   192.0.2.54
Big          TXT "................................................................................................"
             TXT "================================================================================================"
             TXT "________________________________________________________________________________________________"
             TXT "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
             TXT "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv"
"#;

/// Chooses the same addresses always, and counts how often it is asked.
#[derive(Default)]
pub(crate) struct Sites {
    pub(crate) choices: AtomicU64,
}

impl Chooser for Sites {
    fn choose(&self, service: ServiceId, _: &Asker, family: Family, _: Time, list: &mut Vec<IpAddr>) -> Answered {
        self.choices.fetch_add(1, Ordering::Relaxed);
        let all: &[&str] = match (service.0, family) {
            (1, Family::V4) => &["198.51.100.2", "198.51.100.1"],
            (1, Family::V6) => &["2001:db8:1::2"],
            (2, Family::V4) => &["198.51.100.3"],
            (3, _) => return Answered::Nothing,
            _ => &[],
        };
        list.extend(all.iter().map(|ip| ip.parse::<IpAddr>().expect("an address")));
        Answered::Addresses { ttl: Span(20_000_000_000), scope: 20 }
    }

    fn all(&self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span {
        let asker = Asker { from: [0; 4].into(), subnet: None };
        match self.choose(service, &asker, family, Time(0), list) {
            Answered::Addresses { ttl, .. } => ttl,
            Answered::Nothing => Span::ZERO,
        }
    }

    fn why(&self, service: ServiceId, asker: &Asker, _: Time) -> Vec<String> {
        vec![format!("service {} for {}", service.0, asker.from), format!("subnet {:?}", asker.subnet)]
    }
}

pub(crate) fn services() -> Vec<(String, ServiceId)> {
    let all = [("www", 1), ("@", 2), ("down", 3), ("*.any", 1), ("six", 4)];
    all.map(|(name, id)| (name.to_string(), ServiceId(id))).to_vec()
}

pub(crate) fn zones() -> Zones {
    let main = Zone::parse("example.org", ZONE, &services()).expect("a zone");
    let main = main.with_secondaries(&["transfer.test".into()], &[]).expect("a name");
    let child = "@ 60 SOA ns.example.net. root 1 1 1 1 5\n@ NS ns.example.net.\nx 60 A 192.0.2.99\n";
    let below = Zone::parse("deep.below.example.org", child, &[]).expect("a zone");
    Zones::new(vec![below, main]).expect("zones").with_keys(transfers::keys())
}

/// Limits that do not act.
pub(crate) fn open() -> DnsLimits {
    DnsLimits { replies_per_second: 0, ..DnsLimits::default() }
}

/// A responder with its zones, asked at a time that stands still.
pub(crate) struct Bench {
    pub(crate) responder: Responder,
    pub(crate) zones: Zones,
    pub(crate) sites: Arc<Sites>,
    pub(crate) from: IpAddr,
    pub(crate) wall: u32,
    pub(crate) now: Time,
}

impl Bench {
    pub(crate) fn new(limits: DnsLimits) -> Bench {
        let sites = Arc::new(Sites::default());
        let responder = Responder::new(Arc::clone(&sites) as Arc<dyn Chooser>, &limits, b"secret");
        let from = "203.0.113.9".parse().expect("an address");
        Bench { responder, zones: zones(), sites, from, wall: 1_800_000_000, now: Time(0) }
    }

    /// What becomes of these bytes, and the reply.
    pub(crate) fn send(&mut self, packet: &[u8], transport: Transport) -> (Done, Vec<u8>) {
        let mut reply = vec![0xaa; 3];
        let done = self.responder.reply(&self.zones, packet, self.from, transport, (self.now, self.wall), &mut reply);
        (done, reply)
    }

    /// What becomes of a datagram that begins with these bytes and was not taken in whole.
    pub(crate) fn send_cut(&mut self, beginning: &[u8]) -> Done {
        let (from, mut reply, mut done) = (self.from, Vec::new(), Done::Malformed);
        self.responder.in_a_row(&self.zones, (self.now, self.wall), &mut |row| {
            done = row.reply_to_cut(beginning, from, &mut reply);
        });
        done
    }

    /// The reply over UDP to a query that must have one.
    #[track_caller]
    pub(crate) fn reply(&mut self, query: &Message) -> Message {
        let (done, reply) = self.send(&bytes(query), Transport::Udp);
        assert!(matches!(done, Done::Replied { .. }), "{done:?}");
        read(&reply)
    }

    /// What is answered, with EDNS and room for all.
    #[track_caller]
    pub(crate) fn ask(&mut self, name: &str, kind: &str) -> String {
        shown(&self.reply(&with_edns(name, kind)))
    }
}

pub(crate) fn query(name: &str, kind: &str) -> Message {
    let kind = kind.parse().unwrap_or_else(|_| RecordType::from(kind.parse::<u16>().expect("a type")));
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).expect("a name"), kind));
    message
}

pub(crate) fn with_edns(name: &str, kind: &str) -> Message {
    let mut message = query(name, kind);
    let mut edns = Edns::new();
    edns.set_max_payload(4096);
    message.set_edns(edns);
    message
}

pub(crate) fn bytes(query: &Message) -> Vec<u8> {
    query.to_vec().expect("a query")
}

#[track_caller]
pub(crate) fn read(reply: &[u8]) -> Message {
    Message::from_vec(reply).expect("hickory reads the reply")
}

/// Code, flags and the records of a reply, a section after the other.
pub(crate) fn shown(reply: &Message) -> String {
    let mut text = format!("{:?}", reply.metadata.response_code);
    if reply.metadata.authoritative {
        text.push_str(" aa");
    }
    if reply.metadata.truncation {
        text.push_str(" tc");
    }
    for (mark, section) in
        [("", &reply.answers), ("authority ", &reply.authorities), ("additional ", &reply.additionals)]
    {
        for record in section {
            text.push_str(&format!("\n{mark}{}", line(record)));
        }
    }
    text
}

pub(crate) fn line(record: &Record) -> String {
    let data = match &record.data {
        RData::TXT(text) => {
            let parts = text.txt_data.iter().map(|part| format!("{:?}", String::from_utf8_lossy(part)));
            parts.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    format!("{} {} {} {data}", record.name.to_ascii(), record.ttl, record.record_type())
}
