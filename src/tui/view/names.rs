//! Names of classes in a column that is too narrow for some of them: cut so that no two look the same.

use std::collections::{BTreeSet, HashMap};

use crate::domain::text::Clean;
use crate::tui::theme::Theme;

/// What separates the parts of a name.
const SEPARATORS: [char; 5] = [':', '.', '\\', '/', ' '];

/// Names that are on screen at a time, each as a column of so many columns shows it.
pub fn distinct(names: &[String], width: usize, theme: &Theme) -> Vec<String> {
    let cut = |name: &String| Clean::line(name).truncate_name(width, theme.glyphs.ellipsis).to_string();
    let mut shown: Vec<String> = names.iter().map(cut).collect();
    let mut alike: HashMap<String, BTreeSet<&String>> = HashMap::new();
    for (name, cut) in names.iter().zip(&shown) {
        alike.entry(cut.clone()).or_default().insert(name);
    }
    for (name, shown) in names.iter().zip(&mut shown) {
        if let Some(several) = alike.get(shown).filter(|names| names.len() > 1) {
            *shown = differing(name, common(several), width, theme);
        }
    }
    shown
}

/// Bytes that all names begin with, whole parts of them only.
fn common(names: &BTreeSet<&String>) -> usize {
    let Some(first) = names.first() else { return 0 };
    let same = |other: &&String| {
        let pairs = first.char_indices().zip(other.chars());
        pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, a), _)| at + a.len_utf8())
    };
    let length = names.iter().skip(1).map(same).min().unwrap_or(0);
    first[..length].rfind(SEPARATORS).map_or(0, |at| at + 1)
}

/// A name from where it differs on.
fn differing(name: &str, common: usize, width: usize, theme: &Theme) -> String {
    let ellipsis = theme.glyphs.ellipsis;
    if common == 0 {
        return Clean::line(name).truncate(width, ellipsis).to_string();
    }
    let rest = format!("{ellipsis}{}", &name[common..]);
    Clean::line(&rest).truncate(width, ellipsis).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize, names: &[&str]) -> Vec<String> {
        let theme = Theme::of("none", false, |_| None);
        distinct(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), width, &theme)
    }

    #[test]
    fn names_that_end_the_same_are_told_apart_by_their_beginnings() {
        let both = ["requests.exceptions.ReadTimeout", "Net::ReadTimeout"];
        assert_eq!(shown(14, &both[1..]), ["…ReadTimeout"]);
        assert_eq!(shown(14, &both), ["requests.exce…", "Net::ReadTime…"]);
        assert_eq!(shown(18, &both), ["…ReadTimeout", "Net::ReadTimeout"]);
    }

    #[test]
    fn names_that_begin_and_end_the_same_are_told_apart_by_what_lies_between() {
        let both = ["App::Billing::Eu::ChargeJob", "App::Billing::Us::ChargeJob"];
        assert_eq!(shown(14, &both), ["…Eu::ChargeJob", "…Us::ChargeJob"]);
        assert_eq!(shown(9, &both), ["…Eu::Cha…", "…Us::Cha…"]);
        assert_eq!(shown(40, &both), both);
    }
}
