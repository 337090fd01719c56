//! Emulated nodes to be calibrated.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sojourn_calibrate::{CalibrateError, Calibration, Settings, Target, calibrate};
use sojourn_part::settings::node::NodeSettings;
use sojourn_stats::Span;
use sojourn_web::Node;

/// Which tests are using the machine.
static MACHINE: RwLock<()> = RwLock::new(());

/// Held by a test that others may run beside: what it measures has a virtual processor of its own.
pub(crate) fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a test that measures a real program, which needs the cores that other tests would take.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// A node that is the server of this model.
pub(crate) fn node(model: &str) -> Node {
    let model = Some(model.to_owned());
    Node::start(NodeSettings { model, ..NodeSettings::new("node") }).expect("a node starts")
}

/// Little time, and no load to judge the model.
pub(crate) fn brief(seed: u64) -> Settings {
    Settings { time: Span(14_000_000_000), judged: Vec::new(), seed, ..Settings::default() }
}

/// Calibrates `/work` of a node with replies of these sizes.
pub(crate) fn measure(node: &Node, sizes: &[u64], settings: &Settings) -> Result<Calibration, CalibrateError> {
    let url = format!("http://{}/work?bytes={{size}}", node.address());
    let target = Target::parse(&url, sizes, None).expect("the node's address is one");
    calibrate(&target, settings, &|_| {}, &Arc::new(AtomicBool::new(false)))
}

/// The fewest of `trials` intervals of this confidence that cover the truth unless something is wrong: fewer have a
/// chance of at most 1e-6.
pub(crate) fn least_covered(trials: u32, confidence: f64) -> u32 {
    let mut below = 0.0;
    let mut chance = (1.0 - confidence).powi(trials as i32);
    for covered in 0..=trials {
        below += chance;
        if below > 1e-6 {
            return covered;
        }
        chance *= f64::from(trials - covered) / f64::from(covered + 1) * confidence / (1.0 - confidence);
    }
    trials
}
