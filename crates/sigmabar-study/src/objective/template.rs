//! Command templates: `./bench.sh {threads} {cache}`.

use crate::Value;
use crate::error::SpecProblem;

/// What a trial brings besides its parameters.
const EXTRA: [&str; 3] = ["id", "batch", "seed"];

/// A command with places for parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Value(String),
}

impl Template {
    /// Reads a template: `{name}` is a place, `{{` and `}}` are brackets, and `${NAME}` is left to the shell.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, SpecProblem> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let from = &rest[at..];
            if from.starts_with("{{") || from.starts_with("}}") {
                plain.push_str(&from[..1]);
                rest = &from[2..];
            } else if let Some(after) = from.strip_prefix('}') {
                plain.push('}');
                rest = after;
            } else if plain.ends_with('$') {
                plain.push('{');
                rest = &from[1..];
            } else {
                let Some(end) = from.find('}') else {
                    let requirement = "a closing bracket for every opening one (write {{ for a bracket of the command's own)";
                    return Err(SpecProblem::Requirement { found: format!("\"{from}\""), requirement });
                };
                let name = &from[1..end];
                if !names.contains(&name) && !EXTRA.contains(&name) {
                    // What is no name at all is a piece of the command, such as an awk program.
                    let requirement = "the name of a parameter in brackets (write {{ and }} for brackets of the command's own)";
                    return Err(if name.contains(|c: char| c.is_whitespace() || "{(;$\"'".contains(c)) {
                        SpecProblem::Requirement { found: format!("\"{}\"", &from[..=end]), requirement }
                    } else {
                        SpecProblem::unknown("parameter", name, names)
                    });
                }
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(Part::Value(name.to_owned()));
                rest = &from[end + 1..];
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        Ok(Self { parts })
    }

    /// Whether a value is put into it.
    pub fn has_place(&self, name: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Value(known) if known == name))
    }

    /// The command for a setting, values quoted for the shell where they need it.
    pub fn fill(&self, values: &[(String, Value)], extra: [u64; 3]) -> String {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Value(name) => match values.iter().find(|(known, _)| known == name) {
                    Some((_, value)) => filled.push_str(&quoted(&value.to_string())),
                    None => {
                        let place = EXTRA.iter().position(|known| known == name);
                        filled.push_str(&place.map_or_else(String::new, |i| extra[i].to_string()));
                    }
                },
            }
        }
        filled
    }
}

/// A word that the shell takes as it is.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+.,:/@%^".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str) -> String {
        let values = [("a".to_owned(), Value::Float(0.5)), ("kind".to_owned(), Value::Choice("it's $HOME".into()))];
        Template::parse(template, &["a", "kind"]).unwrap().fill(&values, [7, 1, 99])
    }

    #[test]
    fn places_brackets_and_quotes() {
        assert_eq!(fill("./x {a} {id} {seed}"), "./x 0.5 7 99");
        assert_eq!(fill("echo {kind}"), r"echo 'it'\''s $HOME'");
        assert_eq!(fill("awk '{{print $1}}' ${HOME} }"), "awk '{print $1}' ${HOME} }");
        assert!(Template::parse("./x {b}", &["a"]).is_err());
        assert!(Template::parse("./x {a", &["a"]).is_err());
        let said = |text: &str| Template::parse(text, &["a"]).unwrap_err().to_string();
        assert!(said("awk '{ print $1 }' {a}").contains("\"{ print $1 }\"") && said("awk '{ print $1 }' {a}").contains("write {{ and }}"));
        assert!(said("./x {b}").contains("there are a"));
    }
}
