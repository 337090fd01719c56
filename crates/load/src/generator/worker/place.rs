//! The place of a request: where it goes, and which connection carries it.

use super::Worker;
use super::closing::Why;
use crate::schedule::Source;
use crate::schedule::job::Job;
use crate::setting::Rotation;
use crate::wire::connection::Connection;

impl Worker<'_> {
    /// `job` with the endpoint that it goes to and which of several targets it asks for.
    #[inline]
    pub(super) fn dealt(&self, job: Job) -> Job {
        if self.single {
            return job;
        }
        let (target, endpoint) = self.setting.renderer.choose(job.k).unwrap_or((job.target, None));
        let endpoint = endpoint.unwrap_or_else(|| {
            let number = match self.setting.rotation {
                Rotation::Client => self.client_of(&job),
                Rotation::Request => job.k,
            };
            match &self.setting.by_class {
                Some(by_class) => by_class.endpoint(job.request.class, number),
                None => (number % self.setting.endpoints.len() as u64) as usize,
            }
        });
        Job { endpoint: endpoint as u32, target, ..job }
    }

    /// The client that `job` is of, where clients have places of their own.
    fn client_of(&self, job: &Job) -> u64 {
        if self.setting.saturated { self.number_of(job.place) } else { u64::from(job.request.client) }
    }

    /// The number of a place among those of all threads.
    pub(super) fn number_of(&self, place: u32) -> u64 {
        u64::from(place) * self.lanes + self.lane
    }

    /// A free connection to where `job` goes, or a place where one may be opened.
    pub(super) fn place(&mut self, job: &Job) -> Option<u32> {
        if let Some(place) = self.idle[self.setting.pool(job.endpoint)].pop() {
            return Some(place);
        }
        if let Some(place) = self.vacant.pop() {
            return Some(place);
        }
        if let Source::Passes(share) = &mut self.source {
            return share.seat(job);
        }
        if self.streams.is_none() && self.connections.len() < self.connections_max {
            self.connections.push(Connection::default());
            return Some(self.connections.len() as u32 - 1);
        }
        // One to somewhere else makes room.
        let place = self.idle.iter_mut().find_map(Vec::pop)?;
        self.close(place, Why::Done);
        self.vacant.pop()
    }
}
