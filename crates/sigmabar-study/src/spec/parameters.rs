//! The tables of parameters, in the order in which the file names them.

use crate::Value;
use crate::union::{OneOrMany, some_many};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Named parameters in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(pub Vec<(String, ParameterTable)>);

impl Parameters {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What kind of values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// Numbers from low to high.
    Float,
    /// Integers from low to high.
    Int,
    /// One of the choices, without order.
    Categorical,
    /// One of the numbers in `choices`, in increasing order.
    Ordinal,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterTable {
    /// What kind of values it takes.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// The smallest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The largest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Whether equal ratios are equally far apart; for floats and integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
    /// The distance of neighbouring values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// How many digits of a float can be set: decimals, or significant digits where `log` is true. The space stays continuous; settings are rounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// What its numbers are measured in, such as °C: for axes, headings and words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The choices of a categorical, the numbers of an ordinal parameter.
    #[serde(default, deserialize_with = "some_many", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OneOrMany<Value>>")]
    pub choices: Option<Vec<Value>>,
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, table) in &self.0 {
            map.serialize_entry(name, table)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables;
        impl<'de> Visitor<'de> for Tables {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table for each parameter")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut all: Vec<(String, ParameterTable)> = Vec::new();
                while let Some((name, table)) = map.next_entry::<String, ParameterTable>()? {
                    // JSON allows a key twice; the later one must not silently win.
                    if all.iter().any(|(known, _)| *known == name) {
                        return Err(serde::de::Error::custom(format_args!("parameter \"{name}\" is named twice")));
                    }
                    all.push((name, table));
                }
                Ok(Parameters(all))
            }
        }
        deserializer.deserialize_map(Tables)
    }
}

impl JsonSchema for Parameters {
    fn schema_name() -> Cow<'static, str> {
        "Parameters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, ParameterTable>::json_schema(generator)
    }
}
