//! Names of classes in a column that is too narrow for some of them: cut so that no two look the same.

use std::collections::{HashMap, HashSet};

use crate::domain::text::Clean;
use crate::tui::theme::Theme;

/// What separates the parts of a name.
const SEPARATORS: [char; 5] = [':', '.', '\\', '/', ' '];

/// Names as a column of so many columns shows them.
pub struct Names {
    shown: HashMap<String, String>,
}

impl Names {
    /// The names that are on screen at a time.
    pub fn of(names: impl IntoIterator<Item = String>, width: usize, theme: &Theme) -> Self {
        let names: HashSet<String> = names.into_iter().collect();
        let mut alike: HashMap<String, Vec<String>> = HashMap::new();
        for name in names {
            let cut = Clean::line(&name).truncate_name(width, theme.glyphs.ellipsis).to_string();
            alike.entry(cut).or_default().push(name);
        }
        let mut shown = HashMap::new();
        for (cut, names) in alike {
            match names.as_slice() {
                [only] => _ = shown.insert(only.clone(), cut),
                several => {
                    let common = common(several);
                    shown.extend(several.iter().map(|name| (name.clone(), differing(name, common, width, theme))));
                }
            }
        }
        Self { shown }
    }

    /// A name as it is shown.
    pub fn get(&self, name: &str) -> &str {
        self.shown.get(name).map_or("", String::as_str)
    }
}

/// Bytes that all names begin with, whole parts of them only.
fn common(names: &[String]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let same = |other: &String| {
        let pairs = first.char_indices().zip(other.chars());
        pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, a), _)| at + a.len_utf8())
    };
    let length = others.iter().map(same).min().unwrap_or(0);
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
        let all = Names::of(names.iter().map(|name| (*name).to_owned()), width, &theme);
        names.iter().map(|name| all.get(name).to_owned()).collect()
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
