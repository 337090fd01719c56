//! The server that a node emulates, and what a node is made of.

use std::path::Path;

use sojourn_dispatch::Hardware;
use sojourn_model::{Server, byte_rate};
use sojourn_part::settings::Wrong;
use sojourn_part::settings::node::{HardwareSettings, NodeSettings, Numbers};
use sojourn_stats::input;

/// The server that a node emulates, if it does.
pub(super) fn model_of(settings: &NodeSettings) -> Result<Option<Server>, Wrong> {
    let read = match (settings.model_file(), &settings.model) {
        (Some(file), _) => server_of(file),
        (None, Some(text)) => Server::from_toml(text).map_err(|error| error.to_string()),
        (None, None) => return Ok(None),
    };
    read.map(Some).map_err(|why| Wrong::new("model", why))
}

/// The server model in a file.
fn server_of(file: &Path) -> Result<Server, String> {
    let wrong = |why: String| format!("{}: {why}", file.display());
    let text = input::text(file).map_err(|error| wrong(error.to_string()))?;
    Server::from_toml(&text).map_err(|error| wrong(error.to_string()))
}

/// What a server is made of, as its model says.
pub fn hardware_of(server: &Server) -> Hardware {
    let rate = |name: &str| server.byte_rate(name).unwrap_or(0.0);
    Hardware { speed: server.speed, disk_rate: rate("disk"), net_rate: rate("net") }
}

/// What a server is made of, as settings say.
pub(super) fn hardware(settings: &HardwareSettings) -> Result<Hardware, String> {
    match settings {
        HardwareSettings::Model(file) => Ok(hardware_of(&server_of(file)?)),
        HardwareSettings::Numbers(Numbers { speed, disk, net }) => {
            let rate = |text: &Option<String>, name| text.as_ref().map_or(Ok(0.0), |text| byte_rate(text, name));
            if !(*speed > 0.0 && speed.is_finite()) {
                return Err(format!("speed = {speed}: operations per second, above 0; 1 is the reference"));
            }
            Ok(Hardware { speed: *speed, disk_rate: rate(disk, "disk")?, net_rate: rate(net, "net")? })
        }
    }
}
