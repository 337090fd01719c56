//! What several live parts have on the command line: where clients are served, and how a part fails.

use std::net::SocketAddr;

use sojourn_part::ServeError;
use sojourn_stats::Span;

use crate::exit::{Failure, bad_input, failed};
use crate::value::{count, time};

/// Where and for how long clients are served
#[derive(clap::Args)]
pub(crate) struct Serving {
    /// Address to listen on; port 0 takes a free one and says which [default: 127.0.0.1:0]
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Close clients' connections that are idle for this long; `0 s`: a connection per request
    #[arg(long, value_name = "TIME", default_value = "75 s", allow_hyphen_values = true)]
    keep_alive: String,
    /// Answer 408 where the head of a request is not complete this long after its first byte
    #[arg(long, value_name = "TIME", default_value = "60 s", allow_hyphen_values = true)]
    head_timeout: String,
    /// Most connections of clients at once; further ones wait [default: as many as file descriptors suffice for]
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub(crate) connections: Option<usize>,
    /// Told to stop (SIGTERM, Ctrl-C), give requests in flight this long; told twice, end at once [default: 30 s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    grace: Option<String>,
    /// Serve until standard input closes, as a child of a run
    #[arg(long, hide = true)]
    pub(crate) child: bool,
}

impl Serving {
    /// Where to listen.
    pub(crate) fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(([127, 0, 0, 1], 0).into())
    }

    pub(crate) fn keep_alive(&self) -> Result<Span, Failure> {
        time("--keep-alive", &self.keep_alive)
    }

    pub(crate) fn head_timeout(&self) -> Result<Span, Failure> {
        let timeout = time("--head-timeout", &self.head_timeout)?;
        if timeout == Span::ZERO {
            Err(bad_input("--head-timeout: a head takes some time, e.g. `10 s`"))
        } else {
            Ok(timeout)
        }
    }

    /// A run waits for its children, and has asked all that it wants to know before it stops them.
    pub(crate) fn grace(&self) -> Result<Span, Failure> {
        let default = if self.child { "1 s" } else { "30 s" };
        time("--grace", self.grace.as_deref().unwrap_or(default))
    }
}

/// Puts the names given, if any, in the place of the usual ones.
pub(crate) fn name_classes(given: &[String], classes: &mut Vec<String>) -> Result<(), Failure> {
    if given.len() > usize::from(u8::MAX) {
        return Err(bad_input(format!("--classes: {} names; at most {} are possible", given.len(), u8::MAX)));
    }
    if !given.is_empty() {
        *classes = given.to_vec();
    }
    Ok(())
}

pub(crate) fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::System { .. } | ServeError::Record => failed(error),
        other => bad_input(other),
    }
}
