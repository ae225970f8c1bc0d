//! docs/adapters.md: the text next to this file, and the tables that the program knows itself.

use std::fmt::Write as _;

use crate::adapter::{PLACEHOLDERS, built_in};

const TEXT: &str = include_str!("adapters.md");
/// The chapter of layouts in Redis. The parameters of the Lua bodies follow it.
#[cfg(feature = "redis")]
const REDIS: &str = include_str!("redis_adapters.md");

/// What is said behind the parameters.
#[cfg(feature = "redis")]
const OUTCOME: &str = r#"
## The outcome of replayed jobs

`[outcome]` has `lua`, a body that answers with a word for one job: `waiting`, `running`, `retrying`, `succeeded`, `died_again`,
`gone`, `deleted` or `unknown`, and where it is known with the error class as a second value. It reads and does not write.
`gone = "succeeded"` says that workers delete the jobs that they finish. If the outcome cannot be known, `unknown` is a sentence
that says why. The table `cache` is empty at the start of a batch and kept for all of its jobs.
"#;

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
        let _ = writeln!(out, "| `{}` | {} |", adapter.name, adapter.engines().join(", "));
    }
    #[cfg(feature = "redis")]
    redis(&mut out);
    out
}

#[cfg(feature = "redis")]
fn redis(out: &mut String) {
    out.push_str(REDIS);
    for (name, meaning) in crate::adapter::redis::PARAMETERS {
        let _ = writeln!(out, "| `{name}` | {meaning} |");
    }
    out.push_str(OUTCOME);
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

    #[cfg(feature = "redis")]
    #[test]
    fn the_example_of_redis_reads_the_member_that_it_shows() {
        use crate::adapter::redis::{RawEntry, ReadParts};
        use crate::domain::job::JobId;
        let block = |nth: usize| REDIS.split("```").nth(2 * nth + 1).expect("an example");
        let adapter = Adapter::parse(block(1).trim_start_matches("toml"), None).unwrap_or_else(|e| panic!("{e}"));
        let spec = adapter.redis().expect("of Redis");
        let [_, member, score] = block(0).trim().lines().collect::<Vec<_>>()[..] else {
            panic!("a command and its reply")
        };
        let entry = RawEntry { member: member.as_bytes().to_vec(), score: score.parse().ok(), ..RawEntry::default() };
        assert_eq!(spec.job(&entry, ReadParts::ROW).own_id().as_deref(), Some("9001"));
        let job = spec.job(&entry, ReadParts::Full).detail(JobId::new("0"));
        let text = |text: Option<crate::domain::text::Untrusted>| text.map(|text| text.exact().to_owned());
        assert_eq!(text(job.row.error_class).as_deref(), Some("Net::ReadTimeout"));
        assert_eq!(text(job.message).as_deref(), Some("after 3s"));
        assert_eq!(text(job.arguments).as_deref(), Some("{\"sku\":\"A-1\"}"));
        assert_eq!((job.row.attempts, job.row.at.map(|at| at.0)), (Some(4), Some(1_795_161_966_000_000)));
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
