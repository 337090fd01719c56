//! What a service says to who asks why.

use sojourn_stats::Time;

use super::Inside;
use crate::subnet::Client;

/// Bytes of a line of TXT (RFC 1035, section 3.3.14).
const LINE_MAX: usize = 255;

/// Lines of an answer that says why: so many fit into a datagram.
const LINES_MAX: usize = 16;

impl Inside {
    pub(super) fn why(&mut self, client: Client, now: Time) -> Vec<String> {
        let request = self.request(client);
        let origin = request.origin;
        let place = match (origin.region, origin.location) {
            (Some(region), _) => format!(", region {}", self.around.places.region(region)),
            (None, Some(_)) => ", no region".into(),
            (None, None) => String::new(),
        };
        let rate = self.front.clients().rate(client.key);
        let rate = rate.map_or(String::new(), |rate| format!(", {rate:.2} requests/s"));
        let mut lines = vec![format!("{} by {}: you are {client}{place}{rate}", self.name, self.config.policy)];
        if let Some(decided) = self.journal.of(client) {
            lines.push(decided.in_words(|id| self.sites.name(id).to_owned(), now));
        }
        let explanation = self.front.explain(&request, &[], now);
        for candidate in explanation.candidates {
            let terms: Vec<String> =
                candidate.terms.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
            let terms = if terms.is_empty() { "it can be chosen".into() } else { terms.join(", ") };
            lines.push(format!("{}: {terms}", self.sites.name(candidate.backend)));
        }
        lines.extend(self.sites.out(&self.front));
        lines.iter_mut().for_each(shorten);
        lines.truncate(LINES_MAX);
        lines
    }
}

/// Cuts a line that is too long for TXT, between two letters.
fn shorten(line: &mut String) {
    let end = (0..=LINE_MAX.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    line.truncate(end.unwrap_or(0));
}

/// A number to four digits after the point, without zeros at its end.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
