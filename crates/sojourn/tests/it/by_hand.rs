//! The live parts, each alone, against a real web server.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::skip::skipped;
use crate::sojourn::{PROGRAM, await_that, file, sojourn, stderr, stdout};

/// nginx in `folder`, on a free port.
struct Nginx {
    process: Child,
    port: u16,
}

impl Nginx {
    fn start(folder: &Path) -> Option<Nginx> {
        if Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_err() {
            skipped("nginx is not installed");
            return None;
        }
        // Free a moment ago; should another program take it meanwhile, nginx ends and the test says so.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
            .concat();
        let configuration = file(
            folder,
            "nginx.conf",
            format!(
                "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\nevents {{}}\n\
                 http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {at}; }} }}\n"
            ),
        );
        let process = Command::new("nginx").args(["-c", &configuration]).stderr(Stdio::null()).spawn().unwrap();
        let server = Nginx { process, port };
        await_that("nginx", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(server)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn load_through_the_gateway_to_nginx() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "index.html", "x".repeat(1000));
    let Some(nginx) = Nginx::start(folder.path()) else { return };
    let backend = format!("nginx=127.0.0.1:{}", nginx.port);
    let arguments = ["gateway", "--child", "--backend", &backend, "--policy", "round-robin"];
    let gateway = sojourn_bed::Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap();
    let url = format!("http://127.0.0.1:{}/index.html", gateway.port());
    let output = sojourn(&["load", &url, "--rate", "200 /s", "--requests", "200", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&report["counts"]["planned"], &report["counts"]["ok"]), (&200.into(), &200.into()), "{report}");
    let told = gateway.stop().pop().unwrap();
    assert_eq!(told["backends"][0]["completed"], 200, "{told}");
    assert_eq!(told["backends"][0]["bytes"], 200_000, "{told}");
}

#[test]
fn a_node_serves_files_bytes_and_work() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "hello.txt", "hello");
    let files = folder.path().display().to_string();
    let arguments = ["node", "--child", "--files", &files, "--model", "discipline = \"ps\"\ndemand = \"1 ms\""];
    let node = sojourn_bed::Child::spawn(Path::new(PROGRAM), arguments, Duration::from_secs(20)).unwrap();
    for (path, bytes) in [("/hello.txt", 5), ("/bytes/12345", 12345), ("/work?bytes=100", 100)] {
        let url = format!("http://127.0.0.1:{}{path}", node.port());
        let output = sojourn(&["load", &url, "--requests", "5", "--connections", "1", "--json"]);
        let report: Value =
            serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        assert_eq!(report["counts"]["ok"], 5, "{path}: {report}");
        assert_eq!(report["bytes"], 5 * bytes, "{path}: {report}");
    }
}
