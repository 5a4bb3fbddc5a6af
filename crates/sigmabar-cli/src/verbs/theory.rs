//! `sigmabar theory`: what the theorems say before anything is measured.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::Console;
use crate::data::{Categories, ColumnInfo, Frame, Options, Reader, Selection, Wanted};
use crate::failure::Ending;
use crate::kernels::Family;
use crate::memory;
use crate::sheet::Sheet;
use serde_json::{Value, json};
use sigmabar::gain::{DataGain, GainDomain};
use sigmabar::points::Locations;
use sigmabar::theory::{DesignedData, InducingPlan, Multiplier, RegretBatch, RegretRequest, Setting, Theorems, batch_lengths};
use sigmabar::{BoxDomain, Collected, Domain, Kernel, Noise, Points};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// se (or rbf, squared-exponential), matern-NU or rq-ALPHA
    #[arg(long, default_value = "matern-2.5")]
    kernel: Family,
    /// Length-scale, or one for each column
    #[arg(long, default_value = "0.2", value_delimiter = ',')]
    lengthscale: Vec<f64>,
    /// Variance of the kernel
    #[arg(long, default_value_t = 1.0)]
    variance: f64,
    /// Noise of a measurement: a level (sub-Gaussian), gaussian:SD, bounded:A or light-tailed:XI0:H0
    #[arg(long, default_value = "0.1", value_parser = crate::kernels::noise)]
    noise: Noise,
    /// Ridge; the noise's standard deviation unless given
    #[arg(long)]
    tau: Option<f64>,
    /// Bound C on the norm of the function
    #[arg(long, default_value_t = 1.0)]
    norm_bound: f64,
    /// Miss probability of every bound
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Columns of the unit box that candidates are spread over
    #[arg(long, default_value_t = 2, conflicts_with = "candidates")]
    dim: usize,
    /// Candidates to spread over the box
    #[arg(long, default_value_t = 1000, conflicts_with = "candidates")]
    points: usize,
    /// A table whose rows are the candidates instead
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// Measurements N
    #[arg(long, default_value_t = 1000)]
    budget: usize,
    /// How many measurements are enough for this error everywhere?
    #[arg(long, value_name = "EPSILON")]
    error: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let points = candidates(arguments, global.seed.unwrap_or(0), console)?;
    memory::check("a number of candidates of", points.len(), needed)?;
    let columns = vec![ColumnInfo::named(""); points.dim()];
    let kernel = arguments.kernel.kernel(&arguments.lengthscale, arguments.variance, &columns)?;
    let table = Bounds::new(arguments, &kernel, points)?.sheet(arguments)?;
    console.sheet(&table, Format::Table)?;
    console.say("\"proved\" is the corrected bound, \"paper\" the expression as the paper prints it; both for the candidates at once");
    console.next("sigmabar design SPACE --count N");
    Ok(Ending::Done)
}

/// Bytes at the peak: the kernel matrix of the candidates, its factors and what they are made of.
fn needed(points: usize) -> u128 {
    7 * 8 * (points as u128).pow(2)
}

fn candidates(arguments: &Arguments, seed: u64, console: &Console) -> Outcome<Points> {
    if let Some(path) = &arguments.candidates {
        let selection = Selection {
            wanted: Wanted::AllBut(Vec::new()),
            categories: Categories::Collected(Vec::new()),
            memory: memory::available(),
            options: Options::None,
            drop_missing: false,
        };
        let frame = Frame::read(Reader::open(path)?, &selection)?;
        console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
        console.warn_cut(&frame.cut);
        return Ok(Points::new(frame.values, frame.columns.len())?);
    }
    memory::check("--points", arguments.points, needed)?;
    let candidates = Domain::Box(BoxDomain::unit(arguments.dim)?).candidates(arguments.points, seed)?;
    Ok(candidates.range(0, candidates.len())?)
}

/// The candidates with what is computed once.
struct Bounds {
    points: Points,
    gains: GainDomain,
    data: DataGain,
    theorems: Theorems,
}

impl Bounds {
    fn new(arguments: &Arguments, kernel: &Kernel, points: Points) -> Outcome<Self> {
        let ridge = arguments.tau.unwrap_or(arguments.noise.std_dev_bound());
        let gains = GainDomain::new(kernel, ridge, points.view())?;
        let data = DataGain::new(kernel, ridge, &Locations::new(points.clone(), Collected::Designed))?;
        let theorems = Theorems::new(Setting {
            norm_bound: arguments.norm_bound,
            noise: arguments.noise.clone(),
            ridge,
            delta: arguments.delta,
            residual_ratio: 0.0,
            max_variance: arguments.variance,
        })?;
        Ok(Self { points, gains, data, theorems })
    }

    fn gain(&self, evaluations: usize) -> sigmabar::Result<f64> {
        Ok(self.gains.max_gain(evaluations)?.upper().value)
    }

    fn design(&self, evaluations: usize) -> sigmabar::Result<DesignedData> {
        let max_gain = self.gain(evaluations)?;
        Ok(DesignedData { evaluations, max_gain, inducing: InducingPlan::Fixed { max_residual: 0.0, gain: max_gain } })
    }

    fn sheet(&self, arguments: &Arguments) -> Outcome<Sheet> {
        let (n, size) = (arguments.budget, self.points.len());
        let gain = self.gains.max_gain(n)?;
        let design = self.design(n)?;
        let variance = self.theorems.design_variance(&design)?;
        let error = self.theorems.regression_finite(&design, size)?;
        let batches: Vec<RegretBatch> = batch_lengths(n)?
            .into_iter()
            .map(|length| Ok(RegretBatch { design: self.design(length)?, cover: None }))
            .collect::<sigmabar::Result<_>>()?;
        let request = RegretRequest { budget: n, max_gain: gain.upper().value, multiplier: Multiplier::Direct, batches: &batches };
        let regret = self.theorems.regret_finite(&request, size)?;
        let lengths: Vec<usize> = batches.iter().map(|batch| batch.design.evaluations).collect();
        let mut sheet = Sheet::new(["quantity", "proved", "paper", "meaning"]);
        let mut row = |quantity: String, proved: Value, paper: Value, meaning: &str| {
            sheet.rows.push(vec![json!(quantity), proved, paper, json!(meaning)])
        };
        row("candidates".into(), json!(size), Value::Null, "points the bounds speak of");
        row("effective dimension".into(), json!(self.data.effective_dimension), Value::Null, "of one measurement at each candidate");
        row(format!("gain of {n}, at least"), json!(gain.lower), Value::Null, "a design that has it exists");
        row(format!("gain of {n}, at most"), json!(gain.upper().value), Value::Null, "no design has more");
        row(
            format!("standard deviation after {n}"),
            json!(variance.corrected.sqrt()),
            json!(variance.paper.sqrt()),
            "largest left by a max-variance design",
        );
        row(format!("error after {n}"), json!(error.corrected), json!(error.paper), "everywhere, with probability 1 − delta");
        row(format!("regret of {n}"), json!(regret.corrected), json!(regret.paper), "sum over batched elimination");
        row("batches".into(), json!(batches.len()), Value::Null, "of batched elimination");
        row("batch lengths".into(), json!(lengths), Value::Null, "measurements in each");
        if let Some(wanted) = arguments.error {
            let plan = InducingPlan::Fixed { max_residual: 0.0, gain: 0.0 };
            let enough = self.theorems.measurements_for(wanted, size, plan, 1 << 40, |n| Ok(self.gains.rank_tail(n)?.value))?;
            let count = enough.map_or(Value::Null, |enough| json!(enough.measurements));
            row(
                format!("measurements for error {wanted}"),
                count,
                Value::Null,
                "enough by the bound; none where the bound never gets there",
            );
        }
        Ok(sheet)
    }
}
