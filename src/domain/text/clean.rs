//! Sanitised text, and the measuring and cutting that screens need.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::sanitise::{Breaks, sanitise};

/// Text that is safe to write to a terminal: the only form that views accept from a job.
///
/// Only the sanitiser makes one, besides [`Clean::from_static`] for the program's own words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clean<'a>(Cow<'a, str>);

/// What stands between the parts of a name.
const SEPARATORS: [&str; 3] = ["::", "\\", "."];

impl<'a> Clean<'a> {
    /// Sanitises `text` to one line: a line break becomes `⏎`.
    pub fn line(text: &'a str) -> Self {
        Self(sanitise(text, Breaks::Shown))
    }

    /// Sanitises `text` and keeps its line breaks (as `\n`).
    pub fn lines(text: &'a str) -> Self {
        Self(sanitise(text, Breaks::Kept))
    }

    /// Wraps words of the program itself. `&'static` keeps text from outside away from here.
    pub fn from_static(text: &'static str) -> Clean<'static> {
        Clean(Cow::Borrowed(text))
    }

    /// The same text, owned.
    pub fn into_owned(self) -> Clean<'static> {
        Clean(Cow::Owned(self.0.into_owned()))
    }

    /// Columns that the text takes on a terminal; of several lines, the widest counts.
    pub fn width(&self) -> usize {
        self.0.split('\n').map(|line| line.graphemes(true).map(UnicodeWidthStr::width).sum()).max().unwrap_or(0)
    }

    /// The lines of the text; at least one, which may be empty.
    pub fn rows(&self) -> impl Iterator<Item = Clean<'_>> {
        self.0.split('\n').map(|row| Clean(Cow::Borrowed(row)))
    }

    /// The first line, cut to `width` columns between graphemes; where something is cut off, `ellipsis` ends it.
    ///
    /// The result is never wider than `width`, even if `ellipsis` is. Work is bounded by `width`, not by the text.
    pub fn truncate(&self, width: usize, ellipsis: &str) -> Clean<'_> {
        let line = self.0.split('\n').next().unwrap_or("");
        let fits = prefix(line, width);
        if fits.len() == self.0.len() {
            return Clean(Cow::Borrowed(fits));
        }
        let ellipsis = sanitise(ellipsis, Breaks::Shown);
        let ellipsis = prefix(&ellipsis, width);
        let kept = prefix(line, width - columns(ellipsis));
        Clean(Cow::Owned(format!("{kept}{ellipsis}")))
    }

    /// As [`Clean::truncate`]; but a name in a name space (`My.Workers.Mail`, `Net::ReadTimeout`, `App\Jobs\Mail`) keeps its end, by which such
    /// names differ, and `ellipsis` begins it.
    pub fn truncate_name(&self, width: usize, ellipsis: &str) -> Clean<'_> {
        let line = self.0.split('\n').next().unwrap_or("");
        let in_a_space = SEPARATORS.iter().any(|separator| line.contains(separator));
        let is_name = in_a_space && line.len() == self.0.len() && !line.contains(char::is_whitespace);
        if !is_name || prefix(line, width).len() == line.len() {
            return self.truncate(width, ellipsis);
        }
        let ellipsis = sanitise(ellipsis, Breaks::Shown);
        let ellipsis = prefix(&ellipsis, width);
        let room = width - columns(ellipsis);
        // Whole words from the end, as many as there is room for; of the last one at least its beginning.
        let ends = SEPARATORS.iter().flat_map(|s| line.match_indices(s).map(|(at, s)| &line[at + s.len()..]));
        let words: Vec<&str> = ends.filter(|word| !word.is_empty()).collect();
        let last = words.iter().min_by_key(|word| word.len()).copied().unwrap_or(line);
        let whole = words.into_iter().filter(|word| columns(word) <= room).max_by_key(|word| word.len());
        let cut = Clean(Cow::Borrowed(whole.unwrap_or(last)));
        let tail = cut.truncate(room, ellipsis);
        Clean(Cow::Owned(format!("{ellipsis}{tail}")))
    }

    /// The columns `skip..skip + width` of the first line, for a view that is scrolled sideways.
    ///
    /// A wide character that the left edge would halve is left out, with a space in place of its visible half.
    pub fn window(&self, skip: usize, width: usize) -> Clean<'_> {
        let line = self.0.split('\n').next().unwrap_or("");
        let before = prefix(line, skip);
        let missing = skip - columns(before);
        if missing == 0 {
            return Clean(Cow::Borrowed(prefix(&line[before.len()..], width)));
        }
        let Some(cut) = line[before.len()..].graphemes(true).next() else {
            return Clean(Cow::Borrowed(""));
        };
        let gap = UnicodeWidthStr::width(cut).saturating_sub(missing).min(width);
        let rest = prefix(&line[before.len() + cut.len()..], width - gap);
        Clean(Cow::Owned(format!("{:gap$}{rest}", "")))
    }

    /// The text broken into rows of at most `width` columns (at least 1), between graphemes.
    ///
    /// A grapheme wider than `width` gets a row of its own.
    pub fn wrap(&self, width: usize) -> Vec<Clean<'_>> {
        let mut rows = Vec::new();
        for mut line in self.0.split('\n') {
            loop {
                let mut row = prefix(line, width.max(1));
                if row.is_empty() {
                    row = line.graphemes(true).next().unwrap_or("");
                }
                rows.push(Clean(Cow::Borrowed(row)));
                line = &line[row.len()..];
                if line.is_empty() {
                    break;
                }
            }
        }
        rows
    }
}

/// The longest run of whole graphemes from the start of `line` that fits into `width` columns.
fn prefix(line: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in line.grapheme_indices(true) {
        used += UnicodeWidthStr::width(grapheme);
        if used > width {
            return &line[..at];
        }
    }
    line
}

/// Columns of one line, added up over graphemes as a terminal's cells are filled.
fn columns(line: &str) -> usize {
    line.graphemes(true).map(UnicodeWidthStr::width).sum()
}

impl Deref for Clean<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_in_a_name_space_keeps_its_end_and_other_text_its_beginning() {
        let cut = |text: &str, width| Clean::line(text).truncate_name(width, "…").to_string();
        assert_eq!(cut("MyApp.Workers.ChargeCard", 11), "…ChargeCard");
        assert_eq!(cut("Illuminate\\Queue\\Failed", 9), "…Failed");
        assert_eq!(cut("Net::ReadTimeout", 15), "…ReadTimeout");
        assert_eq!(cut("Net::ReadTimeout", 8), "…ReadTi…");
        assert_eq!(cut("Stripe::APIConnectionError", 20), "…APIConnectionError");
        assert_eq!(cut("Net::ReadTimeout", 16), "Net::ReadTimeout");
        assert_eq!(cut("card declined: 3.50", 8), "card de…");
        assert_eq!(cut("ReadTimeoutError", 8), "ReadTim…");
        assert_eq!(cut("日本.時間", 5), "…時間");
        assert_eq!(cut("a.b", 0), "");
    }

    #[test]
    fn cutting_never_halves_a_wide_character() {
        let text = Clean::line("日本語");
        assert_eq!(&*text.truncate(6, "…"), "日本語");
        assert_eq!(&*text.truncate(5, "…"), "日本…");
        assert_eq!(&*text.truncate(4, "…"), "日…");
        assert_eq!(&*text.truncate(1, "…"), "…");
        assert_eq!(&*text.truncate(0, "…"), "");
        assert_eq!(&*text.truncate(2, "..."), "..");
    }

    #[test]
    fn an_ellipsis_is_sanitised_like_everything_else() {
        assert_eq!(&*Clean::line("abcdef").truncate(3, "\u{1b}"), "ab␛");
    }

    #[test]
    fn several_lines_are_cut_to_the_first_and_marked() {
        assert_eq!(&*Clean::lines("ab\ncd").truncate(9, "…"), "ab…");
        assert_eq!(Clean::lines("ab\n日本\n").width(), 4);
        assert_eq!(Clean::lines("ab\n\n").rows().count(), 3);
    }

    #[test]
    fn a_sideways_window_keeps_the_columns_in_place() {
        let text = Clean::line("a日b本c");
        assert_eq!(&*text.window(0, 4), "a日b");
        assert_eq!(&*text.window(1, 3), "日b");
        assert_eq!(&*text.window(2, 3), " b");
        assert_eq!(&*text.window(7, 3), "");
        assert_eq!(&*text.window(6, 3), "c");
        assert_eq!(&*text.window(99, 3), "");
    }

    #[test]
    fn wrapping_loses_nothing_and_always_advances() {
        let text = Clean::lines("日本語x\n\nab");
        let rows: Vec<String> = text.wrap(1).iter().map(|r| r.to_string()).collect();
        assert_eq!(rows, ["日", "本", "語", "x", "", "a", "b"]);
    }

    proptest! {
        #[test]
        fn a_cut_text_is_never_wider_than_asked(text in "\\PC{0,40}", width in 0usize..20) {
            let clean = Clean::line(&text);
            prop_assert!(clean.truncate(width, "…").width() <= width);
            prop_assert!(clean.window(width / 2, width).width() <= width);
        }
    }
}
