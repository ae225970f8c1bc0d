//! What a server answered of one job, before anything is made of it.

/// A reply, in the shape that every version of the protocol can give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RedisReply {
    /// Nothing there.
    #[default]
    Nil,
    /// A value; numbers and states as their text.
    Bytes(Vec<u8>),
    /// Several, in the server's order.
    List(Vec<RedisReply>),
}

impl RedisReply {
    /// The bytes of a value.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            RedisReply::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// One entry of a dead set with what was read for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawEntry {
    /// The queue whose dead set it stands in, where each queue has one.
    pub queue: Option<String>,
    /// The member of a sorted set, the element of a list, the field of a hash, the id of a stream entry, or a key.
    pub member: Vec<u8>,
    /// The score of a member of a sorted set.
    pub score: Option<f64>,
    /// What stands beside the member: the fields of a stream entry, or the one value of a hash field or a key, under the
    /// empty name.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// The replies to the commands of [`super::RedisSpec::commands`], by their reads.
    pub replies: Vec<(String, RedisReply)>,
}
