//! What a pickle's program makes.

use super::super::{DEPTH, DecodedValue, VALUES};

/// A node, by its place in the arena.
pub(super) type PickleId = usize;

/// What a program has made.
pub(super) enum PickleNode {
    Leaf(DecodedValue),
    List(Vec<PickleId>),
    Map(Vec<(PickleId, PickleId)>),
    /// A class or a function, by its name.
    Named(String),
    /// What a class or a function makes of what it is given.
    Made(Made),
}

/// An instance, or what a call returns.
#[derive(Default)]
pub(super) struct Made {
    pub name: String,
    pub args: Option<PickleId>,
    pub state: Option<PickleId>,
    /// What was added to it as to a list.
    pub elements: Vec<PickleId>,
    /// What was set in it as in a dictionary.
    pub members: Vec<(PickleId, PickleId)>,
}

/// All nodes of a program.
#[derive(Default)]
pub(super) struct Nodes(Vec<PickleNode>);

impl Nodes {
    pub fn add(&mut self, node: PickleNode) -> PickleId {
        self.0.push(node);
        self.0.len() - 1
    }

    pub fn get(&self, id: PickleId) -> Option<&PickleNode> {
        self.0.get(id)
    }

    pub fn get_mut(&mut self, id: PickleId) -> Option<&mut PickleNode> {
        self.0.get_mut(id)
    }

    /// A class or a function by its name; of what a call returned, the call's.
    pub fn name(&self, id: PickleId) -> Option<String> {
        match self.get(id)? {
            PickleNode::Named(name) => Some(name.clone()),
            PickleNode::Made(made) => Some(format!("{}(…)", made.name)),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self, id: PickleId) -> Option<&str> {
        match self.get(id)? {
            PickleNode::Leaf(DecodedValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A node with all that it holds; `None` where that is too deep or too much, as with what holds itself.
    pub fn value(&self, id: PickleId) -> Option<DecodedValue> {
        let mut budget = VALUES;
        self.value_within(id, 0, &mut budget)
    }

    fn value_within(&self, id: PickleId, depth: usize, budget: &mut usize) -> Option<DecodedValue> {
        if depth > DEPTH {
            return None;
        }
        *budget = budget.checked_sub(1)?;
        match self.get(id)? {
            PickleNode::Leaf(value) => Some(value.clone()),
            PickleNode::List(items) => self.list(items, depth, budget),
            PickleNode::Map(members) => self.map(members, depth, budget),
            PickleNode::Named(name) => Some(DecodedValue::Object(name.clone(), Box::new(DecodedValue::Null))),
            PickleNode::Made(made) => {
                let inner = self.inner(made, depth, budget)?;
                Some(DecodedValue::Object(made.name.clone(), Box::new(inner)))
            }
        }
    }

    fn list(&self, items: &[PickleId], depth: usize, budget: &mut usize) -> Option<DecodedValue> {
        items
            .iter()
            .map(|item| self.value_within(*item, depth + 1, budget))
            .collect::<Option<_>>()
            .map(DecodedValue::List)
    }

    fn map(&self, members: &[(PickleId, PickleId)], depth: usize, budget: &mut usize) -> Option<DecodedValue> {
        let mut out = Vec::with_capacity(members.len());
        for (key, value) in members {
            out.push((self.value_within(*key, depth + 1, budget)?, self.value_within(*value, depth + 1, budget)?));
        }
        Some(DecodedValue::Map(out))
    }

    /// What an instance was made of: the one thing that it was given, or all of them by their names.
    fn inner(&self, made: &Made, depth: usize, budget: &mut usize) -> Option<DecodedValue> {
        let mut parts: Vec<(&str, DecodedValue)> = Vec::new();
        if let Some(args) = made.args {
            match self.value_within(args, depth + 1, budget)? {
                DecodedValue::List(items) if items.is_empty() => {}
                DecodedValue::List(mut items) if items.len() == 1 => {
                    parts.extend(items.pop().map(|item| ("args", item)))
                }
                args => parts.push(("args", args)),
            }
        }
        if let Some(state) = made.state {
            parts.push(("state", self.value_within(state, depth + 1, budget)?));
        }
        if !made.elements.is_empty() {
            parts.push(("elements", self.list(&made.elements, depth, budget)?));
        }
        if !made.members.is_empty() {
            parts.push(("members", self.map(&made.members, depth, budget)?));
        }
        if parts.len() > 1 {
            let named = |(name, value): (&str, DecodedValue)| (DecodedValue::Text(name.to_owned()), value);
            return Some(DecodedValue::Map(parts.into_iter().map(named).collect()));
        }
        Some(parts.pop().map_or(DecodedValue::Null, |(_, value)| value))
    }
}
