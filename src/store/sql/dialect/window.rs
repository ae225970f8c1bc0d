//! Windows of rows, and what orders them.

/// What a window is made of.
pub(crate) struct WindowShape<'a> {
    pub(crate) table: &'a str,
    pub(crate) key: &'a str,
    /// The expressions over `t` that order it, all in the same direction.
    pub(crate) by: &'a [&'a str],
    pub(crate) descending: bool,
    pub(crate) rows: usize,
}

impl WindowShape<'_> {
    /// What stands after ORDER BY.
    pub(crate) fn order(&self) -> String {
        order_by(self.by, self.descending)
    }
}

/// What stands after ORDER BY for expressions that all go in one direction.
pub(crate) fn order_by(by: &[&str], descending: bool) -> String {
    let direction = if descending { "DESC" } else { "ASC" };
    by.iter().map(|expr| format!("{expr} {direction}")).collect::<Vec<_>>().join(", ")
}

/// The next number of which there are but four to each doubling. The sizes that statements name come from these, so
/// that there are few different statements, which a driver can keep prepared.
pub(crate) fn rung(n: usize) -> usize {
    let step = ((1usize << (n.max(2) - 1).ilog2()) / 4).max(1);
    n.div_ceil(step).saturating_mul(step)
}
