//! The rights: what the role may do with each store, and what would let it do the rest.

use super::finding::{Finding, Level};
use crate::domain::action::Action;
use crate::store::{Availability, Diagnose, Grant, StoreInfo};

/// What is found of the rights on a store.
pub fn findings(info: &StoreInfo, store: &dyn Diagnose, section: &str) -> Vec<Finding> {
    let lacks = |action: Option<Action>| {
        let known = store.lacks().iter().find(|(of, _)| *of == action);
        known.map_or(&[][..], |(_, missing)| missing.as_slice())
    };
    let mut all = vec![match lacks(None) {
        [] => Finding::new(section, "look", Level::Ok, "every table that dlq-tui reads is readable"),
        missing => lacking(section, "look", missing),
    }];
    for action in Action::ALL {
        let about = match action.profile().undoes {
            Some(undone) => format!("undo of {undone}"),
            None => action.to_string(),
        };
        // That the database takes no changes at all is a finding of its own.
        let mut actions = info.capabilities.actions.iter();
        let own = actions.find(|(of, _)| *of == action).map(|(_, availability)| availability);
        match (lacks(Some(action)), own) {
            ([], Some(Availability::Ready { .. })) => {
                all.push(Finding::new(section, &about, Level::Ok, "no right is known to be missing"));
            }
            // It is not the role's fault.
            ([], _) => {}
            (missing, _) => all.push(lacking(section, &about, missing)),
        }
    }
    all
}

fn lacking(section: &str, about: &str, missing: &[Grant]) -> Finding {
    let joined = |part: fn(&Grant) -> &str, by: &str| missing.iter().map(part).collect::<Vec<_>>().join(by);
    let fact = format!("the role may not {}", joined(|grant| &grant.act, ", nor "));
    let ddl = format!("{};", joined(|grant| &grant.sql, "; "));
    Finding::new(section, about, Level::Warn, fact).advising("the table owner can grant it").by(ddl)
}
