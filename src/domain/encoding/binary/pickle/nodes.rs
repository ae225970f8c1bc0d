//! What a pickle's program makes.

use super::super::{DEPTH, VALUES, Value};

/// A node, by its place in the arena.
pub(super) type NodeId = usize;

/// What a program has made.
pub(super) enum Node {
    Leaf(Value),
    List(Vec<NodeId>),
    Map(Vec<(NodeId, NodeId)>),
    /// A class or a function, by its name.
    Named(String),
    /// What a class or a function makes of what it is given.
    Made(Made),
}

/// An instance, or what a call returns.
#[derive(Default)]
pub(super) struct Made {
    pub name: String,
    pub args: Option<NodeId>,
    pub state: Option<NodeId>,
    /// What was added to it as to a list.
    pub elements: Vec<NodeId>,
    /// What was set in it as in a dictionary.
    pub members: Vec<(NodeId, NodeId)>,
}

/// All nodes of a program.
#[derive(Default)]
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    pub fn add(&mut self, node: Node) -> NodeId {
        self.0.push(node);
        self.0.len() - 1
    }

    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(id)
    }

    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.0.get_mut(id)
    }

    /// A class or a function by its name; of what a call returned, the call's.
    pub fn name(&self, id: NodeId) -> Option<String> {
        match self.get(id)? {
            Node::Named(name) => Some(name.clone()),
            Node::Made(made) => Some(format!("{}(…)", made.name)),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self, id: NodeId) -> Option<&str> {
        match self.get(id)? {
            Node::Leaf(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A node with all that it holds; `None` where that is too deep or too much, as with what holds itself.
    pub fn value(&self, id: NodeId) -> Option<Value> {
        let mut budget = VALUES;
        self.value_within(id, 0, &mut budget)
    }

    fn value_within(&self, id: NodeId, depth: usize, budget: &mut usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        *budget = budget.checked_sub(1)?;
        match self.get(id)? {
            Node::Leaf(value) => Some(value.clone()),
            Node::List(items) => self.list(items, depth, budget),
            Node::Map(members) => self.map(members, depth, budget),
            Node::Named(name) => Some(Value::Object(name.clone(), Box::new(Value::Null))),
            Node::Made(made) => {
                let inner = self.inner(made, depth, budget)?;
                Some(Value::Object(made.name.clone(), Box::new(inner)))
            }
        }
    }

    fn list(&self, items: &[NodeId], depth: usize, budget: &mut usize) -> Option<Value> {
        items.iter().map(|item| self.value_within(*item, depth + 1, budget)).collect::<Option<_>>().map(Value::List)
    }

    fn map(&self, members: &[(NodeId, NodeId)], depth: usize, budget: &mut usize) -> Option<Value> {
        let mut out = Vec::with_capacity(members.len());
        for (key, value) in members {
            out.push((self.value_within(*key, depth + 1, budget)?, self.value_within(*value, depth + 1, budget)?));
        }
        Some(Value::Map(out))
    }

    /// What an instance was made of: the one thing that it was given, or all of them by their names.
    fn inner(&self, made: &Made, depth: usize, budget: &mut usize) -> Option<Value> {
        let mut parts: Vec<(&str, Value)> = Vec::new();
        if let Some(args) = made.args {
            match self.value_within(args, depth + 1, budget)? {
                Value::List(items) if items.is_empty() => {}
                Value::List(mut items) if items.len() == 1 => parts.extend(items.pop().map(|item| ("args", item))),
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
            let named = |(name, value): (&str, Value)| (Value::Text(name.to_owned()), value);
            return Some(Value::Map(parts.into_iter().map(named).collect()));
        }
        Some(parts.pop().map_or(Value::Null, |(_, value)| value))
    }
}
