//! File locality: a node that owns the file, whatever its load; of several owners the one where the request is, else one drawn.
//!
//! No parameters. Reads owners and hops; counts nothing. A file without an owner, and a request that was redirected once, is
//! served where it is. The price: all that want one file go to one node. Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a
//! scalable World Wide Web server on multicomputers, IPPS 1996, section 4.2.

use sojourn_stats::Stream;

use super::Entry;
use super::sweb::stays;
use crate::{Ask, BackendId, Code, Decision, Explanation, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "file-locality",
    summary: "a node that owns the file, at nodes that redirect",
    build: |_| Ok(Box::new(FileLocality { owners: Vec::new() })),
};

/// See the module.
#[derive(Clone, Debug)]
pub struct FileLocality {
    /// Those that may be chosen; kept so that a choice allocates nothing.
    owners: Vec<BackendId>,
}

impl Policy for FileLocality {
    fn requires(&self) -> Signals {
        Signals::OBJECT | Signals::OWNERS | Signals::HOPS
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        if let Some(stays) = stays(ask) {
            return stays;
        }
        let of_file = ask.table.owners(ask.request.object).iter().copied();
        self.owners.clear();
        self.owners.extend(of_file.filter(|id| ask.may_choose(*id)));
        let here = ask.request.here.filter(|here| ask.may_choose(*here));
        let ties = self.owners.len();
        let chosen = match here {
            Some(here) if ties == 0 || self.owners.contains(&here) => Some(here),
            _ if ties > 0 => Some(self.owners[draw.below(ties)]),
            // What has no owner that is up is served by any node.
            _ => ask.candidates().next(),
        };
        let reason = Reason { code: Code::Owner, ties: ties as u32, value: 0.0 };
        chosen.map_or_else(Decision::refuse, |id| Decision::forward(id, reason))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let owners = ask.table.owners(ask.request.object);
        let is_owner = |id| f64::from(u8::from(owners.contains(&id)));
        Explanation::of(ask.candidates(), |id| vec![("owner".into(), is_owner(id))])
    }
}
