//! From the bytes of a query to those of its reply, without any I/O (RFC 1034, 4.3.2; 2308, 4592, 6891, 7871, 7873, 8482, 8945).
//!
//! What is asked of the policy is only what will be sent: the limit on replies is looked at before. A query that shows a
//! cookie of ours, or comes over TCP, comes from where it says, and has no limit.

pub(super) mod limit;
mod transfer;

use std::net::IpAddr;
use std::sync::Arc;

use limit::{Limiter, Verdict};
use sojourn_part::settings::dns::DnsLimits;
use sojourn_stats::{Span, Time};

use super::chooser::{Answered, Asker, Choices, Chooser, Family, OneByOne, ServiceId};
use super::wire::cookie::Cookies;
use super::wire::edns::{PLAIN, Told};
use super::wire::name::LONGEST;
use super::wire::query::{Query, Unfit};
use super::wire::reply::{Data, Full, Owner, Reply, Section};
use super::wire::tsig::{Signature, Signing};
use super::wire::{Code, HEAD, IN, kind};
use super::zone::{Found, Node, Set, Zones};
use transfer::Page;

/// Aliases that are followed within a zone.
const ALIASES: usize = 8;
/// Seconds for which it may be kept that not all types are answered at once (RFC 8482, 4.2), and its text.
const MINIMAL_TTL: u32 = 3600;
const MINIMAL: &[u8] = b"\x07RFC8482\x00";

/// How a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In one datagram.
    Udp,
    /// In a stream, after its length.
    Tcp,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The reply stands in the buffer.
    Replied {
        /// The type asked for; 0 where that could not be read.
        kind: u16,
        /// The response code.
        code: u16,
        /// It says only that the whole is to be had over TCP.
        is_truncated: bool,
        /// It says so, or sends a cookie, because its network gets no more replies now.
        is_slipped: bool,
    },
    /// Its network gets no more replies now.
    Limited,
    /// It is a reply, or no message.
    Malformed,
}

/// Answers queries; each thread has its own.
#[derive(Clone)]
pub struct Responder {
    chooser: Arc<dyn Chooser>,
    own: Own,
}

/// Answers queries that came at one time, one after another.
pub struct Replies<'a> {
    own: &'a mut Own,
    choices: &'a mut dyn Choices,
    zones: &'a Zones,
    now: Time,
    wall: u32,
}

/// What a thread has of its own.
#[derive(Clone)]
struct Own {
    limiter: Arc<Limiter>,
    cookies: Cookies,
    /// Bytes of the largest message over UDP.
    payload: u16,
    /// How many times longer than its query a reply over UDP to an unknown sender may be; 0: no matter.
    amplification: usize,
    addresses: Vec<IpAddr>,
    text: Vec<u8>,
    further: Vec<u8>,
}

/// One query and who sent it.
struct Question<'a, 'b> {
    query: &'b Query<'a>,
    zones: &'b Zones,
    asker: Asker,
    /// What a query for a whole zone is answered, where it gets none.
    no_zone: Code,
}

impl Responder {
    /// Answers as `chooser` chooses. Its clones share its limits on replies; responders with the same `cookie_secret` accept
    /// each other's cookies.
    pub fn new(chooser: Arc<dyn Chooser>, limits: &DnsLimits, cookie_secret: &[u8]) -> Responder {
        let DnsLimits { replies_per_second, slip, prefix_v4, prefix_v6, .. } = *limits;
        let own = Own {
            limiter: Arc::new(Limiter::new(replies_per_second, slip, prefix_v4, prefix_v6)),
            cookies: Cookies::new(cookie_secret),
            payload: limits.udp_payload,
            amplification: limits.amplification as usize,
            addresses: Vec::new(),
            text: Vec::new(),
            further: Vec::new(),
        };
        Responder { chooser, own }
    }

    /// Answers `packet`, which came from `from`, into `reply`, whose content is replaced; `wall` is the time of day (s since
    /// 1970), for cookies and signatures alone.
    pub fn reply(
        &mut self,
        zones: &Zones,
        packet: &[u8],
        from: IpAddr,
        transport: Transport,
        (now, wall): (Time, u32),
        reply: &mut Vec<u8>,
    ) -> Done {
        let choices = &mut OneByOne(&*self.chooser);
        Replies { own: &mut self.own, choices, zones, now, wall }.reply(packet, from, transport, reply)
    }

    /// Answers several packets that came at one time; `work` says which. What it is given is as [`Responder::reply`], and
    /// costs less for each; other threads may have to wait until it ends.
    pub fn in_a_row(&mut self, zones: &Zones, (now, wall): (Time, u32), work: &mut dyn FnMut(&mut Replies<'_>)) {
        let Responder { chooser, own } = self;
        chooser.in_a_row(&mut |choices| work(&mut Replies { own: &mut *own, choices, zones, now, wall }));
    }

    /// The messages that follow the reply to a query over TCP, each with its length before it: the rest of a zone.
    pub fn further(&self) -> &[u8] {
        &self.own.further
    }
}

impl Replies<'_> {
    /// Answers `packet`, which came from `from`, into `reply`, whose content is replaced.
    pub fn reply(&mut self, packet: &[u8], from: IpAddr, transport: Transport, reply: &mut Vec<u8>) -> Done {
        self.own.further.clear();
        let query = match Query::parse(packet) {
            Ok(query) => query,
            Err(Unfit::Silent) => return Done::Malformed,
            Err(Unfit::Code(code, end)) => return self.decline(packet, from, transport, (code, end), reply),
        };
        self.answer_to(&query, from, transport, reply)
    }

    /// Answers a datagram of which only the beginning was taken in: its question is to be asked over TCP.
    pub fn reply_to_cut(&mut self, packet: &[u8], from: IpAddr, reply: &mut Vec<u8>) -> Done {
        match Query::begin(packet) {
            Err(Unfit::Silent) => Done::Malformed,
            Err(Unfit::Code(code, end)) => self.decline(packet, from, Transport::Udp, (code, end), reply),
            Ok(_) if self.own.limiter.judge(from, self.now) == Verdict::Drop => Done::Limited,
            Ok(query) => {
                let mut written = Reply::head(packet, query.end, reply);
                written.truncate();
                written.finish(Code::NoError);
                let (kind, code) = (query.kind, Code::NoError as u16);
                Done::Replied { kind, code, is_truncated: true, is_slipped: false }
            }
        }
    }

    fn answer_to(&mut self, query: &Query<'_>, from: IpAddr, transport: Transport, reply: &mut Vec<u8>) -> Done {
        let (zones, now, wall, packet) = (self.zones, self.now, self.wall, query.packet);
        let cookie = query.edns.and_then(|edns| edns.cookie);
        let shows_ours = cookie.is_some_and(|cookie| self.own.cookies.is_valid(&cookie, from, wall));
        let is_known = transport == Transport::Tcp || shows_ours;
        let verdict = if is_known { Verdict::Pass } else { self.own.limiter.judge(from, now) };
        if verdict == Verdict::Drop {
            return Done::Limited;
        }
        let told = Told {
            payload: self.own.payload,
            cookie: cookie.map(|cookie| self.own.cookies.make(cookie.client, from, wall)),
        };
        let limit = match transport {
            Transport::Tcp => usize::from(u16::MAX),
            Transport::Udp => {
                let own = usize::from(query.edns.map_or(PLAIN, |edns| edns.payload.min(self.own.payload)));
                if is_known || self.own.amplification == 0 {
                    own
                } else {
                    own.min(self.own.amplification * packet.len())
                }
            }
        };
        let mut signing = query.signature.map(|at| signing(zones, packet, at, wall));
        let limit = limit.saturating_sub(signing.as_ref().map_or(0, Signing::length));
        let signer = signing.as_ref().and_then(Signing::signer);
        let is_slipped = verdict == Verdict::Slip;
        let whole = transfer::asked(zones, query, signer, transport);
        if let (kind::AXFR | kind::IXFR, Ok(zone), Some(signing), false, true) =
            (query.kind, whole, &mut signing, is_slipped, query.edns.is_none_or(|edns| edns.is_understood()))
        {
            let page = Page { told, limit, wall: u64::from(wall), query };
            let code = self.transfer(zones, zone, &page, transport, signing, reply);
            return Done::Replied { kind: query.kind, code: code as u16, is_truncated: false, is_slipped: false };
        }
        let is_refused = signing.is_some() && signer.is_none();
        let mut written = Reply::new(query, told, limit, reply);
        let code = match is_slipped {
            true if cookie.is_some() => Code::BadCookie,
            true => {
                written.truncate();
                Code::NoError
            }
            false if is_refused => Code::NotAuth,
            false if !query.has_question() => match query.edns {
                Some(edns) if edns.version != 0 => Code::BadVers,
                Some(edns) if !edns.is_understood() => Code::FormErr,
                // A cookie that is not ours is told so, and a fresh one goes with the reply.
                _ if shows_ours || cookie.is_some_and(|cookie| cookie.server.is_empty()) => Code::NoError,
                _ => Code::BadCookie,
            },
            false => {
                let network = query.edns.and_then(|edns| edns.subnet).and_then(|subnet| subnet.network);
                let asker = Asker { from, subnet: network };
                let question = Question { query, zones, asker, no_zone: whole.err().unwrap_or(Code::Refused) };
                match self.answer(&question, &mut written) {
                    Ok(code) => code,
                    Err(Full) => {
                        written.truncate();
                        Code::NoError
                    }
                }
            }
        };
        let is_truncated = written.is_truncated();
        written.finish(code);
        if let Some(signing) = &mut signing {
            signing.sign(reply, u64::from(wall));
        }
        Done::Replied { kind: query.kind, code: code as u16, is_truncated, is_slipped }
    }

    /// Answers what cannot be read further than to its head or question.
    fn decline(
        &self,
        packet: &[u8],
        from: IpAddr,
        transport: Transport,
        (code, end): (Code, usize),
        reply: &mut Vec<u8>,
    ) -> Done {
        if transport == Transport::Udp && self.own.limiter.judge(from, self.now) != Verdict::Pass {
            return Done::Limited;
        }
        Reply::head(packet, end, reply).finish(code);
        let kind = if end > HEAD { u16::from_be_bytes([packet[end - 4], packet[end - 3]]) } else { 0 };
        Done::Replied { kind, code: code as u16, is_truncated: false, is_slipped: false }
    }

    fn answer(&mut self, question: &Question<'_, '_>, reply: &mut Reply<'_>) -> Result<Code, Full> {
        let Question { query, zones, .. } = *question;
        match query.edns {
            Some(edns) if edns.version != 0 => return Ok(Code::BadVers),
            Some(edns) if !edns.is_understood() => return Ok(Code::FormErr),
            _ => {}
        }
        match query.kind {
            _ if query.class != IN => return Ok(Code::Refused),
            kind::OPT | kind::TSIG => return Ok(Code::FormErr),
            kind::AXFR | kind::IXFR => return Ok(question.no_zone),
            // Types that are for replies or transfers, not for questions (RFC 6895, 3.1).
            128..=254 => return Ok(Code::NotImp),
            _ => {}
        }
        let mut lower = [0; LONGEST];
        let lower = &mut lower[..query.name().len()];
        lower.copy_from_slice(query.name());
        lower.make_ascii_lowercase();
        match zones.find(lower, query.kind) {
            Found::Outside => Ok(Code::Refused),
            Found::Missing(zone) => {
                reply.speak_for(zones.authority(zone).length);
                reply.set_authoritative();
                missing(zones, zone, reply)?;
                Ok(Code::NxDomain)
            }
            Found::Delegated(node) => {
                reply.speak_for(zones.authority(node.zone).length);
                refer(zones, node, reply)?;
                Ok(Code::NoError)
            }
            Found::Name(node) => {
                reply.speak_for(zones.authority(node.zone).length);
                reply.set_authoritative();
                self.name(question, node, reply)
            }
        }
    }

    /// Answers from a name that exists, and from those for which it is an alias.
    fn name(&mut self, question: &Question<'_, '_>, node: &Node, reply: &mut Reply<'_>) -> Result<Code, Full> {
        let Question { query, zones, .. } = *question;
        let (mut node, mut owner) = (node, Owner::Question);
        for _ in 0..=ALIASES {
            let kind = query.kind;
            if let (Some(service), kind::A | kind::AAAA) = (node.service, kind) {
                return self.chosen(question, service, (node.zone, owner), reply);
            }
            if let (Some(service), kind::TXT) = (node.why, kind) {
                if !zones.tells_why(question.asker.from) {
                    return Ok(Code::Refused);
                }
                return self.why(question, service, owner, reply);
            }
            let has_any = !node.sets.is_empty() || node.service.is_some() || node.why.is_some();
            let alias = node.set(kind::CNAME);
            if kind == kind::ANY && alias.is_none() && has_any {
                reply.record(Section::Answer, owner, kind::HINFO, MINIMAL_TTL, Data::Plain(MINIMAL))?;
                return Ok(Code::NoError);
            }
            if let Some(set) = node.set(kind) {
                records(Section::Answer, owner, set, reply)?;
                // What does not fit may be asked for.
                let _ = glue(zones, set, reply);
                return Ok(Code::NoError);
            }
            let Some(set) = alias else {
                missing(zones, node.zone, reply)?;
                return Ok(Code::NoError);
            };
            records(Section::Answer, owner, set, reply)?;
            let target = set.target.as_ref().expect("an alias has a target");
            match zones.find(target.wire(), kind) {
                _ if kind == kind::ANY => return Ok(Code::NoError),
                // Names of another zone cannot be compressed here; who asks goes on there.
                Found::Name(next) if next.zone == node.zone => (node, owner) = (next, Owner::Name(&set.data[0])),
                Found::Missing(zone) if zone == node.zone => {
                    missing(zones, zone, reply)?;
                    return Ok(Code::NxDomain);
                }
                _ => return Ok(Code::NoError),
            }
        }
        // Aliases in a circle: what was followed so far is the answer.
        Ok(Code::NoError)
    }

    fn chosen(
        &mut self,
        question: &Question<'_, '_>,
        service: ServiceId,
        (zone, owner): (usize, Owner<'_>),
        reply: &mut Reply<'_>,
    ) -> Result<Code, Full> {
        let Question { query, zones, asker, .. } = question;
        self.own.addresses.clear();
        let family = if query.kind == kind::A { Family::V4 } else { Family::V6 };
        let answered = self.choices.choose(service, asker, family, self.now, &mut self.own.addresses);
        let Answered::Addresses { ttl, scope } = answered else { return Ok(Code::ServFail) };
        reply.scope = scope;
        let ttl = seconds(ttl);
        let mut has_any = false;
        for address in &self.own.addresses {
            match (address, family) {
                (IpAddr::V4(ip), Family::V4) => {
                    reply.record(Section::Answer, owner, kind::A, ttl, Data::Plain(&ip.octets()))?;
                }
                (IpAddr::V6(ip), Family::V6) => {
                    reply.record(Section::Answer, owner, kind::AAAA, ttl, Data::Plain(&ip.octets()))?;
                }
                _ => continue,
            }
            has_any = true;
        }
        if !has_any {
            missing(zones, zone, reply)?;
        }
        Ok(Code::NoError)
    }

    /// One record, since the order of several would not be kept.
    fn why(
        &mut self,
        question: &Question<'_, '_>,
        service: ServiceId,
        owner: Owner<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Code, Full> {
        self.own.text.clear();
        for line in self.choices.why(service, &question.asker, self.now) {
            let line = &line.as_bytes()[..line.len().min(255)];
            self.own.text.push(line.len() as u8);
            self.own.text.extend_from_slice(line);
        }
        if self.own.text.is_empty() {
            self.own.text.push(0);
        }
        reply.record(Section::Answer, owner, kind::TXT, 0, Data::Plain(&self.own.text))?;
        Ok(Code::NoError)
    }
}

/// How a reply to the query whose signature is at `at` is signed.
fn signing<'k>(zones: &'k Zones, packet: &[u8], at: usize, wall: u32) -> Signing<'k> {
    Signature::parse(packet, at).expect("it was read with its query").judge(zones.keys(), u64::from(wall))
}

/// A time to live as it is sent.
fn seconds(ttl: Span) -> u32 {
    u32::try_from(ttl.0 / 1_000_000_000).unwrap_or(u32::MAX).min(i32::MAX as u32)
}

/// Says that there is nothing, and for how long that may be kept.
fn missing(zones: &Zones, zone: usize, reply: &mut Reply<'_>) -> Result<(), Full> {
    let zone = zones.authority(zone);
    reply.record(Section::Authority, Owner::Apex, kind::SOA, zone.negative_ttl, Data::Encoded(&zone.soa))
}

/// Names those who answer for what is delegated, with their addresses: without them they might not be found (RFC 9471).
fn refer(zones: &Zones, node: &Node, reply: &mut Reply<'_>) -> Result<(), Full> {
    let set = node.set(kind::NS).expect("a delegation has name servers");
    records(Section::Authority, Owner::Name(&node.name), set, reply)?;
    glue(zones, set, reply)
}

fn glue(zones: &Zones, set: &Set, reply: &mut Reply<'_>) -> Result<(), Full> {
    for node in zones.glue(set) {
        for addresses in [kind::A, kind::AAAA].into_iter().filter_map(|kind| node.set(kind)) {
            records(Section::Additional, Owner::Name(&node.name), addresses, reply)?;
        }
    }
    Ok(())
}

fn records(section: Section, owner: Owner<'_>, set: &Set, reply: &mut Reply<'_>) -> Result<(), Full> {
    set.data.iter().try_for_each(|data| reply.record(section, owner, set.kind, set.ttl, Data::Encoded(data)))
}
