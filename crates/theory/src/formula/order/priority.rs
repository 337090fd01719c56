//! Classes with priorities, the first the most urgent: M/G/1 with and without preemption, M/M/c without.
//!
//! W_k = W_0 / ((1-s_(k-1)) (1-s_k)), where s_k is the utilisation by the classes up to k and W_0 what is left, on
//! average, of the service that an arrival finds (Cobham, Priority assignment in waiting line problems, Operations
//! Research 2, 1954; for M/M/c, where all classes have the same exponential service, the same paper). A class that may
//! interrupt those below is not seen by them coming, nor sees them: W_0 then has the classes up to k only, and service
//! is stretched by 1 / (1-s_(k-1)) (White and Christie, Operations Research 6, 1958; Kleinrock, Queueing Systems II,
//! 1976, chapter 3). Within a class: FCFS. A class is infinite, not wrong, where it and those above it are too much.

use crate::formula::markovian::mmc;

/// Class of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Poisson arrivals per second.
    pub arrival_rate: f64,
    /// Mean service (s).
    pub service_mean_s: f64,
    /// Second moment of the service (s^2).
    pub service_second_moment_s2: f64,
}

/// Times of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTimes {
    /// Mean time before service starts (s).
    pub waiting_time_mean_s: f64,
    /// Mean response time (s).
    pub response_time_mean_s: f64,
}

impl Class {
    fn utilisation(&self) -> f64 {
        self.arrival_rate * self.service_mean_s
    }

    /// What is left of its services, on average over time (s).
    fn residual(&self) -> f64 {
        self.arrival_rate * self.service_second_moment_s2 / 2.0
    }
}

/// Times of each class in M/G/1 without preemption (s).
pub fn non_preemptive(classes: &[Class]) -> Vec<ClassTimes> {
    // A class gets what the more urgent ones leave of the server. The last one that gets any may get only a part of
    // what it asks for.
    let mut left = 1.0;
    let mut found = 0.0;
    for class in classes {
        let share = class.utilisation().min(left);
        if share > 0.0 {
            found += class.residual() * share / class.utilisation();
        }
        left -= share;
    }
    waits(classes, 1.0, found)
}

/// Times of each class in M/G/1 with preemptive resume (s): a more urgent job interrupts, and the interrupted one goes
/// on later where it was. The waiting time is that before service starts for the first time.
pub fn preemptive_resume(classes: &[Class]) -> Vec<ClassTimes> {
    let mut above = 0.0;
    let mut found = 0.0;
    let time = |class: &Class| {
        let own = above + class.utilisation();
        found += class.residual();
        let waiting = if own < 1.0 { found / ((1.0 - above) * (1.0 - own)) } else { f64::INFINITY };
        let response = waiting + class.service_mean_s / (1.0 - above).max(0.0);
        above = own;
        ClassTimes { waiting_time_mean_s: waiting, response_time_mean_s: response }
    };
    classes.iter().map(time).collect()
}

/// Times of each class in M/M/c without preemption (s); all classes have the same exponential service.
pub fn non_preemptive_servers(servers: u32, arrival_rates: &[f64], service_mean_s: f64) -> Vec<ClassTimes> {
    let c = f64::from(servers);
    let offered = arrival_rates.iter().sum::<f64>() * service_mean_s;
    // An arrival that finds all busy waits for the first of them.
    let found = mmc::erlang_c(offered, servers) * service_mean_s / c;
    let class = |&arrival_rate: &f64| Class {
        arrival_rate,
        service_mean_s,
        service_second_moment_s2: 2.0 * service_mean_s * service_mean_s,
    };
    let classes: Vec<Class> = arrival_rates.iter().map(class).collect();
    waits(&classes, c, found)
}

fn waits(classes: &[Class], servers: f64, found: f64) -> Vec<ClassTimes> {
    let mut above = 0.0;
    let time = |class: &Class| {
        let own = above + class.utilisation() / servers;
        let wait = if own < 1.0 { found / ((1.0 - above) * (1.0 - own)) } else { f64::INFINITY };
        above = own;
        ClassTimes { waiting_time_mean_s: wait, response_time_mean_s: wait + class.service_mean_s }
    };
    classes.iter().map(time).collect()
}
