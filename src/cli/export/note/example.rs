//! Examples of a note: one whole job of each kind.

use std::io::Write;

use anyhow::Result;

use super::{code, plain};
use crate::cli::jobs::detail_text::{backtrace, pretty};
use crate::domain::contrast::ValuePath;
use crate::domain::display_rules::Notation;
use crate::domain::job::JobDetail;
use crate::domain::json::lookup;
use crate::domain::text::{Clean, Untrusted};

/// Lines of an example's message, arguments and backtrace, each.
const LINES: usize = 40;
/// Columns of such a line.
const COLUMNS: usize = 400;
/// Values at one path that are named below arguments that are cut.
const VALUES: usize = 3;

/// Writes a masked job. Where its arguments are cut, the values at the `named` paths stand below them.
pub(super) fn write(out: &mut impl Write, detail: &JobDetail, notation: &Notation, named: &[ValuePath]) -> Result<()> {
    let row = &detail.row;
    let line = |text: &Option<Untrusted>| text.as_ref().map_or("(none)".to_owned(), |t| plain(t.exact()));
    let head = if row.error_class.is_some() { &row.error_class } else { &row.job_class };
    writeln!(out, "\n## Example: {}\n", line(head))?;
    let died = row.at.map(|at| format!(", died {}", at.to_second())).unwrap_or_default();
    writeln!(out, "Job {}, {}{died}.", code(row.id.as_str()), line(&row.job_class))?;
    if let Some(message) = &detail.message {
        writeln!(out, "\nmessage:\n")?;
        block(out, &message.lines().to_string())?;
    }
    if let Some(arguments) = &detail.arguments {
        writeln!(out, "\narguments:\n")?;
        let is_cut = block(out, &pretty(arguments, notation))?;
        if is_cut {
            values(out, arguments, named)?;
        }
    }
    if let Some(text) = &detail.backtrace {
        writeln!(out, "\nbacktrace:\n")?;
        block(out, &backtrace(text))?;
    }
    Ok(())
}

/// The first lines of a text, indented: a block that nothing in the text can end. Returns whether it was cut.
fn block(out: &mut impl Write, text: &str) -> Result<bool> {
    let lines = Clean::lines(text);
    let mut rows = lines.rows();
    for row in rows.by_ref().take(LINES) {
        writeln!(out, "    {}", row.truncate(COLUMNS, "…"))?;
    }
    let rest = rows.count();
    if rest > 0 {
        writeln!(out, "    … {rest} more {}", if rest == 1 { "line" } else { "lines" })?;
    }
    Ok(rest > 0)
}

/// The values that the job has at the paths of its arguments.
fn values(out: &mut impl Write, arguments: &Untrusted, named: &[ValuePath]) -> Result<()> {
    for path in named {
        let Some(keys) = path.argument_keys() else { continue };
        for scalar in lookup(arguments.exact(), keys).into_iter().take(VALUES) {
            let line = format!("{path} = {}", scalar.text);
            writeln!(out, "    {}", Clean::line(&line).truncate(COLUMNS, "…"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contrast_names_is_kept_where_long_arguments_are_cut() {
        let long = (0..60).map(|n| format!("\"k{n:02}\":{n}")).collect::<Vec<_>>().join(",");
        let text = Untrusted::new(format!("{{{long},\"order\":{{\"currency\":\"JPY\"}}}}"));
        let path = ValuePath::argument(["order".to_owned(), "currency".to_owned()]);
        let mut out = Vec::new();
        assert!(block(&mut out, &pretty(&text, &Notation::default())).expect("written"));
        values(&mut out, &text, &[ValuePath::field("queue"), path]).expect("written");
        let told = String::from_utf8(out).expect("UTF-8");
        assert!(told.lines().count() == LINES + 2 && told.contains("\"k38\": 38"), "{told}");
        assert!(told.ends_with("    args.order.currency = JPY\n"), "{told}");
    }
}
