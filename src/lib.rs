//! `dlq-tui`: the terminal console with which operators triage dead-lettered jobs.
//!
//! The floors of the house, each importing only downward (see ARCHITECTURE.md):
//! `cli` and `tui` on top, then [`triage`], [`ledger`], [`store`], [`db`], [`adapter`], and [`domain`] at the bottom with
//! [`config`] beside it.

pub mod adapter;
pub mod cli;
pub mod config;
pub mod db;
pub mod domain;
pub mod ledger;
pub mod store;
pub mod triage;
pub mod tui;
