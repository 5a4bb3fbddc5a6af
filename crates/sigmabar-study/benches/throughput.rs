//! How many ask+tell pairs a second many processes get through on one file.
//!
//! ```text
//! cargo bench -p sigmabar-study --bench throughput -- --processes 32 --pairs 20000
//! ```
//!
//! Every pair is two transactions that are on the disk when they return. The bench checks that no trial was handed out twice.

use sigmabar_study::{AskRequest, Asked, Study, StudySpec, TrialResult};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["worker", file, name] => worker(Path::new(file), name),
        options => {
            let number = |name: &str, default: usize| -> Answer<usize> {
                let place = options.iter().position(|word| *word == name);
                place.and_then(|i| options.get(i + 1)).map_or(Ok(default), |word| Ok(word.parse()?))
            };
            measure(number("--processes", 32)?, number("--pairs", 20_000)?)
        }
    }
}

fn worker(file: &Path, name: &str) -> Answer<()> {
    let study = Study::open(file, None)?;
    let mut ids = String::new();
    while let Asked::Trials(trials) = study.ask(&AskRequest::new(name, 1))? {
        for trial in trials {
            study.tell(trial.id, TrialResult::Value { value: trial.seed as f64, standard_error: None, replicates: None })?;
            ids.push_str(&format!("{}\n", trial.id));
        }
    }
    print!("{ids}");
    Ok(())
}

fn measure(processes: usize, pairs: usize) -> Answer<()> {
    let directory = std::env::temp_dir().join(format!("sigmabar-throughput-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let file = directory.join("study.db");
    let text = format!("budget = {pairs}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let study = Study::create(&file, "throughput", &StudySpec::from_toml(&text, &directory)?)?;
    // The plan is made before the clock runs: it is asked for and given back.
    study.ask(&AskRequest::new("warm-up", 1).with_lease(Duration::ZERO))?;
    let begin = Instant::now();
    let workers: Vec<_> = (0..processes)
        .map(|i| {
            Command::new(std::env::current_exe()?)
                .args(["worker".as_ref(), file.as_os_str(), format!("w{i}").as_ref()])
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let mut ids: Vec<u64> = Vec::new();
    for worker in workers {
        let output = worker.wait_with_output()?;
        assert!(output.status.success(), "a worker failed: {}", output.status);
        ids.extend(String::from_utf8(output.stdout)?.lines().map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?);
    }
    let seconds = begin.elapsed().as_secs_f64();
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(0..pairs as u64), "{} results for {pairs} trials", ids.len());
    println!(
        "{processes} processes, {pairs} pairs of ask and tell on one file: {seconds:.1} s, {:.0} pairs per second",
        pairs as f64 / seconds
    );
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
