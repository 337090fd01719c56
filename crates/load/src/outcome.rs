//! What becomes of requests, one by one and counted.

use serde::{Deserialize, Serialize};

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole reply with a status below 400.
    Ok,
    /// The host's name had no address.
    NotResolved,
    /// The connection was refused, or there was no way to the host.
    Refused,
    /// The connection was reset.
    Reset,
    /// The TLS handshake failed, or the server's certificate did not verify.
    Tls,
    /// No whole reply within the timeout, counted from when the request began; the connection may not even have come.
    Timeout,
    /// The server closed the connection before the reply's end.
    ClosedEarly,
    /// What came was not HTTP, or went on beyond the announced end of the reply.
    Protocol,
    /// Redirected more often than the client follows, or to where no http(s) URL points.
    Redirects,
    /// Status 400 to 499.
    ClientError,
    /// Status 500 and above.
    ServerError,
    /// A good status, and a reply that a check of its scenario does not hold of.
    Check,
    /// A good reply without a value that its scenario takes from it.
    Take,
    /// The generator's own host had no socket, port or file for it, or there is no path for the request's object.
    Local,
    /// Never sent: the generator was later than it may be.
    Missed,
    /// The client's patience ended first, or it needs the file no more since another of the same page failed.
    Abandoned,
    /// Still waiting when the run was cut off.
    Unfinished,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 17] = [
        Outcome::Ok,
        Outcome::NotResolved,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::Tls,
        Outcome::Timeout,
        Outcome::ClosedEarly,
        Outcome::Protocol,
        Outcome::Redirects,
        Outcome::ClientError,
        Outcome::ServerError,
        Outcome::Check,
        Outcome::Take,
        Outcome::Local,
        Outcome::Missed,
        Outcome::Abandoned,
        Outcome::Unfinished,
    ];

    /// What a whole reply with this status comes to.
    #[inline]
    pub(crate) fn of_status(status: u16) -> Outcome {
        match status {
            ..400 => Outcome::Ok,
            400..500 => Outcome::ClientError,
            500.. => Outcome::ServerError,
        }
    }

    /// Its name in files of records and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::NotResolved => "not_resolved",
            Outcome::Refused => "refused",
            Outcome::Reset => "reset",
            Outcome::Tls => "tls",
            Outcome::Timeout => "timeout",
            Outcome::ClosedEarly => "closed_early",
            Outcome::Protocol => "protocol",
            Outcome::Redirects => "redirects",
            Outcome::ClientError => "client_error",
            Outcome::ServerError => "server_error",
            Outcome::Check => "check",
            Outcome::Take => "take",
            Outcome::Local => "local",
            Outcome::Missed => "missed",
            Outcome::Abandoned => "abandoned",
            Outcome::Unfinished => "unfinished",
        }
    }

    /// The outcome of this name.
    pub fn named(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// Requests by what became of them: `planned` is the sum of all others but `retried`, `tried_again`, `not_processed`, `queued`
/// and `redirected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests whose time came.
    pub planned: u64,
    /// [`Outcome::Ok`].
    pub ok: u64,
    /// [`Outcome::NotResolved`].
    #[serde(default)]
    pub not_resolved: u64,
    /// [`Outcome::Refused`].
    pub refused: u64,
    /// [`Outcome::Reset`].
    pub reset: u64,
    /// [`Outcome::Tls`].
    #[serde(default)]
    pub tls: u64,
    /// [`Outcome::Timeout`].
    pub timeout: u64,
    /// [`Outcome::ClosedEarly`].
    pub closed_early: u64,
    /// [`Outcome::Protocol`].
    pub protocol: u64,
    /// [`Outcome::Redirects`].
    #[serde(default)]
    pub redirects: u64,
    /// [`Outcome::ClientError`].
    pub client_error: u64,
    /// [`Outcome::ServerError`].
    pub server_error: u64,
    /// [`Outcome::Check`].
    #[serde(default)]
    pub check: u64,
    /// [`Outcome::Take`].
    #[serde(default)]
    pub take: u64,
    /// [`Outcome::Local`].
    pub local: u64,
    /// [`Outcome::Missed`].
    #[serde(default)]
    pub missed: u64,
    /// [`Outcome::Abandoned`].
    pub abandoned: u64,
    /// [`Outcome::Unfinished`].
    pub unfinished: u64,
    /// Requests sent once more because their kept-alive connection had been closed by the server meanwhile.
    pub retried: u64,
    /// Attempts after the first of their requests, where clients ask more than once: retries and hedges.
    #[serde(default)]
    pub tried_again: u64,
    /// Requests sent again because the server said that it had not processed them: it sent GOAWAY or REFUSED_STREAM.
    #[serde(default)]
    pub not_processed: u64,
    /// Requests that had to wait because every connection was taken.
    pub queued: u64,
    /// Redirects that were followed.
    #[serde(default)]
    pub redirected: u64,
}

/// What a request came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settlement {
    pub(crate) outcome: Outcome,
    /// Bytes of the reply's body.
    pub(crate) bytes: u64,
    /// The thread's own number of the backend that replied.
    pub(crate) backend: Option<u16>,
}

/// The connections of a run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Begun to be opened.
    pub opened: u64,
    /// Requests that went out on a connection that had carried one before.
    pub reused: u64,
    /// Closed by the server: while idle, or after a reply where the client would have kept it.
    pub closed_by_server: u64,
    /// Closed by the client, idle for as long as it keeps them.
    pub closed_idle: u64,
    /// Closed by the client, which was done with it: the end of a session, or an HTTP/1.0 reply.
    pub closed_when_done: u64,
    /// Lost with a request on it: refused, reset, timed out, given up, or with a reply that made no sense.
    pub lost: u64,
    /// Times that the name server was asked for a host's addresses; A and AAAA, and what is asked again for want of an
    /// answer, are one question.
    #[serde(default)]
    pub resolutions: u64,
    /// Times that the next address of a name was tried because one did not take the connection, or not at once.
    #[serde(default)]
    pub retried_addresses: u64,
    /// Connections that came to stand at another address than the one tried first.
    #[serde(default)]
    pub failed_over: u64,
    /// Times that a request came back to where it was first asked, since a redirect had led it to a server that took no
    /// connection.
    #[serde(default)]
    pub returned: u64,
    /// Whole TLS handshakes.
    #[serde(default)]
    pub secured: u64,
    /// TLS handshakes that resumed a session.
    #[serde(default)]
    pub resumed: u64,
    /// Closed because bytes came without a request, as when a body is longer than it was said to be; they
    /// count as lost too. A server that says 408 before it closes an idle connection is one of these.
    #[serde(default)]
    pub unasked: u64,
}

impl Connections {
    pub(crate) fn add(&mut self, other: &Connections) {
        self.opened += other.opened;
        self.reused += other.reused;
        self.closed_by_server += other.closed_by_server;
        self.closed_idle += other.closed_idle;
        self.closed_when_done += other.closed_when_done;
        self.lost += other.lost;
        self.resolutions += other.resolutions;
        self.retried_addresses += other.retried_addresses;
        self.failed_over += other.failed_over;
        self.returned += other.returned;
        self.secured += other.secured;
        self.resumed += other.resumed;
        self.unasked += other.unasked;
    }
}

impl Counts {
    /// Requests that got no good reply: all but `ok`, `abandoned` and `unfinished`.
    pub fn failed(&self) -> u64 {
        self.not_resolved
            + self.refused
            + self.reset
            + self.tls
            + self.timeout
            + self.closed_early
            + self.protocol
            + self.redirects
            + self.client_error
            + self.server_error
            + self.check
            + self.take
            + self.local
            + self.missed
    }

    /// Requests that were to get a good reply and got none: the failed and the unfinished.
    pub fn wrong(&self) -> u64 {
        self.failed() + self.unfinished
    }

    /// These in words: how many of how many, and why.
    pub fn trouble(&self) -> String {
        let causes: Vec<String> = self.causes().into_iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        let mut told = Vec::new();
        if self.unfinished > 0 {
            told.push(format!("{} of {} requests were unfinished at the end", self.unfinished, self.planned));
        }
        if self.failed() > 0 {
            told.push(format!("{} of {} requests failed: {}", self.failed(), self.planned, causes.join(", ")));
        }
        told.join("; ")
    }

    /// The causes of failure that happened, with their names.
    pub fn causes(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("name not resolved", self.not_resolved),
            ("refused", self.refused),
            ("reset", self.reset),
            ("TLS failed", self.tls),
            ("timeout", self.timeout),
            ("closed early", self.closed_early),
            ("not HTTP", self.protocol),
            ("redirected without end", self.redirects),
            ("status 4xx", self.client_error),
            ("status 5xx", self.server_error),
            ("check failed", self.check),
            ("value not there to take", self.take),
            ("no socket or path here", self.local),
            ("not sent by a generator too late", self.missed),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Adds what others came to.
    pub fn add(&mut self, other: &Counts) {
        self.planned += other.planned;
        self.ok += other.ok;
        self.not_resolved += other.not_resolved;
        self.refused += other.refused;
        self.reset += other.reset;
        self.tls += other.tls;
        self.timeout += other.timeout;
        self.closed_early += other.closed_early;
        self.protocol += other.protocol;
        self.redirects += other.redirects;
        self.client_error += other.client_error;
        self.server_error += other.server_error;
        self.check += other.check;
        self.take += other.take;
        self.local += other.local;
        self.missed += other.missed;
        self.abandoned += other.abandoned;
        self.unfinished += other.unfinished;
        self.retried += other.retried;
        self.tried_again += other.tried_again;
        self.not_processed += other.not_processed;
        self.queued += other.queued;
        self.redirected += other.redirected;
    }

    pub(crate) fn settle(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::NotResolved => &mut self.not_resolved,
            Outcome::Refused => &mut self.refused,
            Outcome::Reset => &mut self.reset,
            Outcome::Tls => &mut self.tls,
            Outcome::Timeout => &mut self.timeout,
            Outcome::ClosedEarly => &mut self.closed_early,
            Outcome::Protocol => &mut self.protocol,
            Outcome::Redirects => &mut self.redirects,
            Outcome::ClientError => &mut self.client_error,
            Outcome::ServerError => &mut self.server_error,
            Outcome::Check => &mut self.check,
            Outcome::Take => &mut self.take,
            Outcome::Local => &mut self.local,
            Outcome::Missed => &mut self.missed,
            Outcome::Abandoned => &mut self.abandoned,
            Outcome::Unfinished => &mut self.unfinished,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_short_is_not_said_to_have_failed() {
        let cut = Counts { planned: 62, ok: 60, unfinished: 2, ..Counts::default() };
        assert_eq!(cut.trouble(), "2 of 62 requests were unfinished at the end");
        let both = Counts { planned: 62, ok: 59, unfinished: 2, refused: 1, ..Counts::default() };
        let expected = "2 of 62 requests were unfinished at the end; 1 of 62 requests failed: 1 refused";
        assert_eq!(both.trouble(), expected);
    }
}
