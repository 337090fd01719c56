//! Sending a request: what the socket takes at once, and what its full buffer had left.

use std::io::{self, Write};

use sojourn_stats::Time;

use super::Worker;
use crate::request::Method;
use crate::wire::connection::{Phase, outcome_of};

impl Worker<'_> {
    /// Writes the request of `place`; returns when.
    #[inline]
    pub(super) fn transmit(&mut self, place: u32) -> Time {
        let connection = &mut self.connections[place as usize];
        let exchange = connection.exchange.as_mut().expect("only an exchange is transmitted");
        let renderer = self.setting.renderer;
        let special = connection.special.as_deref();
        connection.reply.expect(renderer.method(special) == Method::Head, self.setting.cookies);
        if let Some(keeping) = special.and_then(|special| special.step.as_ref()?.keeping) {
            connection.reply.keep(keeping);
        }
        if !connection.used {
            exchange.opened(&connection.opening);
        }
        let constant = if special.is_none() { renderer.constant(exchange.job.endpoint) } else { None };
        let bytes = match constant {
            Some(bytes) => bytes,
            None => {
                let job = &exchange.job;
                let cookie = if self.setting.cookies { self.cookies.get(&job.request.client) } else { None };
                renderer.render(job, special, cookie.map(Vec::as_slice), &mut self.scratch);
                &self.scratch
            }
        };
        let now = self.setting.clock.now();
        exchange.sent = Some(now);
        let mut stream = connection.stream.as_ref().expect("a connection that can send is open");
        if let Some(tls) = &mut connection.tls {
            tls.put(bytes);
            connection.phase = Phase::Sending;
            self.send_rest(place);
            return now;
        }
        let written = match stream.write(bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => {
                self.broken(place, outcome_of(&error));
                return now;
            }
        };
        if written == bytes.len() {
            connection.phase = Phase::Receiving;
        } else {
            connection.unsent.clear();
            connection.unsent.extend_from_slice(&bytes[written..]);
            connection.phase = Phase::Sending;
        }
        now
    }

    /// Writes what a full socket buffer had left.
    pub(super) fn send_rest(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let Some(stream) = &connection.stream else { return };
        let mut stream: &std::net::TcpStream = stream;
        if let Some(tls) = &mut connection.tls {
            match tls.flush(stream) {
                Ok(true) if connection.phase == Phase::Sending => connection.phase = Phase::Receiving,
                Ok(_) => {}
                Err(error) => self.broken(place, outcome_of(&error)),
            }
            return;
        }
        while !connection.unsent.is_empty() {
            match stream.write(&connection.unsent) {
                Ok(written) => drop(connection.unsent.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.broken(place, outcome_of(&error)),
            }
        }
        if connection.phase == Phase::Sending {
            connection.phase = Phase::Receiving;
        }
    }
}
