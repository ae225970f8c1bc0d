//! One SQL store for every engine: adapters say what the statements are made of, dialects are text, and the engine
//! layer binds values and decodes three types.

pub mod engine;
pub mod target;
