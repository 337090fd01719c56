//! The machine that a run ran on, and the one wall clock that the laboratory reads (for the run folder's date only).

use std::fs;
use std::time::SystemTime;

/// Facts about this machine, as names and texts.
pub fn facts() -> Vec<(String, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map_or("unknown".to_string(), |(_, value)| value.trim().to_string())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    vec![
        ("processor".into(), field(&read("/proc/cpuinfo"), "model name")),
        ("cores".into(), cores.to_string()),
        ("memory".into(), field(&read("/proc/meminfo"), "MemTotal")),
        ("kernel".into(), read("/proc/sys/kernel/osrelease").trim().to_string()),
        (
            "clock source".into(),
            read("/sys/devices/system/clocksource/clocksource0/current_clocksource").trim().to_string(),
        ),
    ]
}

/// Memory (bytes) that could be used now, as the kernel estimates it; none where it does not.
pub fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The date, RFC 3339 in UTC.
#[allow(clippy::disallowed_methods, reason = "the run folder says when it was made; nothing is computed from it")]
pub fn date() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
