//! `sigmabar recommend`: what to do if the study ended now.

use crate::Outcome;
use crate::advice;
use crate::args::Format;
use crate::console::Console;
use crate::failure::Ending;
use crate::which_study::StudyArgument;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let advice = study.recommend()?;
    study.remember();
    let Some(advice) = advice else {
        if matches!(console.format(Format::Table), Format::Json | Format::Jsonl) {
            console.answer("null")?;
        }
        console.say("nothing was measured yet: there is nothing to recommend");
        console.next(format_args!("sigmabar ask{}", place.typed()));
        return Ok(Ending::Done);
    };
    let mut fields = advice::fields(&advice);
    if !matches!(console.format(Format::Table), Format::Json | Format::Jsonl) {
        fields.retain(|(name, value)| *name != "certificate" && (*name != "stands" || !value.is_null()));
    }
    console.record(&fields, Format::Table)?;
    if let Some(words) = advice::warning(&advice) {
        console.warn(words);
    }
    if let Some(contradiction) = study.status()?.contradiction {
        return Ok(place.contradicted(&contradiction, "ask", console));
    }
    console.next(format_args!("sigmabar report{}", place.typed()));
    Ok(Ending::Done)
}
