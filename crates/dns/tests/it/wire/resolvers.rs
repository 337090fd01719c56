//! A real resolver in front: unbound, with random case of letters (0x20), minimised names and its own checks.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::open;
use super::sockets::server;
use crate::skip::skipped;
use crate::support::free;
use crate::support::until;

/// Ended when the test does.
struct Unbound(std::process::Child);

impl Drop for Unbound {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn unbound_resolves_what_the_zone_has() {
    if !Path::new("/usr/sbin/unbound").exists() {
        return skipped("unbound is not installed");
    }
    let server = server(open());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("unbound.conf");
    let text = |port: u16| {
        format!(
            "server:\n chroot: \"\"\n username: \"\"\n directory: \"{}\"\n pidfile: \"\"\n use-syslog: no\n \
             do-daemonize: no\n interface: 127.0.0.1\n port: {port}\n num-threads: 1\n module-config: \"iterator\"\n \
             do-not-query-localhost: no\n use-caps-for-id: yes\n qname-minimisation: yes\n \
             qname-minimisation-strict: yes\nremote-control:\n control-enable: no\n\
             stub-zone:\n name: \"example.org\"\n stub-addr: 127.0.0.1@{}\n",
            folder.path().display(),
            server.addresses()[0].port()
        )
    };
    // A port that is free now may be taken by another program before unbound has it: then it ends, and gets another one.
    let (_unbound, port) = (0..5)
        .find_map(|_| {
            let [address] = free();
            let port = address.port();
            fs::write(&file, text(port)).expect("written");
            let mut command = Command::new("/usr/sbin/unbound");
            command.arg("-d").arg("-c").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut unbound = Unbound(command.spawn().expect("unbound starts"));
            let answers = || {
                let args =
                    ["@127.0.0.1", "-p", &port.to_string(), "+tries=1", "+time=2", "www.example.org", "A", "+short"];
                let output = Command::new("dig").args(args).output().expect("dig runs");
                String::from_utf8_lossy(&output.stdout).contains("198.51.100")
            };
            let mut is_over = false;
            until("unbound answers", || {
                is_over = unbound.0.try_wait().expect("it is ours").is_some();
                is_over || answers()
            });
            (!is_over).then_some((unbound, port))
        })
        .expect("one of five ports is free");
    let port = port.to_string();
    let dig = |name: &str, kind: &str, flag: &str| {
        let flags = ["@127.0.0.1", "-p", &port, "+tries=1", "+time=2", flag, name, kind];
        String::from_utf8(Command::new("dig").args(flags).output().expect("dig runs").stdout).expect("text")
    };
    for (name, kind, expected) in [
        ("www.example.org", "AAAA", "2001:db8:1::2\n"),
        ("example.org", "A", "198.51.100.3\n"),
        ("to-wild.q.example.org", "A", ""),
        ("y.x.wild.example.org", "A", "192.0.2.77\n"),
        // Minimised names ask for those between too, which exist.
        ("a.b.c.example.org", "A", "192.0.2.1\n"),
        ("x.deep.below.example.org", "A", "192.0.2.99\n"),
        ("to-www.example.org", "AAAA", "www.example.org.\n2001:db8:1::2\n"),
        ("_sip._tcp.example.org", "SRV", "0 5 5060 mail.example.org.\n"),
        ("example.org", "CAA", "0 issue \"ca.example.net\"\n"),
    ] {
        assert_eq!(dig(name, kind, "+short"), expected, "{name} {kind}");
    }
    let mut mail: Vec<String> = dig("alias.example.org", "A", "+short").lines().map(String::from).collect();
    mail.sort();
    assert_eq!(mail, ["192.0.2.25", "192.0.2.26", "mail.example.org."]);
    assert!(dig("nowhere.example.org", "A", "+comments").contains("status: NXDOMAIN"));
    let empty = dig("mail.example.org", "TXT", "+comments");
    assert!(empty.contains("status: NOERROR") && empty.contains("ANSWER: 0"), "{empty}");
    assert!(dig("down.example.org", "A", "+comments").contains("status: SERVFAIL"));
    assert_eq!(dig("big.example.org", "TXT", "+short").lines().count(), 5);
    let counts = server.counts();
    assert_eq!((counts.malformed, counts.replies.get("FORMERR")), (0, None), "{counts:?}");
}
