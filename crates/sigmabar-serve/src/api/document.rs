//! The OpenAPI description, made from the types that requests and answers have.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// A description that grows with the routes.
pub(super) struct Document {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

/// One request, as described.
pub(super) struct Entry {
    method: &'static str,
    path: &'static str,
    value: Value,
}

impl Document {
    pub fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = "/components/schemas".into());
        Self { generator: settings.into_generator(), paths: Map::new() }
    }

    /// Begins to describe a request; what stands in braces in the path is a part of it.
    pub fn entry(&self, method: &'static str, path: &'static str, summary: &str) -> Entry {
        let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let schema = |name: &str| {
            if name == "id" { json!({ "type": "integer", "minimum": 0 }) } else { json!({ "type": "string", "minLength": 1 }) }
        };
        let parameters: Vec<Value> =
            named.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": schema(name) })).collect();
        let id = format!("{method}{}", path.replace(['/', '{', '}', '-', '.'], "_"));
        Entry { method, path, value: json!({ "operationId": id, "summary": summary, "parameters": parameters, "responses": {} }) }
    }

    pub fn add(&mut self, entry: Entry) {
        let place = self.paths.entry(format!("/api/v1{}", entry.path)).or_insert_with(|| json!({}));
        place[entry.method] = entry.value;
    }

    /// The whole description.
    pub fn finish(mut self) -> Value {
        let schemas = self.generator.take_definitions(true);
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "sigmabar serve",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Studies over HTTP: ask for trials, tell results, look at what is known. Every request needs the token that the server prints.",
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            },
            "servers": [{ "url": "/" }],
            "security": [{ "token": [] }],
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            },
        })
    }
}

impl Entry {
    /// Takes a query of this type.
    pub fn query<T: JsonSchema>(mut self, document: &mut Document) -> Self {
        // Each field of the type is a parameter of its own.
        let schema = SchemaGenerator::from(document.generator.settings().clone()).into_root_schema_for::<T>().to_value();
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        document.generator.subschema_for::<sigmabar_study::TrialStatus>();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, mut field) in fields {
            let words = field.as_object_mut().and_then(|field| field.remove("description")).unwrap_or_default();
            // A parameter that is not given is not there: null cannot be written in an address.
            if let Some(kinds) = field.get_mut("type").and_then(Value::as_array_mut) {
                kinds.retain(|kind| kind != "null");
            }
            if let Some(options) = field.get_mut("anyOf").and_then(Value::as_array_mut) {
                options.retain(|option| option["type"] != "null");
            }
            if let Some(field) = field.as_object_mut() {
                field.remove("default");
            }
            let parameter = json!({ "name": name, "in": "query", "required": required.contains(&name.as_str()), "description": words, "schema": field });
            if let Some(parameters) = self.value["parameters"].as_array_mut() {
                parameters.push(parameter);
            }
        }
        self
    }

    /// Takes a body of this type.
    pub fn body<T: JsonSchema>(mut self, document: &mut Document) -> Self {
        let schema = document.generator.subschema_for::<T>();
        self.value["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        for (status, words) in [("400", "not JSON"), ("413", "too long"), ("415", "not sent as JSON"), ("422", "not what is taken")] {
            self.value["responses"][status] = problem(words, document);
        }
        self
    }

    /// Takes a header.
    pub fn header(mut self, name: &str, words: &str) -> Self {
        let header = json!({ "name": name, "in": "header", "required": false, "description": words, "schema": { "type": "string", "maxLength": 200 } });
        if let Some(parameters) = self.value["parameters"].as_array_mut() {
            parameters.push(header);
        }
        self
    }

    /// Answers so.
    pub fn answers<T: JsonSchema>(mut self, status: &str, words: &str, document: &mut Document) -> Self {
        let schema = document.generator.subschema_for::<T>();
        self.value["responses"][status] = json!({ "description": words, "content": { "application/json": { "schema": schema } } });
        self
    }

    /// Answers with something that is no JSON.
    pub fn answers_as(mut self, kind: &str, words: &str) -> Self {
        self.value["responses"]["200"] = json!({ "description": words, "content": { kind: { "schema": { "type": "string" } } } });
        self
    }

    /// Refuses so, besides what every request may be refused for.
    pub fn refuses(mut self, refusals: &[(&str, &str)], document: &mut Document) -> Self {
        let all = [
            ("400", "a wrong query"),
            ("401", "a wrong token"),
            ("404", "no such study, trial or picture"),
            ("429", "too many requests from this address: wait as long as Retry-After says"),
            ("500", "the study's file cannot be read"),
            ("503", "busy: try again"),
        ];
        for (status, words) in all.iter().chain(refusals) {
            self.value["responses"][*status] = problem(words, document);
        }
        for status in ["429", "503"] {
            let seconds = json!({ "description": "Seconds to wait", "schema": { "type": "integer", "minimum": 1 } });
            self.value["responses"][status]["headers"] = json!({ "Retry-After": seconds });
        }
        self
    }
}

fn problem(words: &str, document: &mut Document) -> Value {
    let schema = document.generator.subschema_for::<crate::wire::Problem>();
    json!({ "description": words, "content": { "application/json": { "schema": schema } } })
}
