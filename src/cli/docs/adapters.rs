//! docs/adapters.md: the text next to this file, and the tables that the program knows itself.

use std::fmt::Write as _;

use crate::adapter::{PLACEHOLDERS, built_in};

const TEXT: &str = include_str!("adapters.md");

/// The kinds of values, as adapter files write them.
const KINDS: [(&str, &str); 10] = [
    ("text", "text"),
    ("int", "a whole number"),
    ("uuid", "a UUID"),
    ("utc", "a time without zone, which is UTC"),
    ("instant", "a time with zone"),
    ("epoch_s", "seconds since 1970 as a whole number; a column that holds fractions takes an expression"),
    ("epoch_ms", "milliseconds since 1970 as a whole number; a column that holds fractions takes an expression"),
    ("epoch_us", "microseconds since 1970 as a whole number; a column that holds fractions takes an expression"),
    ("json", "JSON, or text that holds it"),
    ("lines", "text of many lines"),
];

/// The reference.
pub fn reference() -> String {
    let mut out = TEXT.to_owned();
    // Writing to a String cannot fail.
    out.push_str("## Kinds of values\n\n| kind | values |\n|---|---|\n");
    for (kind, meaning) in KINDS {
        let _ = writeln!(out, "| `{kind}` | {meaning} |");
    }
    out.push_str("\n## Placeholders in statements\n\n| placeholder | stands for |\n|---|---|\n");
    for (name, meaning) in PLACEHOLDERS {
        let _ = writeln!(out, "| `{{{name}}}` | {meaning} |");
    }
    out.push_str("\n## Built in\n\n| adapter | databases |\n|---|---|\n");
    for adapter in built_in() {
        let databases: Vec<&str> = adapter.dialects().collect();
        let _ = writeln!(out, "| `{}` | {} |", adapter.name, databases.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Adapter;

    #[test]
    fn the_example_of_the_reference_is_a_right_adapter() {
        let example = TEXT.split("```toml\n").nth(1).and_then(|t| t.split("```").next()).expect("an example");
        let adapter = Adapter::parse(example, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(adapter.name, "failed_mails");
    }

    #[test]
    fn every_kind_of_the_reference_is_read() {
        for (kind, _) in KINDS {
            let file = TEXT.split("```toml\n").nth(1).and_then(|t| t.split("```").next()).expect("an example").replace(
                "job_class = { column = \"template\", kind = \"text\" }",
                &format!("job_class = {{ column = \"task\", kind = \"{kind}\" }}"),
            );
            let adapter = Adapter::parse(&file, None);
            // A kind may not suit a field, but it must be known.
            if let Err(fault) = adapter {
                assert!(!fault.to_string().contains("unknown"), "{fault}");
            }
        }
    }
}
