//! Servers with files of their own behind a rotation: how much they sustain at most.
//!
//! The formula is [`crate::formula::file_nodes`]; here it is read off servers of several resources. It is a bound under its
//! assumptions, each of which the notes name with what the system makes of it. There is no formula for response times.

use sojourn_model::Server;

use crate::answer::{Answer, Unanswered, Value, brief};
use crate::formula::file_nodes::FileNodes;

/// Servers with files of their own, of which each may redirect a request once.
#[derive(Clone, Copy, Debug)]
pub struct SharedFiles<'a> {
    /// The servers, which are alike.
    pub servers: &'a [Server],
    /// Mean size of what is asked for (bytes).
    pub size_mean: f64,
    /// Mean work of the processor per request, at speed 1 (s): what the paper calls preprocessing.
    pub demand_mean_s: f64,
    /// Policy of the servers: `stay`, `file-locality`, or one that weighs.
    pub policy: &'a str,
    /// Requests per second that come, where that is known.
    pub rate: Option<f64>,
}

/// Most requests per second that servers with files of their own sustain: `throughput_max` (1/s), approximate.
///
/// # Errors
/// One line, for servers that differ, have no disk or no files, or a policy of which it is not known what it redirects.
pub fn answer(asked: &SharedFiles<'_>) -> Result<Answer, Unanswered> {
    let SharedFiles { servers, size_mean, demand_mean_s, policy, rate } = *asked;
    let refuse = |why: &str| Err(Unanswered(format!("no formula for {why}: sim answers this")));
    let Some((first, others)) = servers.split_first() else { return refuse("no servers") };
    if others.iter().any(|other| other != first) {
        return refuse("servers with files of their own that differ");
    }
    let machine = first.machine.as_deref();
    let disk = machine.and_then(|machine| machine.resources.iter().find(|resource| resource.name == "disk")?.rate);
    let Some(((machine, files), disk)) = machine.and_then(|machine| Some((machine, machine.files?))).zip(disk) else {
        return refuse("servers of several resources that have no files or no disk");
    };
    if files.copies.is_some() {
        return refuse("servers that copy each other's files (`copies_after`)");
    }
    let nodes = FileNodes {
        servers: servers.len() as u32,
        size_mean,
        local_rate: disk,
        remote_rate: files.remote_rate.unwrap_or(disk),
        preparation_s: demand_mean_s / first.speed,
        redirection_s: 0.0,
    };
    let most = nodes.redirected_most();
    let [none, all] = [0.0, most].map(|redirected| nodes.throughput_max(redirected));
    let name = policy.split('(').next().unwrap_or_default().trim();
    let (bound, redirected) = match name {
        "stay" => (none, "none, by the policy".to_owned()),
        "file-locality" => (all, format!("{} of all, by the policy", brief(most))),
        "sweb" | "cpu-only" => (
            none.max(all),
            format!(
                "the policy's choice; {} /s with none, {} /s with {} of all, and the larger counts",
                brief(none),
                brief(all),
                brief(most)
            ),
        ),
        other => return refuse(&format!("what `{other}` redirects")),
    };
    let mut answer = Answer::default();
    answer.push("throughput_max", "1/s", Value::approximate(bound));
    answer.note(format!(
        "throughput_max: {} /s at most, by M = p / H, H = (1/p + d) F/b1 + (1 - 1/p - d) F/b2 + A + d (A + O), of Andresen, \
         Yang, Holmedahl and Ibarra (1996, section 3.3, reconstructed)",
        brief(bound)
    ));
    answer.note(format!(
        "p = {}, F = {} B, b1 = {} B/s, b2 = {} B/s, A = {} s, O = 0",
        nodes.servers,
        brief(size_mean),
        brief(disk),
        brief(nodes.remote_rate),
        brief(nodes.preparation_s)
    ));
    answer.note(format!("redirected requests, d: {redirected}"));
    answer.note("a server's processor and disk: taken to work one after the other; in sim they work at the same time");
    answer.note(match machine.memory {
        Some(memory) => format!("memory: taken to cache nothing; here {} B do", memory.size),
        None => "memory: caches nothing".into(),
    });
    answer.note("networks: taken to let all through");
    answer.note("response_time_mean: no formula for servers that read each other's files");
    if let Some(rate) = rate {
        answer.note(format!("arrivals: {} /s, {} of the bound", brief(rate), brief(rate / bound)));
    }
    Ok(answer)
}
