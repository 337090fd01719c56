//! A network of queues, as `[[station]]` and `[[chain]]` write it in place of `[workload]` and `[system]`.

use sojourn_model::network::{Network, Text};
use sojourn_theory::network::hit_ratios;

use super::{Overload, Reader, SpecError};

impl Reader<'_> {
    /// Neither the one kind of experiment nor the other: `written` says which of the four tables are there.
    pub(super) fn neither(&self, written: [bool; 4]) -> SpecError {
        let names = ["[workload]", "[system]", "[[station]]", "[[chain]]"];
        let written: Vec<&str> = names.into_iter().zip(written).filter(|(_, is)| *is).map(|(name, _)| name).collect();
        let found = if written.is_empty() { "neither".into() } else { format!("only {}", written.join(", ")) };
        SpecError(format!(
            "{}: an experiment has a [workload] and a [system] or, for a network of queues, [[station]] and [[chain]]; here \
             is {found}",
            self.file.display()
        ))
    }

    /// The network; refuses one in which an open chain asks a station for more than it can do.
    pub(super) fn queueing_network(&self, text: &Text) -> Result<Network, SpecError> {
        let network = text.read(self.file.parent()).map_err(|(at, e)| self.error(at, e.key, &e.message))?;
        let unstable = network.unstable(&hit_ratios(&network)).filter(|_| self.overload == Overload::Refused);
        let Some(unstable) = unstable else { return Ok(network) };
        let (chain, station) = (&network.chains[unstable.chain].name, &network.stations[unstable.station].name);
        let rate = network.chains[unstable.chain].arrival_rate().expect("it is open");
        let remedy = match unstable.largest_rate {
            most if most > 0.0 => format!("stable below {most:.4} /s (now {rate:.4} /s)"),
            _ if unstable.load.is_finite() => "the other open chains alone are too much".into(),
            _ => "its demand there has no finite mean: bound it, e.g. `max = 1 GB`".into(),
        };
        let message = format!(
            "`{chain}` is open and never settles: {:.3} of what the station `{station}` can do is asked of it; {remedy}",
            unstable.load
        );
        Err(self.error(text.chain[unstable.chain].span().start, "arrivals", &message))
    }
}
