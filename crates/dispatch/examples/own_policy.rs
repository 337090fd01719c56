//! A policy in twenty lines: `cargo run -p sojourn-dispatch --example own_policy`.
//!
//! Sticky by key: the requests for one path go to one backend while it has fewer than `limit` requests in flight, and to
//! the one with the fewest beyond that.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use sojourn_dispatch::{
    Ask, Catalogue, Code, Decision, DispatchError, Dispatcher, Index, Information, Policy, Reason, Request, Signals,
    key,
};
use sojourn_stats::{Stream, Time};

struct StickyByKey {
    limit: u32,
}

impl Policy for StickyByKey {
    fn requires(&self) -> Signals {
        Signals::PATH | Signals::IN_FLIGHT
    }

    fn index(&self) -> Index {
        Index::Load
    }

    fn choose(&mut self, ask: &Ask<'_>, draw: &mut Stream) -> Decision {
        let backends = ask.table.eligible();
        let home = backends.get(ask.request.key as usize % backends.len().max(1)).copied();
        match home.filter(|id| ask.may_choose(*id) && ask.table.load(*id) < self.limit) {
            Some(id) => Decision::forward(id, Reason { code: Code::Own, ties: 1, value: ask.table.load(id).into() }),
            None => Decision::forward_or_refuse(ask.table.least(ask.tried, draw)),
        }
    }
}

fn main() -> Result<(), DispatchError> {
    let mut catalogue = Catalogue::default();
    catalogue.add("sticky-by-key", "one backend per path, up to a limit", |params| {
        let limit = params.text("limit").unwrap_or("2").parse();
        let limit =
            limit.map_err(|_| DispatchError::Policy("policy `sticky-by-key`: limit is a whole number".into()))?;
        Ok(Box::new(StickyByKey { limit }))
    })?;

    let backends = ["s1", "s2", "s3"].map(|name| (name.to_string(), 1.0));
    let (text, information) = ("sticky-by-key(limit = 2)", Information::Immediate);
    let mut dispatcher =
        Dispatcher::from_catalogue(&catalogue, text, &backends, information, Signals::GATEWAY, 1, "front")?;
    for (second, path) in ["/a", "/b", "/a", "/a", "/a", "/b"].into_iter().enumerate() {
        let request = Request { key: key(path), ..Request::default() };
        let now = Time(second as u64 * 1_000_000_000);
        let explanation = dispatcher.explain(&request, &[], now);
        let decision = dispatcher.choose(&request, &[], now);
        let table = dispatcher.table();
        let name = decision.forwarded_to().map_or("none", |id| table.name(id));
        println!("{path} goes to {name}: {} ({})", decision.reason, explanation.in_words(table));
    }
    Ok(())
}
