//! Where each part of a job stands in what was read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::adapter::Part;
use crate::domain::encoding::binary::{Chain, DecodeStep};

/// The read that stands for the entry of the dead set itself.
pub(super) const ENTRY: &str = "entry";
/// What can be read of every entry beside [`ENTRY`].
pub(super) const OWN: [&str; 3] = ["score", "queue", "member"];

/// Where a part stands: the first of these places that has a value.
#[derive(Clone, Debug)]
pub struct RedisField {
    /// The places, in order.
    pub sources: Vec<FieldSource>,
}

/// One place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSource {
    /// The read that it stands in: a name of `[reads]`, `entry`, or `score`, `queue` and `member` of the entry.
    #[serde(default = "entry")]
    pub from: String,
    /// The name of a field, or a dotted path into what was decoded; all of it when absent.
    #[serde(default)]
    pub path: Option<String>,
    /// An object made of several paths, by their names, instead of one.
    #[serde(default)]
    pub object: BTreeMap<String, String>,
    /// A text that is the same for all jobs, instead of a place.
    #[serde(default)]
    pub value: Option<String>,
    /// Only where another path has this value.
    #[serde(default)]
    pub when: Option<PathTest>,
    /// Which element of an array.
    #[serde(default)]
    pub pick: Option<Pick>,
    /// Which part of an error text or a backtrace.
    #[serde(default)]
    pub cut: Option<TextCut>,
    /// What is added to a whole number.
    #[serde(default)]
    pub add: i64,
    /// How the value is read.
    #[serde(default)]
    pub kind: FieldValue,
}

fn entry() -> String {
    ENTRY.to_owned()
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathTest {
    /// A path into the same read.
    pub path: String,
    /// The text that must stand there.
    pub is: String,
}

/// Which element of an array a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first.
    First,
    /// The last.
    Last,
}

/// Which part of a text a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextCut {
    /// The error class, where an error text or a backtrace names one.
    Class,
    /// The message behind the error class.
    Message,
    /// What stands before the first `(`, as in the text of a call.
    Call,
}

/// How a value is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldValue {
    /// Text.
    #[default]
    Text,
    /// A whole number.
    Int,
    /// JSON, or what was decoded to it.
    Json,
    /// A backtrace: text of many lines, or an array of them.
    Lines,
    /// Seconds since 1970; may have decimals.
    EpochS,
    /// Milliseconds since 1970.
    EpochMs,
    /// Seconds since 1970, or milliseconds where it is too big for seconds.
    Epoch,
    /// A time as ISO 8601 writes it; UTC where it names no zone.
    Iso,
    /// The id of a stream entry.
    StreamId,
}

impl FieldValue {
    /// Whether values are instants.
    pub fn is_time(self) -> bool {
        matches!(self, Self::EpochS | Self::EpochMs | Self::Epoch | Self::Iso | Self::StreamId)
    }
}

impl<'de> Deserialize<'de> for RedisField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Places;
        impl<'de> Visitor<'de> for Places {
            type Value = Vec<FieldSource>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a place such as { path = \"…\" }, or an array of places")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                FieldSource::deserialize(MapAccessDeserializer::new(map)).map(|source| vec![source])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq))
            }
        }
        let sources = deserializer.deserialize_any(Places)?;
        if sources.is_empty() {
            return Err(D::Error::custom("a field has at least one place"));
        }
        let ways = |source: &FieldSource| {
            [source.path.is_some(), !source.object.is_empty(), source.value.is_some()]
                .into_iter()
                .filter(|way| *way)
                .count()
        };
        if sources.iter().any(|source| ways(source) > 1) {
            return Err(D::Error::custom("a place has only one of `path`, `object` and `value`"));
        }
        Ok(Self { sources })
    }
}

/// The parts of a dead job that a layout has, each with its places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct RedisFields(BTreeMap<Part, RedisField>);

impl RedisFields {
    /// Where a part stands.
    pub fn get(&self, part: Part) -> Option<&RedisField> {
        self.0.get(&part)
    }

    /// All parts that the layout has.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &RedisField)> {
        self.0.iter().map(|(part, field)| (*part, field))
    }
}

/// How something is decoded: one chain of steps, or several of which the first that works is taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains(pub Vec<Chain>);

impl<'de> Deserialize<'de> for Chains {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Steps;
        impl<'de> Visitor<'de> for Steps {
            type Value = Vec<Chain>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("steps such as [\"zlib\", \"json\"], or an array of such arrays")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let (mut steps, mut chains) = (Vec::new(), Vec::new());
                while let Some(item) = seq.next_element::<OneOrChain>()? {
                    match item {
                        OneOrChain::One(step) => steps.push(step),
                        OneOrChain::Chain(chain) => chains.push(chain),
                    }
                }
                match (steps.is_empty(), chains.is_empty()) {
                    (false, false) => Err(A::Error::custom("steps and arrays of steps do not stand in one array")),
                    (false, true) => Ok(vec![steps]),
                    (true, _) => Ok(chains),
                }
            }
        }
        deserializer.deserialize_seq(Steps).map(Chains)
    }
}

enum OneOrChain {
    One(DecodeStep),
    Chain(Chain),
}

impl<'de> Deserialize<'de> for OneOrChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Item;
        impl<'de> Visitor<'de> for Item {
            type Value = OneOrChain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a step, or an array of them")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
                DecodeStep::deserialize(serde::de::value::StrDeserializer::new(word)).map(OneOrChain::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrChain::Chain)
            }
        }
        deserializer.deserialize_any(Item)
    }
}
