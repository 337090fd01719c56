//! A live run told apart: by the servers that answered, by files, and by classes of requests.

use sojourn_model::system::server_name;
use sojourn_stats::{Estimate, Measure, Time, measure};

use super::load::{counted_classes, counted_files};
use crate::spec::{Spec, SystemQuestion};

/// The part of the requests that each server answered; of objects, by their page, where users browse.
pub(super) fn shares(report: &sojourn_load::Report, servers: usize) -> Vec<Measure> {
    if let Some(objects) = &report.objects {
        return object_shares(report, objects, servers);
    }
    let total: u64 = report.backends.iter().map(|(_, count)| count).sum();
    if !(2..=16).contains(&servers) || total == 0 {
        return Vec::new();
    }
    let share = |index: usize| {
        let name = server_name(index);
        let count = report.backends.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count);
        Measure::new(format!("share_{}", index + 1), "1", measure::ratio(count, total))
    };
    (0..servers).map(share).collect()
}

fn object_shares(report: &sojourn_load::Report, objects: &sojourn_load::Objects, servers: usize) -> Vec<Measure> {
    let total: u64 = objects.backends.iter().map(|backend| backend.count).sum();
    if !(2..=16).contains(&servers) || total == 0 {
        return Vec::new();
    }
    let place = |index: usize| report.backends.iter().position(|(of, _)| *of == server_name(index));
    let mut measures = Vec::new();
    for index in 0..servers {
        let backend = place(index).and_then(|place| objects.backends.get(place));
        let share = measure::ratio(backend.map_or(0, |backend| backend.count), total);
        measures.push(Measure::new(format!("share_{}", index + 1), "1", share));
        if let Some(backend) = backend {
            let mean = backend.response_time_mean.clone();
            measures.push(Measure::new(format!("response_time_mean_{}", index + 1), "s", mean));
        }
    }
    measures
}

/// The mean response time of each file, in the order of the file list.
pub(super) fn file_means(experiment: &Spec, asked: &SystemQuestion, report: &sojourn_load::Report) -> Vec<Measure> {
    let Some(sizes) = counted_files(asked) else { return Vec::new() };
    let mean = |(index, size): (usize, &u64)| {
        let mean = mean_of(experiment, report, |record| record.bytes == *size)?;
        Some(Measure::new(format!("response_time_mean_file_{}", index + 1), "s", mean))
    };
    sizes.iter().enumerate().filter_map(mean).collect()
}

/// The mean response time of each class of requests, where there are several.
pub(super) fn class_means(experiment: &Spec, asked: &SystemQuestion, report: &sojourn_load::Report) -> Vec<Measure> {
    let mean = |(number, name): (usize, &String)| {
        let mean = mean_of(experiment, report, |record| usize::from(record.class) == number)?;
        Some(Measure::new(format!("response_time_mean_{name}"), "s", mean))
    };
    counted_classes(asked).iter().enumerate().filter_map(mean).collect()
}

/// The mean response time (s) of those requests that `are_meant`; none where no record was kept.
fn mean_of(
    experiment: &Spec,
    report: &sojourn_load::Report,
    are_meant: impl Fn(&sojourn_load::Record) -> bool,
) -> Option<Estimate> {
    let warm_up = Time::ZERO + experiment.run.live.warm_up;
    let counts = |record: &&sojourn_load::Record| {
        record.planned >= warm_up && record.outcome == sojourn_load::Outcome::Ok && are_meant(record)
    };
    let found = report.records.as_ref()?.iter().filter(counts);
    let times: Vec<f64> = found.map(|record| (record.done - record.planned).as_secs_f64()).collect();
    Some(measure::mean_of_series(&times))
}
