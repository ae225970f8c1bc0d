//! `dlq-tui completions` and `dlq-tui man`: the commands for a shell and for `man`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::args::{self, CompletionsArgs, ManArgs};
use super::exit::Code;
use super::output;

/// Prints the completions of a shell.
///
/// # Errors
/// When they cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<Code> {
    let mut command = args::command();
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "dlq-tui", &mut text);
    if args.shell == Shell::Bash {
        // The generator writes the hyphen of our name in two ways, and would know no option of any command.
        let script = String::from_utf8(text)?.replace("dlq__subcmd__tui", "dlq__tui");
        // Bash has the sign of `--option=word` as a word of its own, behind which the generator looks for no option.
        let sign = "    prev=\"$3\"\n    if [[ \"$prev\" == \"=\" ]]; then prev=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n";
        text = script.replacen("    prev=\"$3\"\n", sign, 1).into_bytes();
    }
    print(&text)
}

/// Prints the manual page of the program, or writes one for each command into a folder.
///
/// # Errors
/// When they cannot be written.
pub fn pages(args: &ManArgs) -> Result<Code> {
    let mut command = args::command();
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
    let mut out = output::stdout();
    out.write_all(text)?;
    out.flush()?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that is shown, by its words.
    fn commands(command: &Command, into: &mut Vec<Vec<String>>, path: &[String]) {
        for child in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let words: Vec<String> = path.iter().cloned().chain([child.get_name().to_owned()]).collect();
            commands(child, into, &words);
            into.push(words);
        }
    }

    #[test]
    fn every_command_has_a_page_and_is_completed_with_its_options() {
        let folder = tempfile::tempdir().expect("a folder");
        pages(&ManArgs { dir: Some(folder.path().to_owned()) }).expect("pages");
        let mut all = Vec::new();
        commands(&args::command(), &mut all, &[]);
        assert!(all.len() > 20, "{all:?}");
        let completions = |shell: clap_complete::Shell| {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "dlq-tui", &mut text);
            String::from_utf8(text).expect("text")
        };
        use clap_complete::Shell::{Bash, Fish, Zsh};
        let (bash, zsh, fish) = (completions(Bash), completions(Zsh), completions(Fish));
        for words in all {
            let page = folder.path().join(format!("dlq-tui-{}.1", words.join("-")));
            let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
            assert!(page.contains(".SH SYNOPSIS"), "{words:?}");
            let name = words.last().expect("a word");
            assert!(
                bash.contains(&format!("dlq__tui__subcmd__{}", words.join("__subcmd__")))
                    || bash.contains(&format!("dlq__tui__{}", words.join("__"))),
                "bash: {words:?}"
            );
            assert!(zsh.contains(&format!("({name})")), "zsh: {words:?}");
            assert!(fish.contains(&format!("-a \"{name}\"")), "fish: {words:?}");
        }
        for option in ["--validate", "--reveal", "--reveals"] {
            assert!(bash.contains(option) && zsh.contains(option) && fish.contains(&option[2..]), "{option}");
        }
    }

    #[test]
    fn each_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        pages(&ManArgs { dir: Some(folder.path().to_owned()) }).expect("pages");
        let page = |name: &str| std::fs::read_to_string(folder.path().join(name));
        assert!(page("dlq-tui.1").expect("the main page").contains("Exit codes"));
        assert!(page("dlq-tui-adapters-check.1").expect("a page").contains("dlq\\-tui adapters check"));
        assert!(page("dlq-tui-docs.1").is_ok());
    }
}
