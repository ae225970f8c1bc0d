//! `dlq-tui adapters`: how layouts are read and written.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use crate::adapter::{Adapter, AdapterError, Library, Misfit, fit};
use crate::cli::args::{AdaptersArgs, AdaptersCommand, Format};
use crate::cli::exit::{CliError, Code};
use crate::cli::output;
use crate::cli::source::open::{Surveyed, library, survey, survey_with_library};
use crate::cli::source::source_choice::SourceChoice;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::config::ReplayTo;
use crate::domain::text::Clean;
use crate::store::Budget;
use crate::store::survey::{CheckFinding, Found};
use crate::triage::conformance::story;

#[derive(Serialize)]
struct AdaptersOutput<'a> {
    adapters: Vec<AdapterRecord<'a>>,
}

#[derive(Serialize)]
struct AdapterRecord<'a> {
    name: &'a str,
    databases: Vec<&'static str>,
    /// The file; `null` for those that are built in.
    file: Option<String>,
}

impl<'a> From<&'a Adapter> for AdapterRecord<'a> {
    fn from(adapter: &'a Adapter) -> Self {
        Self {
            name: &adapter.name,
            databases: adapter.engines(),
            file: adapter.origin.as_ref().map(|path| path.display().to_string()),
        }
    }
}

/// Lists, shows or checks.
///
/// # Errors
/// When there is no such adapter, or the database to check against fails.
pub async fn run(session: &SourceChoice, args: &AdaptersArgs) -> Result<Code> {
    if let Some(AdaptersCommand::Check { name: Some(name), .. }) = &args.command {
        readable(session, name)?;
    }
    let library = library(session);
    match &args.command {
        None => list(&library, Format::Table),
        Some(AdaptersCommand::List(output)) => list(&library, output.output),
        Some(AdaptersCommand::Show { name }) => {
            write(named(&library, name)?.text.as_bytes())?;
            Ok(Code::Done)
        }
        Some(AdaptersCommand::Check { name, deep }) => {
            let (library, name) = with_file(library, name.clone())?;
            against_database(session, library, name.as_deref(), *deep).await
        }
        Some(AdaptersCommand::Init { table, print }) => draft(session, table, *print).await,
    }
}

fn faults_of(findings: &[CheckFinding]) -> usize {
    findings.iter().filter(|finding| finding.verdict.is_err()).count()
}

/// Tells the story of a store, in transactions that are rolled back; returns how much of it is wrong.
async fn tell(
    session: &SourceChoice,
    surveyed: &Surveyed,
    found: &Found,
    out: &mut impl Write,
    budget: &Budget,
) -> Result<usize> {
    let open = async || surveyed.rehearse(session, found, budget).await;
    let mut wrong = 0;
    for chapter in story(open, budget).await? {
        let (verdict, text) = match &chapter.verdict {
            Ok(fact) => ("right", fact),
            Err(fault) => ("WRONG", fault),
        };
        wrong += usize::from(chapter.verdict.is_err());
        writeln!(out, "  {verdict}  {}: {}", chapter.about, Clean::line(text))?;
    }
    Ok(wrong)
}

/// What is wrong with the file of that name, where it is what keeps the adapter from being there.
fn readable(session: &SourceChoice, name: &str) -> Result<()> {
    let library = Library::load(Some(session.paths.adapters()));
    let of = |fault: &&AdapterError| {
        let stem = fault.file.as_ref().and_then(|file| file.file_stem());
        stem.is_some_and(|stem| stem == name)
    };
    match library.faults.iter().find(of) {
        Some(fault) if library.get(name).is_none() => Err(CliError::usage(fault.to_string()).into()),
        _ => Ok(()),
    }
}

fn named<'a>(library: &'a Library, name: &str) -> Result<&'a Adapter> {
    library.get(name).ok_or_else(|| {
        let known: Vec<&str> = library.adapters.iter().map(|a| a.name.as_str()).collect();
        CliError::usage(format!("there is no adapter `{name}`; there are {}", known.join(", "))).into()
    })
}

/// Prints what was gathered.
fn write(text: &[u8]) -> Result<()> {
    let mut out = output::stdout();
    out.write_all(text)?;
    Ok(out.flush()?)
}

fn list(library: &Library, format: Format) -> Result<Code> {
    output::unless_gone(print(library, format))?;
    Ok(if library.faults.is_empty() { Code::Done } else { Code::Partly })
}

fn print(library: &Library, format: Format) -> Result<()> {
    let records: Vec<AdapterRecord<'_>> = library.adapters.iter().map(AdapterRecord::from).collect();
    let mut out = output::stdout();
    let row = |r: &AdapterRecord<'_>| {
        [r.name.to_owned(), r.databases.join(" "), r.file.clone().unwrap_or_else(|| "built in".to_owned())]
    };
    match format {
        Format::Json => output::json(&mut out, &output::Versioned::new(AdaptersOutput { adapters: records }))?,
        Format::Jsonl => {
            for record in &records {
                output::json_line(&mut out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["adapter", "databases", "file"])?;
            for record in &records {
                output::csv(&mut out, row(record).iter().map(String::as_str))?;
            }
        }
        Format::Table => {
            let mut table = TextTable::new([
                TableColumn::Whole("adapter"),
                TableColumn::Whole("databases"),
                TableColumn::Text("file"),
            ]);
            for record in &records {
                table.row(row(record).iter().map(String::as_str));
            }
            table.print(&mut out, terminal_width())?;
        }
    }
    Ok(out.flush()?)
}

/// An adapter that is named by the path of its file stands in for all others of its name.
fn with_file(mut library: Library, name: Option<String>) -> Result<(Library, Option<String>)> {
    let Some(path) = name.as_deref().filter(|name| name.contains('/') || name.ends_with(".toml")) else {
        return Ok((library, name));
    };
    let path = PathBuf::from(path);
    let text = std::fs::read_to_string(&path)
        .map_err(|e| CliError::usage(format!("{} cannot be read: {e}", Clean::line(&path.display().to_string()))))?;
    let adapter = Adapter::parse(&text, Some(path)).map_err(|e| CliError::usage(e.to_string()))?;
    let name = adapter.name.clone();
    library.adapters.retain(|other| other.name != name);
    library.adapters.insert(0, adapter);
    Ok((library, Some(name)))
}

/// Writes a first draft for a table into the folder of the operator's own adapters.
async fn draft(session: &SourceChoice, table: &str, print: bool) -> Result<Code> {
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    let surveyed = survey(session, origin, &budget).await?;
    let sample = surveyed.survey.sample(table, &budget).await?;
    let text = sample.draft().map_err(CliError::usage)?;
    if print {
        write(text.as_bytes())?;
        return Ok(Code::Done);
    }
    let folder = session.paths.adapters();
    let path = folder.join(format!("{}.toml", sample.name()));
    std::fs::create_dir_all(folder)?;
    let new = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    let shown = path.display().to_string();
    let shown = Clean::line(&shown);
    match new {
        Ok(mut file) => file.write_all(text.as_bytes())?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let sentence =
                format!("{shown} is there already and is left as it is; --print shows the draft without writing it");
            return Err(CliError::usage(sentence).into());
        }
        Err(e) => return Err(CliError::usage(format!("{shown} cannot be written: {e}")).into()),
    }
    output::say(&format!("wrote {shown}"));
    if let Err(fault) = Adapter::parse(&text, None) {
        output::say(&fault.to_string());
    }
    output::say("review every line, correct wrong guesses, and write how a job is replayed; then check it with");
    let command = ["dlq-tui"].into_iter().chain(surveyed.origin.reach.iter().map(|word| word.as_str()));
    let name = sample.name();
    output::say(&format!("  {}", shell_words::join(command.chain(["adapters", "check", name.as_str()]))));
    Ok(Code::Done)
}

/// Why a layout is not what an adapter describes, with the lines that ask for what is missing.
fn write_misfits(out: &mut Vec<u8>, adapter: &Adapter, dialect: &str, place: &str, reasons: &[Misfit]) -> Result<()> {
    writeln!(out, "{}{place} does not fit", adapter.name)?;
    for misfit in reasons {
        let line = adapter.line_of(dialect, misfit).map(|line| format!("line {line}: ")).unwrap_or_default();
        writeln!(out, "  {line}{}", Clean::line(&misfit.sentence))?;
    }
    Ok(())
}

/// What was found of one layout: what is wrong, and what is not used.
fn write_findings(out: &mut Vec<u8>, found: &Found, findings: &[CheckFinding]) -> Result<()> {
    let faults: Vec<_> = findings.iter().filter_map(|f| Some((f, f.verdict.as_ref().err()?))).collect();
    let verdict = if faults.is_empty() { "right" } else { "wrong" };
    writeln!(out, "{} on {}: {} statements, {verdict}", found.adapter, Clean::line(&found.label()), findings.len())?;
    for (finding, why) in faults {
        writeln!(out, "  line {}, {}: {}", finding.line, finding.what, Clean::line(why))?;
    }
    for (finding, why) in findings.iter().filter_map(|f| Some((f, f.unused.as_ref()?))) {
        writeln!(out, "  line {}, {} is not used here: {}", finding.line, finding.what, Clean::line(why))?;
    }
    Ok(())
}

/// Checks one adapter, or every one that a table of the database fits, and prints what is wrong.
async fn against_database(session: &SourceChoice, library: Library, name: Option<&str>, deep: bool) -> Result<Code> {
    if let Some(name) = name {
        named(&library, name)?;
    }
    let origin = session.origin()?;
    let target = origin.source.as_ref().and_then(|s| match &s.replay {
        Some(ReplayTo::Table(table)) => Some(table.clone()),
        _ => None,
    });
    let budget = session.budget(&origin);
    let surveyed = survey_with_library(session, std::future::ready(library), origin, &budget).await?;
    let (survey, library) = (&surveyed.survey, &surveyed.survey.library);
    let wanted = |adapter: &str| name.is_none_or(|n| n == adapter);
    let mut out = Vec::new();
    let (mut checked, mut wrong) = (0, 0);
    for found in survey.found().iter().filter(|f| wanted(&f.adapter)) {
        let findings = survey.check(found, target.as_deref(), &budget).await?;
        checked += 1;
        wrong += faults_of(&findings);
        write_findings(&mut out, found, &findings)?;
        for warning in found.warnings.iter().chain(&survey.untold_key(found)) {
            writeln!(out, "  {}", Clean::line(warning))?;
        }
        if deep && faults_of(&findings) == 0 {
            wrong += tell(session, &surveyed, found, &mut out, &budget).await?;
        }
        for (purpose, ddl) in survey.missing_indexes(found) {
            writeln!(out, "  no index for {purpose}: on a big table run {}", Clean::line(&ddl))?;
        }
    }
    let dialect = survey.source().kind();
    for rejected in survey.rejected().iter().filter(|r| wanted(&r.adapter)) {
        let adapter = named(library, &rejected.adapter)?;
        let place = format!(" in {}", Clean::line(&rejected.schema));
        write_misfits(&mut out, adapter, dialect, &place, &rejected.reasons)?;
        wrong += usize::from(name.is_some());
    }
    if let (Some(name), 0, 0) = (name, checked, wrong) {
        // No schema has its table.
        let adapter = named(library, name)?;
        if let Some(spec) = adapter.variants(dialect).last() {
            write_misfits(&mut out, adapter, dialect, "", &fit(spec, |_| None))?;
            wrong += 1;
        }
    }
    output::unless_gone(write(&out))?;
    if checked == 0 {
        output::say(&format!("no table of {} fits", surveyed.origin.name));
    }
    // Who asks of one adapter is told of the others' faults, and not answered by them.
    let is_readable = name.is_some() || library.faults.is_empty();
    Ok(if checked > 0 && wrong == 0 && is_readable { Code::Done } else { Code::Failed })
}
