//! The demo.

mod catalogue;
mod random;
mod story;
mod template;
