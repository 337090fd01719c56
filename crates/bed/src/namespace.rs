//! The namespaces of a bed: how a process comes to be in them, and how everything in them ends with one process.
//!
//! The process that brings a bed up enters a user namespace of its own, in which it may do what only root may elsewhere,
//! and starts the bed's first process in a new PID namespace. When that one ends, the kernel kills all others of the
//! bed; it ends when the process that started it does ([`furnish`] asks for that signal, and watches a pipe for the time
//! before). Mounts are the bed's own, and what is written below `/run` is in memory; a host is a network namespace. So
//! there is nothing to clean up: neither rules nor devices nor files outlive their namespaces. The price: only one user
//! id exists inside, and a program that wants another one needs [`as_ordinary_user`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, chdir, getegid, geteuid};
use thiserror::Error;

use crate::tun::{self, Tun};

/// Where a bed keeps its hosts' network namespaces, as `ip netns` does.
const NETNS: &str = "/run/netns";

/// Where what runs in a bed may write; gone with it.
pub const TEMPORARY: &str = "/run/tmp";

/// The user id that an ordinary user has inside.
const ORDINARY: u32 = 1000;

/// Why there are no such namespaces.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// The machine does not let this user have them.
    #[error("this machine does not allow network namespaces to an ordinary user ({source}): {remedy}")]
    Forbidden {
        /// What to do about it.
        remedy: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no TUN device, or this user may not open it.
    #[error("links need {}, which cannot be opened ({source}): {remedy}", tun::DEVICE)]
    Tun {
        /// What to do about it.
        remedy: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bed is not there, or is another user's.
    #[error("cannot enter the namespaces of process {pid} ({source}): it has ended, or is another user's")]
    Entry {
        /// The first process of the bed.
        pid: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something else failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl NamespaceError {
    pub(crate) fn system<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> NamespaceError {
        move |source| NamespaceError::System { what: what.into(), source: source.into() }
    }
}

/// Enters a new user namespace as its root; children started from now on are in a new PID namespace, the first of them as
/// its first process. To be called before the process has a second thread.
///
/// # Errors
/// When the machine forbids it; the error says what would allow it.
pub fn enter() -> Result<(), NamespaceError> {
    // Outside it is seen at once; inside, the mapped root could not tell a missing permission from another reason.
    check_tun()?;
    let (user, group) = (geteuid(), getegid());
    let forbidden = |error: Errno| NamespaceError::Forbidden { remedy: user_remedy(), source: error.into() };
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID).map_err(forbidden)?;
    map(0, user.as_raw(), group.as_raw())
}

/// Makes this process, the first of its PID namespace, the first of a bed: it ends with the process that started it, and
/// has mounts and an address space of the network of its own. `hosts` are known by name to what runs here.
///
/// # Errors
/// When the system refuses a mount or a namespace.
pub fn furnish<'a>(hosts: impl IntoIterator<Item = (&'a str, Ipv4Addr)>) -> Result<(), NamespaceError> {
    set_pdeathsig(Signal::SIGKILL).map_err(NamespaceError::system("cannot ask to end with the parent"))?;
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC;
    let forbidden = |error: Errno| NamespaceError::Forbidden { remedy: user_remedy(), source: error.into() };
    unshare(own).map_err(forbidden)?;
    let place = |what: &str, at: &str, flags: MsFlags, data: Option<&str>| {
        let from = Some(what).filter(|what| !what.is_empty());
        mount(from, at, from, flags, data).map_err(NamespaceError::system(format!("cannot mount {at} in the bed")))
    };
    let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    // Mounts of the machine still appear here; those of the bed do not appear there.
    place("", "/", MsFlags::MS_REC | MsFlags::MS_SLAVE, None)?;
    place("proc", "/proc", harmless | MsFlags::MS_NOEXEC, None)?;
    place("tmpfs", "/run", harmless, Some("mode=755"))?;
    let unwritten = || NamespaceError::system::<std::io::Error>("cannot write below /run in the bed");
    for folder in [NETNS, TEMPORARY] {
        fs::create_dir(folder).map_err(unwritten())?;
    }
    let mut names = String::from("127.0.0.1 localhost\n");
    names.extend(hosts.into_iter().map(|(name, address)| format!("{address} {name}\n")));
    fs::write("/run/hosts", names).map_err(unwritten())?;
    if Path::new("/etc/hosts").exists() {
        mount(Some("/run/hosts"), "/etc/hosts", None::<&str>, MsFlags::MS_BIND, None::<&str>)
            .map_err(NamespaceError::system("cannot mount /etc/hosts in the bed"))?;
    }
    Ok(())
}

/// Enters the bed whose first process is `pid`, at one of its hosts; children started from now on are in it as well. To be
/// called before the process has a second thread.
///
/// # Errors
/// When there is no such bed or host, or it is another user's.
pub fn join(pid: u32, host: &str) -> Result<(), NamespaceError> {
    let folder = std::env::current_dir().ok();
    let entry = |source| NamespaceError::Entry { pid, source };
    let open = |path: String| File::open(path).map_err(entry);
    // All are opened first: what is below /proc is another process once the PID namespace is.
    let of = |kind: &str| open(format!("/proc/{pid}/ns/{kind}"));
    let (user, mounts, processes) = (of("user")?, of("mnt")?, of("pid")?);
    let network = open(format!("/proc/{pid}/root{NETNS}/{host}"))?;
    let steps = [
        (user, CloneFlags::CLONE_NEWUSER),
        (mounts, CloneFlags::CLONE_NEWNS),
        (processes, CloneFlags::CLONE_NEWPID),
        (network, CloneFlags::CLONE_NEWNET),
    ];
    for (file, kind) in steps {
        setns(file, kind).map_err(|error| entry(error.into()))?;
    }
    if let Some(folder) = folder {
        // Mounts came with their root as the current folder. One that is hidden in the bed is left at that.
        let _ = chdir(&folder);
    }
    Ok(())
}

/// Turns this process, the root of a bed, into an ordinary user of it: web servers refuse to serve as root, and cannot
/// become another user where there is only one. It keeps nothing of what root may do.
///
/// # Errors
/// When the system refuses the namespace.
pub fn as_ordinary_user() -> Result<(), NamespaceError> {
    let (user, group) = (geteuid(), getegid());
    let forbidden = |error: Errno| NamespaceError::Forbidden { remedy: user_remedy(), source: error.into() };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(forbidden)?;
    map(ORDINARY, user.as_raw(), group.as_raw())
}

/// Ends with the process that started this one, whatever becomes of that one. Survives an `exec`.
///
/// # Errors
/// When the system refuses.
pub fn end_with_parent() -> Result<(), NamespaceError> {
    set_pdeathsig(Signal::SIGKILL).map_err(NamespaceError::system("cannot ask to end with the parent"))
}

/// What an administrator does where namespaces are forbidden to ordinary users.
pub fn user_remedy() -> String {
    remedy_by(Path::new("/proc/sys"))
}

/// The same by the settings of the kernel in a folder.
fn remedy_by(settings: &Path) -> String {
    let lever = |name: &str, forbids: &str, allows: &str| {
        let says = fs::read_to_string(settings.join(name.replace('.', "/")));
        let is_forbidden = says.is_ok_and(|text| text.trim() == forbids);
        is_forbidden.then(|| format!("allow them with `sudo sysctl -w {name}={allows}`"))
    };
    lever("kernel.apparmor_restrict_unprivileged_userns", "1", "0")
        .or_else(|| lever("kernel.unprivileged_userns_clone", "0", "1"))
        .or_else(|| lever("user.max_user_namespaces", "0", "10000"))
        .or_else(|| lever("user.max_net_namespaces", "0", "10000"))
        .unwrap_or_else(|| {
            "inside a container start it with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`; \
             elsewhere the kernel needs CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS"
                .into()
        })
}

/// Whether this process may open TUN devices, of which links are made.
///
/// # Errors
/// When it may not; the error says what would allow it.
pub fn check_tun() -> Result<(), NamespaceError> {
    tun::check().map_err(no_tun)
}

fn no_tun(source: io::Error) -> NamespaceError {
    NamespaceError::Tun { remedy: tun_remedy(Path::new(tun::DEVICE).exists()), source }
}

/// What an administrator does where the TUN device is there and cannot be opened, or is not there.
fn tun_remedy(is_there: bool) -> String {
    match is_there {
        true => format!("allow it with `sudo chmod 666 {}`", tun::DEVICE),
        false => format!(
            "make it with `sudo modprobe tun; sudo mkdir -p /dev/net; sudo mknod -m 666 {} c 10 200` (inside a container \
             start it with `--device {}`)",
            tun::DEVICE,
            tun::DEVICE
        ),
    }
}

/// A host's network namespace.
#[derive(Debug)]
pub(crate) struct Network {
    file: OwnedFd,
    /// What it is mounted on.
    kept: Option<PathBuf>,
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            // What cannot be taken away here goes with the bed.
            let _ = umount2(kept, MntFlags::MNT_DETACH);
            let _ = fs::remove_file(kept);
        }
    }
}

impl Network {
    /// A network namespace without a device, known as `name` to `ip netns`.
    pub(crate) fn new(name: &str) -> Result<Network, NamespaceError> {
        // A thread of its own enters the namespace and ends; the open file and the mount keep it.
        std::thread::scope(|scope| scope.spawn(|| make(name)).join().expect("making a host does not panic"))
    }

    /// Gives it one device towards all other hosts.
    pub(crate) fn attach(&self, address: Ipv4Addr) -> Result<Tun, NamespaceError> {
        self.within(|| {
            let device = "eth0";
            let tun = Tun::open(device).map_err(no_tun)?;
            configure(&format!(
                "link set {device} mtu {} txqueuelen 5000 up\naddress add {address}/32 dev {device}\n\
                 route add default dev {device} src {address}\n",
                tun::MTU
            ))?;
            Ok(tun)
        })?
    }

    /// A path by which another process of this user opens it, for as long as it is here.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", Pid::this(), self.file.as_raw_fd())
    }

    /// What `body` gives when it is run inside, in a thread of its own; threads and processes that it starts are inside too.
    pub(crate) fn within<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || {
            setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)
                .map_err(NamespaceError::system("cannot enter the network of a host"))?;
            Ok(body())
        };
        std::thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(given) => given,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

fn make(name: &str) -> Result<Network, NamespaceError> {
    let forbidden = |error: Errno| NamespaceError::Forbidden { remedy: user_remedy(), source: error.into() };
    unshare(CloneFlags::CLONE_NEWNET).map_err(forbidden)?;
    for (setting, value) in [
        // Ordinary users listen on port 80 and send pings.
        ("ipv4/ip_unprivileged_port_start", "0"),
        ("ipv4/ping_group_range", "0 0"),
        // TCP as Linux has it by itself: some machines have BBR, which paces what a first window would send at once. A
        // machine may keep CUBIC to itself; then it is Reno, which is the same but for what follows losses.
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/tcp_congestion_control", "cubic"),
        // A bridge passes frames on: where the machine has br_netfilter, each would pass the rules of IP twice besides.
        ("bridge/bridge-nf-call-iptables", "0"),
        ("bridge/bridge-nf-call-ip6tables", "0"),
        ("bridge/bridge-nf-call-arptables", "0"),
        // What hosts say by themselves over IPv6 would not reach anyone, and cost time.
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv6/conf/all/disable_ipv6", "1"),
    ] {
        // Without one of these a bed does all the rest.
        let _ = fs::write(format!("/proc/sys/net/{setting}"), value);
    }
    configure("link set lo up\n")?;
    let own = "/proc/thread-self/ns/net";
    let lost = || NamespaceError::system::<std::io::Error>(format!("cannot keep the network of host {name}"));
    let file = File::open(own).map_err(lost())?;
    let kept = Some(PathBuf::from(NETNS)).filter(|folder| folder.exists()).map(|folder| folder.join(name));
    if let Some(kept) = &kept {
        File::create(kept).map_err(lost())?;
        mount(Some(own), kept, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(|error| lost()(error.into()))?;
    }
    Ok(Network { file: file.into(), kept })
}

/// Configures the devices of the calling thread's network.
pub(crate) fn configure(commands: &str) -> Result<(), NamespaceError> {
    let unusable = || NamespaceError::system::<std::io::Error>("cannot run `ip` (package iproute2)");
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(unusable())?;
    ip.stdin.take().expect("it is piped").write_all(commands.as_bytes()).map_err(unusable())?;
    let output = ip.wait_with_output().map_err(unusable())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(unusable()(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))),
    }
}

/// Maps one user and group id of this process's new user namespace to those that it had.
fn map(inside: u32, user: u32, group: u32) -> Result<(), NamespaceError> {
    let own = format!("/proc/{}", Pid::this());
    let own = if Path::new(&own).exists() { own } else { "/proc/self".into() };
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{inside} {user} 1")),
        ("gid_map", format!("{inside} {group} 1")),
    ] {
        fs::write(format!("{own}/{file}"), text)
            .map_err(NamespaceError::system(format!("cannot write {file} of the new user namespace")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remedy on a kernel with these settings.
    fn remedy(settings: &[(&str, &str)]) -> String {
        let folder = std::env::temp_dir().join(format!("sojourn-levers-{}-{}", std::process::id(), settings.len()));
        for (name, value) in settings {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().expect("it has a folder")).expect("a folder");
            fs::write(file, format!("{value}\n")).expect("a file");
        }
        let remedy = remedy_by(&folder);
        let _ = fs::remove_dir_all(folder);
        remedy
    }

    #[test]
    fn each_setting_that_forbids_namespaces_has_its_remedy() {
        let levers = [
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "0",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            ("kernel/unprivileged_userns_clone", "0", "1", "kernel.unprivileged_userns_clone=1"),
            ("user/max_user_namespaces", "0", "7823", "user.max_user_namespaces=10000"),
            ("user/max_net_namespaces", "0", "7823", "user.max_net_namespaces=10000"),
        ];
        for (place, (_, _, _, order)) in levers.into_iter().enumerate() {
            // All others allow them.
            let settings: Vec<(&str, &str)> = levers
                .into_iter()
                .enumerate()
                .map(|(other, (name, forbids, allows, _))| (name, if other == place { forbids } else { allows }))
                .collect();
            assert_eq!(remedy(&settings), format!("allow them with `sudo sysctl -w {order}`"));
        }
        let all_forbid: Vec<(&str, &str)> = levers.into_iter().map(|(name, forbids, ..)| (name, forbids)).collect();
        assert!(remedy(&all_forbid).contains(levers[0].3), "one at a time, the outermost first");
        let elsewhere = remedy(&[]);
        assert!(elsewhere.contains("CONFIG_USER_NS") && elsewhere.contains("seccomp=unconfined"), "{elsewhere}");
    }

    #[test]
    fn a_device_for_links_is_allowed_or_made() {
        assert_eq!(tun_remedy(true), "allow it with `sudo chmod 666 /dev/net/tun`");
        let made = tun_remedy(false);
        for part in ["modprobe tun", "mknod -m 666 /dev/net/tun c 10 200", "--device /dev/net/tun"] {
            assert!(made.contains(part), "{part}: {made}");
        }
    }
}
