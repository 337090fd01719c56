//! What the wire asks of the decider: the addresses of a service for one asker.

use std::net::IpAddr;

use sojourn_stats::{Span, Time};

/// Who asks the DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where the query came from: a resolver, or a client that asks by itself.
    pub from: IpAddr,
    /// The client's network as the resolver tells it (RFC 7871): its address with the host's bits zero, and the prefix
    /// length. None where it tells none or 0.
    pub subnet: Option<(IpAddr, u8)>,
}

/// Which addresses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A.
    V4,
    /// AAAA.
    V6,
}

/// One answer: the addresses, best first, are written to a list of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Addresses stand in the list, all of the family asked for; NODATA where it is empty. They may be kept for so long, whole
    /// seconds. `scope`: how many bits of the client's network the answer depends on (RFC 7871; 0: none).
    Addresses {
        /// How long they may be kept.
        ttl: Span,
        /// How many bits of the client's network the answer depends on.
        scope: u8,
    },
    /// No site is up or none has room, and the setting says that this is a failure: SERVFAIL.
    Nothing,
}

/// Number of a service, a name whose addresses are chosen; given by the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServiceId(pub u32);

/// Who chooses the addresses of services.
pub trait Chooser: Send + Sync {
    /// Chooses. A query for the other family that follows within a second gets the same sites, if these have such addresses,
    /// and takes no second turn or lease; a second query for the same family is a new question.
    fn choose(&self, service: ServiceId, asker: &Asker, family: Family, now: Time, list: &mut Vec<IpAddr>) -> Answered;

    /// The addresses of all its sites that are not drained, for servers that know no policy, and how long they may be kept.
    fn all(&self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span;

    /// What `_why.NAME` says: a few lines of at most 255 bytes each, for this asker. It chooses nothing and holds nothing.
    fn why(&self, service: ServiceId, asker: &Asker, now: Time) -> Vec<String>;

    /// Lets one thread ask several times in a row, where that costs less than each time by itself. Others may have to wait
    /// until `work` ends, which asks by nothing but what it is given.
    fn in_a_row(&self, work: &mut dyn FnMut(&mut dyn Choices)) {
        work(&mut OneByOne(self));
    }
}

/// What one thread asks of a [`Chooser`], one question after another: each is what the chooser's of that name is.
pub trait Choices {
    /// [`Chooser::choose`].
    fn choose(
        &mut self,
        service: ServiceId,
        asker: &Asker,
        family: Family,
        now: Time,
        list: &mut Vec<IpAddr>,
    ) -> Answered;

    /// [`Chooser::all`].
    fn all(&mut self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span;

    /// [`Chooser::why`].
    fn why(&mut self, service: ServiceId, asker: &Asker, now: Time) -> Vec<String>;
}

/// Asks each time by itself.
pub(super) struct OneByOne<'a, C: ?Sized>(pub(super) &'a C);

impl<C: Chooser + ?Sized> Choices for OneByOne<'_, C> {
    fn choose(
        &mut self,
        service: ServiceId,
        asker: &Asker,
        family: Family,
        now: Time,
        list: &mut Vec<IpAddr>,
    ) -> Answered {
        self.0.choose(service, asker, family, now, list)
    }

    fn all(&mut self, service: ServiceId, family: Family, list: &mut Vec<IpAddr>) -> Span {
        self.0.all(service, family, list)
    }

    fn why(&mut self, service: ServiceId, asker: &Asker, now: Time) -> Vec<String> {
        self.0.why(service, asker, now)
    }
}
