//! Every picture of the reports from a small real model and run, to be looked at: `cargo run -p sigmabar-cli --example pictures -- DIRECTORY`.

use sigmabar::strategy::StillPossible;
use sigmabar::{
    Ask, BoxDomain, Claim, Collected, Domain, FeatureMap, Kernel, Noise, Observations, Outcome, Points, Policy, Posterior, Prior, Problem,
    Strategy,
};
use sigmabar_cli::plot::{
    BatchEnd, Dot, Effect, Elimination, Frame, HeldOut, MeanMap, Measured, Medium, Picture, Plate, Progress, RegretCurve, RegretGrowth,
    RegretPanel, Remaining, Rival, Scale, Side, Slice, Slices, Well, calibration, effects, growth, regret, residuals, rivals, well_place,
};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const NOISE: f64 = 0.15;

fn truth(x: f64) -> f64 {
    (6.0 * x).sin() + 0.5 * (15.0 * x).cos()
}

/// Noise that looks random and is the same every time.
fn noise(i: usize) -> f64 {
    let u = |k: usize| (((i * 2 + k) as f64 * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0).max(1e-9);
    NOISE * (-2.0 * u(0).ln()).sqrt() * (std::f64::consts::TAU * u(1)).cos()
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory for the pictures")?;
    std::fs::create_dir_all(&directory)?;
    let mut pictures = model_pictures()?;
    pictures.extend(run_pictures()?);
    pictures.push(plate());
    pictures.push(mean_map());
    pictures.extend(regret_pictures());
    for picture in &pictures {
        let path = Path::new(&directory).join(picture.name());
        std::fs::write(path.with_extension("png"), picture.png()?)?;
        std::fs::write(path.with_extension("svg"), picture.svg(Medium::File))?;
        std::fs::write(path.with_extension("csv"), picture.table().csv())?;
        println!("{}", path.with_extension("png").display());
    }
    Ok(())
}

fn model_pictures() -> Result<Vec<Picture>, Box<dyn Error>> {
    let x: Vec<f64> = (0..120).map(|i| ((i * 37) % 120) as f64 / 119.0).collect();
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| truth(*x) + noise(i)).collect();
    let inducing: Vec<f64> = (0..16).map(|i| f64::from(i) / 15.0).collect();
    let features = Arc::new(FeatureMap::new(Kernel::matern(2.5, 0.2, 1.0)?, Points::on_line(inducing.clone())?)?);
    let fit = |rows: &[usize]| -> Result<Posterior, Box<dyn Error>> {
        let points = Points::on_line(rows.iter().map(|&i| x[i]).collect())?;
        let values: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
        Ok(Posterior::fit(Arc::clone(&features), NOISE, Observations::new(points, &values, Collected::DeclaredFixed, Prior::ZERO)?)?)
    };
    let posterior = fit(&(0..x.len()).collect::<Vec<_>>())?;
    let claim = Claim::new(0.05)?.norm_bound(4.0)?.noise(Noise::gaussian(NOISE)?);
    let grid: Vec<f64> = (0..200).map(|i| f64::from(i) / 199.0).collect();
    let points = Points::on_line(grid.clone())?;
    let interval = posterior.interval(points.view(), &claim)?;
    let prediction = posterior.prediction_interval(points.view(), &claim)?;
    let slice = Slice {
        parameter: "temperature / °C".to_owned(),
        x: grid.clone(),
        mean: interval.mean().to_vec(),
        mean_interval: (interval.lower().to_vec(), interval.upper().to_vec()),
        prediction_interval: Some((prediction.response_lower().to_vec(), prediction.response_upper().to_vec())),
        data: x.iter().zip(&y).map(|(x, y)| (Dot { at: (*x, *y), trial: None }, 1.0)).collect(),
        inducing,
        through: Some(0.23),
        ..Slice::default()
    };
    let choices = Slice {
        parameter: "solvent".to_owned(),
        names: Some(["water", "ethanol", "acetone"].map(str::to_owned).to_vec()),
        x: vec![0.0, 1.0, 2.0],
        mean: vec![0.2, 0.9, 0.5],
        mean_interval: (vec![0.0, 0.7, 0.1], vec![0.4, 1.1, 0.9]),
        prediction_interval: Some((vec![-0.2, 0.5, -0.1], vec![0.6, 1.3, 1.1])),
        data: vec![(Dot { at: (0.0, 0.1), trial: None }, 0.4), (Dot { at: (1.0, 1.0), trial: None }, 0.9)],
        through: Some(1.0),
        ..Slice::default()
    };
    let slices = Slices {
        through: "the recommendation".to_owned(),
        response: "yield / %".to_owned(),
        mean_label: interval.certificate().label().to_string(),
        prediction_label: prediction.certificate().label().to_string(),
        slices: vec![slice.clone(), choices],
    };
    let mut held_out = Vec::new();
    for fold in 0..10 {
        let (out, kept): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|i| i % 10 == fold);
        let (mean, std_dev) = fit(&kept)?.predict(Points::on_line(out.iter().map(|&i| x[i]).collect())?.view())?;
        held_out.extend((0..out.len()).map(|i| HeldOut {
            predicted: mean[i],
            std_dev: std_dev[i].hypot(NOISE),
            measured: y[out[i]],
            trial: None,
        }));
    }
    let names =
        [("temperature", 4.0), ("pH", 1.5), ("stirring speed", 0.2), ("a name that is much too long for the margin of a bar chart", 1.0)];
    let matters = names.map(|(name, size)| {
        let mean: Vec<f64> = (0..64 * 12).map(|i| size * (i % 12) as f64 * (0.5 + (i / 12) as f64 / 64.0)).collect();
        Effect::new(name, 12, &mean, &[0.5], sigmabar::Label::Estimated)
    });
    let how = "each predicted by a model that saw nine tenths of the others";
    Ok(vec![slices.picture(), calibration(&held_out, how), residuals(&held_out, "yield / %", how), effects(&matters, "yield / %")])
}

/// A certified run on a box in two dimensions.
fn run_pictures() -> Result<Vec<Picture>, Box<dyn Error>> {
    let problem = Problem::new(Domain::Box(BoxDomain::unit(2)?), 300)?
        .with_kernel(Kernel::matern(2.5, 0.4, 1.0)?)?
        .with_norm_bound(4.0)?
        .with_noise(Noise::gaussian(NOISE)?)?
        .with_wanted_gap(0.3)?;
    let mut run = Strategy::new(problem, Policy::Sbpe(Box::default()))?;
    let mut values = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    let f = |x: &[f64]| {
        (-8.0 * ((x[0] - 0.7).powi(2) + (x[1] - 0.3).powi(2))).exp() + 0.6 * (-12.0 * ((x[0] - 0.2).powi(2) + (x[1] - 0.8).powi(2))).exp()
    };
    while let Ask::Trials(trials) = run.ask(usize::MAX)? {
        let mut measured = Vec::new();
        for trial in trials {
            let value = f(&trial.point) + noise(values.len());
            values.push(value);
            measured.push((trial.id, trial.point.clone()));
            run.tell(trial.id, Outcome::Value(value))?;
        }
        let share = run.batches()?.last().and_then(|batch| batch.survivors).map(StillPossible::number).filter(|share| *share < 1.0);
        frames.push(Frame { remaining: survivors(&run)?, share, measured });
    }
    let advice = run.recommend()?.ok_or("nothing was measured")?;
    let mut evaluations = 0;
    let mut end = |measured: usize, gap| {
        evaluations += measured;
        BatchEnd { evaluations, gap }
    };
    let batches = run.batches()?.iter().map(|b| end(b.measured, b.gap)).collect();
    let side = |name: &str| Side { name: name.to_owned(), scale: Scale::Linear { low: 0.0, high: 1.0 } };
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let elimination = Elimination {
        sides: vec![side("temperature"), side("pH")],
        candidates: Vec::new(),
        is_list: false,
        label: "certified".to_owned(),
        frames,
        recommended: Some(advice.point.clone()),
    };
    let history = Progress {
        response: "yield".to_owned(),
        maximise: true,
        gap_label: advice.label().to_string(),
        among_candidates: false,
        wanted_gap: Some(0.3),
        trials: Vec::new(),
        failures: vec![(20, 20), (21, 22), (130, 132)],
        values,
        batches,
    };
    let pair = [
        Rival {
            name: "recommended".to_owned(),
            setting: "temperature = 0.70, pH = 0.30".to_owned(),
            measured: vec![],
            mean: Some(0.5 * (advice.lower + advice.upper)),
            interval: Some((advice.lower, advice.upper)),
            label: advice.label().to_string(),
        },
        Rival {
            name: "best measured".to_owned(),
            setting: "temperature = 0.64, pH = 0.31".to_owned(),
            measured: vec![(7, best)],
            mean: Some(0.97),
            interval: Some((0.8, 1.2)),
            label: "heuristic, not certified".to_owned(),
        },
    ];
    Ok(vec![elimination.picture(), strips(), dots(), history.picture(), rivals(&pair, "yield")])
}

fn survivors(run: &Strategy) -> Result<Remaining, Box<dyn Error>> {
    let survivors = run.survivors()?.ok_or("the policy rules nothing out")?;
    Ok(match survivors {
        sigmabar::strategy::Survivors::Cells(cells) => Remaining::Cells(cells.into_iter().map(|cell| (cell.low, cell.high)).collect()),
        other => Remaining::Candidates((0..other.len()).collect()),
    })
}

fn strips() -> Picture {
    let frame = |cells: &[(f64, f64)], points: usize| Frame {
        remaining: Remaining::Cells(cells.iter().map(|(a, b)| (vec![*a], vec![*b])).collect()),
        share: Some(cells.iter().map(|(a, b)| b - a).sum::<f64>()),
        measured: (0..points).map(|i| (i as u64, vec![cells[0].0 + (cells[0].1 - cells[0].0) * i as f64 / points as f64])).collect(),
    };
    let frames = vec![frame(&[(0.1, 0.5), (0.7, 0.9)], 10), frame(&[(0.2, 0.4)], 20), frame(&[(0.27, 0.33)], 30)];
    let sides = vec![Side { name: "dose / mg".to_owned(), scale: Scale::Linear { low: 0.0, high: 1.0 } }];
    let picture =
        Elimination { sides, candidates: Vec::new(), is_list: false, label: "certified".to_owned(), frames, recommended: Some(vec![0.3]) }
            .picture();
    picture.named("elimination-strips")
}

fn dots() -> Picture {
    let candidates: Vec<Vec<f64>> =
        (0..400).map(|i| (0..4).map(|k| (f64::from(i) * [0.618, 0.414, 0.732, 0.236][k]).rem_euclid(1.0)).collect()).collect();
    let near = |i: &usize, r: f64| (candidates[*i][0] - 0.6).abs() < r && (candidates[*i][2] - 0.4).abs() < r;
    let frame = |r: f64| Frame {
        remaining: Remaining::Candidates((0..400).filter(|i| near(i, r)).collect()),
        share: None,
        measured: (0..400).filter(|i| near(i, 1.3 * r)).step_by(5).map(|i| (i as u64, candidates[i].clone())).collect(),
    };
    let frames = vec![frame(0.5), frame(0.3), frame(0.15), frame(0.08)];
    let sides = ["a", "b", "c", "d"].map(|name| Side { name: name.to_owned(), scale: Scale::Linear { low: 0.0, high: 1.0 } }).to_vec();
    let elimination = Elimination {
        sides,
        candidates: candidates.clone(),
        is_list: true,
        label: "certified".to_owned(),
        frames,
        recommended: Some(candidates[5].clone()),
    };
    elimination.picture().named("elimination-candidates")
}

fn plate() -> Picture {
    let wells = (0..90)
        .filter_map(|i| well_place(&format!("{}{}", char::from(b'A' + (i / 12) as u8), i % 12 + 1)).map(|place| (i, place)))
        .map(|(i, (row, column))| Well {
            row,
            column,
            setting: format!("pH = {i}"),
            trial: Some(i as u64),
            is_control: i % 20 == 3,
            measured: match i {
                17 => Measured::Failed,
                44 | 45 => Measured::Missing,
                _ => Measured::Value(40.0 + 30.0 * truth(i as f64 / 90.0) + 20.0 * noise(i)),
            },
            predicted: Some(40.0 + 30.0 * truth(i as f64 / 90.0)),
            std_dev: Some(2.0 + (i % 13) as f64 / 5.0),
            surprise: (![17, 44, 45].contains(&i)).then(|| 2.0 * noise(i)),
        })
        .collect();
    let plate = Plate {
        title: "Plate 1".to_owned(),
        name: "plate-1".to_owned(),
        size: (8, 12),
        response: "yield / %".to_owned(),
        wells,
        has_means: false,
        blocked: vec![(7, 10), (7, 11)],
    };
    plate.picture(std::slice::from_ref(&plate))
}

fn mean_map() -> Picture {
    let side = |name: &str| Side { name: name.to_owned(), scale: Scale::Linear { low: 0.0, high: 1.0 } };
    let steps: Vec<f64> = (0..33).map(|i| (f64::from(i) + 0.5) / 33.0).collect();
    let at = |x: f64, y: f64| (x + y < 1.7).then(|| (truth(x) * y, 0.1 + 0.4 * (x - 0.5).abs()));
    let says = steps.iter().flat_map(|y| steps.iter().map(move |x| (*x, *y))).map(|(x, y)| at(x, y)).collect();
    MeanMap {
        through: "the recommendation".to_owned(),
        response: "yield / %".to_owned(),
        label: "certified".to_owned(),
        sides: [side("temperature"), side("pH")],
        steps: [steps.clone(), steps],
        says,
        measured: (0..40)
            .map(|i| Dot { at: ((f64::from(i) * 0.618).rem_euclid(1.0), (f64::from(i) * 0.414).rem_euclid(0.7)), trial: None })
            .collect(),
        through_point: Some((0.25, 0.9)),
    }
    .picture()
}

fn regret_pictures() -> Vec<Picture> {
    let curve = |strategy: &str, factor: f64, power: f64| {
        let evaluations: Vec<f64> = (0..60).map(|i| 10f64.powf(f64::from(i) / 59.0 * 3.0)).collect();
        let mean: Vec<f64> = evaluations.iter().map(|n| factor * n.powf(power)).collect();
        let scaled = |by: f64| mean.iter().map(|m| m * by).collect();
        RegretCurve {
            strategy: strategy.to_owned(),
            lower: scaled(0.7),
            upper: scaled(1.4),
            evaluations,
            mean,
            seeds: 20,
            is_stepped: strategy == "s-bpe",
        }
    };
    let panel = |problem: &str| RegretPanel {
        problem: problem.to_owned(),
        curves: vec![
            curve("s-bpe", 1.0, 0.6),
            curve("gp-ucb", 1.3, 0.65),
            curve("random", 1.0, 1.0),
            curve("sobol", 1.1, 0.98),
            curve("auto", 0.7, 0.5),
        ],
        theory_slope: Some(0.643),
    };
    // Made-up numbers: the real ones come from `cargo run --release --example regret -- growth`.
    let row = |setting: &str, budget: f64| RegretGrowth {
        setting: setting.to_owned(),
        budget,
        regret: 8.0 * budget.powf(0.45),
        bound: 90.0 * budget.powf(0.55),
        slope_limit: 0.643,
    };
    let settings = ["SE l=.2, d=1, 400 points", "Matern-5/2 l=.3, d=2, 500 points", "SE l=.3, d=2, 500 points"];
    let rows: Vec<RegretGrowth> =
        settings.iter().flat_map(|s| [100.0, 316.0, 1000.0, 3162.0, 10_000.0, 31_623.0, 100_000.0].map(|n| row(s, n))).collect();
    vec![regret(&[panel("Branin"), panel("Hartmann-6")], "cumulative regret"), growth(&rows)]
}
