//! Connections to a port, from `/proc/net`.

use super::proc::ProcFile;

/// The connections to one port.
#[derive(Debug)]
pub(super) struct Connections {
    /// The port as the kernel writes it.
    port: String,
    tables: [ProcFile; 2],
}

const ESTABLISHED: &str = "01";
const LISTENING: &str = "0A";

impl Connections {
    pub(super) fn new(port: u16) -> Connections {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(ProcFile::open);
        Connections { port: format!(":{port:04X}"), tables }
    }

    /// How many are open; none where no program listens there.
    pub(super) fn look(&mut self) -> Option<usize> {
        let (mut open, mut is_listened_to) = (0, false);
        for table in &mut self.tables {
            for line in table.read().unwrap_or("").lines().skip(1) {
                let mut fields = line.split_ascii_whitespace().skip(1);
                if !fields.next().is_some_and(|local| local.ends_with(&self.port)) {
                    continue;
                }
                match fields.nth(1) {
                    Some(ESTABLISHED) => open += 1,
                    Some(LISTENING) => is_listened_to = true,
                    _ => {}
                }
            }
        }
        is_listened_to.then_some(open)
    }
}
