//! Several logs as one.

use std::collections::HashMap;

use super::calendar::SECOND_US;
use super::{Entry, Log, SHOWN, start_of_step};

impl Log {
    /// The requests of several logs as one, in the order of time. It is as exact as the least exact of them.
    #[must_use]
    pub fn joined(logs: impl IntoIterator<Item = Log>) -> Log {
        let mut all = Log::default();
        let (mut hosts, mut paths, mut servers) = (HashMap::new(), HashMap::new(), HashMap::new());
        // The first of them is whole from there on, and has what came before the others.
        let mut whole_from_us: Option<i64> = None;
        for mut log in logs {
            if all.entries.is_empty() {
                all.zone_s = log.zone_s;
            }
            if let Some(first) = log.entries.first() {
                let from_us = log.whole_from_us.unwrap_or(first.time_us + log.resolution_us.max(1));
                whole_from_us = Some(whole_from_us.map_or(from_us, |other| other.min(from_us)));
            }
            let clients = numbered(std::mem::take(&mut log.hosts), &mut hosts, &mut all.hosts);
            let objects = numbered(std::mem::take(&mut log.paths), &mut paths, &mut all.paths);
            let named = numbered(std::mem::take(&mut log.servers), &mut servers, &mut all.servers);
            all.entries.extend(log.entries.iter().map(|entry| Entry {
                client: clients[entry.client as usize],
                object: objects[entry.object as usize],
                server: entry.server().map_or(entry.server, |server| named[server as usize]),
                ..*entry
            }));
            all.add(log);
        }
        let step_us = all.resolution_us;
        if step_us >= SECOND_US {
            // What finer clocks tell is known to the step of the others, so that none of it is in a part of a step.
            all.entries.iter_mut().for_each(|entry| entry.time_us = start_of_step(entry.time_us, step_us));
            whole_from_us = whole_from_us.map(|from_us| -start_of_step(-from_us, step_us));
        }
        all.entries.sort_by_key(|entry| entry.time_us);
        all.whole_from_us = whole_from_us;
        all
    }

    /// Adds what is known of another log, but for its requests and names.
    fn add(&mut self, log: Log) {
        self.resolution_us = self.resolution_us.max(log.resolution_us);
        self.response_step_us = self.response_step_us.max(log.response_step_us);
        self.cut_us = self.cut_us.max(log.cut_us);
        let new = |known: &[String], one: &String| !known.contains(one);
        let formats: Vec<_> = log.formats.into_iter().filter(|name| new(&self.formats, name)).collect();
        self.formats.extend(formats);
        let not_read: Vec<_> = log.not_read.into_iter().filter(|what| new(&self.not_read, what)).collect();
        self.not_read.extend(not_read);
        self.lines += log.lines;
        self.bad.iter_mut().zip(log.bad).for_each(|(all, bad)| *all += bad);
        self.first_bad.extend(log.first_bad);
        self.first_bad.truncate(SHOWN);
        self.unsorted += log.unsorted;
        self.largest_step_back_us = self.largest_step_back_us.max(log.largest_step_back_us);
        self.retried += log.retried;
        self.beyond += log.beyond;
        self.sampled = self.sampled.or(log.sampled);
        self.early_us = self.early_us.max(log.early_us);
        let (all, more) = (&mut self.stamps, log.stamps);
        all.ends += more.ends;
        all.ends_untimed += more.ends_untimed;
        all.unknown += more.unknown;
        all.ends_back += more.ends_back;
        all.ends_back_us = all.ends_back_us.max(more.ends_back_us);
    }
}

/// The numbers of these names among `all`, to which the new ones are added.
fn numbered(names: Vec<String>, numbers: &mut HashMap<String, u32>, all: &mut Vec<String>) -> Vec<u32> {
    let number = |name: String| {
        *numbers.entry(name).or_insert_with_key(|name| {
            all.push(name.clone());
            all.len() as u32 - 1
        })
    };
    names.into_iter().map(number).collect()
}
