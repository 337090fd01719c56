//! The settings of a gateway's thread, and the backends that they name. A reload puts a new version in the place of the
//! one before.
//!
//! A backend keeps its number for as long as the gateway runs, also one that has left: what is in flight there ends there, and
//! its counts stay. The price: names that come and go for ever take a little memory each.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use sojourn_dispatch::{BackendId, Front};
use sojourn_part::settings::gateway::GatewaySettings;
use sojourn_part::{Backend, headers};

use crate::redirection::RedirectStatus;

/// What a thread goes by.
#[derive(Default)]
pub(super) struct Version {
    pub(super) settings: Arc<GatewaySettings>,
    /// The status of answers, where it redirects.
    pub(super) redirect: Option<RedirectStatus>,
    /// Idle connections that are kept to each backend.
    pub(super) keep: usize,
    pub(super) client_header: Option<HeaderName>,
    /// By number.
    targets: Vec<Target>,
}

/// What a thread goes by from now on.
pub(super) struct Next {
    pub(super) settings: Arc<GatewaySettings>,
    pub(super) redirect: Option<RedirectStatus>,
    pub(super) keep: usize,
    /// In the place of the thread's own front, where it has one and how it decides has changed.
    pub(super) successor: Option<Front>,
}

/// A backend.
pub(super) struct Target {
    pub(super) backend: Backend,
    pub(super) has_left: bool,
    /// Its name, address and cookie as values of headers.
    pub(super) name: HeaderValue,
    pub(super) host: HeaderValue,
    pub(super) cookie: HeaderValue,
    /// The URL that clients reach it by, without a slash at its end.
    pub(super) url: String,
}

impl Version {
    /// What `settings`, which are checked, say after the version `before`; the first is the default one.
    pub(super) fn new(
        settings: Arc<GatewaySettings>,
        redirect: Option<RedirectStatus>,
        keep: usize,
        before: Version,
    ) -> Version {
        let mut targets = before.targets;
        targets.iter_mut().for_each(|target| target.has_left = true);
        for backend in &settings.backends {
            let target = Target::new(backend, &settings.cookie);
            match targets.iter_mut().find(|known| known.backend.name == backend.name) {
                Some(known) => *known = target,
                None => targets.push(target),
            }
        }
        let client_header = settings.client_header.as_ref().and_then(|name| name.parse().ok());
        Version { settings, redirect, keep, client_header, targets }
    }

    /// All that were ever named, by number.
    pub(super) fn targets(&self) -> impl Iterator<Item = (BackendId, &Target)> {
        self.targets.iter().enumerate().map(|(index, target)| (BackendId(index as u32), target))
    }

    pub(super) fn target(&self, backend: BackendId) -> &Target {
        &self.targets[backend.0 as usize]
    }

    /// The number of the backend of this name.
    pub(super) fn id(&self, name: &str) -> Option<BackendId> {
        self.targets().find(|(_, target)| target.backend.name == name).map(|(id, _)| id)
    }

    /// Names and weights of all that are known, and of those that `settings` add to them, by number. One that has left has no
    /// weight.
    pub(super) fn after(&self, settings: &GatewaySettings) -> Vec<(String, f64)> {
        let mut known: Vec<_> = self.targets.iter().map(|target| (target.backend.name.clone(), 0.0)).collect();
        for Backend { name, weight, .. } in &settings.backends {
            match known.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = *weight,
                None => known.push((name.clone(), *weight)),
            }
        }
        known
    }

    /// Whether connections to this address may be kept for further requests to a backend.
    pub(super) fn is_at(&self, backend: BackendId, address: SocketAddr) -> bool {
        let target = self.target(backend);
        !target.has_left && target.backend.address == address
    }
}

impl Target {
    fn new(backend: &Backend, cookie: &str) -> Target {
        let value = |text: String| HeaderValue::from_str(&text).expect("names and addresses are fit for headers");
        Target {
            has_left: false,
            name: headers::name_value(&backend.name).expect("names are checked"),
            host: value(backend.address.to_string()),
            cookie: value(format!("{cookie}={}; Path=/; HttpOnly", backend.name)),
            url: backend.url(),
            backend: backend.clone(),
        }
    }
}
