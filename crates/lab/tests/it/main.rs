//! The laboratory, behaviour by behaviour.

mod report;
