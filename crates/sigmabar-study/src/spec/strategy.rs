//! What may be written under `strategy`, for the schema of study files.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use sigmabar::catalogue::{OptionKind, Range, STRATEGIES, StrategyEntry};
use std::borrow::Cow;

/// Stands for the core's `PolicySpec`, with the strategies that a study can use.
pub(super) struct StrategySchema;

impl JsonSchema for StrategySchema {
    fn schema_name() -> Cow<'static, str> {
        "Strategy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let strategies = || STRATEGIES.iter().filter(|entry| !entry.is_contextual);
        let names = strategies().map(|entry| json!({ "const": entry.name, "description": entry.about }));
        json_schema!({ "anyOf": names.chain(strategies().map(table)).collect::<Vec<_>>() })
    }
}

/// The table of one strategy; batches and pilot are said at the top of the file.
fn table(entry: &StrategyEntry) -> Value {
    let mut properties = Map::from_iter([("name".to_owned(), json!({ "const": entry.name }))]);
    for option in entry.options.iter().filter(|option| option.kind != OptionKind::Batches && option.name != "pilot") {
        let mut schema = kind(option.kind);
        schema["description"] = format!("{} Default: {}.", option.about, option.default).into();
        properties.insert(option.name.to_owned(), schema);
    }
    json!({ "type": "object", "description": entry.about, "properties": properties, "required": ["name"], "additionalProperties": false })
}

fn kind(kind: OptionKind) -> Value {
    match kind {
        OptionKind::Count => json!({ "type": "integer", "minimum": 1 }),
        OptionKind::Number(range) => number(range),
        OptionKind::Flag => json!({ "type": "boolean" }),
        OptionKind::Word(words) => json!({ "enum": words }),
        OptionKind::NumberOrWord(range, words) => json!({ "anyOf": [number(range), { "enum": words }] }),
        OptionKind::Interval => json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }),
        OptionKind::Pair(range) => json!({ "type": "array", "items": number(range), "minItems": 2, "maxItems": 2 }),
        _ => json!({}),
    }
}

fn number(range: Range) -> Value {
    match range {
        Range::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Range::NotNegative => json!({ "type": "number", "minimum": 0 }),
        Range::AtLeastOne => json!({ "type": "number", "minimum": 1 }),
        Range::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        _ => json!({ "type": "number" }),
    }
}
