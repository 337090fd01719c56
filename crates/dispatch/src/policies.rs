//! The policies, one file each.
