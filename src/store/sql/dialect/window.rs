//! Windows of rows, and what orders them.

/// What a window is made of.
pub(in crate::store::sql) struct WindowShape<'a> {
    pub(in crate::store::sql) table: &'a str,
    pub(in crate::store::sql) key: &'a str,
    /// The expressions over `t` that order it, all in the same direction.
    pub(in crate::store::sql) by: &'a [&'a str],
    pub(in crate::store::sql) descending: bool,
    pub(in crate::store::sql) rows: usize,
}

impl WindowShape<'_> {
    /// What stands after ORDER BY.
    pub(in crate::store::sql) fn order(&self) -> String {
        order_by(self.by, self.descending)
    }
}

/// What stands after ORDER BY for expressions that all go in one direction.
pub(in crate::store::sql) fn order_by(by: &[&str], descending: bool) -> String {
    let direction = if descending { "DESC" } else { "ASC" };
    by.iter().map(|expr| format!("{expr} {direction}")).collect::<Vec<_>>().join(", ")
}
