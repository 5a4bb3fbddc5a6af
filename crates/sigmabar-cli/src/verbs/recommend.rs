//! `sigmabar recommend`: what to do if the study ended now.

use crate::Outcome;
use crate::advice;
use crate::args::Format;
use crate::console::Console;
use crate::failure::Ending;
use crate::verbs::status::{recommended, say_next};
use crate::which_study::StudyArgument;

use serde_json::Value;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let Some(advice) = recommended(&study, console)? else {
        if matches!(console.format(Format::Table), Format::Json | Format::Jsonl) {
            console.answer("null")?;
        }
        console.say("nothing was measured yet: there is nothing to recommend");
        say_next(&place, &study, &study.status()?, console)?;
        return Ok(Ending::Done);
    };
    let mut fields = advice::fields(&advice);
    if !matches!(console.format(Format::Table), Format::Json | Format::Jsonl) {
        let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        // A column of a table that goes on is there whether or not it is empty; a row for people is not.
        let is_for_people = console.format(Format::Table) == Format::Table;
        fields.retain(|(name, value)| match *name {
            "certificate" => false,
            // The label says it.
            "terms" => !is_for_people,
            "stands" => !value.is_null(),
            "reasons" => !(is_for_people && is_empty(value)),
            _ => true,
        });
    }
    if console.format(Format::Table) == Format::Table {
        for (name, value) in &mut fields {
            match *name {
                "label" => *value = Value::from(advice.certificate.label_in_words()),
                "setting" => *value = advice::setting_for_people(study.spec().space(), &advice.values),
                _ => {}
            }
        }
    }
    console.record(&fields, Format::Table)?;
    if let Some(words) = advice::warning(&advice) {
        console.warn(words);
    }
    if let Some(contradiction) = study.status()?.contradiction {
        return Ok(place.contradicted(&study, &contradiction, console));
    }
    console.next(format_args!("sigmabar report{}", place.typed()));
    Ok(Ending::Done)
}
