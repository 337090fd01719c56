//! What does the load daemon cost? Its processor time beside an nginx that logs 500 requests a second, with every source of
//! numbers and the usual times, without and with 5,000 idle connections; and the bytes of its reports against those of the
//! replies. Connections that are idle are no overload.
//!
//! `cargo bench --profile dev -p sojourn-cli --bench loadd`. A minute; leave the machine alone. Needs `nginx`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sojourn_bed::Child;
use sojourn_part::program::Program;
use sojourn_report::{Key, Receiver};

mod bars;

use bars::Bars;

/// Share of a core.
const COST_MOST: f64 = 0.005;
/// Bytes of reports per byte of replies.
const TRAFFIC_MOST: f64 = 0.01;

/// Connections that are open and ask for nothing.
const IDLE: usize = 5_000;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("1k"), "x".repeat(1024))?;
    let mut bars = Bars::default();
    for (idle, name) in [(0, "500 requests/s"), (IDLE, "and 5,000 idle connections")] {
        let Cost { share, bytes_share, requests, alarms } = cost(folder.path(), idle)?;
        println!("{name}: share of a core {share:.4}, bytes per byte of replies {bytes_share:.4}");
        bars.at_least(&format!("requests answered, {name}"), requests, 9_900.0);
        bars.at_most(&format!("cost (thousandths of a core), {name}"), share * 1e3, COST_MOST * 1e3);
        bars.at_most(
            &format!("bytes of reports per 100 bytes of replies, {name}"),
            bytes_share * 1e2,
            TRAFFIC_MOST * 1e2,
        );
        bars.at_most(&format!("false alarms, {name}"), alarms, 0.0);
    }
    bars.judge()
}

/// What a daemon cost and did beside one load.
struct Cost {
    /// Of a core.
    share: f64,
    /// Bytes of its reports per byte of replies.
    bytes_share: f64,
    requests: f64,
    alarms: f64,
}

fn cost(folder: &Path, idle: usize) -> Result<Cost> {
    let server = Program::parse("nginx(access_log = true, keep_alive = 10 min)", folder)?.start()?;
    let held = hold(server.address(), idle)?;
    let key = folder.join("key");
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
        let mut receiver = Receiver::new(Key::new(b"a key of benchmarks"), &["a".into()], sojourn_part::now());
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = receiver.receive(&buffer[..length], sojourn_part::now()).answer {
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
    drop(held);
    let number = |name: &str| told[name].as_f64().ok_or(format!("the daemon did not say {name}: {told}"));
    println!(
        "{} looks, {} reports, {} of rates, {} bytes",
        told["looks"], told["reports"], told["rates"], told["bytes"]
    );
    Ok(Cost {
        share: number("cpu_s")? / number("elapsed_s")?,
        bytes_share: number("bytes")? / (requests * 1024.0),
        requests,
        alarms: number("alarms")?,
    })
}

/// So many connections, each of which has had one answer.
fn hold(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let mut held = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /1k HTTP/1.1\r\nhost: bench\r\n\r\n")?;
        let mut reply = [0; 4096];
        let mut length = 0;
        while !reply[..length].ends_with(&[b'x'; 1024]) {
            match stream.read(&mut reply[length..])? {
                0 => return Err("the server closes connections".into()),
                read => length += read,
            }
        }
        held.push(stream);
    }
    Ok(held)
}
