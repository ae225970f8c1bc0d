//! What the role may do here: the rights that each verb takes, held against what the catalogue said of the tables.
//!
//! Only what is known to be missing counts. What nobody can tell is left to the database, whose answer comes later, and is right.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::{Needs, Object, Privileges, Right, Route, Spec, function};
use crate::db::{DatabaseKind, Engine};
use crate::domain::action::Action;
use crate::store::Grant;
use crate::store::found::Found;
use crate::store::sql::dialect::catalogue::privileges::{On, grant, plain};
use crate::store::sql::dialect::dialect;
use crate::store::sql::schema::archive_name::archive_table_name;
use crate::store::sql::schema::destination::CheckedDestination;

/// A role that wants to do something with a layout.
pub(crate) struct Role<'a> {
    db_kind: DatabaseKind,
    name: &'a str,
    schema: &'a str,
    spec: &'a Spec,
    way: Route,
}

/// Things with the rights on them.
type Gathered = BTreeMap<(On, String), BTreeSet<&'static str>>;

/// A layout as a grant names it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// What its adapter says.
    pub spec: &'a Spec,
    /// Where its tables are.
    pub schema: &'a str,
    /// Where replayed jobs go.
    pub way: Route,
    /// Whether there is an archive beside its table already.
    pub has_archive: bool,
}

/// All that a role of that name needs to look at a layout (`None`) and for the actions; what the layout does not have takes
/// nothing. Sequences are not among it, whose names only the database knows.
pub fn required(db_kind: DatabaseKind, site: Site<'_>, actions: &[Option<Action>], role: &str) -> Vec<Grant> {
    let role = Role { db_kind, name: role, schema: site.schema, spec: site.spec, way: site.way };
    let mut gathered = Gathered::new();
    for action in actions {
        role.gather_all(site.has_archive, *action, &mut gathered);
    }
    role.grants(gathered)
}

/// The tables into which these actions put rows that the database numbers: where it has a sequence for that and no identity,
/// that is a thing of its own to be let use.
pub fn numbered(db_kind: DatabaseKind, site: Site<'_>, actions: &[Option<Action>]) -> Vec<String> {
    let role = Role { db_kind, name: "", schema: site.schema, spec: site.spec, way: site.way };
    let mut tables = BTreeSet::new();
    for action in actions.iter().flatten() {
        let rights = role.needs().act(*action, site.way).unwrap_or_default();
        let inserted = rights.iter().filter(|(_, right, columns)| *right == Right::Insert && !columns.is_empty());
        tables.extend(inserted.map(|(object, ..)| role.place(object, None).1));
    }
    tables.into_iter().collect()
}

impl<'a> Role<'a> {
    pub(crate) fn new(engine: &'a Engine, spec: &'a Spec, found: &'a Found, destination: &CheckedDestination) -> Self {
        let (name, schema) = (engine.user(), found.schema.as_str());
        Self { db_kind: engine.kind(), name, schema, spec, way: destination.kind() }
    }

    fn needs(&self) -> Needs<'a> {
        Needs::of(self.spec)
    }

    /// All that it takes to look, or for an action.
    fn gather_all(&self, has_archive: bool, action: Option<Action>, gathered: &mut Gathered) {
        let needs = self.needs();
        let rights = match action {
            None => Some(needs.reading()),
            Some(action) => needs.act(action, self.way).map(|mut rights| {
                rights.extend(needs.perhaps(action, self.way));
                rights
            }),
        };
        let Some(rights) = rights else { return };
        let mut add = |place: (On, String), word| gathered.entry(place).or_default().extend([word]);
        if self.db_kind == DatabaseKind::Postgres {
            add((On::Schema, plain(self.db_kind, self.schema)), "USAGE");
        }
        if self.db_kind == DatabaseKind::Mysql && action.is_none() {
            // What the role has no right on is not in its catalogue, and there it tells the layout.
            for table in self.spec.detect.tables.keys() {
                add((On::Table, self.label(table)), "SELECT");
            }
        }
        let has = |object: &Object, right: Right| rights.iter().any(|(on, known, _)| on == object && known == right);
        for (object, right, _) in rights.iter() {
            // Here it is enough to be let change or delete the row.
            let written = has(object, Right::Update) || has(object, Right::Delete);
            let is_held = right == Right::Lock && self.db_kind == DatabaseKind::Mysql && written;
            if !is_held && right != Right::Number {
                add(self.place(object, None), right.word());
            }
        }
        if action == Some(Action::Archive) {
            if !has_archive {
                add(self.schema_object(), "CREATE");
            }
            // Whoever made it owns it, where tables have owners.
            if has_archive || self.db_kind == DatabaseKind::Mysql {
                add((On::Table, self.archive_name()), "SELECT");
                add((On::Table, self.archive_name()), "INSERT");
            }
        }
    }

    /// Why nothing of the layout can be seen; `None` where it can, as far as is known.
    pub(crate) fn blind(&self, found: &Found) -> Option<String> {
        self.refusal(&self.missing(found, &CheckedDestination::None, &self.needs().list()))
    }

    /// What it lacks to look.
    pub(crate) fn lacks_to_read(&self, found: &Found) -> Vec<Grant> {
        self.missing(found, &CheckedDestination::None, &self.needs().reading())
    }

    /// What it lacks for an action.
    pub(crate) fn lacks(&self, found: &Found, destination: &CheckedDestination, action: Action) -> Vec<Grant> {
        let Some(rights) = self.needs().act(action, self.way) else { return Vec::new() };
        let mut gathered = self.gather(found, destination, &rights);
        if action == Action::Archive {
            self.gather_archive(found, &mut gathered);
        }
        self.grants(gathered)
    }

    /// Why it may not, in a sentence that says what would help.
    pub(crate) fn refusal(&self, missing: &[Grant]) -> Option<String> {
        if missing.is_empty() {
            return None;
        }
        let joined = |part: fn(&Grant) -> &str, by: &str| missing.iter().map(part).collect::<Vec<_>>().join(by);
        let (acts, grants) = (joined(|grant| &grant.act, ", nor "), joined(|grant| &grant.sql, "; "));
        Some(format!("the role {} may not {acts}: {grants}", self.name))
    }

    fn missing(&self, found: &Found, destination: &CheckedDestination, rights: &Privileges) -> Vec<Grant> {
        self.grants(self.gather(found, destination, rights))
    }

    fn gather(&self, found: &Found, destination: &CheckedDestination, rights: &Privileges) -> Gathered {
        let neighbour = |name: &str| found.neighbours().and_then(|tables| tables.get(name));
        let mut gathered = Gathered::new();
        for (object, right, columns) in rights.iter() {
            let table = match (object, destination) {
                (Object::Own, _) => Some(&found.columns),
                (Object::Target, CheckedDestination::Table(_, table)) => Some(table.as_ref()),
                (Object::Target, _) => None,
                (Object::Beside(name), _) => neighbour(name),
                (Object::Function(name), _) => neighbour(&function(name)),
            };
            // What the catalogue was not asked for is left to the database.
            let Some(table) = table else { continue };
            if table.lacks.schema && *object != Object::Target {
                gathered.entry((On::Schema, plain(self.db_kind, self.schema))).or_default().insert("USAGE");
            }
            if table.lacks(right, columns) {
                let target = destination.table().map(|quoted| self.target(found, quoted));
                gathered.entry(self.place(object, target.as_deref())).or_default().insert(right.word());
            }
            if right == Right::Number {
                let counted = table.lacks.sequences.iter().filter(|(column, _)| !columns.contains(*column));
                for (_, sequence) in counted {
                    gathered.entry((On::Sequence, sequence.clone())).or_default().insert("USAGE");
                }
            }
        }
        gathered
    }

    fn gather_archive(&self, found: &Found, gathered: &mut Gathered) {
        let name = archive_table_name(&self.spec.table, dialect(self.db_kind).name_limit());
        match found.neighbours().and_then(|tables| tables.get(&name)) {
            Some(twin) if twin.lacks(Right::Insert, &BTreeSet::new()) => {
                gathered.entry((On::Table, self.archive_name())).or_default().insert(Right::Insert.word());
            }
            Some(_) => {}
            None if found.columns.lacks.create => {
                gathered.entry(self.schema_object()).or_default().insert("CREATE");
            }
            None => {}
        }
    }

    /// Where a table can be made, as a grant has it.
    fn schema_object(&self) -> (On, String) {
        match self.db_kind {
            DatabaseKind::Mysql => (On::Table, self.archive_name()),
            _ => (On::Schema, plain(self.db_kind, self.schema)),
        }
    }

    fn archive_name(&self) -> String {
        self.label(&archive_table_name(&self.spec.table, dialect(self.db_kind).name_limit()))
    }

    /// The live table as somebody would write it.
    fn target(&self, found: &Found, quoted: &str) -> String {
        let dialect = dialect(self.db_kind);
        let all =
            found.seen.catalogue.iter().flat_map(|(schema, tables)| tables.keys().map(move |name| (schema, name)));
        let is_it = |(schema, name): &(&String, &String)| {
            format!("{}.{}", dialect.quote(schema), dialect.quote(name)) == quoted
        };
        let plainly = |(schema, name): (&String, &String)| {
            format!("{}.{}", plain(self.db_kind, schema), plain(self.db_kind, name))
        };
        all.into_iter().find(is_it).map_or_else(|| quoted.to_owned(), plainly)
    }

    fn label(&self, name: &str) -> String {
        format!("{}.{}", plain(self.db_kind, self.schema), plain(self.db_kind, name))
    }

    fn place(&self, object: &Object, target: Option<&str>) -> (On, String) {
        match object {
            Object::Own => (On::Table, self.label(&self.spec.table)),
            Object::Target => (On::Table, target.unwrap_or("the live table").to_owned()),
            Object::Beside(name) => (On::Table, self.label(name)),
            Object::Function(name) => (On::Function, self.label(name)),
        }
    }

    fn grants(&self, gathered: Gathered) -> Vec<Grant> {
        let grants = gathered.into_iter().map(|((on, object), words)| {
            let rights = words.into_iter().collect::<Vec<_>>().join(", ");
            let act = match on {
                On::Schema if rights == "USAGE" => format!("use the schema {object}"),
                On::Schema => format!("make tables in the schema {object}"),
                On::Table => format!("{rights} {object}"),
                On::Sequence => format!("use the sequence {object}"),
                On::Function => format!("call {object}"),
            };
            Grant { act, sql: grant(self.db_kind, &rights, on, &object, self.name) }
        });
        grants.collect()
    }
}
