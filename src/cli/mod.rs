//! The command line: its words, and the headless commands, one file each.

pub mod args;
pub mod demo;
pub mod exit;
pub mod out;
pub mod table;
