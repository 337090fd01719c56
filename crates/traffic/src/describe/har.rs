//! What sessions of browsers hold.

use sojourn_stats::Dimension;

use super::{Description, Facts, Variable, ascending, mean};
use crate::recorded::har::Har;

/// What sessions of browsers hold: pages, requests, hosts, thinking times, sizes, times.
pub fn describe_har(har: &Har) -> Description {
    let mut facts = Facts::default();
    facts.group("sessions of browsers");
    facts.count("sessions", har.sessions() as u64);
    facts.number("session_length_mean", mean(&har.lengths_s()), "s");
    facts.count("bursts", har.bursts() as u64);
    facts.count("requests", har.requests());
    facts.number("requests_per_burst", har.requests() as f64 / har.bursts() as f64, "1");
    facts.group("hosts");
    for (host, count) in har.hosts() {
        facts.count(host, count);
    }
    facts.group("left out");
    for (why, count) in har.left_out() {
        facts.count(&format!("requests {why}"), count);
    }
    let mut variables = Vec::new();
    let (thinks_s, sizes, times_s) = (har.thinks_s(), har.sizes(), har.times_s());
    facts.group("thinking times");
    for (name, title, values, dimension) in [
        ("think", "Thinking times between bursts", &thinks_s, Dimension::Time),
        ("size", "Sizes of the replies' bodies", &sizes, Dimension::Size),
        ("time", "How long requests took in the browser", &times_s, Dimension::Time),
    ] {
        if values.is_empty() {
            continue;
        }
        match name {
            "size" => facts.group("sizes"),
            "time" => facts.group("times in the browser"),
            _ => {}
        }
        let sorted = ascending(values.iter().copied());
        facts.number(&format!("{name}_mean"), mean(values), dimension.si_unit());
        facts.quantiles(name, &sorted, &[0.5, 0.9], dimension.si_unit());
        let variable = Variable::of(name, title, values, dimension);
        variable.tell(&mut facts);
        variables.push(variable);
    }
    let mut remarks: Vec<String> = variables.iter().flat_map(Variable::remarks).collect();
    remarks.push(
        "as a workload: kind = \"session-file\" with har = \"...\"; each session is as it was, its thinking times included, and \
         they come by a law that you choose"
            .into(),
    );
    Description { of: "sessions of browsers", facts: facts.all, variables, remarks, ..Description::default() }
}
