//! Which study is meant: a study file, a database, or the only one in this directory.

use crate::Outcome;
use crate::advice;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use sigmabar::certificate::Contradiction;
use sigmabar_study::{Status, Study, StudySpec, TrialStatus};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A study as the first argument.
#[derive(Clone, Debug, clap::Args)]
pub struct StudyArgument {
    /// The study: its .toml or .db file; the only one in this directory unless given
    #[arg(value_name = "STUDY")]
    study: Option<PathBuf>,
    /// Which of several studies in one .db file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// A study as an option, for verbs whose first argument is something else.
#[derive(Clone, Debug, clap::Args)]
pub struct StudyOption {
    /// The study: its .toml or .db file; the only one in this directory unless given
    #[arg(long, short, value_name = "STUDY")]
    study: Option<PathBuf>,
    /// Which of several studies in one .db file
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl StudyArgument {
    /// Which of several.
    #[cfg(feature = "serve")]
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where the study is.
    pub(crate) fn place(&self) -> Outcome<WhichStudy> {
        WhichStudy::find(self.study.as_deref(), self.name.clone())
    }
}

impl StudyOption {
    /// Where the study is.
    pub(crate) fn place(&self) -> Outcome<WhichStudy> {
        WhichStudy::find(self.study.as_deref(), self.name.clone())
    }
}

/// Where a study is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhichStudy {
    /// The study file, where it is known.
    pub spec: Option<PathBuf>,
    /// The database.
    pub file: PathBuf,
    name: Option<String>,
    /// What to type for this study.
    typed: Option<PathBuf>,
}

impl WhichStudy {
    pub fn find(argument: Option<&Path>, name: Option<String>) -> Outcome<Self> {
        let chosen = match argument {
            Some(path) => path.to_owned(),
            None => only_one_in(Path::new("."))?,
        };
        let typed = argument.map(Path::to_owned);
        if is_spec(&chosen) {
            let file = chosen.with_extension("db");
            return Ok(Self { spec: Some(chosen), file, name, typed });
        }
        if chosen.extension() != Some(OsStr::new("db")) {
            let what = format!("{} is neither a study file (.toml, .json) nor a database (.db)", chosen.display());
            return Err(Failure::usage(what, "name one of these"));
        }
        let spec = ["toml", "json"].iter().map(|extension| chosen.with_extension(extension)).find(|path| path.exists());
        Ok(Self { spec, file: chosen, name, typed })
    }

    /// Opens the study that is there.
    pub fn open(&self) -> Outcome<Study> {
        // A file without a study is one whose first command was killed at its very beginning.
        if let Some(spec) = &self.spec
            && (!self.file.exists() || Study::names(&self.file)?.is_empty())
        {
            let remedy = format!("sigmabar run {0} or sigmabar ask {0} begins it", quoted(spec));
            return Err(Failure::refused(format!("the study of {} has not begun", spec.display()), remedy));
        }
        let names = if self.file.exists() { Study::names(&self.file)? } else { Vec::new() };
        if self.file.exists() && names.is_empty() {
            let what = format!("{} has no study in it", self.file.display());
            return Err(Failure::refused(what, "begin one from its study file, or name another database"));
        }
        // The study of the study file itself, where there are others beside it.
        let usual = Some(stem(&self.file)).filter(|stem| names.len() > 1 && names.contains(stem));
        Ok(Study::open(&self.file, self.name.as_ref().or(usual.as_ref()).map(String::as_str))?)
    }

    /// Opens the study, or begins it from its study file; whether it was begun.
    pub fn open_or_begin(&self, seed: Option<u64>) -> Outcome<(Study, bool)> {
        self.open_or_begin_with(seed, None)
    }

    /// The same for a study that is evaluated by a command.
    pub fn open_or_begin_with(&self, seed: Option<u64>, command: Option<&str>) -> Outcome<(Study, bool)> {
        let named_database = self.typed.as_ref().is_some_and(|path| !is_spec(path));
        let Some(path) = self.spec.as_ref().filter(|path| !named_database && (path.exists() || !self.file.exists())) else {
            let study = self.open()?;
            self.check_command(&study, command)?;
            return Ok((study, false));
        };
        let spec = StudySpec::read(path)?;
        let spec = command.map_or(spec.clone(), |command| spec.with_command(command));
        let name = self.name.clone().unwrap_or_else(|| stem(path));
        let begun = self.file.exists() && Study::names(&self.file)?.contains(&name);
        if !begun {
            // Another process may begin it at this very moment: then it is checked as one that was begun.
            let fresh = seed.map_or(spec.clone(), |seed| spec.clone().with_seed(seed));
            let (study, is_own) = Study::create_or_open(&self.file, &name, &fresh)?;
            if is_own {
                return Ok((study, true));
            }
        }
        let study = Study::open(&self.file, Some(&name))?;
        self.check_unchanged(path, &spec, &study, seed)?;
        Ok((study, false))
    }

    /// What the study declares, and the study itself if it has begun; nothing is written.
    pub fn declared(&self) -> Outcome<(StudySpec, Option<Study>)> {
        let names = if self.file.exists() { Study::names(&self.file)? } else { Vec::new() };
        let is_there = self.name.as_ref().map_or(!names.is_empty(), |name| names.contains(name));
        match &self.spec {
            Some(path) if !is_there => Ok((StudySpec::read(path)?, None)),
            _ => self.open().map(|study| (study.spec().clone(), Some(study))),
        }
    }

    /// A study that was begun keeps its objective.
    fn check_command(&self, study: &Study, command: Option<&str>) -> Outcome<()> {
        let changed = command.is_some_and(|command| !study.spec().clone().with_command(command).declares_the_same(study.spec()));
        if changed {
            let what = format!("the study in {} was begun with another objective", self.file.display());
            return Err(Failure::usage(what, "leave --command out to go on as begun, or begin a new study"));
        }
        Ok(())
    }

    /// A study goes on as it began: another study file or seed would make it another study.
    fn check_unchanged(&self, path: &Path, spec: &StudySpec, study: &Study, seed: Option<u64>) -> Outcome<()> {
        let begun = study.spec();
        if let Some(seed) = seed.filter(|seed| *seed != begun.problem().seed()) {
            let what = format!("the study was begun with seed {}, and --seed is {seed}", begun.problem().seed());
            return Err(Failure::usage(what, "leave --seed out to go on, or begin a new study with --name"));
        }
        let expected = spec.clone().with_seed(begun.problem().seed());
        if !expected.declares_the_same(&begun.clone().with_seed(begun.problem().seed())) {
            let what = format!("{} was changed after its study was begun in {}", path.display(), self.file.display());
            let remedy = format!(
                "sigmabar amend {} takes over a changed objective, description, stop_when or larger budget, and premises after a pilot; begin a new study from it with --name NAME, or \
                 name the .db file to go on as begun",
                quoted(path)
            );
            return Err(Failure::refused(what, remedy));
        }
        Ok(())
    }

    /// The files that no output may replace.
    pub fn files(&self) -> Vec<&Path> {
        self.spec.iter().chain([&self.file]).map(PathBuf::as_path).collect()
    }

    /// What to type after a verb to mean this study: nothing where nothing was typed.
    pub fn typed(&self) -> String {
        self.typed.as_ref().map_or_else(String::new, |path| format!(" {}", quoted(path))) + &self.typed_name()
    }

    /// Says that the data contradict the premises, and what can be done.
    pub fn contradicted(&self, study: &Study, contradiction: &Contradiction, console: &Console) -> Ending {
        console.warn(contradiction);
        console.say(advice::MEND);
        // Nothing goes on where the budget is spent.
        if let Some(status) = study.status().ok().filter(|status| !status.is_finished) {
            console.next(format_args!("{}   (goes on without a promise)", self.measuring(study, &status)));
        } else {
            console.next(format_args!("sigmabar export{} -o results.csv   (for the new study to import)", self.typed()));
        }
        Ending::Uncertified
    }

    /// Says that the pilot is measured, and what can be done.
    pub fn awaits_premises(&self, console: &Console) -> Ending {
        console.say("the pilot is measured: fix kernel, norm bound and noise by what it shows; none of it will be in a claim");
        console.next(self.fixing_premises());
        Ending::Done
    }

    fn fixing_premises(&self) -> String {
        match &self.spec {
            Some(path) => format!("sigmabar premises {0}   or edit it, and   sigmabar amend {0}", quoted(path)),
            None => format!("sigmabar amend{} --from FILE   (a study file with kernel, norm_bound and noise)", self.typed()),
        }
    }

    /// The commands that go on from here: the next plate where the study is laid out on plates, and no more asking where it is over.
    pub fn going_on(&self, study: &Study, status: &Status) -> String {
        let typed = self.typed();
        let has_only_failures = status.count(TrialStatus::Done) == 0 && status.count(TrialStatus::Failed) > 0;
        // An outage is mended first: what is planned after a batch that failed is planned from nothing new.
        let last_failed = || status.open() == 0 && status.batches > 0 && study.has_failed(status.batches - 1).unwrap_or(false);
        if study.spec().has_objective() && (has_only_failures || last_failed()) {
            return format!("sigmabar run{typed} --retry-failed   or   sigmabar trials{typed}");
        }
        if has_only_failures && status.is_finished {
            return format!("sigmabar trials{typed}   (all of them failed)");
        }
        if status.awaits_premises {
            return self.fixing_premises();
        }
        if status.is_finished {
            return format!("sigmabar recommend{typed}   or   sigmabar report{typed}");
        }
        let measuring = self.measuring(study, status);
        let is_between = status.open() == 0 && status.planned > 0 && !study.spec().has_objective();
        if is_between { format!("{measuring}   or   sigmabar recommend{typed}") } else { measuring }
    }

    fn measuring(&self, study: &Study, status: &Status) -> String {
        advice::measuring(study, status, &self.typed())
    }

    /// The same as an option.
    pub fn typed_option(&self) -> String {
        self.typed.as_ref().map_or_else(String::new, |path| format!(" --study {}", quoted(path))) + &self.typed_name()
    }

    fn typed_name(&self) -> String {
        self.name.as_ref().map_or_else(String::new, |name| format!(" --name {}", word(name)))
    }

    /// The page of this study, beside its files: no two studies of a directory have the same.
    pub fn report(&self) -> PathBuf {
        let name = self.name.clone().unwrap_or_else(|| stem(&self.file));
        self.file.with_file_name(format!("{}-report.html", name.replace(['/', '\\'], "_")))
    }
}

pub(crate) fn is_spec(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml" || extension == "json")
}

/// A path as it can be typed: one that begins with a dash would be taken for an option, and a dash alone is standard input.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    if text.len() > 1 && text.starts_with('-') { word(&format!("./{text}")) } else { word(&text) }
}

/// A word as it can be typed: in quotes where the shell would take it for something else.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+,:=@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The only database of a directory, else its only study file.
fn only_one_in(directory: &Path) -> Outcome<PathBuf> {
    let entries = fs::read_dir(directory).map_err(Failure::file(directory, "look into"))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name()))).collect();
    files.sort();
    for extension in ["db", "toml"] {
        let found: Vec<&PathBuf> = files.iter().filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
        match found[..] {
            [] => {}
            [only] => return Ok(only.clone()),
            [..] => {
                let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
                return Err(Failure::usage(format!("there are {} studies here", names.len()), format!("name one of {}", names.join(", "))));
            }
        }
    }
    Err(Failure::usage("there is no study in this directory", "name one, or begin one with sigmabar new"))
}
