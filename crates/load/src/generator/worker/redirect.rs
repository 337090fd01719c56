//! Redirects, followed inside one response time (RFC 9110, section 15.4).
//!
//! The request keeps its instant of beginning and goes on to where it is sent, over the same connection where that is
//! possible. 303 asks for it with GET, and so do 301 and 302 of a POST, as browsers do; 307 and 308 repeat the request.
//! Another host is not told the headers by which the first one knows who asks.

use super::{Setting, Why, Worker};
use crate::request::endpoint::Endpoint;
use crate::request::proxy::may_be_redirected;
use crate::request::url::Url;
use crate::request::{Method, Special};
use crate::wire::connection::Phase;

/// So many hosts no redirect has a reason to name.
const ORIGINS_MAX: usize = 4096;

/// What became of a reply that may be a redirect.
pub(super) enum Redirected {
    /// It is none.
    No,
    /// The request is on its way again.
    Followed,
    /// It leads nowhere, or has been followed often enough.
    Astray,
}

impl Worker<'_> {
    /// Follows the reply at `place`, if it is a redirect; `keep`: its connection can take another request.
    pub(super) fn redirect(&mut self, place: u32, keep: bool) -> Redirected {
        let connection = &mut self.connections[place as usize];
        let reply = &connection.reply;
        if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) || reply.location.is_empty() {
            return Redirected::No;
        }
        let renderer = self.setting.renderer;
        let exchange = connection.exchange.as_mut().expect("a reply is an exchange's");
        let hops = connection.special.as_ref().map_or(0, |special| special.hops) + 1;
        if hops > self.setting.redirects {
            return Redirected::Astray;
        }
        let mut path = Vec::new();
        renderer.write_path(&exchange.job, connection.special.as_deref(), &mut path);
        let own = &self.origins[connection.origin as usize];
        let base = Url {
            scheme: own.scheme,
            host: own.host.clone(),
            port: own.port,
            path: String::from_utf8_lossy(&path).into_owned(),
        };
        let location = std::str::from_utf8(&reply.location).ok();
        let Some(url) = location.and_then(|location| base.join(location).ok()) else { return Redirected::Astray };
        let Setting { proxy, endpoints, names, allowed, .. } = self.setting;
        if proxy.is_some() && !may_be_redirected(&url, endpoints, names, *allowed) {
            return Redirected::Astray;
        }
        let dealt = exchange.job.endpoint;
        let origin = match self.origins.iter().position(|origin| origin.is_origin_of(&url)) {
            // Where a host is loaded under a name of its own, a relative location keeps that.
            _ if own.is_origin_of(&url) => connection.origin,
            // Of several addresses of one name the client has its own.
            _ if self.origins[dealt as usize].is_origin_of(&url) => dealt,
            Some(origin) => origin as u32,
            None if self.origins.len() < ORIGINS_MAX => {
                self.origins.push(Endpoint::from(&url));
                self.idle.push(Vec::new());
                self.origins.len() as u32 - 1
            }
            None => return Redirected::Astray,
        };
        let before = renderer.method(connection.special.as_deref());
        let method = match (reply.status, before) {
            (303, Method::Head) => Method::Head,
            (303, _) | (301 | 302, Method::Post) => Method::Get,
            _ => before,
        };
        if hops == 1 && self.setting.returns {
            connection.first.clone_from(&connection.special);
        }
        let (step, was_bare) = connection.special.take().map_or((None, false), |special| (special.step, special.bare));
        let (authority, bare) = (Some(self.origins[origin as usize].authority.clone()), was_bare || method != before);
        let away = origin != dealt;
        connection.special = Some(Box::new(Special { hops, method, authority, path: url.path, bare, away, step }));
        self.recorder.redirected(&exchange.job);
        exchange.hops += 1;
        exchange.first_byte = None;
        exchange.sent = None;
        exchange.retried = false;
        let takes_it = self.setting.pool(origin) == self.setting.pool(connection.origin);
        if self.streams.is_some() {
            connection.phase = Phase::Idle;
            connection.origin = origin;
            self.begin_stream(place);
        } else if keep && self.setting.persistent && takes_it {
            connection.origin = origin;
            connection.used = true;
            connection.phase = Phase::Idle;
            self.recorder.connections.reused += 1;
            self.transmit(place);
        } else {
            connection.origin = origin;
            connection.shut();
            self.count_closed(if keep || !self.setting.persistent { Why::Done } else { Why::Server });
            self.open(place);
        }
        Redirected::Followed
    }
}
