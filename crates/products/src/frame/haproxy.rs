//! HAProxy's frontend.

use crate::choice::OF_HAPROXY;

/// What has each choice logged, by a frontend that waits for its clients as long as they like.
pub(crate) fn logged() -> String {
    format!("  log global\n  option dontlognull\n  log-format \"{OF_HAPROXY}\"\n  timeout client 1h\n")
}
