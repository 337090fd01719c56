//! Recording decisions and replaying them.
