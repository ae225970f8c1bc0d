//! The command line: its words, and the headless commands, one file each.

pub mod demo;
