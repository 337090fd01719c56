//! Access logs: Common and Combined Log Format, plain or gzip.

/// A log's requests in the order of their instants.
#[derive(Clone, Debug, Default)]
pub struct Log {}
