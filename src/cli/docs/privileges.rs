//! docs/rights.md: the page in this folder, with the grants that the adapters list.

use std::fmt::Write as _;

use crate::adapter::built_in;
use crate::store::survey::grant_script;

const TEXT: &str = include_str!("privileges.md");

pub fn reference() -> String {
    let mut out = TEXT.to_owned();
    for adapter in built_in().into_iter().filter(|adapter| adapter.dialects().next().is_some()) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n### `{}`\n", adapter.name);
        for script in grant_script(&adapter) {
            let _ = write!(out, "\n```sql\n{script}```\n");
        }
    }
    out
}
