//! The report of a fitted model.

use super::assumptions::{kernel_words, source_words};
use super::error::Result;
use super::page::Page;
use crate::plot::{self, Effect, HeldOut, Slice, Slices};
use sigmabar::{Label, Points, PointsRef, Posterior};

/// What a model says at points: mean, interval for the function, interval for a new response.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Means.
    pub mean: Vec<f64>,
    /// Intervals for the function.
    pub function: Vec<(f64, f64)>,
    /// Intervals for a new response.
    pub response: Vec<(f64, f64)>,
    /// What those for the function are worth.
    pub label: String,
    /// What those for a new response are worth.
    pub response_label: String,
    /// What they rest on.
    pub words: String,
}

/// A column that the model predicts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Names of its categories, where it holds some: values then count them.
    pub categories: Option<Vec<String>>,
}

/// A fitted model as a report needs it.
pub struct Fitted<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What is predicted.
    pub target: &'a str,
    /// The columns, in the order of the points.
    pub features: Vec<Feature>,
    /// The model.
    pub posterior: &'a Posterior,
    /// How to ask it.
    pub answer: &'a dyn Fn(PointsRef<'_>) -> sigmabar::Result<Answers>,
    /// Rows it had not seen.
    pub held_out: Vec<HeldOut>,
    /// Figures to be shown: names and values.
    pub facts: Vec<(String, String)>,
}

/// Values asked along a column.
const STEPS: usize = 121;
/// Rows over which effects are averaged, and values that a column takes in each.
const SETTINGS: usize = 64;
const LEVELS: usize = 12;
/// The most measurements of a picture.
const MOST_DOTS: usize = 800;

/// The page of a fitted model.
///
/// # Errors
/// What asking the model runs into.
pub fn fitted(model: &Fitted<'_>) -> Result<Page> {
    let mut page = Page::new(format!("{} · sigmabar", model.name));
    page.title(&format!("Model of {}", model.target));
    let (slices, words) = slices(model)?;
    page.answer(&slices.prediction_label, &format!("{} predicted from {} columns", model.target, model.features.len()), &model.facts, &[]);
    page.contents();
    page.heading("What the model says");
    page.picture(slices.picture());
    let information = model.posterior.information();
    let kernel = information.features().sourced_kernel();
    let effects = effects(model)?;
    if !effects.is_empty() {
        page.picture(plot::effects(&effects, model.target));
    }
    page.heading("Can the model be trusted?");
    if model.held_out.is_empty() {
        page.paragraph("No rows were held out: nothing here was checked on data the model had not seen.");
    } else {
        let how = "held out when the model was fitted";
        page.paragraph(&plot::verdict(&model.held_out));
        page.picture(plot::measured_against_predicted(&model.held_out, model.target, how));
        page.picture(plot::calibration(&model.held_out, how));
        page.picture(plot::residuals(&model.held_out, model.target, how));
    }
    let columns: Vec<String> = model.features.iter().map(|feature| feature.name.clone()).collect();
    page.heading("What it rests on");
    page.verbatim(&words);
    page.list(&[
        format!("Kernel: {}; its parameters {}.", kernel_words(&kernel.value, &columns), source_words(kernel.origin)),
        format!("{} measurements, {} inducing points.", information.len(), information.features().len()),
        format!("sigmabar {}.", env!("CARGO_PKG_VERSION")),
    ]);
    Ok(page)
}

/// The measured points; where only sums over them are left, the inducing points, which lie among them.
fn shown(posterior: &Posterior) -> PointsRef<'_> {
    let information = posterior.information();
    information.locations().map_or_else(|_| information.features().inducing(), |locations| locations.points())
}

/// Slices through the middle of the data, and what their intervals rest on.
fn slices(model: &Fitted<'_>) -> Result<(Slices, String)> {
    let points = shown(model.posterior);
    let every = points.len().div_ceil(MOST_DOTS).max(1);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(every).map(|i| points.row(i)).collect();
    let middle: Vec<f64> = (0..points.dim()).map(|column| median(rows.iter().map(|row| row[column]).collect())).collect();
    let mut words = String::new();
    let mut slices = Slices { through: "the middle of the data".to_owned(), response: model.target.to_owned(), ..Slices::default() };
    let kernel = model.posterior.information().features().kernel();
    let whole = kernel.value(&middle, &middle);
    for (column, feature) in model.features.iter().enumerate() {
        let ends =
            points.rows().map(|row| row[column]).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let x: Vec<f64> = match &feature.categories {
            Some(names) => (0..names.len()).map(|i| i as f64).collect(),
            None => (0..STEPS).map(|i| ends.0 + (ends.1 - ends.0) * i as f64 / (STEPS - 1) as f64).collect(),
        };
        let moved = |value: f64| middle.iter().enumerate().map(|(c, v)| if c == column { value } else { *v }).collect::<Vec<f64>>();
        let answers = (model.answer)(Points::from_rows(&x.iter().map(|v| moved(*v)).collect::<Vec<_>>())?.view())?;
        let near = |row: &[f64]| (kernel.value(row, &moved(row[column])) / whole).clamp(0.0, 1.0);
        // Distinct points carry means of their repetitions: what was measured there on average.
        let dots = match model.posterior.observations() {
            Ok(seen) => {
                let value = |i: usize| seen.prior().to_data(seen.sums()[i] / seen.locations().count(i));
                (0..points.len()).step_by(every).map(|i| (points.row(i)[column], value(i), near(points.row(i)))).collect()
            }
            Err(_) => Vec::new(),
        };
        let inducing = model.posterior.information().features().inducing();
        slices.slices.push(Slice {
            parameter: feature.name.clone(),
            names: feature.categories.clone(),
            discrete: feature.categories.is_some(),
            mean: answers.mean,
            mean_interval: answers.function.into_iter().unzip(),
            prediction_interval: Some(answers.response.into_iter().unzip()),
            data: dots,
            inducing: inducing.rows().step_by(inducing.len().div_ceil(120).max(1)).map(|row| row[column]).collect(),
            x,
            ..Slice::default()
        });
        words = answers.words;
        (slices.mean_label, slices.prediction_label) = (answers.label, answers.response_label);
    }
    Ok((slices, words))
}

/// How much each column matters, over rows of the data in which it takes values evenly over its range.
fn effects(model: &Fitted<'_>) -> Result<Vec<Effect>> {
    let points = shown(model.posterior);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(points.len().div_ceil(SETTINGS).max(1)).map(|i| points.row(i)).collect();
    let mut list = Vec::new();
    for (column, feature) in model.features.iter().enumerate() {
        let ends =
            points.rows().map(|row| row[column]).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let levels: Vec<f64> = match &feature.categories {
            Some(names) => (0..names.len()).map(|i| i as f64).collect(),
            None => (0..LEVELS).map(|i| ends.0 + (ends.1 - ends.0) * (i as f64 + 0.5) / LEVELS as f64).collect(),
        };
        if levels.len() < 2 || ends.0 >= ends.1 {
            continue;
        }
        let mut grid: Vec<Vec<f64>> = Vec::with_capacity(rows.len() * levels.len());
        for row in &rows {
            grid.extend(levels.iter().map(|level| row.iter().enumerate().map(|(c, v)| if c == column { *level } else { *v }).collect()));
        }
        let grid = Points::from_rows(&grid)?;
        let (mean, deviation) = ((model.answer)(grid.view())?.mean, model.posterior.std_dev(grid.view())?);
        list.push(Effect::new(&feature.name, levels.len(), &mean, &deviation, Label::Estimated));
    }
    Ok(list)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
