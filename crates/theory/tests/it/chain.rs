//! An oracle for networks: the Markov chain itself, state by state.

use std::collections::HashMap;

/// A continuous-time Markov chain over states of any kind.
pub(crate) struct Chain<S> {
    states: Vec<S>,
    /// Into each state: (from, rate).
    into: Vec<Vec<(usize, f64)>>,
    out: Vec<f64>,
}

impl<S: Clone + Eq + std::hash::Hash> Chain<S> {
    /// All states that can be reached from `start`.
    pub(crate) fn explore(start: S, steps: impl Fn(&S) -> Vec<(S, f64)>) -> Chain<S> {
        let mut numbers = HashMap::from([(start.clone(), 0)]);
        let mut chain = Chain { states: vec![start], into: vec![Vec::new()], out: Vec::new() };
        let mut next = 0;
        while next < chain.states.len() {
            let mut out = 0.0;
            for (to, rate) in steps(&chain.states[next]).into_iter().filter(|(_, rate)| *rate > 0.0) {
                let number = *numbers.entry(to.clone()).or_insert_with(|| {
                    chain.states.push(to);
                    chain.into.push(Vec::new());
                    chain.states.len() - 1
                });
                chain.into[number].push((next, rate));
                out += rate;
            }
            chain.out.push(out);
            next += 1;
        }
        chain
    }

    /// The mean of `of` where the states have the probabilities `p`.
    pub(crate) fn mean(&self, p: &[f64], of: impl Fn(&S) -> f64) -> f64 {
        self.states.iter().zip(p).map(|(state, p)| p * of(state)).sum()
    }

    /// The stationary probabilities, by Gauss and Seidel.
    pub(crate) fn stationary(&self) -> Vec<f64> {
        let n = self.states.len();
        let mut p = vec![1.0 / n as f64; n];
        for _ in 0..200_000 {
            let mut change = 0.0f64;
            // Forwards and backwards in turn, so that mass travels both ways.
            for index in (0..n).chain((0..n).rev()) {
                let flow: f64 = self.into[index].iter().map(|(from, rate)| p[*from] * rate).sum();
                let now = flow / self.out[index];
                if now > 1e-13 {
                    change = change.max((now - p[index]).abs() / now);
                }
                p[index] = now;
            }
            let total: f64 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= total);
            if change < 1e-12 {
                return p;
            }
        }
        panic!("the chain did not settle");
    }
}
