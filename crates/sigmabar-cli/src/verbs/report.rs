//! `sigmabar report STUDY|MODEL`: one page with pictures.

use crate::Outcome;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::model_file;
use crate::output::{self, Over};
use crate::report::{self, Page};
use crate::which_study::{WhichStudy, quoted, stem};
use sigmabar_study::Study;
use std::fs;
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A study (.toml, .db) or a model (.sbm); the only study in this directory unless given
    #[arg(value_name = "STUDY|MODEL")]
    what: Option<PathBuf>,
    /// Which of several studies in one .db file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The page to write; STUDY-report.html or MODEL-model.html beside the study or the model unless named
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the pictures into this directory too, as PNG and SVG, with their numbers as CSV
    #[arg(long, value_name = "DIRECTORY")]
    png: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let is_study = |path: &PathBuf| crate::which_study::is_spec(path) || path.extension().is_some_and(|extension| extension == "db");
    match &arguments.what {
        Some(path) if !is_study(path) => {
            let usual = path.with_file_name(format!("{}-model.html", stem(path)));
            let model = model_file::load(path)?;
            let page = drawn(console, || report::model(&model))?;
            write_all(&page, &[path], arguments, usual, console)?;
            Ok(page
                .contradiction()
                .map_or(Ending::Done, |contradiction| model_file::contradicted(contradiction, "fit", &model.about, console)))
        }
        other => {
            let place = WhichStudy::find(other.as_deref(), arguments.name.clone())?;
            let study = place.open()?;
            let page = drawn(console, || report::study(&study))?;
            write_all(&page, &place.files(), arguments, place.report(), console)?;
            Ok(page.contradiction().map_or(Ending::Done, |contradiction| place.contradicted(&study, contradiction, console)))
        }
    }
}

/// A page, which takes a while to draw.
fn drawn<E>(console: &Console, draw: impl FnOnce() -> Result<Page, E>) -> Result<Page, E> {
    let spinner = console.progress("drawing the report", None);
    let page = draw();
    spinner.finish_and_clear();
    page
}

fn write_all(page: &Page, inputs: &[&Path], arguments: &Arguments, usual: PathBuf, console: &Console) -> Outcome<()> {
    let path = arguments.out.as_ref().unwrap_or(&usual);
    write(page, path, inputs, console)?;
    if let Some(directory) = &arguments.png {
        write_pictures(page, directory, console)?;
    }
    if page.contradiction().is_none() {
        console.next(format_args!("open {}", quoted(path)));
    }
    Ok(())
}

/// The page of a study.
pub(crate) fn write_study(study: &Study, place: &WhichStudy, path: &Path, console: &Console) -> Outcome<()> {
    let page = drawn(console, || report::study(study))?;
    study.remember();
    write(&page, path, &place.files(), console)
}

/// A page, over none of the files that it was made from.
pub(crate) fn write(page: &Page, path: &Path, inputs: &[&Path], console: &Console) -> Outcome<()> {
    output::write(path, inputs, Over::Pages, |out| out.write_all(page.html().as_bytes()))?;
    console.say(format_args!("wrote {}", path.display()));
    Ok(())
}

fn write_pictures(page: &Page, directory: &Path, console: &Console) -> Outcome<()> {
    fs::create_dir_all(directory).map_err(Failure::file(directory, "make"))?;
    let spinner = console.progress("drawing the pictures", None);
    let texts = page.svgs().into_iter().chain(page.csvs()).map(|(name, text)| (name, text.into_bytes()));
    let files: Vec<(String, Vec<u8>)> = page.pngs()?.into_iter().chain(texts).collect();
    spinner.finish_and_clear();
    for (name, bytes) in &files {
        let path = directory.join(name);
        output::write(&path, &[], Over::Anything, |out| out.write_all(bytes))?;
    }
    console.say(format_args!("wrote {} files into {}", files.len(), directory.display()));
    Ok(())
}
