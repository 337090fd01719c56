//! A part of a live run: a child of this program on a host of the ground, which a fault may end and start again.
//!
//! One that leaves rules in the kernel, a packet switch, is cleared away when it is killed: it is down when its host refuses.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sojourn_bed::{Child, Ground, Host, clock};
use sojourn_part::settings::{Settings, to_toml};
use sojourn_stats::{Span, Time};

use super::bed;
use super::incidents::{self, Incident};

/// A child that is not ready by then never will be.
const READY: Duration = Duration::from_secs(20);

/// Within that a node that is told to stand still does, or it is made to.
const STANDS: Duration = Duration::from_secs(1);

/// `sojourn VERB ARGUMENTS` on a host of its own.
pub(super) struct Part {
    pub(super) name: String,
    host: Host,
    address: SocketAddr,
    /// The program, its verb and its arguments, but for where it listens.
    order: Vec<std::ffi::OsString>,
    /// Whether it is told where to listen.
    is_told_where: bool,
    /// Whether it is a packet switch, whose rules outlive it.
    has_rules: bool,
    /// None while it is down.
    child: Option<Child>,
    /// Drained: they end what they have.
    former: Vec<Child>,
    /// What happened to it in earlier lives although nothing asked for it.
    incidents: Vec<Incident>,
    /// What it said in earlier lives, and when.
    events: Vec<(Time, Value)>,
    /// When it was frozen by a fault, and until when.
    frozen: Vec<(Time, Time)>,
    /// How long it waited for a core in earlier lives.
    waited: Span,
    /// What it goes by, for as long as it may be started again.
    _file: SettingsFile,
}

/// A file of settings, which goes with its owner.
struct SettingsFile(PathBuf);

impl SettingsFile {
    fn write<T: Settings>(settings: &T) -> Result<SettingsFile, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sojourn-{}-{}.toml", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let file = SettingsFile(std::env::temp_dir().join(name));
        // A run of this number that was killed may have left one.
        let _ = std::fs::remove_file(&file.0);
        let written = File::create_new(&file.0).and_then(|mut new| new.write_all(to_toml(settings).as_bytes()));
        written.map_err(|error| format!("cannot write settings to {}: {error}", file.0.display()))?;
        Ok(file)
    }
}

impl Drop for SettingsFile {
    fn drop(&mut self) {
        // One that stays behind in the system's temporary folder is not worth a failure.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What is known of a part that was stopped.
pub(super) struct Last {
    /// What it said last; none where it was down.
    pub(super) said: Value,
    /// What happened to it although nothing asked for it.
    pub(super) incidents: Vec<Incident>,
    /// All that it said, and when.
    pub(super) events: Vec<(Time, Value)>,
}

impl Part {
    /// Starts it by its settings on a new host of the ground; it listens on a free port there.
    pub(super) fn start<T: Settings>(
        ground: &mut dyn Ground,
        program: &Path,
        name: &str,
        verb: &str,
        settings: &T,
    ) -> Result<Part, String> {
        let host = ground.host(name).map_err(|e| e.to_string())?;
        let place = (host, SocketAddr::new(ground.address(host), 0));
        Part::begin(ground, name, place, (program, &[verb], SettingsFile::write(settings)?), true)
    }

    /// Starts it by its settings on a host that others may be on too. They say all; it is reached at the address.
    pub(super) fn start_on<T: Settings>(
        ground: &dyn Ground,
        place: (Host, SocketAddr),
        program: &Path,
        name: &str,
        verb: &[&str],
        settings: &T,
    ) -> Result<Part, String> {
        Part::begin(ground, name, place, (program, verb, SettingsFile::write(settings)?), false)
    }

    fn begin(
        ground: &dyn Ground,
        name: &str,
        (host, address): (Host, SocketAddr),
        (program, verb, file): (&Path, &[&str], SettingsFile),
        is_told_where: bool,
    ) -> Result<Part, String> {
        let mut order = vec![program.into()];
        order.extend(verb.iter().map(Into::into));
        order.extend(["--child".into(), "--config".into(), file.0.clone().into()]);
        let mut part = Part {
            name: name.to_owned(),
            host,
            address,
            order,
            is_told_where,
            has_rules: false,
            child: None,
            former: Vec::new(),
            incidents: Vec::new(),
            events: Vec::new(),
            frozen: Vec::new(),
            waited: Span::ZERO,
            _file: file,
        };
        part.revive(ground)?;
        Ok(part)
    }

    /// The same part as a packet switch.
    pub(super) fn with_rules(self) -> Part {
        Part { has_rules: true, ..self }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it, or starts it again at the address that it had.
    pub(super) fn revive(&mut self, ground: &dyn Ground) -> Result<(), String> {
        let [program, rest @ ..] = self.order.as_slice() else { unreachable!("an order names a program") };
        let mut command = Command::new(program);
        command.args(rest);
        if self.is_told_where {
            command.args(["--listen", &self.address.to_string()]);
        }
        let child = ground.spawn(self.host, command, READY).map_err(|e| format!("{}: {e}", self.name))?;
        if self.is_told_where {
            self.address.set_port(child.port());
        }
        self.child = Some(child);
        Ok(())
    }

    /// Ends it as a crash does.
    pub(super) fn kill(&mut self, ground: &dyn Ground) -> Result<(), String> {
        self.note_what_happened();
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill();
        if self.has_rules { self.clean(ground) } else { Ok(()) }
    }

    /// Takes away the rules that a packet switch has left on its host, and with them its connections, as a new start of the
    /// machine would.
    fn clean(&self, ground: &dyn Ground) -> Result<(), String> {
        let mut clean = Command::new(&self.order[0]);
        clean.args(["switch", "clean", "--rules"]);
        let cleaned = bed::within(ground, self.host, || clean.output())?.map_err(|e| format!("{}: {e}", self.name))?;
        match cleaned.status.success() {
            true => Ok(()),
            false => Err(format!("{}: {}", self.name, String::from_utf8_lossy(&cleaned.stderr).trim())),
        }
    }

    /// Lets it end what it has, and take nothing new. A packet switch goes on, since its rules carry what it has.
    pub(super) fn drain(&mut self) -> Result<(), String> {
        if self.has_rules {
            return self.say(&json!({"drained": true}));
        }
        self.note_what_happened();
        if let Some(mut child) = self.child.take() {
            child.dismiss();
            self.former.push(child);
        }
        Ok(())
    }

    /// It takes new requests again.
    pub(super) fn undrain(&mut self, ground: &dyn Ground) -> Result<(), String> {
        if self.has_rules { self.say(&json!({"drained": false})) } else { self.revive(ground) }
    }

    /// Stops it where it stands. A node does so itself, and its emulated server with it.
    pub(super) fn freeze(&mut self) -> Result<(), String> {
        self.frozen.push((clock::since_boot(), Time::NEVER));
        if self.order.get(1).is_some_and(|verb| verb == "node") {
            self.say(&json!({"frozen": true}))?;
            if self.child.as_ref().is_some_and(|child| child.stands_still(STANDS)) {
                return Ok(());
            }
        }
        self.child.iter().for_each(Child::freeze);
        Ok(())
    }

    /// Lets it go on.
    pub(super) fn thaw(&mut self) {
        self.child.iter().for_each(Child::thaw);
        if let Some((_, until)) = self.frozen.last_mut() {
            *until = clock::since_boot();
        }
    }

    /// Waits at most so long until what it has said is enough; whether it is.
    pub(super) fn waits_for(&self, timeout: Duration, enough: impl Fn(&[(Time, Value)]) -> bool) -> bool {
        self.child.as_ref().is_some_and(|child| child.has_said(timeout, enough))
    }

    /// Says one line to it.
    pub(super) fn say(&mut self, line: &Value) -> Result<(), String> {
        match &mut self.child {
            Some(child) => child.say(line).map_err(|e| format!("{} cannot be told {line}: {e}", self.name)),
            None => Ok(()),
        }
    }

    /// How long it has waited for a core so far, in all its lives.
    pub(super) fn waited(&self) -> Span {
        self.waited + self.child.as_ref().and_then(Child::waited).unwrap_or_default()
    }

    /// Stops it.
    pub(super) fn stop(mut self) -> Last {
        let known = self.incidents.len();
        self.note_what_happened();
        let was_fine = self.incidents.len() == known;
        let said = match self.child.take().map(Child::stop) {
            None => Value::Null,
            Some(mut said) => match said.pop() {
                Some(said) if said["event"] == "stopped" => said,
                _ => {
                    self.incidents.extend(was_fine.then(|| incidents::silence(&self.name)));
                    Value::Null
                }
            },
        };
        Last { said, incidents: self.incidents, events: self.events }
    }

    fn note_what_happened(&mut self) {
        self.waited = self.waited();
        let Some(child) = &self.child else { return };
        self.events.extend(child.dated_events());
        let is_planned = |at: Time| self.frozen.iter().any(|(from, until)| (*from..=*until).contains(&at));
        self.incidents.extend(incidents::of(&self.name, child, is_planned));
    }
}
