//! Which runs are of a source, as a condition of a statement.

use crate::ledger::backend::Backend;

/// Whether a run is of a source. In a record that the source itself holds every one is, whatever its operators call it.
pub(in crate::ledger) fn of_source(home: &Backend, column: &str, name: &str) -> String {
    if home.shared().is_some() { "1 = 1".to_owned() } else { format!("{column} = {name}") }
}

/// Whether a run is of a source and of the database `here` (see [`crate::ledger::Whose::here`]): a source may lead to another
/// one than it did, and the ids of its jobs say nothing there. As [`Identity::is`] has it, and where either is not
/// known it is taken to be the same.
///
/// [`Identity::is`]: crate::store::Identity::is
pub(in crate::ledger) fn of_database(home: &Backend, run: &str, source: &str, here: &str) -> String {
    if home.shared().is_some() {
        return "1 = 1".to_owned();
    }
    let kept = |member: &str| format!("json_extract({run}options, '$.database.{member}')");
    let now = |member: &str| format!("json_extract({here}, '$.{member}')");
    let same = |member: &str| format!("{} = {}", kept(member), now(member));
    format!("{run}source = {source} AND coalesce({}, {}, 1)", same("own"), same("place"))
}
