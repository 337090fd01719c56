//! Squid in front of a web server: Fujita's proxy (2000, chapter 3).
//!
//! It is asked as if it were the web server (an accelerator), or as a forward proxy for whole URLs, as his was. Its cache is in
//! memory only. What was not stored is asked for anew, so that a miss stays a miss, as in his experiments.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use sojourn_stats::Span;

use super::files::Worker;
use super::{Launch, Place, Program};

/// Makes names of programs in shared memory, which all of a machine share.
static NEXT: AtomicU32 = AtomicU32::new(0);

pub(super) fn launch(
    server: &Program,
    program: &Path,
    origin: Option<SocketAddr>,
    cache: u64,
    place: &Place<'_>,
) -> Launch {
    let Place { folder, address, worker, .. } = *place;
    let listens = match origin {
        None => format!("http_port {address}\n"),
        Some(origin) => format!(
            "http_port {address} accel defaultsite=localhost no-vhost\n\
             cache_peer {} parent {} 0 no-query no-digest originserver\n",
            origin.ip(),
            origin.port()
        ),
    };
    let kilobytes = cache.div_ceil(1024);
    let (persistent, idle_s) = match server.keep_alive {
        Span::ZERO => ("off", 1),
        keep_alive => ("on", keep_alive.0.div_ceil(1_000_000_000)),
    };
    let text = format!(
        "{listens}\
         http_access allow all\n\
         visible_hostname localhost\n\
         pid_filename none\n\
         cache_log /dev/null\n\
         access_log none\n\
         cache_store_log none\n\
         netdb_filename none\n\
         pinger_enable off\n\
         memory_cache_shared off\n\
         cache_mem {kilobytes} KB\n\
         maximum_object_size_in_memory {kilobytes} KB\n\
         maximum_object_size {kilobytes} KB\n\
         acl uncached urlpath_regex ^/miss/\n\
         cache deny uncached\n\
         refresh_pattern . 10080 100% 10080\n\
         client_persistent_connections {persistent}\n\
         client_idle_pconn_timeout {idle_s} seconds\n\
         shutdown_lifetime 0 seconds\n\
         coredump_dir \"{folder}\"\n"
    );
    let name = format!("sojourn{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut command = vec![program.as_os_str().to_owned()];
    command.extend(["-N", "-d", "1", "-n", &name, "-f", &format!("{folder}/squid.conf")].map(Into::into));
    Launch { command, files: vec![("squid.conf", text)], user: worker.map(Worker::ids), shared_memory: Some(name) }
}
