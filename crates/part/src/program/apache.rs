//! Apache, in three ways.
//!
//! One process per connection (`mpm_prefork`) is the Apache of the published stress tests (Zhang 2002, Table 4.2: Apache
//! 1.3.12, which knew no other way; Fujita 2000, section 2.2: helpers), and its limit on workers *is* the model's number
//! of connections: one more waits in the listen backlog until a worker is free.
//!
//! Prefork starts workers slowly: 1 in the first second in which too few are idle, then 2, 4, up to 32 a second. From
//! 8 to 256 takes 12 s (measured). A stress test that is scaled in time does not scale that: it warms up for longer, or
//! starts with all workers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sojourn_stats::Span;

use super::files::Worker;
use super::page::WORK_PHP;
use super::{Kind, LISTEN_BACKLOG, Launch, Place, Program};
use crate::ServeError;

/// Where Debian keeps its modules.
pub(super) const MODULES: &str = "/usr/lib/apache2/modules";

/// The processes of a preforking Apache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// At most so many, one per open connection (MaxRequestWorkers, once MaxClients; and ServerLimit).
    pub most: u32,
    /// At the start (StartServers).
    pub start: u32,
    /// Idle ones below which more are started (MinSpareServers).
    pub spare_min: u32,
    /// Idle ones above which some are ended (MaxSpareServers).
    pub spare_max: u32,
}

impl Workers {
    /// Zhang's experiment I (2002, Table 4.2), which is SURGE's high-performance configuration.
    pub const EXPERIMENT_I: Workers = Workers { most: 150, start: 5, spare_min: 5, spare_max: 10 };
    /// Zhang's experiment II (2002, Table 4.2), which his server models come from.
    pub const EXPERIMENT_II: Workers = Workers { most: 256, start: 8, spare_min: 5, spare_max: 20 };

    /// Just so many, all from the start and for ever: helpers.
    pub fn fixed(count: u32) -> Workers {
        Workers { most: count, start: count, spare_min: 1, spare_max: count.max(1) + 1 }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let Workers { most, start, spare_min, spare_max } = *self;
        // Apache would put other numbers in their place without stopping.
        if !(1..=20_000).contains(&most) {
            return Err(format!("at most {most} workers; it is from 1 to 20000"));
        }
        if start == 0 || start > most {
            return Err(format!("{start} workers at the start; it is from 1 to the {most} that there may be at most"));
        }
        if spare_min == 0 || spare_max <= spare_min {
            return Err(format!("{spare_min} to {spare_max} idle workers; it is from at least 1 to more than that"));
        }
        Ok(())
    }
}

/// Debian's PHP as a module of Apache, the newest.
pub(super) fn php() -> Option<PathBuf> {
    let modules = fs::read_dir(MODULES).ok()?.flatten().map(|entry| entry.path());
    let is_php = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libphp") && name.ends_with(".so")
    };
    modules.filter(is_php).max()
}

pub(super) fn launch(server: &Program, program: &Path, place: &Place<'_>) -> Result<Launch, ServeError> {
    let Place { root, folder, address, worker } = *place;
    let mut text = format!(
        "ServerRoot \"{folder}\"\n\
         DefaultRuntimeDir \"{folder}\"\n\
         PidFile \"{folder}/apache.pid\"\n\
         ErrorLog \"{folder}/error.log\"\n\
         ServerName localhost\n\
         Listen {address}\n\
         ListenBacklog {LISTEN_BACKLOG}\n"
    );
    let mut files = Vec::new();
    let processing = match &server.kind {
        Kind::ApacheEvent { .. } => "mpm_event",
        _ => "mpm_prefork",
    };
    for module in [processing, "authz_core", "dir", "mime", "filter", "deflate"] {
        push(&mut text, &format!("LoadModule {module}_module {MODULES}/mod_{module}.so"));
    }
    processes(&mut text, &server.kind);
    let keep_alive = if server.keep_alive == Span::ZERO { "Off" } else { "On" };
    let (keep_alive_ms, requests) = (server.keep_alive_ms(), server.keep_alive_requests);
    push(
        &mut text,
        &format!(
            "TypesConfig /dev/null\n\
             AddType text/html .html\n\
             AddType text/plain .txt\n\
             AddOutputFilterByType DEFLATE text/plain\n\
             MaxConnectionsPerChild 0\n\
             Timeout 300\n\
             KeepAlive {keep_alive}\n\
             KeepAliveTimeout {keep_alive_ms}ms\n\
             MaxKeepAliveRequests {requests}\n\
             DocumentRoot \"{root}\"\n\
             DirectoryIndex index.html\n\
             <Directory \"{root}\">\n\
             Options FollowSymLinks\n\
             AllowOverride None\n\
             Require all granted\n\
             </Directory>"
        ),
    );
    if let (Kind::ApachePhp(_), Some(module)) = (&server.kind, php()) {
        push(
            &mut text,
            &format!(
                "LoadModule php_module \"{}\"\n\
                 LoadModule alias_module {MODULES}/mod_alias.so\n\
                 PHPIniDir \"{folder}\"\n\
                 Alias \"/work.php\" \"{folder}/work.php\"\n\
                 <Files \"work.php\">\n\
                 Require all granted\n\
                 </Files>\n\
                 <FilesMatch \"\\.php$\">\n\
                 SetHandler application/x-httpd-php\n\
                 </FilesMatch>",
                module.display()
            ),
        );
        files.push(("work.php", WORK_PHP.to_owned()));
        files.push(("php.ini", "max_execution_time = 0\nexpose_php = Off\n".to_owned()));
    }
    if server.access_log {
        let common = r#"%h %l %u %t \"%r\" %>s %b"#;
        push(&mut text, &format!("CustomLog \"{folder}/access.log\" \"{common}\""));
    }
    if let Some(Worker { name, group, .. }) = worker {
        push(&mut text, &format!("User {name}\nGroup #{group}"));
    }
    files.push(("apache.conf", text));
    // Of PHP's own configuration, too, nothing is read: no file, no folder.
    let command = ["env".into(), "PHP_INI_SCAN_DIR=".into(), program.as_os_str().to_owned()];
    let arguments = ["-f".into(), format!("{folder}/apache.conf").into(), "-DFOREGROUND".into()];
    Ok(Launch { command: command.into_iter().chain(arguments).collect(), files, ..Launch::default() })
}

fn processes(text: &mut String, kind: &Kind) {
    match kind {
        Kind::ApacheEvent { processes, threads } => {
            let most = processes * threads;
            push(
                text,
                &format!(
                    "ServerLimit {processes}\n\
                     StartServers {processes}\n\
                     ThreadLimit {threads}\n\
                     ThreadsPerChild {threads}\n\
                     MaxRequestWorkers {most}\n\
                     MinSpareThreads 1\n\
                     MaxSpareThreads {}",
                    most + threads
                ),
            );
        }
        Kind::ApachePrefork(workers) | Kind::ApachePhp(workers) => {
            let Workers { most, start, spare_min, spare_max } = workers;
            push(
                text,
                &format!(
                    "ServerLimit {most}\n\
                     MaxRequestWorkers {most}\n\
                     StartServers {start}\n\
                     MinSpareServers {spare_min}\n\
                     MaxSpareServers {spare_max}"
                ),
            );
        }
        _ => unreachable!("another program"),
    }
}

fn push(text: &mut String, lines: &str) {
    writeln!(text, "{lines}").expect("a String takes all");
}
