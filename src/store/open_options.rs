//! How a store is opened, and where its replayed jobs go.

/// Where replayed jobs go, for layouts that leave this to the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplayDestination {
    /// Nothing is configured: replay is disabled and says what to write.
    #[default]
    None,
    /// A live table in the same database, `table` or `schema.table`.
    Table(String),
    /// A command, which whoever applies a batch runs as [`crate::store::Deliver`]; its line as it is put on record.
    Command(String),
}

impl ReplayDestination {
    /// The tables that the name of a live table can mean.
    pub(crate) fn table_names(&self, own_schema: &str) -> Vec<String> {
        match self {
            ReplayDestination::Table(name) => {
                places(own_schema, name).into_iter().map(|(_, table)| table.to_owned()).collect()
            }
            ReplayDestination::None | ReplayDestination::Command(_) => Vec::new(),
        }
    }
}

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Where replayed jobs go.
    pub destination: ReplayDestination,
    /// Only bounded windows are read, and never a whole table in one statement: for a database that is already ill.
    pub gentle: bool,
    /// No arguments are changed here.
    pub no_edit: bool,
    /// The source has only just connected and looked: it is not asked again whether it still answers, and what time it is.
    pub just_connected: bool,
}

/// What `table` or `schema.table` can mean, as schema and table: both names may hold dots, and whatever else
/// databases allow, so that the catalogue has to tell.
pub(crate) fn places<'a>(own_schema: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
    let splits = name.match_indices('.').map(|(dot, _)| (&name[..dot], &name[dot + 1..]));
    std::iter::once((own_schema, name)).chain(splits).collect()
}
