//! The start of a thread: what it is given, what it shows while it runs, and what it hands back.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use rustls::ClientConfig;
use sojourn_stats::{Span, Time};

use super::{TIMER, Worker};
use crate::generator::attempts::Attempts;
use crate::generator::clock::Clock;
use crate::recorder::Recorder;
use crate::recorder::watch::Window;
use crate::request::Renderer;
use crate::request::endpoint::{ByClass, Endpoint};
use crate::schedule::Source;
use crate::setting::{Pacing, Resolves, Rotation};
use crate::wire::allowed::Allowed;
use crate::wire::resolve::Names;
use crate::wire::tls::Tls;

/// What all threads share.
pub(crate) struct Setting<'a> {
    pub(crate) endpoints: &'a [Endpoint],
    /// Where connections go to in place of them.
    pub(crate) proxy: Option<&'a Endpoint>,
    /// Where not each of them is for all requests.
    pub(crate) by_class: Option<ByClass<'a>>,
    pub(crate) rotation: Rotation,
    pub(crate) renderer: &'a Renderer,
    pub(crate) cookies: bool,
    /// Redirects that are followed.
    pub(crate) redirects: u32,
    /// Whether a request comes back from where a redirect leads to nothing.
    pub(crate) returns: bool,
    /// Local addresses of the client groups.
    pub(crate) local: &'a [IpAddr],
    pub(crate) allowed: Allowed,
    pub(crate) names: &'a Arc<Names>,
    pub(crate) resolves: Resolves,
    /// How long one of several addresses may take before the next one is tried beside it.
    pub(crate) next_address: Span,
    pub(crate) tls: &'a Tls,
    /// Whether users are told apart by their places: they all send client 0.
    pub(crate) saturated: bool,
    /// Streams of an HTTP/2 connection; none: HTTP/1.
    pub(crate) streams: Option<u32>,
    /// How late a request of a plan may be noticed and still be sent.
    pub(crate) catch_up: Span,
    /// Connections for what a plan has due in this first time are opened before the start.
    pub(crate) open_ahead: Span,
    /// HTTP/1.1: connections are kept.
    pub(crate) persistent: bool,
    pub(crate) pacing: Pacing,
    pub(crate) timeout: Span,
    /// Where clients ask for a request more than once.
    pub(crate) attempts: Option<&'a Attempts>,
    pub(crate) grace: Span,
    pub(crate) clock: Clock,
    pub(crate) cancel: &'a AtomicBool,
}

impl Setting<'_> {
    /// Where the free connections stand that serve requests to the origin of this number: of those to a proxy any does.
    #[inline]
    pub(super) fn pool(&self, origin: u32) -> usize {
        if self.proxy.is_some() { 0 } else { origin as usize }
    }

    /// What connections for `origin` are opened to.
    pub(super) fn reached<'b>(&'b self, origin: &'b Endpoint) -> &'b Endpoint {
        self.proxy.unwrap_or(origin)
    }
}

/// What a thread lets the others see while it runs.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) planned: AtomicU64,
    pub(crate) ok: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) window: Window,
}

/// What a thread hands back.
pub(crate) struct Work {
    pub(crate) recorder: Recorder,
    pub(crate) cpu: Span,
    /// How long it could have run and waited for a core.
    pub(crate) waited: Option<Span>,
    pub(crate) ended: Time,
    pub(crate) cancelled: bool,
}

/// What a thread needs to begin.
pub(crate) struct Start<'a> {
    pub(super) setting: &'a Setting<'a>,
    pub(super) gauge: &'a Gauge,
    pub(super) lane: u64,
    pub(super) lanes: u64,
    pub(super) source: Source,
    pub(super) recorder: Recorder,
    pub(super) connections_max: usize,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) epoll: Epoll,
    pub(super) timer: TimerFd,
}

impl<'a> Start<'a> {
    /// A thread's share of the schedule with at most `connections_max` connections, given the thread's number among
    /// those of all shares and how many those are.
    ///
    /// # Errors
    /// When the system gives no epoll or timer.
    pub(crate) fn new(
        setting: &'a Setting<'a>,
        (gauge, lane, lanes): (&'a Gauge, u64, u64),
        source: Source,
        recorder: Recorder,
        connections_max: usize,
        tls: Option<Arc<ClientConfig>>,
    ) -> io::Result<Start<'a>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        // Edge-triggered, so that the timer need not be read: setting it anew makes the next edge.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        Ok(Start { setting, gauge, lane, lanes, source, recorder, connections_max, tls, epoll, timer })
    }

    /// Runs the share to its end, the cancellation, or the end of the grace period.
    pub(crate) fn work(self) -> Work {
        Worker::new(self).work()
    }
}
