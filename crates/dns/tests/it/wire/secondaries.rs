//! A real secondary: NSD takes a zone over, signed, is told when it has changed, and answers for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::transfers::TEXT;
use crate::decider::{service, start_with};
use crate::skip::skipped;
use crate::support::free;
use crate::support::until;

const PROGRAM: &str = "/usr/sbin/nsd";

/// Ended when the test does.
struct Nsd(std::process::Child);

impl Drop for Nsd {
    fn drop(&mut self) {
        // It ends its own children when it is asked to.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn dig(port: u16, name: &str, kind: &str) -> String {
    let args = ["@127.0.0.1", "-p", &port.to_string(), "+tries=1", "+time=1", "+short", name, kind];
    let output = Command::new("dig").args(args).output().expect("dig runs");
    String::from_utf8(output.stdout).expect("text")
}

fn zone(serial: u32, mail: &str) -> String {
    format!(
        "$TTL 300\n@ SOA ns.elsewhere.test. root {serial} 3600 900 1209600 60\n@ NS ns.elsewhere.test.\nmail A {mail}\n"
    )
}

/// NSD with its port.
fn nsd(folder: &Path, primary: u16) -> (Nsd, u16) {
    // A port that is free now may be taken by another program before NSD has it: then it ends, and gets another one.
    let mut logs = String::new();
    let started = (0..5).find_map(|attempt| {
        let [address] = free();
        let port = address.port();
        let own = folder.join(format!("nsd-{attempt}"));
        fs::create_dir(&own).expect("a folder");
        let shown = own.display();
        let text = format!(
            "server:\n ip-address: 127.0.0.1@{port}\n username: \"\"\n chroot: \"\"\n zonesdir: \"{shown}\"\n database: \"\"\n \
             logfile: \"{shown}/log\"\n pidfile: \"{shown}/pid\"\n xfrdfile: \"{shown}/xfrd\"\n \
             zonelistfile: \"{shown}/list\"\n xfrdir: \"{shown}\"\n server-count: 1\nremote-control:\n \
             control-enable: no\nkey:\n name: \"transfer.test\"\n algorithm: hmac-sha256\n secret: \"{TEXT}\"\n\
             zone:\n name: \"geo.test\"\n zonefile: \"{shown}/zone\"\n allow-notify: 127.0.0.1 transfer.test\n \
             request-xfr: 127.0.0.1@{primary} transfer.test\n"
        );
        let file = own.join("nsd.conf");
        fs::write(&file, text).expect("written");
        let mut command = Command::new(PROGRAM);
        command.arg("-d").arg("-c").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut nsd = Nsd(command.spawn().expect("nsd starts"));
        let mut is_over = false;
        until("NSD has taken the zone over", || {
            is_over = nsd.0.try_wait().expect("it is ours").is_some();
            is_over || dig(port, "mail.geo.test", "A") == "192.0.2.25\n"
        });
        if is_over {
            logs += &fs::read_to_string(own.join("log")).unwrap_or_default();
        }
        (!is_over).then_some((nsd, port))
    });
    started.unwrap_or_else(|| panic!("NSD ended five times: {logs}"))
}

#[test]
fn nsd_takes_a_zone_over_and_is_told_of_changes() {
    if !Path::new(PROGRAM).exists() {
        return skipped("nsd is not installed");
    }
    let sites = [("c1", "address = [\"10.0.1.1\", \"fd00::1\"]"), ("c2", ""), ("c3", "drain = true")];
    let text = |notify: &str| {
        let zone =
            format!("[[zone]]\nname = \"geo.test\"\nfile = \"zone\"\ntransfer = [\"transfer.test\"]\n{notify}\n");
        let key = "[[key]]\nname = \"transfer.test\"\nsecret_file = \"secret\"\n";
        format!("listen = [\"127.0.0.1:0\"]\n{key}{zone}{}", service("round-robin", "", &sites))
    };
    let files = |folder: &Path| {
        fs::write(folder.join("secret"), TEXT).expect("a file");
        fs::write(folder.join("zone"), zone(7, "192.0.2.25")).expect("a file");
    };
    let running = start_with(&text(""), files);
    let (_nsd, port) = nsd(running.folder.path(), running.dns.addresses()[0].port());
    // It knows no policy: all sites that are not drained, with the TTL of the service.
    let mut www: Vec<String> = dig(port, "www.geo.test", "A").lines().map(String::from).collect();
    www.sort();
    assert_eq!(
        (www, dig(port, "www.geo.test", "AAAA")),
        (vec!["10.0.1.1".into(), "10.0.2.1".into()], "fd00::1\n".into())
    );
    // It would ask again in an hour; a notice makes it ask now.
    fs::write(running.folder.path().join("zone"), zone(8, "192.0.2.26")).expect("a file");
    running.rewrite(&text(&format!("notify = [\"127.0.0.1:{port}\"]")));
    running.dns.reload().expect("the files are right");
    until("NSD has the new zone", || dig(port, "mail.geo.test", "A") == "192.0.2.26\n");
    until("it is said that it was told", || running.lines.text().contains("\"notified\""));
    assert!(running.lines.text().contains("\"serial\":8"), "{}", running.lines.text());
    // What has not changed is told to none.
    running.dns.reload().expect("the files are right");
    assert_eq!(running.lines.text().matches("notified").count(), 1);
}
