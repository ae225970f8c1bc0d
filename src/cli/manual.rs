//! `dlq-tui completions` and `dlq-tui man`: what a shell and `man` are told of the commands.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::exit::Code;
use super::out;

/// Prints the completions of a shell.
///
/// # Errors
/// When they cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<Code> {
    let mut command = Cli::command();
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "dlq-tui", &mut text);
    print(&text)
}

/// Prints the manual page of the program, or writes one for each command into a folder.
///
/// # Errors
/// When they cannot be written.
pub fn pages(args: &ManArgs) -> Result<Code> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.dir else { return print(&page(&command)?) };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    write(folder, &command)?;
    Ok(Code::Done)
}

/// A page for the command and for each below it: `dlq-tui-adapters-check.1`.
fn write(folder: &Path, command: &Command) -> Result<()> {
    let name = name(command);
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).with_context(|| format!("cannot write {}", file.display()))?;
    let shown = |c: &&Command| !c.is_hide_set() && c.get_name() != "help";
    command.get_subcommands().filter(shown).try_for_each(|child| write(folder, child))
}

fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(name(command)).render(&mut text)?;
    Ok(text)
}

fn print(text: &[u8]) -> Result<Code> {
    let mut out = out::stdout();
    out.write_all(text)?;
    out.flush()?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_and_hidden_ones_have_none() {
        let folder = tempfile::tempdir().expect("a folder");
        pages(&ManArgs { dir: Some(folder.path().to_owned()) }).expect("pages");
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name));
        assert!(page("dlq-tui.1").expect("the main page").contains("Exit codes"));
        assert!(page("dlq-tui-adapters-check.1").expect("a page").contains("dlq\\-tui adapters check"));
        assert!(page("dlq-tui-docs.1").is_err());
    }
}
