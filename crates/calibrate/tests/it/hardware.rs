//! This machine becomes a hardware file, which a broker and another such measurement read.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sojourn_calibrate::{CalibrateError, Hardware, measure_hardware};
use sojourn_model::Server;
use sojourn_web::node::hardware_of;

use crate::support::beside_others;

fn measured(folder: &Path, like: Option<&Path>) -> Result<Hardware, CalibrateError> {
    measure_hardware(folder, like, &|_| {}, &Arc::new(AtomicBool::new(false)))
}

#[test]
fn what_is_measured_is_what_a_broker_reads() {
    let _machine = beside_others();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let found = measured(folder.path(), None).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the file is gone");
    assert!(found.speed() == 1.0 && found.rounds_per_s.value > 1e6, "{found:?}");
    // A checkout may be in memory.
    let disk = found.disk_bytes_per_s.map_or(0.0, |rate| rate.value);
    assert!(disk > 0.0 || found.notes[0].contains("is in memory"), "{found:?}");
    let read = Server::from_toml(&found.to_toml()).unwrap();
    let hardware = hardware_of(&read);
    assert_eq!((read.cores, hardware.speed), (found.cores, 1.0));
    assert!((hardware.disk_rate - disk).abs() <= 1.0, "{hardware:?} {disk}");
    assert_eq!(hardware.net_rate, found.net_bytes_per_s.unwrap_or(0.0));
    // A reference whose core does a quarter of the rounds: this one is four times as fast, whatever its own drift is.
    let slow = folder.path().join("slow.toml");
    let quarter = found.rounds_per_s.value / 4.0;
    fs::write(&slow, format!("[measured]\nrounds_per_s = [{quarter:?}, 0.0, 0.0]\n")).unwrap();
    let like = measured(folder.path(), Some(&slow)).unwrap();
    assert!((like.speed() / (4.0 * like.rounds_per_s.value / found.rounds_per_s.value) - 1.0).abs() < 1e-9, "{like:?}");
    let read = Server::from_toml(&like.to_toml()).unwrap();
    assert!((read.speed / like.speed() - 1.0).abs() < 1e-3, "{} in the file", read.speed);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let _machine = beside_others();
    let in_memory = measured(Path::new("/dev/shm"), None).unwrap();
    assert_eq!(in_memory.disk_bytes_per_s, None);
    assert!(in_memory.notes[0].contains("/dev/shm is in memory"), "{:?}", in_memory.notes);
    assert!(in_memory.to_toml().contains("# /dev/shm is in memory") && !in_memory.to_toml().contains("disk ="));
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let other = folder.path().join("other.toml");
    fs::write(&other, "cores = 1\n").unwrap();
    let error = |folder: &Path, like: Option<&Path>| measured(folder, like).expect_err("refused").to_string();
    assert!(error(folder.path(), Some(&other)).contains("other.toml: it is no hardware file"));
    fs::write(&other, "[measured]\nrounds_per_s = [0.0, 0.0, 0.0]\n").unwrap();
    assert!(error(folder.path(), Some(&other)).contains("not above 0"));
    assert!(error(&folder.path().join("none"), None).contains("none: No such file"));
    let cancelled = measure_hardware(folder.path(), None, &|_| {}, &Arc::new(AtomicBool::new(true)));
    assert!(matches!(cancelled, Err(CalibrateError::Interrupted)));
}
