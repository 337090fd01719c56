//! nginx for the benchmarks, with one worker, on the second core.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::Result;

/// An nginx of our own in a folder of its own; gone with this value.
pub(crate) struct Nginx {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// Serves what `fill` puts into the folder that it is given, with this access log, as nginx's `access_log` has it; a path is
    /// taken from a folder of its own.
    pub(crate) fn start(log: &str, fill: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<Nginx> {
        let folder = tempfile::tempdir()?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        fill(&folder.path().join("site"))?;
        std::fs::write(folder.path().join("nginx.conf"), config(folder.path(), address, log))?;
        let mut child = Command::new("taskset")
            // It ends with the benchmark, whatever ends that.
            .args(["-c", "1", "setpriv", "--pdeathsig", "KILL", "nginx", "-p"])
            .arg(folder.path())
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .stderr(Stdio::piped())
            .spawn()?;
        for _ in 0..10_000 {
            if TcpStream::connect(address).is_ok() {
                return Ok(Nginx { child, address, _folder: folder });
            }
            if child.try_wait()?.is_some() {
                break;
            }
            std::thread::yield_now();
        }
        let _ = child.kill();
        let mut why = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut why)?;
        }
        Err(format!("nginx did not start: {why}").into())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One process, so that there is none left when it is killed; every connection kept for any number of requests.
fn config(folder: &Path, address: SocketAddr, log: &str) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 8192; }}
http {{
  access_log {log}; keepalive_requests 100000000; sendfile on; tcp_nopush on; open_file_cache max=4000;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen {address}; root {folder}/site; }}
}}
"
    )
}
