//! `dlq-tui doctor`: what is well with a source and what is not, and what to do about it. It reads, and never writes.
//!
//! `record` is what is found and how it is printed; each section is a file of its own that returns findings.

mod connection;
mod indexes;
mod record;

use anyhow::Result;

use super::args::DoctorArgs;
use super::exit::Code;
use super::open::survey;
use super::out;
use super::source::Session;
use crate::config::mask_secrets;
use record::{Finding, Level};

/// Looks at the source from every side, and prints what is found.
///
/// # Errors
/// When nothing says which database, or the answer cannot be printed. Whatever is wrong with the source is a finding.
pub async fn run(session: &Session, args: &DoctorArgs) -> Result<Code> {
    let origin = session.origin()?;
    let name = origin.name.clone();
    let budget = session.budget(&origin);
    let findings = match survey(session, origin, &budget).await {
        Ok(surveyed) => {
            let mut findings = connection::findings(&surveyed, &budget).await;
            findings.extend(indexes::findings(&surveyed, &budget).await);
            findings
        }
        Err(error) => {
            vec![Finding::new(connection::SECTION, "reach", Level::Fail, mask_secrets(&format!("{error:#}")))]
        }
    };
    let failed = findings.iter().any(|finding| finding.level == Level::Fail);
    out::unless_gone(record::print(&name, &findings, args.output.output))?;
    Ok(if failed { Code::Failed } else { Code::Done })
}
