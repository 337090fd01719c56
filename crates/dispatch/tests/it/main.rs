//! Behaviours of the dispatcher, one file each.
