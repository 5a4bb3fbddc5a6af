//! Values that may be written in two ways, read so that errors inside them keep their line.

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// What a visitor does with a value that is neither list nor table: reads it as this type, into this variant.
macro_rules! plain_values {
    ($type:ty, $into:expr) => {
        plain_values!($type, $into; visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    };
    ($type:ty, $into:expr; $($visit:ident: $kind:ty),*) => {
        $(fn $visit<E: Error>(self, value: $kind) -> Result<Self::Value, E> {
            <$type>::deserialize(value.into_deserializer()).map($into)
        })*
    };
}

/// A plain value, or a table that says more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PlainOr<S, T> {
    /// The plain value.
    Plain(S),
    /// The table.
    Table(T),
}

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for PlainOr<S, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainOrVisitor(PhantomData))
    }
}

struct PlainOrVisitor<S, T>(PhantomData<(S, T)>);

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for PlainOrVisitor<S, T> {
    type Value = PlainOr<S, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value or a table")
    }

    plain_values!(S, PlainOr::Plain);

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        S::deserialize(SeqAccessDeserializer::new(sequence)).map(PlainOr::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(PlainOr::Table)
    }
}

/// The word "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Auto {
    /// Not known: estimated, and said to be so.
    #[serde(rename = "auto")]
    Auto,
}

/// A number, or "auto".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number or \"auto\"")]
pub enum NumberOrAuto {
    /// The number.
    Number(f64),
    /// The word.
    Auto(Auto),
}

impl NumberOrAuto {
    /// The number, unless it is "auto".
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(value),
            Self::Auto(_) => None,
        }
    }
}

/// One thing, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of values of the same kind")
    }

    plain_values!(T, OneOrMany::One);

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(OneOrMany::Many)
    }
}

impl<T> From<OneOrMany<T>> for Vec<T> {
    fn from(written: OneOrMany<T>) -> Self {
        match written {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// For `deserialize_with`: a list, whose brackets may be left out where one thing is in it.
pub fn many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    OneOrMany::deserialize(deserializer).map(Vec::from)
}

/// The same for a list that may be missing.
pub fn some_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<OneOrMany<T>>::deserialize(deserializer)?.map(Vec::from))
}

/// The same for a list of lists.
pub fn rows<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<Vec<T>>, D::Error> {
    Ok(Vec::<OneOrMany<T>>::deserialize(deserializer)?.into_iter().map(Vec::from).collect())
}

/// A time as people write it, in seconds: `90`, `90s`, `1.5h`, `3d`. A number without a unit is seconds.
///
/// # Errors
/// What a time looks like.
pub fn seconds(text: &str) -> Result<f64, &'static str> {
    const WRONG: &str = "a time is a number of seconds, or a number with s, m, h or d behind it, such as 90m";
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(WRONG),
    };
    let time = number.trim().parse::<f64>().map_err(|_| WRONG)? * unit;
    if time > 0.0 && std::time::Duration::try_from_secs_f64(time).is_ok() { Ok(time) } else { Err(WRONG) }
}

/// Seconds, or a time as people write it; kept as seconds.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of seconds, or a time in quotes such as \"90s\", \"30m\", \"2h\" or \"3d\"")]
pub enum Time {
    /// Seconds.
    Seconds(f64),
    /// In words.
    Words(String),
}

/// For `deserialize_with`.
pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(match Option::<Time>::deserialize(deserializer)? {
        None => None,
        Some(Time::Seconds(seconds)) => Some(seconds),
        Some(Time::Words(text)) => Some(seconds(&text).map_err(|wrong| D::Error::custom(format_args!("\"{text}\": {wrong}")))?),
    })
}
