//! The products: where they are, what version they are, how they are configured and started.

use std::fs;
use std::io::{Read, Seek};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::backends::Backends;
use super::{Case, ConformError};
use crate::Version;

/// How long a product may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// A product that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancer {
    /// HAProxy.
    Haproxy,
    /// nginx.
    Nginx,
    /// Envoy.
    Envoy,
}

impl FromStr for Balancer {
    type Err = String;

    fn from_str(text: &str) -> Result<Balancer, String> {
        match text.to_ascii_lowercase().as_str() {
            "haproxy" => Ok(Balancer::Haproxy),
            "nginx" => Ok(Balancer::Nginx),
            "envoy" => Ok(Balancer::Envoy),
            _ => Err("it is haproxy, nginx or envoy".into()),
        }
    }
}

impl Balancer {
    /// Its name, as its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Balancer::Haproxy => "HAProxy",
            Balancer::Nginx => "nginx",
            Balancer::Envoy => "Envoy",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Balancer::Haproxy => "haproxy",
            Balancer::Nginx => "nginx",
            Balancer::Envoy => "envoy",
        }
    }

    /// The policy of a rule of a version.
    pub(super) fn policy(self, version: &str, rule: &str) -> String {
        let own = match self {
            // Its own numbers, where they begin at the same one each time.
            Balancer::Haproxy if rule.starts_with("random") && is_before(version, 2, 7) => ", numbers = own",
            Balancer::Envoy if matches!(rule, "ring-hash" | "maglev") => ", key = hash",
            _ => "",
        };
        format!("{}({version}, {rule}{own})", self.word())
    }

    /// Whether each choice can be foretold: it draws nothing, or numbers that are known, and reads no letters of a
    /// path.
    pub(super) fn is_foretold(self, version: &str, rule: &str) -> bool {
        match (self, rule) {
            (Balancer::Haproxy, "leastconn") => is_before(version, 3, 2),
            (Balancer::Haproxy, "default") => is_before(version, 3, 3),
            (Balancer::Haproxy, "roundrobin" | "first") => true,
            (Balancer::Haproxy, rule) if rule.starts_with("random") => is_before(version, 2, 7),
            (Balancer::Haproxy, rule) => rule.starts_with("source"),
            (Balancer::Nginx, rule) => matches!(rule, "round-robin" | "least_conn" | "ip_hash"),
            (Balancer::Envoy, rule) => matches!(rule, "ring-hash" | "maglev"),
        }
    }

    /// Whether it chooses by the client's address.
    pub(super) fn reads_addresses(self, rule: &str) -> bool {
        match self {
            Balancer::Haproxy => rule.starts_with("source"),
            Balancer::Nginx => rule == "ip_hash",
            Balancer::Envoy => false,
        }
    }

    /// The program, and its version.
    pub(super) fn find(self, program: Option<&Path>) -> Result<(PathBuf, String), ConformError> {
        let program = program.map_or_else(|| found(self.word()), |path| path.is_file().then(|| path.to_owned()));
        let program = program.ok_or_else(|| ConformError::Missing(self.word().into()))?;
        let flag = if self == Balancer::Envoy { "--version" } else { "-v" };
        let output = Command::new(&program).arg(flag).output();
        let output = output.map_err(|error| ConformError::System("ask for the version", error))?;
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        let version = match self {
            Balancer::Haproxy => said.split("HAProxy version ").nth(1),
            Balancer::Nginx => said.split("nginx/").nth(1),
            Balancer::Envoy => said.split("version: ").nth(1).and_then(|rest| rest.split('/').nth(1)),
        };
        let version: Option<String> =
            version.map(|text| text.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect());
        match version.filter(|version| Version::from_str(version).is_ok()) {
            Some(version) => Ok((program, version)),
            None => Err(ConformError::Other {
                program: program.display().to_string(),
                product: self.name(),
                said: said.lines().next().unwrap_or("it says nothing").to_owned(),
            }),
        }
    }

    /// Its configuration: one process with one thread, no checks, no retries, a connection for each request.
    pub(super) fn configuration(
        self,
        case: &Case,
        listen: &str,
        servers: &[String],
        folder: &str,
    ) -> Result<String, ConformError> {
        let weighted = servers.iter().zip(&case.weights);
        Ok(match self {
            Balancer::Haproxy => {
                let balance = match case.rule.as_str() {
                    "default" => String::new(),
                    "source" | "uri" => format!("  balance {}\n  hash-type consistent\n", case.rule),
                    "source, avalanche = false" => "  balance source\n  hash-type consistent sdbm\n".into(),
                    rule => format!("  balance {rule}\n"),
                };
                let most = case.at_most().map_or(String::new(), |most| format!(" maxconn {most}"));
                let server = |(number, (address, weight)): (usize, (&String, &u32))| {
                    format!("  server s{} {address} weight {weight}{most}\n", number + 1)
                };
                let servers: String = weighted.enumerate().map(server).collect();
                format!(
                    "global\n  nbthread 1\n  maxconn 2000\ndefaults\n  mode http\n  option http-server-close\n  \
                     http-reuse never\n  retries 0\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
                     frontend front\n  bind {listen}\n  default_backend servers\n\
                     backend servers\n{balance}{servers}"
                )
            }
            Balancer::Nginx => {
                let method = match case.rule.as_str() {
                    "round-robin" => String::new(),
                    "hash consistent" => "    hash $request_uri consistent;\n".into(),
                    rule => format!("    {rule};\n"),
                };
                let server =
                    |(address, weight): (&String, &u32)| format!("    server {address} weight={weight} max_fails=0;\n");
                let servers: String = weighted.map(server).collect();
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|part| format!("  {part}_temp_path \"{folder}/{part}\";\n"))
                    .concat();
                format!(
                    "daemon off;\nmaster_process off;\npid \"{folder}/nginx.pid\";\nerror_log stderr error;\n\
                     events {{ worker_connections 2000; }}\nhttp {{\n  access_log off;\n{temporary}  upstream servers \
                     {{\n{method}{servers}  }}\n  server {{\n    listen {listen};\n    location / {{\n      proxy_pass \
                     http://servers;\n      proxy_next_upstream off;\n    }}\n  }}\n}}\n"
                )
            }
            Balancer::Envoy => envoy(case, listen, servers)?,
        })
    }
}

/// A bootstrap with one listener and one cluster, as JSON, which is YAML too.
fn envoy(case: &Case, listen: &str, servers: &[String]) -> Result<String, ConformError> {
    let method = match case.rule.as_str() {
        "round-robin" => "ROUND_ROBIN",
        "least-request" => "LEAST_REQUEST",
        "random" => "RANDOM",
        "ring-hash" => "RING_HASH",
        "maglev" => "MAGLEV",
        rule => {
            return Err(ConformError::Rule(format!(
                "`{rule}` cannot be asked of Envoy here: round-robin, least-request, random, ring-hash and maglev can"
            )));
        }
    };
    let address = |text: &str| {
        let (host, port) = text.rsplit_once(':').unwrap_or((text, "0"));
        format!("{{\"socket_address\": {{\"address\": \"{host}\", \"port_value\": {port}}}}}")
    };
    let endpoint = |(server, weight): (&String, &u32)| {
        format!("{{\"endpoint\": {{\"address\": {}}}, \"load_balancing_weight\": {weight}}}", address(server))
    };
    let endpoints: Vec<String> = servers.iter().zip(&case.weights).map(endpoint).collect();
    let (endpoints, front) = (endpoints.join(",\n        "), address(listen));
    Ok(format!(
        r#"{{
  "static_resources": {{
    "listeners": [{{
      "address": {front},
      "filter_chains": [{{"filters": [{{
        "name": "http",
        "typed_config": {{
          "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
          "stat_prefix": "front",
          "http_filters": [{{"name": "router", "typed_config": {{
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}}}],
          "route_config": {{"virtual_hosts": [{{"name": "all", "domains": ["*"], "routes": [{{
            "match": {{"prefix": "/"}},
            "route": {{"cluster": "servers", "timeout": "60s",
              "hash_policy": [{{"header": {{"header_name": "x-key"}}}}]}}}}]}}]}}
        }}
      }}]}}]
    }}],
    "clusters": [{{
      "name": "servers", "type": "STATIC", "lb_policy": "{method}", "connect_timeout": "5s",
      "load_assignment": {{"cluster_name": "servers", "endpoints": [{{"lb_endpoints": [
        {endpoints}]}}]}}
    }}]
  }}
}}
"#
    ))
}

/// Starts that are tried.
const TRIES: usize = 3;

/// A product that runs, with a folder of its own; dropping it ends both.
pub(super) struct Running {
    child: Child,
    product: &'static str,
    address: SocketAddr,
    /// What it writes.
    said: fs::File,
    /// Goes when it has ended.
    _folder: tempfile::TempDir,
}

impl Running {
    /// Starts it on a free port. Another program may take the port before it does, so it is tried again.
    pub(super) fn start(case: &Case, program: &Path, backends: &Backends) -> Result<Running, ConformError> {
        let mut begun = Running::begin(case, program, backends);
        for _ in 1..TRIES {
            if !matches!(begun, Err(ConformError::Start { .. })) {
                break;
            }
            begun = Running::begin(case, program, backends);
        }
        begun
    }

    fn begin(case: &Case, program: &Path, backends: &Backends) -> Result<Running, ConformError> {
        let folder = tempfile::Builder::new().prefix("sojourn-conform-").tempdir();
        let folder = folder.map_err(|error| ConformError::System("make a folder", error))?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| ConformError::System("find a free port", error))?;
        let place = folder.path().display().to_string();
        let text = case.balancer.configuration(case, &address.to_string(), &backends.names(), &place)?;
        let file = folder.path().join("configuration");
        fs::write(&file, text).map_err(|error| ConformError::System("write the configuration", error))?;
        // What is appended is so whatever was read of it.
        let said = fs::OpenOptions::new().create_new(true).append(true).read(true).open(folder.path().join("said"));
        let said = said.and_then(|said| Ok((said.try_clone()?, said)));
        let (said, own) = said.map_err(|error| ConformError::System("write what the product says", error))?;
        // It ends with us, whatever becomes of us.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        match case.balancer {
            Balancer::Haproxy => command.args(["-db", "-f"]).arg(&file),
            Balancer::Nginx => command.args(["-p", &place, "-e", "stderr", "-c"]).arg(&file),
            Balancer::Envoy => {
                // Envoy reads a file by what its name ends with.
                let json = folder.path().join("configuration.json");
                fs::rename(&file, &json).map_err(|error| ConformError::System("write the configuration", error))?;
                let own = ["--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error", "-c"];
                command.args(own).arg(&json)
            }
        };
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
        let child = started.map_err(|error| ConformError::System("start setpriv", error))?;
        let mut running = Running { child, product: case.balancer.name(), address, said: own, _folder: folder };
        running.wait()?;
        Ok(running)
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has become of it after so many choices.
    #[allow(clippy::disallowed_methods, reason = "its end is told a moment after its connections are")]
    pub(super) fn broken(&mut self, choices: usize) -> ConformError {
        let is_over = (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            matches!(self.child.try_wait(), Ok(Some(_)))
        });
        let how = if is_over { "ended" } else { "gave no answer" };
        ConformError::Broken { product: self.product, how, choices, said: self.said() }
    }

    #[allow(clippy::disallowed_methods, reason = "how long a product takes to start is no result")]
    fn wait(&mut self) -> Result<(), ConformError> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(ConformError::Start { product: self.product, said: self.said() })
    }

    /// The last line that it wrote.
    fn said(&mut self) -> String {
        let mut said = Vec::new();
        _ = self.said.rewind();
        _ = self.said.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether a version is older than `major.minor`; one that cannot be read is not.
fn is_before(version: &str, major: u32, minor: u32) -> bool {
    Version::from_str(version).is_ok_and(|version| version < Version::new(major, minor))
}
