//! A strategy as somebody writes it: its name and the options that differ from the defaults.

use super::entries::{RENAMED, STRATEGIES, StrategyEntry};
use super::given::Given;
use super::problem::{PolicyError, PolicyProblem, nearest};
use crate::strategy::policy::Policy;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A strategy by its name, with options; nothing is checked before [`PolicySpec::policy`].
///
/// In files a name, or a table with the name and the options; on a command line `ei:margin=0.1:batch_len=8`, lists as `interval=0/1`.
///
/// ```
/// use sigmabar::catalogue::PolicySpec;
///
/// let policy = PolicySpec::new("ei").with("batch_len", 8).policy(40).unwrap();
/// assert_eq!(policy.name(), "ei");
/// let error = "ei:batch_lne=8".parse::<PolicySpec>().unwrap_err();
/// assert_eq!(error.to_string(), "option batch_lne of strategy \"ei\": it has no such option: did you mean \"batch_len\"?");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    name: String,
    options: BTreeMap<String, OptionValue>,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, a word, true or false, or a list of numbers")]
#[non_exhaustive]
pub enum OptionValue {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
    /// Numbers.
    List(Vec<f64>),
    /// Rows of numbers.
    Rows(Vec<Vec<f64>>),
}

impl PolicySpec {
    /// The strategy of this name, as it is without options.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), options: BTreeMap::new() }
    }

    /// With this option.
    #[must_use]
    pub fn with(mut self, option: impl Into<String>, value: impl Into<OptionValue>) -> Self {
        self.options.insert(option.into(), value.into());
        self
    }

    /// The name as it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of an option, if it was given.
    #[must_use]
    pub fn get(&self, option: &str) -> Option<&OptionValue> {
        self.options.get(option)
    }

    /// What the catalogue says about the strategy.
    ///
    /// # Errors
    /// [`PolicyProblem::UnknownStrategy`].
    pub fn entry(&self) -> Result<&'static StrategyEntry, PolicyError> {
        STRATEGIES.iter().find(|entry| entry.name == self.name).ok_or_else(|| {
            let meant = nearest(&self.name, STRATEGIES.iter().map(|entry| entry.name));
            self.error(None, PolicyProblem::UnknownStrategy { meant })
        })
    }

    /// Whether strategy and options exist, and every value is one that its option takes.
    ///
    /// # Errors
    /// [`PolicyError`] naming strategy, option, what would be right and the likely name.
    pub fn check(&self) -> Result<&'static StrategyEntry, PolicyError> {
        let entry = self.entry()?;
        for (name, value) in &self.options {
            let error = |problem| self.error(Some(name.clone()), problem);
            let Some(option) = entry.option(name) else {
                return Err(error(Self::stranger(entry, name)));
            };
            if !option.kind.accepts(value) {
                let meant = match value {
                    OptionValue::Word(word) => nearest(word, option.kind.words().iter().copied()),
                    _ => None,
                };
                return Err(error(PolicyProblem::Value { found: value.to_string(), kind: option.kind, meant }));
            }
        }
        Ok(entry)
    }

    /// The policy, for a run of `budget` evaluations.
    ///
    /// # Errors
    /// As for [`PolicySpec::check`], and for options that are missing or do not go together.
    pub fn policy(&self, budget: usize) -> Result<Policy, PolicyError> {
        let make = self.check()?.make;
        make(&Given { spec: self, budget }).map_err(|wrong| self.error(wrong.option.map(str::to_owned), wrong.problem))
    }

    fn error(&self, option: Option<String>, problem: PolicyProblem) -> PolicyError {
        PolicyError { strategy: self.name.clone(), option, problem }
    }

    /// A name that is none of the strategy's options.
    fn stranger(entry: &StrategyEntry, name: &str) -> PolicyProblem {
        if let Some(&(_, now, remark)) = RENAMED.iter().find(|(former, now, _)| *former == name && entry.option(now).is_some()) {
            return PolicyProblem::Renamed { now, remark };
        }
        let known: Vec<&str> = entry.options.iter().map(|option| option.name).collect();
        PolicyProblem::UnknownOption { meant: nearest(name, known.iter().copied()), known }
    }
}

impl OptionValue {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }
}

impl From<&str> for PolicySpec {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl FromStr for PolicySpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut parts = text.split(':');
        let mut spec = Self::new(parts.next().unwrap_or_default());
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, "true"));
            spec = spec.with(name, OptionValue::from_text(value));
        }
        spec.check()?;
        Ok(spec)
    }
}

impl OptionValue {
    fn from_text(text: &str) -> Self {
        let numbers = || text.split('/').map(str::parse).collect::<Result<Vec<f64>, _>>().ok();
        match (text, text.parse::<i64>(), text.parse::<f64>()) {
            ("true" | "false", ..) => Self::Flag(text == "true"),
            (_, Ok(whole), _) => Self::Integer(whole),
            (_, _, Ok(number)) => Self::Number(number),
            _ => numbers().map_or_else(|| Self::Word(text.to_owned()), Self::List),
        }
    }
}

impl From<bool> for OptionValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<i64> for OptionValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for OptionValue {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<usize> for OptionValue {
    fn from(value: usize) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for OptionValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for OptionValue {
    fn from(value: &str) -> Self {
        Self::Word(value.to_owned())
    }
}

impl From<Vec<f64>> for OptionValue {
    fn from(value: Vec<f64>) -> Self {
        Self::List(value)
    }
}

impl From<&[usize]> for OptionValue {
    fn from(value: &[usize]) -> Self {
        Self::List(value.iter().map(|&length| length as f64).collect())
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{}", crate::Number(*value)),
            Self::Word(value) => write!(f, "\"{value}\""),
            Self::List(values) => write!(f, "{values:?}"),
            Self::Rows(rows) => write!(f, "{} rows", rows.len()),
        }
    }
}

impl Serialize for PolicySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.options.is_empty() {
            return serializer.serialize_str(&self.name);
        }
        let mut map = serializer.serialize_map(Some(1 + self.options.len()))?;
        map.serialize_entry("name", &self.name)?;
        for (name, value) in &self.options {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for PolicySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = PolicySpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a strategy, or a table with its name and options")
    }

    fn visit_str<E>(self, name: &str) -> Result<PolicySpec, E> {
        Ok(PolicySpec::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PolicySpec, A::Error> {
        let (mut name, mut options) = (None, BTreeMap::new());
        while let Some(key) = map.next_key::<String>()? {
            if key == "name" {
                name = Some(map.next_value::<String>()?);
                continue;
            }
            let renamed = RENAMED.iter().find(|(former, _, remark)| *former == key && remark.is_empty());
            let now = renamed.map_or(key, |(_, now, _)| (*now).to_owned());
            if options.insert(now.clone(), map.next_value::<OptionValue>()?).is_some() {
                return Err(A::Error::custom(format_args!("option {now} is given twice")));
            }
        }
        Ok(PolicySpec { name: name.ok_or_else(|| A::Error::missing_field("name"))?, options })
    }
}
