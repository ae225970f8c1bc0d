//! The readers of text from outside, over the seeds of `fuzz/` and what comes of them by chance. The same numbers each time:
//! what is found here is found again. `scripts/fuzz` searches for longer, and knows where it has been.

#[path = "../../fuzz/targets.rs"]
mod targets;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use targets::{TARGETS, Target};

/// Changed texts that each target is tried with.
const TRIES: usize = 400;

/// What readers are known to trip over.
const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"'",
    b"\n",
    b"\0",
    b"\x1b[2J",
    b"\xff",
    b"\xc2\x9b",
    b"{",
    b"[[",
    b"]",
    b"=",
    b":",
    b"-",
    b"999999999999999999999",
    b"1e999",
    b"%",
    b"@",
    b"..",
    "\u{202e}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{10ffff}".as_bytes(),
    b"~",
    b"/",
    b"#",
    b",,",
];

/// Numbers that seem to come by chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    /// One of the seeds with some changes.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut text = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(text.len() + 1);
            match self.below(6) {
                0 => text.truncate(at),
                1 if at < text.len() => text[at] = u8::try_from(self.below(256)).expect("a byte"),
                2 => drop(text.drain(at..(at + self.below(9)).min(text.len()))),
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    text.splice(at..at, other[from..].iter().copied().take(64));
                }
                4 => {
                    let piece: Vec<u8> = text[at..].iter().copied().take(8).collect();
                    text.splice(at..at, piece.repeat(1 + self.below(40)));
                }
                _ => drop(text.splice(at..at, WORDS[self.below(WORDS.len())].iter().copied())),
            }
        }
        text
    }
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let paths = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(target.seeds));
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

/// The files of a folder and of the folders in it; a folder has no order of its own.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a file").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) }).collect()
}

#[test]
fn no_text_breaks_a_reader() {
    for target in TARGETS {
        let seeds = seeds(target);
        assert!(seeds.len() > 3, "{} has no seeds", target.name);
        let mut chance = Chance(0x5eed);
        let changed = (0..TRIES).map(|_| chance.changed(&seeds));
        for text in seeds.iter().cloned().chain(changed) {
            let tried = catch_unwind(AssertUnwindSafe(|| (target.run)(&text)));
            assert!(tried.is_ok(), "{} breaks on {:?}", target.name, String::from_utf8_lossy(&text));
        }
    }
}
