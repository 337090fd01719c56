//! What the system says of a process.

/// User and system time of a process (s).
pub(crate) fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    // Behind the name, which may hold anything, in parentheses; utime and stime are fields 14 and 15 (proc(5)).
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 =
        [fields[11], fields[12]].iter().map(|field| field.parse::<f64>().expect("a number of ticks")).sum();
    // USER_HZ is 100 wherever Linux runs today.
    ticks / 100.0
}
