//! `sigmabar close-batch` and `sigmabar reap`: going on without what is missing, and putting back what nobody answers for.

use crate::Outcome;
use crate::args::Format;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::quantity::counted;
use crate::sheet::Sheet;
use crate::which_study::StudyArgument;
use serde_json::json;
use sigmabar::strategy::Failures;
use sigmabar_study::Error;

/// Options of `close-batch`.
#[derive(Debug, clap::Args)]
pub struct Close {
    #[command(flatten)]
    study: StudyArgument,
    /// Close it even if nobody was given anything of it
    #[arg(long)]
    force: bool,
}

/// Options of `reap`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn close(arguments: &Close, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let status = study.status()?;
    if status.planned == 0 {
        let remedy = format!("sigmabar ask{} plans the first batch and hands it out", place.typed());
        return Err(Failure::refused("there is no batch to close: nothing was planned yet", remedy));
    }
    if status.is_finished {
        console.say("there is no batch to close: the study is finished, and nothing was changed");
        console.next(place.going_on(&study, &status));
        return Ok(Ending::Done);
    }
    let open = status.open();
    let closed = if arguments.force { study.close_batch_unseen() } else { study.close_batch() };
    let said = || console.say(format_args!("the batch is closed, {} missing", counted(open, "setting")));
    if let Err(Error::Contradicted(contradiction)) = &closed {
        said();
        return Ok(place.contradicted(&study, contradiction, console));
    }
    if let Err(Error::PremisesAwaited { .. }) = &closed {
        said();
        return Ok(place.awaits_premises(console));
    }
    closed.map_err(|error| match error {
        Error::NotHandedOut { batch, .. } => {
            let remedy = format!("sigmabar ask{} hands it out, --force closes it all the same", place.typed());
            Failure::refused(format!("nothing of batch {} was handed out yet", batch + 1), remedy)
        }
        other => other.into(),
    })?;
    said();
    let problem = study.spec().problem();
    if open > 0 && problem.norm_bound().is_some() && problem.failures() != Failures::Unrelated {
        console.warn(
            "the study does not declare failures = \"unrelated\": after a missing result its answer is an estimate; results that come later are kept but certify nothing",
        );
    } else if open > 0 {
        console.warn("what follows is valid if missing does not depend on the noise; results that come later are kept but certify nothing");
    }
    console.next(place.going_on(&study, &study.status()?));
    Ok(Ending::Done)
}

pub(crate) fn reap(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let reaped = study.reap()?;
    let mut sheet = Sheet::new(["trial"]);
    sheet.rows = reaped.iter().map(|id| vec![json!(id)]).collect();
    console.sheet(&sheet, Format::Csv)?;
    if reaped.is_empty() {
        console.say("no lease had run out");
        return Ok(Ending::Done);
    }
    console.say(format_args!("{} had run out: the next ask hands these settings out again", counted(reaped.len(), "lease")));
    console.next(format_args!("sigmabar ask{}", place.typed()));
    Ok(Ending::Done)
}
