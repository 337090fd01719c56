//! A solution as outcome rows; their names are those of [`sojourn_model::network`].

use sojourn_model::network::{Network, Population};
use sojourn_stats::Law;

use super::solution::{Solution, solve};
use crate::answer::Unanswered;
use crate::answer::{Answer, Value};

/// Answer of theory about `network`: the rows that [`sojourn_model::network`] lists (means only), and bounds that the
/// demands alone imply. Of a single closed chain within product form: `bound_low_throughput` and
/// `bound_high_throughput` (asymptotic), `balanced_low_throughput` and `balanced_high_throughput` (balanced job
/// bounds), the same of `response_time_mean`, and `saturation_users`, beyond which some users always wait. Of each
/// closed chain beside others: `bound_high_throughput_NAME` and `bound_low_response_time_mean_NAME`.
///
/// # Errors
/// As [`solve`].
pub fn answer(network: &Network) -> Result<Answer, Unanswered> {
    let solution = solve(network)?;
    let mut answer = Answer::default();
    chains(network, &solution, &mut answer);
    stations(network, &solution, &mut answer);
    bounds(network, &solution, &mut answer);
    solution.notes.iter().for_each(|note| answer.note(note.as_str()));
    bottleneck(network, &solution, &mut answer);
    Ok(answer)
}

fn chains(network: &Network, solution: &Solution, answer: &mut Answer) {
    let known = |number: f64, exact: bool| Value { number, exact };
    let open = |chain: usize| network.chains[chain].arrival_rate().is_some();
    let all: f64 = solution.throughput.iter().sum();
    let times = solution.response_time_mean_s.iter().zip(&solution.throughput);
    let mean = times.map(|(time, rate)| time * rate).sum::<f64>() / all;
    answer.push("response_time_mean", "s", known(mean, solution.exact));
    let forced = (0..network.chains.len()).all(open);
    answer.push("throughput", "1/s", known(all, solution.exact || forced));
    for (number, chain) in network.chains.iter().enumerate() {
        let name = &chain.name;
        let times = solution.response_time_mean_s[number];
        answer.push(format!("response_time_mean_{name}"), "s", known(times, solution.exact));
        let rate = solution.throughput[number];
        answer.push(format!("throughput_{name}"), "1/s", known(rate, solution.exact || open(number)));
        if let Some(hit) = solution.hit_ratios[number] {
            // Of a closed chain the rate of requests is itself an answer.
            answer.push(
                format!("hit_ratio_{name}"),
                "1",
                known(hit.value, hit.exact && (open(number) || !hit.reads_rate)),
            );
        }
        for (index, (share, time)) in solution.size_classes[number].iter().enumerate().filter(|(_, of)| of.0 > 0.0) {
            answer.push(format!("share_{name}_size_{}", index + 1), "1", known(*share, true));
            answer.push(format!("response_time_mean_{name}_size_{}", index + 1), "s", known(*time, solution.exact));
        }
        if chain.branches.len() < 2 {
            continue;
        }
        for (index, branch) in chain.branches.iter().enumerate() {
            let exact = solution.hit_ratios[number].is_none_or(|hit| hit.exact);
            answer.push(format!("share_{name}_{}", branch.name), "1", known(solution.shares[number][index], exact));
            let time = solution.branch_response_time_mean_s[number][index];
            answer.push(format!("response_time_mean_{name}_{}", branch.name), "s", known(time, solution.exact));
        }
    }
}

fn stations(network: &Network, solution: &Solution, answer: &mut Answer) {
    for (node, means) in network.stations.iter().zip(&solution.stations) {
        let name = &node.name;
        let of = |number: f64, exact: bool| Value { number, exact };
        let flow = solution.exact || means.is_forced;
        if let Some(utilization) = means.utilization {
            answer.push(format!("utilization_{name}"), "1", of(utilization, flow));
        }
        answer.push(format!("queue_length_mean_{name}"), "1", of(means.queue_length_mean, solution.exact));
        answer.push(format!("throughput_{name}"), "1/s", of(means.throughput, flow));
        answer.push(format!("response_time_mean_{name}"), "s", of(means.response_time_mean_s, solution.exact));
    }
}

fn bounds(network: &Network, solution: &Solution, answer: &mut Answer) {
    let exact = solution.hit_ratios.iter().all(|hit| hit.is_none_or(|hit| hit.exact));
    let of = |number: f64| Value { number, exact };
    // Little's law over the whole cycle turns a bound of one into a bound of the other.
    let time = |users: u32, think: &Law, throughput: f64| of(f64::from(users) / throughput - think.mean());
    for (chain, highest) in network.chains.iter().zip(&solution.highest_throughput) {
        let (Population::Closed { users, think }, Some(highest)) = (&chain.population, highest) else { continue };
        if network.chains.len() > 1 && highest.is_finite() {
            answer.push(format!("bound_high_throughput_{}", chain.name), "1/s", of(*highest));
            answer.push(format!("bound_low_response_time_mean_{}", chain.name), "s", time(*users, think, *highest));
        }
    }
    let ([chain], Some(bounds)) = (network.chains.as_slice(), solution.bounds) else { return };
    let Population::Closed { users, think } = &chain.population else { return };
    let mut pair = |kind: &str, low: f64, high: f64| {
        answer.push(format!("{kind}_low_throughput"), "1/s", of(low));
        answer.push(format!("{kind}_high_throughput"), "1/s", of(high));
        answer.push(format!("{kind}_low_response_time_mean"), "s", time(*users, think, high));
        answer.push(format!("{kind}_high_response_time_mean"), "s", time(*users, think, low));
    };
    pair("bound", bounds.throughput_low, bounds.throughput_high);
    if let Some(balanced) = bounds.balanced {
        pair("balanced", balanced.throughput_low, balanced.throughput_high);
    }
    if bounds.saturation_users.is_finite() {
        answer.push("saturation_users", "1", of(bounds.saturation_users));
    }
}

/// Which station is next to its end, and where each chain's time goes.
fn bottleneck(network: &Network, solution: &Solution, answer: &mut Answer) {
    if let Some(station) = solution.bottleneck {
        let used = 100.0 * solution.stations[station].load.unwrap_or_default();
        answer.note(format!("bottleneck: `{}`, {used:.1} % used", network.stations[station].name));
    }
    for (chain, numbers) in network.chains.iter().zip(&solution.numbers) {
        let all: f64 = numbers.iter().sum();
        let Some(most) = (0..numbers.len()).max_by(|one, other| numbers[*one].total_cmp(&numbers[*other])) else {
            continue;
        };
        if all > 0.0 && network.stations.len() > 1 {
            let part = 100.0 * numbers[most] / all;
            let name = &network.stations[most].name;
            answer.note(format!("most of the response time of `{}`: `{name}`, {part:.0} %", chain.name));
        }
    }
}
