//! What is asked for: the files of a real program or the emulated work of a node, and which of it is told apart.

use std::sync::Arc;

use sojourn_load::Targets;
use sojourn_traffic::{Closed, Open, Site, Sizes, Workload};

use crate::spec::SystemQuestion;

/// What is asked for: files of a real program, emulated work of a node.
pub(super) fn targets(asked: &SystemQuestion) -> Targets {
    match asked.program {
        Some(_) => Targets::Paths(asked.workload.objects().to_vec()),
        None => Targets::Work,
    }
}

/// What to ask of a server that is to have no work: nothing of a node, the smallest file of a program.
pub(in crate::engine::live) fn probe_targets(asked: &SystemQuestion) -> Targets {
    if asked.program.is_none() {
        return Targets::Work;
    }
    let site = site(asked);
    let smallest = site.files().iter().zip(site.paths()).min_by_key(|(file, _)| file.size);
    Targets::Fixed(smallest.map_or_else(|| "/".into(), |(_, path)| path.clone()))
}

/// The files of a workload that has some: every one that a real program is to serve has.
pub(in crate::engine::live) fn site(asked: &SystemQuestion) -> Arc<Site> {
    match &asked.workload {
        Workload::Sessions(sessions) => Arc::clone(&sessions.site),
        Workload::Open(Open { sizes, .. }) | Workload::Closed(Closed { sizes, .. }) => files_of(sizes),
        Workload::Trace(traced) => files_of(&traced.sizes),
        Workload::Replay(_) => unreachable!("the experiment was checked when it was read"),
    }
}

fn files_of(sizes: &Sizes) -> Arc<Site> {
    Arc::new(sizes.site().expect("the experiment was checked when it was read"))
}

/// The classes that requests name: of a workload without classes they name none.
pub(super) fn named_classes(workload: &Workload) -> Vec<String> {
    match workload.classes() {
        classes if classes.len() > 1 => classes.into_iter().map(String::from).collect(),
        _ => Vec::new(),
    }
}

/// The sizes of the files, where there are few enough to tell their response times apart.
pub(in crate::engine::live) fn counted_files(asked: &SystemQuestion) -> Option<Vec<u64>> {
    let is_plain = !matches!(asked.workload, Workload::Sessions(_));
    let files = (asked.program.is_some() && is_plain).then(|| site(asked))?;
    let sizes: Vec<u64> = files.files().iter().map(|file| file.size).collect();
    (2..=16).contains(&sizes.len()).then_some(sizes)
}

/// The classes of requests whose response times are told apart.
pub(in crate::engine::live) fn counted_classes(asked: &SystemQuestion) -> Vec<String> {
    if matches!(asked.workload, Workload::Sessions(_)) { Vec::new() } else { named_classes(&asked.workload) }
}
