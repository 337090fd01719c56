//! Stay: the node that the request came to, whatever its load.
//!
//! No parameters. Reads hops, by which a node knows that it is one; counts nothing. Behind a rotating DNS it is the rotation
//! alone, which schedulers in the nodes are compared with: the "round robin" of NCSA's server (Katz, Butler, McGrath, A
//! scalable HTTP server: the NCSA prototype, 1994) in Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide
//! Web server on multicomputers, IPPS 1996, section 4.2. The price: nothing evens out what the rotation does not.

use sojourn_stats::Stream;

use super::Entry;
use super::sweb::stays;
use crate::{Ask, Code, Decision, Explanation, Policy, Reason, Signals};

pub(super) const ENTRY: Entry = Entry {
    name: "stay",
    summary: "the node that the request came to, at nodes that redirect",
    build: |_| Ok(Box::new(Stay)),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Stay;

impl Policy for Stay {
    fn requires(&self) -> Signals {
        Signals::HOPS
    }

    fn listens(&self) -> bool {
        false
    }

    fn choose(&mut self, ask: &Ask<'_>, _: &mut Stream) -> Decision {
        if let Some(stays) = stays(ask) {
            return stays;
        }
        let here = ask.request.here.filter(|here| ask.may_choose(*here));
        // At a node that may not be chosen, and at a dispatcher that is no node, any other one will do.
        let chosen = here.or_else(|| ask.candidates().next());
        let reason = Reason { code: Code::Here, ties: 1, value: f64::from(u8::from(here.is_some())) };
        chosen.map_or_else(Decision::refuse, |id| Decision::forward(id, reason))
    }

    fn explain(&self, ask: &Ask<'_>) -> Explanation {
        let is_here = |id| f64::from(u8::from(ask.request.here == Some(id)));
        Explanation::of(ask.candidates(), |id| vec![("here".into(), is_here(id))])
    }
}
