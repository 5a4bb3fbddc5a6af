//! The report of a fitted model.

use super::assumptions::{kernel_words, source_words};
use super::error::Result;
use super::page::Page;
use super::study_model::most_important;
use crate::plot::{self, Dot, Effect, HeldOut, MeanMap, Scale, Side, Slice, Slices};
use sigmabar::certificate::Contradiction;
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
    /// That the data contradict it, if they do.
    pub contradiction: Option<Contradiction>,
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
/// Values of each column of a map.
const MAP_LEVELS: usize = 33;
/// The most measurements of a picture.
const MOST_DOTS: usize = 800;

/// The page of a fitted model.
///
/// # Errors
/// What asking the model runs into.
pub fn fitted(model: &Fitted<'_>) -> Result<Page> {
    let mut page = Page::new(format!("{} · sigmabar", model.name));
    page.title(&format!("Model of {}", model.target));
    let (slices, words, contradiction) = slices(model)?;
    let about = format!("{} predicted from {} columns", model.target, model.features.len());
    let (headline, remedy) = match contradiction {
        Some(contradiction) => {
            page.contradict(contradiction);
            (format!("Stop: {contradiction}."), vec![format!("{about}. What to do: {}.", crate::model::MEND)])
        }
        None => (about, Vec::new()),
    };
    page.answer(&slices.prediction_label, &headline, &model.facts, &remedy);
    page.contents();
    page.heading("What the model says");
    page.picture(slices.picture());
    let information = model.posterior.information();
    let kernel = information.features().sourced_kernel();
    let effects = effects(model)?;
    if !effects.is_empty() {
        page.picture(plot::effects(&effects, model.target));
    }
    if let Some(map) = mean_map(model, &effects)? {
        page.picture(map.picture());
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
fn slices(model: &Fitted<'_>) -> Result<(Slices, String, Option<Contradiction>)> {
    let points = shown(model.posterior);
    let every = points.len().div_ceil(MOST_DOTS).max(1);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(every).map(|i| points.row(i)).collect();
    let middle = middle(points);
    let (mut words, mut contradiction) = (String::new(), None);
    let mut slices = Slices { through: "the middle of the data".to_owned(), response: model.target.to_owned(), ..Slices::default() };
    let kernel = model.posterior.information().features().kernel();
    let whole = kernel.value(&middle, &middle);
    for (column, feature) in model.features.iter().enumerate() {
        let ends = ends(points, column);
        let x: Vec<f64> = match &feature.categories {
            Some(names) => (0..names.len()).map(|i| i as f64).collect(),
            None => (0..STEPS).map(|i| ends.0 + (ends.1 - ends.0) * i as f64 / (STEPS - 1) as f64).collect(),
        };
        let moved = |value: f64| middle.iter().enumerate().map(|(c, v)| if c == column { value } else { *v }).collect::<Vec<f64>>();
        let answers = (model.answer)(Points::from_rows(&x.iter().map(|v| moved(*v)).collect::<Vec<_>>())?.view())?;
        let near = |row: &[f64]| (kernel.value(row, &moved(row[column])) / whole).clamp(0.0, 1.0);
        // Distinct points carry means of their repetitions: what was measured there on average, moved to the slice by what the model says of the other columns.
        let dots = match model.posterior.observations() {
            Ok(seen) => {
                let value = |i: usize| seen.prior().to_data(seen.sums()[i] / seen.locations().count(i));
                let feet: Vec<Vec<f64>> = rows.iter().map(|row| moved(row[column])).collect();
                let (own, foot) = (says(model, &rows)?, says(model, &feet)?);
                let dot = |(i, row): (usize, &&[f64])| {
                    let at = (row[column], value(i * every) - own[i] + foot[i]);
                    (Dot { at, trial: None }, near(row))
                };
                rows.iter().enumerate().map(dot).collect()
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
        (words, contradiction) = (answers.words, answers.contradiction);
        (slices.mean_label, slices.prediction_label) = (answers.label, answers.response_label);
    }
    Ok((slices, words, contradiction))
}

/// The model's means.
fn says<R: AsRef<[f64]>>(model: &Fitted<'_>, rows: &[R]) -> Result<Vec<f64>> {
    Ok((model.answer)(Points::from_rows(rows)?.view())?.mean)
}

/// The middle of the data, column by column.
fn middle(points: PointsRef<'_>) -> Vec<f64> {
    let every = points.len().div_ceil(MOST_DOTS).max(1);
    (0..points.dim()).map(|column| median((0..points.len()).step_by(every).map(|i| points.row(i)[column]).collect())).collect()
}

/// What the model says over the two columns that matter most, the others in the middle of the data.
fn mean_map(model: &Fitted<'_>, effects: &[Effect]) -> Result<Option<MeanMap>> {
    let names: Vec<&str> = model.features.iter().map(|feature| feature.name.as_str()).collect();
    let Some(pair) = most_important(effects, &names) else { return Ok(None) };
    let (points, is_known) = (shown(model.posterior), model.posterior.information().locations().is_ok());
    let steps = pair.map(|column| levels(&model.features[column], ends(points, column), MAP_LEVELS));
    let middle = middle(points);
    let setting = |x: f64, y: f64| {
        let mut setting = middle.clone();
        (setting[pair[0]], setting[pair[1]]) = (x, y);
        setting
    };
    let grid: Vec<Vec<f64>> = steps[1].iter().flat_map(|y| steps[0].iter().map(move |x| (*x, *y))).map(|(x, y)| setting(x, y)).collect();
    let answers = (model.answer)(Points::from_rows(&grid)?.view())?;
    let side = |column: usize| Side {
        name: model.features[column].name.clone(),
        scale: match (&model.features[column].categories, ends(points, column)) {
            (Some(names), _) => Scale::Names(names.clone()),
            (None, (low, high)) => Scale::Linear { low, high },
        },
    };
    Ok(Some(MeanMap {
        through: "the middle of the data".to_owned(),
        response: model.target.to_owned(),
        label: answers.label,
        sides: pair.map(side),
        says: answers.mean.iter().zip(&answers.function).map(|(mean, (low, high))| Some((*mean, 0.5 * (high - low)))).collect(),
        // Where only sums are left, nobody knows where was measured.
        measured: points.rows().filter(|_| is_known).map(|row| Dot { at: (row[pair[0]], row[pair[1]]), trial: None }).collect(),
        through_point: Some((middle[pair[0]], middle[pair[1]])),
        steps,
    }))
}

/// The smallest and the largest value of a column.
fn ends(points: PointsRef<'_>, column: usize) -> (f64, f64) {
    points.rows().map(|row| row[column]).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// Values evenly over a column's range: the middles of equal parts, or every category.
fn levels(feature: &Feature, (low, high): (f64, f64), count: usize) -> Vec<f64> {
    match &feature.categories {
        Some(names) => (0..names.len()).map(|i| i as f64).collect(),
        None => (0..count).map(|i| low + (high - low) * (i as f64 + 0.5) / count as f64).collect(),
    }
}

/// How much each column matters, over rows of the data in which it takes values evenly over its range.
fn effects(model: &Fitted<'_>) -> Result<Vec<Effect>> {
    let points = shown(model.posterior);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(points.len().div_ceil(SETTINGS).max(1)).map(|i| points.row(i)).collect();
    let mut list = Vec::new();
    for (column, feature) in model.features.iter().enumerate() {
        let ends = ends(points, column);
        let levels = levels(feature, ends, LEVELS);
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
