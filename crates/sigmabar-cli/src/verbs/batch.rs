//! `sigmabar close-batch` and `sigmabar reap`: going on without what is missing, and putting back what nobody answers for.

use crate::Outcome;
use crate::args::Format;
use crate::console::{Console, Sheet};
use crate::failure::Ending;
use crate::place::StudyArgument;
use crate::quantity::counted;
use serde_json::json;

/// Options of both.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn close(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let open = crate::verbs::status::open(&study.status()?);
    study.close_batch()?;
    console.say(format_args!("the batch is closed, {} missing", counted(open, "setting")));
    if open > 0 {
        console.warn("what follows is valid if missing does not depend on the noise; results that come later are kept but certify nothing");
    }
    console.next(format_args!("sigmabar ask{}   or   sigmabar recommend{}", place.typed(), place.typed()));
    Ok(Ending::Done)
}

pub(crate) fn reap(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let reaped = study.reap()?;
    let mut sheet = Sheet::new(["trial"]);
    sheet.rows = reaped.iter().map(|id| vec![json!(id)]).collect();
    console.sheet(&sheet, Format::Csv)?;
    console.say(format_args!("{} had run out: the next ask hands these settings out again", counted(reaped.len(), "lease")));
    console.next(format_args!("sigmabar ask{}", place.typed()));
    Ok(Ending::Done)
}
