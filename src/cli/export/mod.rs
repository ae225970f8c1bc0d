//! `dlq-tui export`: jobs with everything that is known of them, or a note on the incident.

pub(in crate::cli) mod note;

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::args::{ExportArgs, ExportFormat, Format};
use super::exit::{CliError, Code};
use super::output;
use crate::cli::jobs::job_json::DetailRecord;
use crate::cli::jobs::list::ListPrinter;
use crate::cli::jobs::no_match;
use crate::cli::jobs::rows::SelectedRows;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::ids;
use crate::domain::filter::Filter;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::job::{JobDetail, JobId};
use crate::store::{SourceError, StoreExt};
use crate::triage::freeze::Missing;
use crate::tui::Note;
use note::NoteSubject;

/// Jobs that are read whole by one statement.
const CHUNK: usize = 100;

/// Which jobs are written.
enum Selection {
    /// These, in this order, each once.
    Named(Vec<JobId>),
    /// What this filter selects.
    Filter(Filter),
    /// All of it, for a note.
    Note(NoteSubject),
}

/// What was written.
struct ExportTotals {
    jobs: u64,
    /// Jobs that were named and are not there.
    missing: Missing,
}

/// Writes the jobs that are named, or what the filter selects, to standard output or into a new file.
///
/// # Errors
/// When the filter is wrong, none of the jobs is there, the file exists or cannot be written, or the database fails.
pub async fn run(opened: &OpenedStore, args: &ExportArgs) -> Result<Code> {
    let selection = selection(opened, args).await?;
    let written = match &args.to {
        None => {
            let mut out = output::stdout();
            let written = write(opened, args, &selection, &mut out).await?;
            out.flush()?;
            written
        }
        Some(path) => {
            let written = whole_or_none(path, async |out| write(opened, args, &selection, out).await).await?;
            output::say(&format!("wrote {} to {}", jobs(written.jobs), path.display()));
            written
        }
    };
    if written.missing.n > 0 {
        let were = if written.missing.n == 1 { "job was" } else { "jobs were" };
        output::say(&format!("{} {were} not found{}", grouped(written.missing.n), written.missing));
        return Ok(Code::Partly);
    }
    if let (Selection::Filter(filter) | Selection::Note(NoteSubject::Filter(filter)), 0) = (&selection, written.jobs) {
        no_match::explain(opened, filter).await;
    }
    Ok(Code::Done)
}

/// The note for the console: as text, or in a new file.
///
/// # Errors
/// As [`run`].
pub(super) async fn note_of(opened: &OpenedStore, subject: &NoteSubject, to: Option<PathBuf>) -> Result<Note> {
    if let Some(path) = to {
        whole_or_none(&path, async |out| note::write(opened, subject, out).await).await?;
        return Ok(Note::Written(path));
    }
    let mut text = Vec::new();
    note::write(opened, subject, &mut text).await?;
    Ok(Note::Text(String::from_utf8_lossy(&text).into_owned()))
}

async fn selection(opened: &OpenedStore, args: &ExportArgs) -> Result<Selection> {
    let is_note = args.output == ExportFormat::Markdown;
    if is_note && args.limit > 0 {
        return Err(CliError::usage("a note is about all that the filter selects: --limit is for jsonl and csv").into());
    }
    if let Some(word) = &args.run {
        let run = note::named_run(opened, word).await?;
        return Ok(match is_note {
            true => Selection::Note(NoteSubject::Run(run)),
            false => Selection::Filter(opened.filter(Some(&format!("run:{run}")))?),
        });
    }
    if args.ids.is_empty() {
        let filter = opened.filter(args.filter.filter.as_deref())?;
        return Ok(if is_note { Selection::Note(NoteSubject::Filter(filter)) } else { Selection::Filter(filter) });
    }
    if is_note {
        return Err(CliError::usage("a note is about what a filter selects: ids are for jsonl and csv").into());
    }
    let mut seen = HashSet::new();
    let ids = ids::named(&args.ids).await?;
    Ok(Selection::Named(ids.into_iter().filter(|id| seen.insert(id.clone())).collect()))
}

/// Fills a new file, which is removed again where that fails: a part would look like the whole, and stand in the way of the
/// next try.
async fn whole_or_none<T>(path: &Path, fill: impl AsyncFnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let mut out = BufWriter::new(create(path)?);
    let filled = async {
        let n = fill(&mut out).await?;
        out.flush().and_then(|()| out.get_ref().sync_all()).context("cannot finish the file")?;
        Ok(n)
    }
    .await;
    if filled.is_err() {
        // The first error is the one that is reported.
        let _ = std::fs::remove_file(path);
    }
    filled
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
            Err(CliError::refused(format!("{} exists, and is left alone: name a new file", path.display())).into())
        }
        file => file.with_context(|| format!("cannot create {}", path.display())),
    }
}

async fn write(
    opened: &OpenedStore,
    args: &ExportArgs,
    selection: &Selection,
    out: &mut impl Write,
) -> Result<ExportTotals> {
    let all = |jobs| ExportTotals { jobs, missing: Missing::default() };
    let columns = match args.output {
        ExportFormat::Csv => Some(ListPrinter::new(Format::Csv, false, out)?),
        _ => None,
    };
    let filter = match selection {
        Selection::Named(ids) => return named(opened, ids, columns.as_ref(), out).await,
        Selection::Filter(filter) => filter,
        Selection::Note(subject) => return Ok(all(note::write(opened, subject, out).await?)),
    };
    let mut walk = SelectedRows::new(opened, filter.clone(), args.limit);
    let Some(columns) = columns else { return Ok(all(write_details(opened, &mut walk, out).await?)) };
    let mut n = 0;
    while let Some(row) = walk.next().await? {
        columns.row(out, &row, None)?;
        n += 1;
    }
    Ok(all(n))
}

/// Writes jobs that were named, in the order in which they were, by columns or with everything.
async fn named(
    opened: &OpenedStore,
    ids: &[JobId],
    columns: Option<&ListPrinter>,
    out: &mut impl Write,
) -> Result<ExportTotals> {
    let (mut n, mut missing) = (0, Vec::new());
    for ids in ids.chunks(CHUNK) {
        let found = details(opened, ids).await?;
        let mut found: HashMap<JobId, JobDetail> =
            found.into_iter().map(|detail| (detail.row.id.clone(), detail)).collect();
        for id in ids {
            let Some(detail) = found.remove(id) else {
                missing.push(id);
                continue;
            };
            let detail = opened.masked_detail(detail);
            match columns {
                Some(columns) => columns.row(out, &detail.row, None)?,
                None => output::json_line(out, &output::Versioned::new(DetailRecord::from(&detail)))?,
            }
            n += 1;
        }
    }
    let missing = Missing::of(missing);
    if n == 0 {
        let were = if missing.n == 1 { "this job was" } else { "these jobs were" };
        anyhow::bail!("nothing to export: {were} not found{missing}");
    }
    Ok(ExportTotals { jobs: n, missing })
}

/// Writes jobs with everything, in the order of the walk.
async fn write_details(opened: &OpenedStore, walk: &mut SelectedRows<'_>, out: &mut impl Write) -> Result<u64> {
    let (mut n, mut gone) = (0, 0);
    loop {
        let ids: Vec<JobId> = walk.some(CHUNK).await?.into_iter().map(|row| row.id).collect();
        if ids.is_empty() {
            break;
        }
        let mut found: HashMap<JobId, JobDetail> = HashMap::new();
        found.extend(details(opened, &ids).await?.into_iter().map(|detail| (detail.row.id.clone(), detail)));
        for detail in ids.iter().map(|id| found.remove(id)) {
            let Some(detail) = detail else {
                gone += 1;
                continue;
            };
            output::json_line(out, &output::Versioned::new(DetailRecord::from(&opened.masked_detail(detail))))?;
            n += 1;
        }
    }
    if gone > 0 {
        let were = if gone == 1 { "was" } else { "were" };
        output::say(&format!("{} {were} gone before they could be read", jobs(gone)));
    }
    Ok(n)
}

/// Reads jobs whole. What is too much for the deadline of one statement is asked for in halves.
async fn details(opened: &OpenedStore, ids: &[JobId]) -> Result<Vec<JobDetail>, SourceError> {
    let (mut found, mut waiting) = (Vec::new(), vec![ids]);
    while let Some(ids) = waiting.pop() {
        match opened.desk.store.details(ids, &opened.budget).await {
            Ok(some) => found.extend(some),
            Err(error) if error.took_too_long() && ids.len() > 1 => {
                let (left, right) = ids.split_at(ids.len() / 2);
                waiting.extend([right, left]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_export_that_fails_leaves_no_file_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let failed = whole_or_none::<u64>(&path, async |out| {
            out.write_all(b"a part")?;
            anyhow::bail!("the database is gone")
        });
        assert_eq!(failed.await.expect_err("it failed").to_string(), "the database is gone");
        assert!(!path.exists());
        let filled = whole_or_none(&path, async |out| {
            out.write_all(b"all")?;
            Ok(3)
        });
        assert_eq!(filled.await.expect("a file"), 3);
        assert_eq!(std::fs::read(&path).expect("the file"), b"all");
        assert!(whole_or_none(&path, async |_| Ok(0)).await.is_err());
        assert_eq!(std::fs::read(&path).expect("the file"), b"all", "what was there before is left alone");
    }

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
