//! What does the load daemon cost? Its processor time beside an nginx that logs 500 requests a second, with every source of
//! numbers and the usual times; and the bytes of its reports against those of the replies.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench loadd`. Half a minute; leave the machine alone. Needs `nginx`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sojourn_bed::Child;
use sojourn_serve::program::Program;
use sojourn_serve::report::{Key, Receiver};

mod bars;

use bars::Bars;

/// Share of a core.
const COST_MOST: f64 = 0.005;
/// Bytes of reports per byte of replies.
const TRAFFIC_MOST: f64 = 0.01;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("1k"), "x".repeat(1024))?;
    let server = Program::parse("nginx(access_log = true)", folder.path())?.start()?;
    let key = folder.path().join("key");
    std::fs::write(&key, "a key of benchmarks")?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let (to, port) = (socket.local_addr()?.to_string(), server.address().port().to_string());
    let (key_path, log) = (key.display().to_string(), server.access_log_path().display().to_string());
    let program = Path::new(env!("CARGO_BIN_EXE_sojourn"));
    let flags = ["loadd", "--child", "--name", "a", "--to", &to, "--key", &key_path, "--client-rates", "4 s"];
    let sources = ["--port", &port, "--workers", "nginx", "--log", &log];
    let daemon = Child::spawn(program, [&flags[..], &sources].concat(), Duration::from_secs(20))?;
    // A receiver that answers challenges: without one the daemon has less to do.
    std::thread::spawn(move || {
        let mut receiver = Receiver::new(Key::new(b"a key of benchmarks"), &["a".into()], sojourn_serve::now());
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = receiver.receive(&buffer[..length], sojourn_serve::now()).answer {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    let url = format!("http://{}/1k", server.address());
    let load =
        Command::new(program).args(["load", &url, "--rate", "500 /s", "--duration", "20 s", "--json"]).output()?;
    let load: serde_json::Value = serde_json::from_slice(&load.stdout)?;
    let requests = load["counts"]["ok"].as_f64().ok_or("the load has no count")?;
    let told = daemon.stop().pop().ok_or("the daemon said nothing")?;
    let number = |name: &str| told[name].as_f64().ok_or(format!("the daemon did not say {name}: {told}"));
    let (cpu_s, elapsed_s, bytes) = (number("cpu_s")?, number("elapsed_s")?, number("bytes")?);
    println!("{} looks, {} reports, {} of rates, {bytes} bytes", told["looks"], told["reports"], told["rates"]);
    println!("share of a core {:.4}, bytes per byte of replies {:.4}", cpu_s / elapsed_s, bytes / (requests * 1024.0));
    let mut bars = Bars::default();
    bars.at_least("requests answered", requests, 9_900.0);
    bars.at_most("cost of the daemon (thousandths of a core)", cpu_s / elapsed_s * 1e3, COST_MOST * 1e3);
    bars.at_most("bytes of reports per 100 bytes of replies", bytes / (requests * 1024.0) * 1e2, TRAFFIC_MOST * 1e2);
    bars.judge()
}
