//! Networks against books, against each other's algorithms and against their Markov chains.

use sojourn_theory::network::bounds::{Bounds, highest_throughputs};
use sojourn_theory::network::{ClosedChain, Demands, Serving, Steady, convolution, mva};

use crate::chain::Chain;
use crate::{agree, printed};

fn one() -> Serving {
    Serving::cores(1)
}

fn demands(visits: &[f64], service_s: &[f64]) -> Vec<f64> {
    visits.iter().zip(service_s).map(|(v, s)| v * s).collect()
}

/// Jain, The Art of Computer Systems Performance Analysis (1991), example 34.2 (as `queueing` for Octave tests it).
#[test]
fn a_timesharing_system_of_20_users() {
    let visits = [16.0, 10.0, 5.0];
    let network = Demands::single(vec![one(), one(), one()], 20, 4.0, demands(&visits, &[0.125, 0.3, 0.2]));
    for steady in [mva::exact(&network).unwrap(), convolution::exact(&network).unwrap()] {
        for (station, (number, time)) in [("1.991", ".373"), ("16.177", "4.854"), (".500", ".300")].iter().enumerate() {
            let of = steady.closed[0][station];
            printed(of, number);
            printed(of / (steady.throughput[0] * visits[station]), time);
        }
        printed(steady.throughput[0], "0.333247");
        printed(steady.response_time_mean_s(0), "56.0156");
    }
}

/// Bolch, Greiner, de Meer and Trivedi, Queueing Networks and Markov Chains (1998), examples 8.3 and 8.4.
#[test]
fn the_networks_of_bolch_et_al() {
    let (visits, service_s) = ([1.0, 0.4, 0.2, 0.1], [0.02, 0.2, 0.4, 0.6]);
    let network = Demands::single(vec![one(), one(), one(), one()], 6, 0.0, demands(&visits, &service_s));
    for steady in [mva::exact(&network).unwrap(), convolution::exact(&network).unwrap()] {
        let rate = steady.throughput[0];
        printed(rate, "9.920");
        let cases = [
            (".198", ".025", ".244"),
            (".794", ".570", "2.261"),
            (".794", "1.140", "2.261"),
            (".595", "1.244", "1.234"),
        ];
        for (station, (used, time, number)) in cases.iter().enumerate() {
            printed(rate * visits[station] * service_s[station], used);
            printed(steady.closed[0][station] / (rate * visits[station]), time);
            printed(steady.closed[0][station], number);
        }
    }
    let (visits, service_s) = ([1.0, 0.5, 0.5, 1.0], [0.5, 0.6, 0.8, 1.0]);
    let stations = vec![Serving::cores(2), one(), one(), Serving::Delay];
    let network = Demands::single(stations, 3, 0.0, demands(&visits, &service_s));
    let steady = convolution::exact(&network).unwrap();
    // His 1.218 is not the 1.217 that he has at the delay of one second, which is the same number.
    agree(steady.throughput[0], 1.218, 1e-3);
    agree(steady.throughput[0], steady.closed[0][3], 1e-12);
    for (number, wanted) in steady.closed[0].iter().zip([".624", ".473", ".686", "1.217"]) {
        printed(*number, wanted);
    }
    assert_eq!(mva::exact(&network), None, "several cores are not for it");
}

/// Lazowska et al., Quantitative System Performance (1984), page 117.
#[test]
fn schweitzer_and_the_exact_answer() {
    let network = Demands::single(vec![one(), one(), one()], 3, 15.0, vec![0.605, 2.1, 1.35]);
    let near = mva::schweitzer(&network).unwrap();
    printed(near.throughput[0], ".1510");
    printed(near.response_time_mean_s(0), "4.87");
    let exact = mva::exact(&network).unwrap();
    printed(exact.throughput[0], ".151516");
    printed(exact.response_time_mean_s(0), "4.7998");
    // Of one user and of a crowd it is exact.
    let alone = Demands::single(vec![one(), one(), one()], 1, 15.0, vec![0.605, 2.1, 1.35]);
    agree(mva::schweitzer(&alone).unwrap().throughput[0], 1.0 / 19.055, 1e-12);
    let crowd = Demands::single(vec![one(), one(), one()], 100_000, 15.0, vec![0.605, 2.1, 1.35]);
    agree(mva::schweitzer(&crowd).unwrap().throughput[0], 1.0 / 2.1, 1e-4);
}

/// Jobs that go round all stations in order, each chain with a mean of its own at each (under PS, exponential), and
/// open chains that go through them once and are lost where there are `cut` of them: the Markov chain.
fn by_markov_chain(network: &Demands, cut: u8) -> Steady {
    let (stations, closed) = (network.stations.len(), network.closed.len());
    let chains = closed + network.open.len();
    // A closed chain thinks at a place of its own, number `stations`.
    let places = stations + 1;
    let start: Vec<u8> = (0..chains * places)
        .map(|at| match (at / places, at % places == stations) {
            (chain, true) if chain < closed => network.closed[chain].users as u8,
            _ => 0,
        })
        .collect();
    // Open chains arrive once a second: their demand is their work per second.
    let demand = |chain: usize, station: usize| match chain.checked_sub(closed) {
        None => network.closed[chain].demand_s[station],
        Some(open) => network.open[open][station],
    };
    let after = |chain: usize, station: usize| (station + 1..stations).find(|next| demand(chain, *next) > 0.0);
    let first = |chain: usize| (0..stations).find(|next| demand(chain, *next) > 0.0).unwrap();
    let steps = |state: &Vec<u8>| {
        let mut steps = Vec::new();
        let mut go = |chain: usize, from: Option<usize>, to: Option<usize>, rate: f64| {
            let mut next = state.clone();
            from.into_iter().for_each(|from| next[chain * places + from] -= 1);
            to.into_iter().for_each(|to| next[chain * places + to] += 1);
            steps.push((next, rate));
        };
        for chain in 0..chains {
            let is_open = chain >= closed;
            if is_open {
                let inside: u8 = state[chain * places..(chain + 1) * places].iter().sum();
                if inside < cut {
                    go(chain, None, Some(first(chain)), 1.0);
                }
            } else {
                let thinking = f64::from(state[chain * places + stations]);
                if thinking > 0.0 {
                    go(chain, Some(stations), Some(first(chain)), thinking / network.closed[chain].think_s);
                }
            }
            for station in 0..stations {
                let own = f64::from(state[chain * places + station]);
                if own == 0.0 {
                    continue;
                }
                let all: f64 = (0..chains).map(|other| f64::from(state[other * places + station])).sum();
                let pace = match &network.stations[station] {
                    Serving::Delay => 1.0,
                    Serving::Rates(rates) => rates[(all as usize).min(rates.len()) - 1] / all,
                };
                let to = after(chain, station).or((!is_open).then_some(stations));
                go(chain, Some(station), to, own * pace / demand(chain, station));
            }
        }
        steps
    };
    let markov = Chain::explore(start, steps);
    let p = markov.stationary();
    let number = |chain: usize, station: usize| markov.mean(&p, |state| f64::from(state[chain * places + station]));
    let row = |chain: usize| (0..stations).map(|station| number(chain, station)).collect();
    Steady {
        throughput: (0..closed).map(|chain| number(chain, stations) / network.closed[chain].think_s).collect(),
        closed: (0..closed).map(row).collect(),
        open: (closed..chains).map(row).collect(),
    }
}

#[track_caller]
fn same(got: &Steady, wanted: &Steady, relative: f64) {
    assert_eq!((got.closed.len(), got.open.len()), (wanted.closed.len(), wanted.open.len()));
    let rows = got.closed.iter().chain(&got.open).chain([&got.throughput]);
    let wanted_rows = wanted.closed.iter().chain(&wanted.open).chain([&wanted.throughput]);
    for (row, wanted) in rows.zip(wanted_rows) {
        for (got, wanted) in row.iter().zip(wanted) {
            assert!((got - wanted).abs() <= relative * wanted.abs() + 1e-14, "{got} is not {wanted}: {row:?}");
        }
    }
}

fn chain(users: u32, think_s: f64, demand_s: &[f64]) -> ClosedChain {
    ClosedChain { users, think_s, demand_s: demand_s.to_vec() }
}

#[test]
fn mean_value_analysis_convolution_and_the_markov_chain_agree() {
    let network = Demands {
        stations: vec![one(), Serving::Delay, Serving::Rates(vec![2.0]), one()],
        closed: vec![
            chain(3, 0.7, &[0.5, 0.2, 1.0, 0.0]),
            chain(2, 0.1, &[0.3, 0.0, 0.4, 0.9]),
            chain(1, 2.0, &[0.0, 0.0, 0.1, 0.2]),
        ],
        open: Vec::new(),
    };
    let exact = mva::exact(&network).unwrap();
    same(&exact, &by_markov_chain(&network, 0), 1e-9);
    same(&convolution::exact(&network).unwrap(), &exact, 1e-12);
}

#[test]
fn several_cores_and_rates_that_rise_or_fall_agree_with_the_markov_chain() {
    let stations = [
        Serving::cores(2),
        Serving::cores(3),
        // A disk that orders its requests, and a server that trashes: faster with more jobs, then slower.
        Serving::Rates(vec![1.0, 1.3, 1.2, 1.5]),
        Serving::Rates(vec![1.0, 1.8, 1.1, 0.7]),
    ];
    for (number, special) in stations.iter().enumerate() {
        let other = &stations[(number + 1) % stations.len()];
        let network = Demands {
            stations: vec![special.clone(), one(), other.clone()],
            closed: vec![chain(4, 0.5, &[0.8, 0.3, 0.6]), chain(3, 1.0, &[1.1, 0.2, 0.0])],
            open: Vec::new(),
        };
        same(&convolution::exact(&network).unwrap(), &by_markov_chain(&network, 0), 1e-9);
    }
}

#[test]
fn mixed_networks_agree_with_the_markov_chain() {
    let fixed = Demands {
        stations: vec![one(), Serving::Delay, one()],
        closed: vec![chain(2, 0.5, &[0.8, 0.3, 0.6])],
        open: vec![vec![0.3, 0.2, 0.0], vec![0.1, 0.0, 0.2]],
    };
    let exact = mva::exact(&fixed).unwrap();
    same(&convolution::exact(&fixed).unwrap(), &exact, 1e-12);
    // The chain loses what finds 30 of its kind inside, and those are few.
    let first = Demands { open: vec![vec![0.35, 0.2, 0.1]], ..fixed };
    same(&mva::exact(&first).unwrap(), &by_markov_chain(&first, 30), 1e-8);
    let rates = [Serving::cores(2), Serving::Rates(vec![1.0, 1.3, 1.2, 1.5]), Serving::Rates(vec![1.0, 1.8, 1.1, 0.9])];
    for special in rates {
        let network = Demands {
            stations: vec![special, one(), Serving::Delay],
            closed: vec![chain(2, 0.5, &[0.8, 0.3, 0.6])],
            open: vec![vec![0.3, 0.2, 0.4]],
        };
        same(&convolution::exact(&network).unwrap(), &by_markov_chain(&network, 30), 1e-8);
    }
}

#[test]
fn an_open_network_is_its_stations_alone() {
    let stations = vec![one(), Serving::cores(3), Serving::Delay];
    let network = Demands { stations, closed: Vec::new(), open: vec![vec![0.8, 2.0, 5.0]] };
    for steady in [convolution::exact(&network).unwrap(), convolution::exact(&network).unwrap()] {
        agree(steady.open[0][0], 4.0, 1e-13);
        // M/M/3 at an offered load of 2: L = 2.8889 (26/9).
        agree(steady.open[0][1], 26.0 / 9.0, 1e-13);
        agree(steady.open[0][2], 5.0, 1e-13);
    }
    let too_much = Demands { open: vec![vec![0.8, 3.0, 5.0]], ..network };
    assert_eq!(convolution::exact(&too_much), None);
    assert_eq!(mva::exact(&Demands { stations: vec![one()], closed: Vec::new(), open: vec![vec![1.0]] }), None);
}

/// Mean value analysis of several cores is known to lose its digits: S = 4, 8 cores, Z = 10 and up to 90 users. The
/// machine repairman is exact, one state after another.
#[test]
fn several_cores_and_many_users_keep_their_digits() {
    for users in [1, 8, 20, 50, 90, 500, 5000] {
        let network = Demands::single(vec![Serving::cores(8)], users, 10.0, vec![4.0]);
        let steady = convolution::exact(&network).unwrap();
        let known = sojourn_theory::formula::markovian::repairman::solve(users, 10.0, 8, 8, 4.0);
        agree(steady.throughput[0], known.throughput, 1e-11);
        agree(steady.closed[0][0], known.number_mean, 1e-10);
    }
    // A thousand cores, half of them kept by others.
    let network =
        Demands { open: vec![vec![500.0]], ..Demands::single(vec![Serving::cores(1000)], 300, 1.0, vec![1.0]) };
    let steady = convolution::exact(&network).unwrap();
    agree(steady.throughput[0], 150.0, 1e-9);
    agree(steady.number_mean(0), 650.0, 1e-9);
}

#[test]
fn populations_whose_constants_leave_a_double() {
    // With equal demands and no thinking the throughput is N / (N + M - 1).
    for users in [10u32, 1000, 20_000] {
        let network = Demands::single(vec![one(), one(), one()], users, 0.0, vec![1e-3; 3]);
        let wanted = 1e3 * f64::from(users) / (f64::from(users) + 2.0);
        agree(mva::exact(&network).unwrap().throughput[0], wanted, 1e-10);
        agree(convolution::exact(&network).unwrap().throughput[0], wanted, 1e-10);
    }
    let network = Demands {
        stations: vec![one(), one()],
        closed: vec![chain(40, 50.0, &[1.0, 0.2]), chain(60, 0.0, &[0.1, 0.3])],
        open: Vec::new(),
    };
    same(&convolution::exact(&network).unwrap(), &mva::exact(&network).unwrap(), 1e-10);
}

#[test]
fn bounds_hold_and_the_balanced_ones_are_narrower() {
    for users in 1..=60 {
        let network = Demands::single(vec![one(), one(), one(), Serving::Delay], users, 4.0, vec![2.0, 3.0, 1.0, 0.5]);
        let exact = mva::exact(&network).unwrap().throughput[0];
        let bounds = Bounds::of(&network).unwrap();
        let balanced = bounds.balanced.unwrap();
        let slack = 1e-12;
        assert!(bounds.throughput_low <= balanced.throughput_low + slack, "{users}");
        assert!(balanced.throughput_low <= exact + slack, "{users}: {} {exact}", balanced.throughput_low);
        assert!(exact <= balanced.throughput_high + slack, "{users}: {exact} {}", balanced.throughput_high);
        assert!(balanced.throughput_high <= bounds.throughput_high + slack, "{users}");
        agree(bounds.saturation_users, 10.5 / 3.0, 1e-12);
        let cores = Demands { stations: vec![one(), Serving::cores(2), one(), Serving::Delay], ..network };
        let (exact, bounds) = (convolution::exact(&cores).unwrap().throughput[0], Bounds::of(&cores).unwrap());
        assert!(bounds.throughput_low <= exact + slack && exact <= bounds.throughput_high + slack, "{users}");
        assert_eq!(bounds.balanced, None);
    }
    // Balanced networks attain the balanced bounds.
    let network = Demands::single(vec![one(); 4], 9, 0.0, vec![0.5; 4]);
    let balanced = Bounds::of(&network).unwrap().balanced.unwrap();
    let exact = mva::exact(&network).unwrap().throughput[0];
    agree(balanced.throughput_low, exact, 1e-12);
    agree(balanced.throughput_high, exact, 1e-12);
}

#[test]
fn no_chain_is_faster_than_its_bound() {
    let stations = || vec![one(), Serving::cores(2), one(), Serving::Delay];
    for (first, second, open) in [(1, 1, 0.0), (3, 9, 0.0), (30, 4, 0.2), (60, 1, 0.5), (12, 12, 0.9)] {
        let network = Demands {
            stations: stations(),
            closed: vec![chain(first, 4.0, &[2.0, 3.0, 1.0, 0.5]), chain(second, 0.5, &[0.1, 0.0, 1.5, 0.0])],
            open: if open > 0.0 { vec![vec![open, 0.0, 0.1, 0.0]] } else { Vec::new() },
        };
        let (exact, highest) = (convolution::exact(&network).unwrap(), highest_throughputs(&network));
        for (throughput, highest) in exact.throughput.iter().zip(highest) {
            assert!(*throughput <= highest * (1.0 + 1e-12), "{throughput} is more than {highest}");
        }
    }
    // A user alone attains the one limit, a crowd alone the other, of what open chains leave.
    let alone = Demands::single(stations(), 1, 4.0, vec![2.0, 3.0, 1.0, 0.5]);
    agree(highest_throughputs(&alone)[0], convolution::exact(&alone).unwrap().throughput[0], 1e-12);
    let crowd = Demands::single(stations(), 3000, 4.0, vec![2.0, 3.0, 1.0, 0.5]);
    let crowd = Demands { open: vec![vec![0.5, 0.0, 0.0, 0.0]], ..crowd };
    agree(highest_throughputs(&crowd)[0], 0.25, 1e-12);
    agree(convolution::exact(&crowd).unwrap().throughput[0], 0.25, 1e-3);
    // Where company speeds jobs up, a job alone is not the fastest.
    let company = Demands::single(vec![Serving::Rates(vec![1.0, 3.0]), one()], 2, 1.0, vec![2.0, 0.1]);
    let (exact, bounds) = (convolution::exact(&company).unwrap().throughput[0], Bounds::of(&company).unwrap());
    assert!(exact <= bounds.throughput_high && exact <= highest_throughputs(&company)[0], "{exact} {bounds:?}");
    agree(bounds.throughput_high, 2.0 / (2.0 / 1.5 + 0.1 + 1.0), 1e-12);
}
