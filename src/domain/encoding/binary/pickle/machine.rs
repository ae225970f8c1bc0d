//! The machine that runs a pickle's program.

use std::collections::HashMap;

use super::nodes::{Made, Nodes, PickleId, PickleNode};
use super::opcodes as op;
use crate::domain::encoding::binary::{ByteReader, DecodedValue};

/// Bytes of the longest whole number that is shown as one.
const INTEGER: usize = 16;

/// A program that is being run.
pub(super) struct Machine<'a> {
    input: ByteReader<'a>,
    pub nodes: Nodes,
    stack: Vec<PickleId>,
    /// What lay below each mark.
    marks: Vec<Vec<PickleId>>,
    memo: HashMap<u64, PickleId>,
}

impl<'a> Machine<'a> {
    pub fn new(input: ByteReader<'a>) -> Self {
        Self { input, nodes: Nodes::default(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() }
    }

    /// Runs to the end, which the program must state; what is left on the stack is its value.
    pub fn run(&mut self) -> Option<PickleId> {
        loop {
            let opcode = self.input.byte()?;
            if opcode == op::STOP {
                return self.stack.pop();
            }
            // Every instruction is bounded by what it makes, and those that make nothing by this.
            self.input.count()?;
            let done = self.scalar(opcode).or_else(|| self.text(opcode));
            match done {
                Some(value) => self.push(PickleNode::Leaf(value?)),
                None => self.structure(opcode)?,
            }
        }
    }

    fn push(&mut self, node: PickleNode) {
        let id = self.nodes.add(node);
        self.stack.push(id);
    }

    /// `None` for another instruction; `Some(None)` where what follows cannot be read.
    fn scalar(&mut self, opcode: u8) -> Option<Option<DecodedValue>> {
        let int = |number: Option<i64>| number.map(|number| DecodedValue::Number(number.to_string()));
        Some(match opcode {
            op::NONE => Some(DecodedValue::Null),
            op::NEWTRUE => Some(DecodedValue::Bool(true)),
            op::NEWFALSE => Some(DecodedValue::Bool(false)),
            op::BININT => int(self.input.array().map(|bytes| i64::from(i32::from_le_bytes(bytes)))),
            op::BININT1 => int(self.input.byte().map(i64::from)),
            op::BININT2 => int(self.input.array().map(|bytes| i64::from(u16::from_le_bytes(bytes)))),
            op::LONG1 => self.counted(1).map(integer),
            op::LONG4 => self.counted(4).map(integer),
            op::BINFLOAT => self.input.array().map(|bytes| float(f64::from_be_bytes(bytes))),
            op::INT => self.line().and_then(|line| match line.as_str() {
                "00" => Some(DecodedValue::Bool(false)),
                "01" => Some(DecodedValue::Bool(true)),
                digits => digits.parse::<i128>().ok().map(|number| DecodedValue::Number(number.to_string())),
            }),
            op::LONG => self.line().and_then(|line| {
                let number = line.trim_end_matches('L').parse::<i128>().ok()?;
                Some(DecodedValue::Number(number.to_string()))
            }),
            op::FLOAT => self.line().and_then(|line| line.parse().ok().map(float)),
            _ => return None,
        })
    }

    fn text(&mut self, opcode: u8) -> Option<Option<DecodedValue>> {
        let text = |bytes: &[u8]| DecodedValue::Text(String::from_utf8_lossy(bytes).into_owned());
        let bytes = |bytes: &[u8]| DecodedValue::Bytes(bytes.to_vec());
        Some(match opcode {
            op::BINSTRING => self.counted(4).map(bytes),
            op::SHORT_BINSTRING => self.counted(1).map(bytes),
            op::BINUNICODE => self.counted(4).map(text),
            op::SHORT_BINUNICODE => self.counted(1).map(text),
            op::BINUNICODE8 => self.counted(8).map(text),
            op::BINBYTES => self.counted(4).map(bytes),
            op::SHORT_BINBYTES => self.counted(1).map(bytes),
            op::BINBYTES8 | op::BYTEARRAY8 => self.counted(8).map(bytes),
            // Texts of protocol 0 stay escaped.
            op::STRING => self.line().map(|line| DecodedValue::Text(line.trim_matches(['\'', '"']).to_owned())),
            op::UNICODE => self.line().map(DecodedValue::Text),
            _ => return None,
        })
    }

    fn structure(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            op::PROTO => self.input.byte().map(|_| ())?,
            op::FRAME => self.input.take(8).map(|_| ())?,
            op::MARK => self.marks.push(std::mem::take(&mut self.stack)),
            op::POP if self.stack.is_empty() => self.since_mark().map(|_| ())?,
            op::POP => self.stack.pop().map(|_| ())?,
            op::POP_MARK => self.since_mark().map(|_| ())?,
            op::DUP => self.stack.push(*self.stack.last()?),
            op::EMPTY_LIST | op::EMPTY_TUPLE | op::EMPTY_SET => self.push(PickleNode::List(Vec::new())),
            op::LIST | op::TUPLE | op::FROZENSET => {
                let items = self.since_mark()?;
                self.push(PickleNode::List(items));
            }
            op::TUPLE1..=op::TUPLE3 => {
                let from = self.stack.len().checked_sub(usize::from(opcode - op::TUPLE1) + 1)?;
                let items = self.stack.split_off(from);
                self.push(PickleNode::List(items));
            }
            op::EMPTY_DICT => self.push(PickleNode::Map(Vec::new())),
            op::DICT => {
                let members = pairs(&self.since_mark()?)?;
                self.push(PickleNode::Map(members));
            }
            op::APPEND => {
                let item = self.stack.pop()?;
                self.append(vec![item])?;
            }
            op::APPENDS | op::ADDITEMS => {
                let items = self.since_mark()?;
                self.append(items)?;
            }
            op::SETITEM => {
                let (value, key) = (self.stack.pop()?, self.stack.pop()?);
                self.set(vec![(key, value)])?;
            }
            op::SETITEMS => {
                let members = pairs(&self.since_mark()?)?;
                self.set(members)?;
            }
            op::PUT | op::BINPUT | op::LONG_BINPUT | op::MEMOIZE => {
                let key = self.memo_key(opcode)?;
                self.memo.insert(key, *self.stack.last()?);
            }
            op::GET | op::BINGET | op::LONG_BINGET => {
                let key = self.memo_key(opcode)?;
                self.stack.push(*self.memo.get(&key)?);
            }
            _ => self.class(opcode)?,
        }
        Some(())
    }

    fn class(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            op::GLOBAL => {
                let name = format!("{}.{}", self.line()?, self.line()?);
                self.push(PickleNode::Named(name));
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.stack.pop()?, self.stack.pop()?);
                let name = format!("{}.{}", self.nodes.text(module)?, self.nodes.text(name)?);
                self.push(PickleNode::Named(name));
            }
            op::REDUCE | op::NEWOBJ => {
                let (args, callable) = (self.stack.pop()?, self.stack.pop()?);
                self.make(callable, Some(args), None)?;
            }
            op::NEWOBJ_EX => {
                let (named, args, callable) = (self.stack.pop()?, self.stack.pop()?, self.stack.pop()?);
                self.make(callable, Some(args), Some(named))?;
            }
            op::OBJ => {
                let mut args = self.since_mark()?;
                let callable = (!args.is_empty()).then(|| args.remove(0))?;
                let args = self.nodes.add(PickleNode::List(args));
                self.make(callable, Some(args), None)?;
            }
            op::INST => {
                let name = format!("{}.{}", self.line()?, self.line()?);
                let args = self.since_mark()?;
                let args = self.nodes.add(PickleNode::List(args));
                self.push(PickleNode::Made(Made { name, args: Some(args), ..Made::default() }));
            }
            op::BUILD => {
                let state = self.stack.pop()?;
                match self.nodes.get_mut(*self.stack.last()?)? {
                    PickleNode::Made(made) => made.state = Some(state),
                    _ => return None,
                }
            }
            // Persistent ids, extension codes and buffers outside of the program: nothing that is in it.
            _ => return None,
        }
        Some(())
    }

    fn make(&mut self, callable: PickleId, args: Option<PickleId>, state: Option<PickleId>) -> Option<()> {
        let name = self.nodes.name(callable)?;
        self.push(PickleNode::Made(Made { name, args, state, ..Made::default() }));
        Some(())
    }

    fn append(&mut self, items: Vec<PickleId>) -> Option<()> {
        match self.nodes.get_mut(*self.stack.last()?)? {
            PickleNode::List(known) => known.extend(items),
            PickleNode::Made(made) => made.elements.extend(items),
            _ => return None,
        }
        Some(())
    }

    fn set(&mut self, members: Vec<(PickleId, PickleId)>) -> Option<()> {
        match self.nodes.get_mut(*self.stack.last()?)? {
            PickleNode::Map(known) => known.extend(members),
            PickleNode::Made(made) => made.members.extend(members),
            _ => return None,
        }
        Some(())
    }

    /// What was pushed since the last mark.
    fn since_mark(&mut self) -> Option<Vec<PickleId>> {
        let below = self.marks.pop()?;
        Some(std::mem::replace(&mut self.stack, below))
    }

    fn memo_key(&mut self, opcode: u8) -> Option<u64> {
        match opcode {
            op::MEMOIZE => u64::try_from(self.memo.len()).ok(),
            op::BINPUT | op::BINGET => self.input.byte().map(u64::from),
            op::LONG_BINPUT | op::LONG_BINGET => self.input.array().map(|bytes| u64::from(u32::from_le_bytes(bytes))),
            _ => self.line()?.parse().ok(),
        }
    }

    /// As many bytes as a number of that many bytes says.
    fn counted(&mut self, width: usize) -> Option<&'a [u8]> {
        let mut length = [0; 8];
        length[..width].copy_from_slice(self.input.take(width)?);
        self.input.take(usize::try_from(u64::from_le_bytes(length)).ok()?)
    }

    fn line(&mut self) -> Option<String> {
        String::from_utf8(self.input.line()?.to_vec()).ok()
    }
}

fn pairs(items: &[PickleId]) -> Option<Vec<(PickleId, PickleId)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

/// A whole number of any length, the lowest byte first. What is too long for this is shown as its bytes.
fn integer(bytes: &[u8]) -> DecodedValue {
    if bytes.len() > INTEGER {
        return DecodedValue::Object("int".to_owned(), Box::new(DecodedValue::Bytes(bytes.to_vec())));
    }
    let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut whole = [sign; INTEGER];
    whole[..bytes.len()].copy_from_slice(bytes);
    DecodedValue::Number(i128::from_le_bytes(whole).to_string())
}

/// JSON has no word for what is no number.
fn float(float: f64) -> DecodedValue {
    if float.is_finite() { DecodedValue::Number(format!("{float:?}")) } else { DecodedValue::Text(float.to_string()) }
}
