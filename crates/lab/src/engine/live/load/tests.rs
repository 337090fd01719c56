//! What the load generator is told, without a socket.

use std::path::Path;

use super::*;

/// Open arrivals have as many connections as they need, unless the file says a number.
#[test]
fn open_arrivals_have_as_many_connections_as_they_need() {
    let connections = |live: &str| {
        let text = format!(
            "name = \"x\"\n[workload]\nkind = \"open\"\narrivals = \"exponential(rate = 10 /s)\"\n[system.server]\n\
             discipline = \"ps\"\ndemand = \"10 ms\"\n[run]\n{live}\n"
        );
        let experiment = Spec::parse(&text, Path::new("x.toml")).unwrap();
        let asked = experiment.system().expect("it asks about a system");
        let entrance = Entrances::One(SocketAddr::from(([127, 0, 0, 1], 1)));
        load(&experiment, asked, &entrance, None, &None).unwrap().connections_max
    };
    assert_eq!(connections(""), AS_NEEDED);
    assert_eq!(connections("live = { connections = 64 }"), 64);
}
