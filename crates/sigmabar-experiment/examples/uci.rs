//! Regression benchmarks with learnt kernels: RMSE and NLPD on the standardised target, 95 % coverage and seconds for each published fold.
//!
//! ```text
//! cargo run --release -p sigmabar-experiment --example uci -- --data DIRECTORY kin40k --folds 1
//! ```
//!
//! Without names, every data set of the directory is run: `NAME.csv.gz` with the target in the last column, and `NAME.test_mask.csv.gz` with one column
//! for each fold, 1 marking its test rows.

use flate2::read::GzDecoder;
use sigmabar::evidence::{Learning, fit_hyperparameters};
use sigmabar::{Collected, Kernel, Observations, Points, Posterior, Prior};
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Arguments {
    data: PathBuf,
    names: Vec<String>,
    folds: usize,
    inducing: Option<usize>,
}

fn main() -> Outcome<()> {
    let arguments = arguments()?;
    let directory = &arguments.data;
    let names = if arguments.names.is_empty() { all_names(directory)? } else { arguments.names.clone() };
    for name in names {
        let table = read(&directory.join(format!("{name}.csv.gz")))?;
        let masks = read(&directory.join(format!("{name}.test_mask.csv.gz")))?;
        let folds = masks[0].len().min(arguments.folds);
        println!("{name}: {} rows, {} columns", table.len(), table[0].len() - 1);
        let scores = (0..folds).map(|fold| run_fold(&table, &masks, fold, arguments.inducing)).collect::<Outcome<Vec<_>>>()?;
        let mean = |f: fn(&Scores) -> f64| scores.iter().map(f).sum::<f64>() / folds as f64;
        println!(
            "  mean     RMSE {:.4}  NLPD {:.4}  coverage {:.4}  {:.1} s",
            mean(|s| s.rmse),
            mean(|s| s.nlpd),
            mean(|s| s.coverage),
            mean(|s| s.seconds)
        );
    }
    Ok(())
}

fn arguments() -> Outcome<Arguments> {
    let mut arguments = Arguments { data: PathBuf::new(), names: Vec::new(), folds: 10, inducing: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--data" => arguments.data = words.next().ok_or("--data needs a directory")?.into(),
            "--folds" => arguments.folds = words.next().ok_or("--folds needs a number")?.parse()?,
            "--inducing" => arguments.inducing = Some(words.next().ok_or("--inducing needs a number")?.parse()?),
            option if option.starts_with('-') => {
                return Err(format!("unknown option {option}: there are --data, --folds and --inducing").into());
            }
            name => arguments.names.push(name.to_owned()),
        }
    }
    if !arguments.data.is_dir() {
        return Err("say with --data DIRECTORY where the data sets are".into());
    }
    Ok(arguments)
}

fn all_names(directory: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in directory.read_dir()? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".csv.gz").filter(|name| !name.ends_with(".test_mask")) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn read(path: &PathBuf) -> Outcome<Vec<Vec<f64>>> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(GzDecoder::new(file));
    reader.records().map(|record| record?.iter().map(|field| Ok(field.trim().parse()?)).collect()).collect()
}

struct Scores {
    rmse: f64,
    nlpd: f64,
    coverage: f64,
    seconds: f64,
}

fn run_fold(table: &[Vec<f64>], masks: &[Vec<f64>], fold: usize, inducing: Option<usize>) -> Outcome<Scores> {
    let start = Instant::now();
    let part = |test: bool| table.iter().zip(masks).filter(move |(_, mask)| (mask[fold] == 1.0) == test).map(|(row, _)| row.clone());
    let (mut train, mut test): (Vec<_>, Vec<_>) = (part(false).collect(), part(true).collect());
    standardise(&mut train, &mut test);
    let (x, y) = split(&train)?;
    let (queries, truth) = split(&test)?;
    let dim = x.dim();
    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::learnt(&y)?)?;
    let lengths = vec![(dim as f64).sqrt(); dim];
    let mut learning = Learning::new(vec![
        Kernel::matern(1.5, lengths.clone(), 1.0)?,
        Kernel::matern(2.5, lengths.clone(), 1.0)?,
        Kernel::squared_exponential(lengths, 1.0)?,
    ]);
    learning.additive = true;
    learning.inducing = inducing.unwrap_or(learning.inducing);
    let learnt = fit_hyperparameters(&observations, &learning)?;
    let scores = score(learnt.posterior(), &queries, &truth, start)?;
    println!(
        "  fold {fold}   RMSE {:.4}  NLPD {:.4}  coverage {:.4}  {:.1} s   ({}{}, {} inducing, ridge {:.3}, ELBO {:.1}, gap per row {:.4}, {} evaluations, {} rounds)",
        scores.rmse,
        scores.nlpd,
        scores.coverage,
        scores.seconds,
        ["Matérn 3/2", "Matérn 5/2", "squared exponential"][learnt.template],
        if matches!(learnt.kernel().value, Kernel::Sum(_)) { " + single columns" } else { "" },
        learnt.inducing().len(),
        learnt.ridge(),
        learnt.elbo,
        learnt.gap() / observations.len() as f64,
        learnt.evaluations,
        learnt.rounds,
    );
    Ok(scores)
}

/// Columns and target to mean 0 and deviation 1 on the training rows; columns that do not vary there only lose their mean.
fn standardise(train: &mut [Vec<f64>], test: &mut [Vec<f64>]) {
    let n = train.len() as f64;
    for column in 0..train[0].len() {
        let mean = train.iter().map(|row| row[column]).sum::<f64>() / n;
        let deviation = (train.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n).sqrt();
        let scale = if deviation > 0.0 { deviation } else { 1.0 };
        train.iter_mut().chain(test.iter_mut()).for_each(|row| row[column] = (row[column] - mean) / scale);
    }
}

/// The target is the last column.
fn split(rows: &[Vec<f64>]) -> Outcome<(Points, Vec<f64>)> {
    let width = rows[0].len() - 1;
    let x: Vec<&[f64]> = rows.iter().map(|row| &row[..width]).collect();
    Ok((Points::from_rows(&x)?, rows.iter().map(|row| row[width]).collect()))
}

/// A new response is normal around the mean, with the variance of the function and of the noise.
fn score(posterior: &Posterior, queries: &Points, truth: &[f64], start: Instant) -> Outcome<Scores> {
    let (mean, std_dev) = posterior.predict(queries.view())?;
    let noise = posterior.information().ridge() * posterior.prior().unit();
    let n = truth.len() as f64;
    let (mut square, mut nlpd, mut covered) = (0.0, 0.0, 0.0);
    for ((m, s), y) in mean.iter().zip(&std_dev).zip(truth) {
        let variance = s * s + noise * noise;
        let error = (y - m).powi(2);
        square += error;
        nlpd += 0.5 * ((std::f64::consts::TAU * variance).ln() + error / variance);
        covered += f64::from(error <= 1.959_963_984_540_054_f64.powi(2) * variance);
    }
    Ok(Scores { rmse: (square / n).sqrt(), nlpd: nlpd / n, coverage: covered / n, seconds: start.elapsed().as_secs_f64() })
}
