//! Round trips that wait to be measured, for the policies that read them.
//!
//! A client's are measured to a few of the nearest backends by address, ties drawn (Agarwal 2001, section 3.5.1,
//! `send_probes_for_rtt`): more would cost more traffic and tell little. An order waits until the face polls, which it does
//! as soon as one waits.

use sojourn_stats::{Stream, Time};

use crate::nearness::Nearness;
use crate::{Ask, BackendId, Command};

#[derive(Debug, Default)]
pub(crate) struct Probing {
    waiting: Vec<Command>,
    /// Since when.
    since: Option<Time>,
    /// Of one group; kept for its memory.
    fitting: Vec<BackendId>,
}

impl Probing {
    /// Orders the round trips between the client that asks and the nearest backends that fit, unless some wait already.
    pub(crate) fn order(
        &mut self,
        ask: &Ask<'_>,
        nearness: &Nearness,
        draw: &mut Stream,
        fits: impl Fn(BackendId) -> bool,
    ) {
        let client = ask.request.client;
        let of_client = |command: &Command| matches!(command, Command::Measure { client: of, .. } if *of == client);
        if self.waiting.iter().any(of_client) {
            return;
        }
        let first = self.waiting.len();
        let at_most = first + ask.clients.rules().sites_probed as usize;
        for group in nearness.groups(ask.request.origin) {
            self.fitting.clear();
            self.fitting.extend(group.members().filter(|id| fits(*id)));
            while self.waiting.len() < at_most && !self.fitting.is_empty() {
                let from = self.fitting.swap_remove(draw.below(self.fitting.len()));
                let order = Command::Measure { client, from };
                if !self.waiting[first..].contains(&order) {
                    self.waiting.push(order);
                }
            }
            if self.waiting.len() == at_most {
                break;
            }
        }
        if self.waiting.len() > first {
            self.since.get_or_insert(ask.now);
        }
    }

    /// Those that wait, which wait no more.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        self.since = None;
        std::mem::take(&mut self.waiting)
    }

    /// When the first of those that wait was ordered.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.since
    }
}
