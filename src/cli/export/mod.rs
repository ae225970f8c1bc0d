//! `dlq-tui export`: jobs with everything that is known of them, or a note on the incident.

mod note;

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::args::{ExportArgs, ExportFormat, Format};
use super::exit::{Code, Fault};
use super::list::Printer;
use super::open::Opened;
use super::out;
use super::record::DetailRecord;
use super::walk::Walk;
use crate::domain::filter::Filter;

/// Writes what the filter selects to standard output, or into a new file.
///
/// # Errors
/// When the filter is wrong, the file exists or cannot be written, or the database fails.
pub async fn run(opened: &Opened, args: &ExportArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let Some(path) = &args.to else {
        let mut out = out::stdout();
        write(opened, args, filter, &mut out).await?;
        out.flush()?;
        return Ok(Code::Done);
    };
    let mut out = BufWriter::new(create(path)?);
    let n = write(opened, args, filter, &mut out).await?;
    out.into_inner().map_err(|e| e.into_error()).and_then(|file| file.sync_all()).context("cannot finish the file")?;
    out::say(&format!("wrote {n} jobs to {}", path.display()));
    Ok(Code::Done)
}

/// A new file that only its owner can read: what jobs carry is other people's.
fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    match options.open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Fault::refused(format!("{} exists, and is left alone: name a new file", path.display())).into())
        }
        file => file.with_context(|| format!("cannot create {}", path.display())),
    }
}

async fn write(opened: &Opened, args: &ExportArgs, filter: Filter, out: &mut impl Write) -> Result<u64> {
    if args.output == ExportFormat::Markdown {
        return note::write(opened, &filter, out).await;
    }
    let columns = match args.output {
        ExportFormat::Csv => Some(Printer::new(Format::Csv, out)?),
        _ => None,
    };
    let (mut n, mut gone) = (0, 0);
    let mut walk = Walk::new(opened, filter, args.limit);
    while let Some(row) = walk.next().await? {
        if let Some(columns) = &columns {
            columns.row(out, &row)?;
        } else if let Some(detail) = opened.desk.store.detail(&row.id, &opened.budget).await? {
            let detail = opened.masked_detail(detail);
            out::json_line(out, &out::Versioned::new(DetailRecord::from(&detail)))?;
        } else {
            gone += 1;
            continue;
        }
        n += 1;
    }
    if gone > 0 {
        out::say(&format!("{gone} jobs were gone before they could be read"));
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_its_owners_alone_and_never_takes_the_place_of_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        create(&path).expect("a new file").write_all(b"kept").expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
        }
        let refused = create(&path).expect_err("it exists");
        assert!(refused.to_string().contains("is left alone"), "{refused}");
        assert_eq!(std::fs::read(&path).expect("the file"), b"kept");
    }
}
