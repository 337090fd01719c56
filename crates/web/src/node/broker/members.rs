//! The nodes of a cluster as one of them knows them, the node itself first.
//!
//! Their numbers are those of the policy's backends. Nodes that are named in the settings are there from the start; those that
//! are found by gossip are added as they come, and a node that comes back has its number again.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::header::HeaderValue;
use sojourn_dispatch::BackendId;
use sojourn_part::ServeError;
use sojourn_part::settings::node::Peer;

use super::peers::{host, is_of_tls, is_reached_at};

/// A node.
pub(super) struct Member {
    pub(super) name: String,
    /// What clients ask it by, without a slash at the end.
    pub(super) url: String,
    /// The same for those that speak TLS; none: they are not sent there.
    pub(super) tls_url: Option<String>,
    /// The host line of such requests.
    pub(super) host: HeaderValue,
    /// Where other nodes reach it; none of one that is only known by its name.
    pub(super) inside: Option<SocketAddr>,
    /// Clients that were sent there.
    pub(super) redirected: Arc<AtomicU64>,
}

/// All of them.
pub(super) struct Members(RwLock<Vec<Arc<Member>>>);

impl Member {
    /// The node itself.
    pub(super) fn own(name: &str, url: &str, tls_url: Option<&str>) -> Member {
        let bare = |url: &str| url.trim_end_matches('/').to_owned();
        let tls_url = tls_url.or(Some(url).filter(|url| is_of_tls(url))).map(bare);
        let host = HeaderValue::from_static("");
        Member { name: name.to_owned(), url: bare(url), tls_url, host, inside: None, redirected: Arc::default() }
    }

    /// One that is only known by its name.
    pub(super) fn named(name: &str) -> Member {
        Member::own(name, "", None)
    }

    /// Another one.
    ///
    /// # Errors
    /// When its address is not known.
    pub(super) fn of(peer: &Peer) -> Result<Member, ServeError> {
        let wrong =
            |_| ServeError::Config(format!("URL {:?} ({}) has no host that a header can name", peer.url, peer.name));
        let host = HeaderValue::from_str(host(peer)).map_err(wrong)?;
        Ok(Member {
            host,
            inside: Some(is_reached_at(peer)?),
            ..Member::own(&peer.name, &peer.url, peer.tls_url.as_deref())
        })
    }
}

impl Members {
    pub(super) fn new(all: Vec<Member>) -> Members {
        Members(RwLock::new(all.into_iter().map(Arc::new).collect()))
    }

    /// The node of this number.
    pub(super) fn get(&self, id: BackendId) -> Arc<Member> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)[id.0 as usize])
    }

    /// Those to which no client can be sent that speaks TLS.
    pub(super) fn without_tls(&self) -> Vec<BackendId> {
        self.others().into_iter().filter(|(_, member)| member.tls_url.is_none()).map(|(id, _)| id).collect()
    }

    /// All but the node itself, with their numbers.
    pub(super) fn others(&self) -> Vec<(BackendId, Arc<Member>)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().enumerate().skip(1).map(|(number, member)| (BackendId(number as u32), Arc::clone(member))).collect()
    }

    /// The number of the node of this name.
    pub(super) fn find(&self, name: &str) -> Option<BackendId> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().position(|member| member.name == name).map(|number| BackendId(number as u32))
    }

    /// Puts a node in the place of that number, or behind all; what was counted of it goes on.
    pub(super) fn put(&self, id: BackendId, member: Member) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(id.0 as usize) {
            Some(place) => *place = Arc::new(Member { redirected: Arc::clone(&place.redirected), ..member }),
            None => all.push(Arc::new(member)),
        }
    }
}
