//! The report of a fitted model.

use super::assumptions::{kernel_words, source_words};
use super::error::Result;
use super::page::Page;
use super::study_model::most_important;
use crate::data::ColumnInfo;
use crate::model::{About, Model};
use crate::plot::{self, Dot, Effect, HeldOut, MeanMap, Scale, Side, Slice, Slices, number};
use sigmabar::certificate::{Answers, Contradiction};
use sigmabar::{Label, Points, PointsRef, Posterior};

/// A model with its answers.
struct Asked<'a> {
    about: &'a About,
    posterior: &'a Posterior,
    answers: Answers<'a>,
}

/// The miss probability of the intervals shown.
const DELTA: f64 = 0.05;
/// Values asked along a column.
const STEPS: usize = 121;
/// Rows over which effects are averaged, and values that a column takes in each.
const SETTINGS: usize = 64;
const LEVELS: usize = 12;
/// Values of each column of a map.
const MAP_LEVELS: usize = 33;
/// The most measurements of a picture.
const MOST_DOTS: usize = 800;

/// The page of a fitted model: how well it predicts first, then what it says, whether it can be trusted, and what it rests on.
pub fn model(model: &Model) -> Result<Page> {
    let about = &model.about;
    let asked = Asked { about, posterior: &model.posterior, answers: model.answers(DELTA)? };
    let mut page = Page::new(format!("{} · sigmabar", about.data));
    page.title(&format!("Model of {}", about.target));
    let (slices, words, contradiction) = slices(&asked)?;
    let what = format!("{} predicted from {} columns", about.target, about.features.len());
    let (headline, remedy) = match contradiction {
        Some(contradiction) => {
            page.contradict(contradiction);
            (format!("Stop: {contradiction}."), vec![format!("{what}. What to do: {}.", crate::model::MEND)])
        }
        None => (what, Vec::new()),
    };
    page.answer(&slices.prediction_label, &headline, &facts(model), &remedy);
    page.contents();
    page.heading("What the model says");
    page.picture(slices.picture());
    let effects = effects(&asked)?;
    if !effects.is_empty() {
        page.picture(plot::effects(&effects, &about.target));
    }
    if let Some(map) = mean_map(&asked, &effects)? {
        page.picture(map.picture());
    }
    page.heading("Can the model be trusted?");
    trust(model, &mut page);
    page.heading("What it rests on");
    page.verbatim(&words);
    let information = model.posterior.information();
    let kernel = information.features().sourced_kernel();
    let columns: Vec<String> = about.features.iter().map(|feature| feature.name.clone()).collect();
    page.list(&[
        format!("Kernel: {}; its parameters {}.", kernel_words(&kernel.value, &columns), source_words(kernel.origin)),
        format!("{} measurements, {} inducing points.", information.len(), information.features().len()),
        format!("sigmabar {}.", env!("CARGO_PKG_VERSION")),
    ]);
    Ok(page)
}

/// Names and values of the figures that are shown.
fn facts(model: &Model) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(scores) = &model.about.scores {
        let percent = |share: f64| format!("{} %", number(100.0 * share));
        facts.push(("typical error on unseen rows (RMSE)".to_owned(), number(scores.rmse)));
        facts.push(("error of always guessing the mean".to_owned(), number(scores.spread)));
        facts.push((
            format!("{} prediction interval held", percent(scores.nominal)),
            format!("{} of {} unseen rows", percent(scores.coverage), scores.rows),
        ));
        facts.push(("NLPD".to_owned(), number(scores.nlpd)));
    }
    let information = model.posterior.information();
    facts.push(("rows fitted".to_owned(), information.len().to_string()));
    facts.push(("inducing points".to_owned(), information.features().len().to_string()));
    facts
}

/// What the rows say that the model had not seen.
fn trust(model: &Model, page: &mut Page) {
    let (noise, target) = (model.noise_level(), &model.about.target);
    let of_row =
        |row: &crate::model::HeldOut| HeldOut { predicted: row.mean, std_dev: row.std.hypot(noise), measured: row.response, trial: None };
    let held_out: Vec<HeldOut> = model.about.held_out.iter().map(of_row).collect();
    if held_out.is_empty() {
        page.paragraph("No rows were held out: nothing here was checked on data the model had not seen.");
        return;
    }
    let how = "held out when the model was fitted";
    page.paragraph(&plot::verdict(&held_out));
    page.picture(plot::measured_against_predicted(&held_out, target, how));
    page.picture(plot::calibration(&held_out, how));
    page.picture(plot::residuals(&held_out, target, how));
}

/// The measured points; where only sums over them are left, the inducing points, which lie among them.
fn shown(posterior: &Posterior) -> PointsRef<'_> {
    let information = posterior.information();
    information.locations().map_or_else(|_| information.features().inducing(), |locations| locations.points())
}

/// Slices through the middle of the data, and what their intervals rest on.
fn slices(model: &Asked<'_>) -> Result<(Slices, String, Option<Contradiction>)> {
    let points = shown(model.posterior);
    let every = points.len().div_ceil(MOST_DOTS).max(1);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(every).map(|i| points.row(i)).collect();
    let middle = middle(points);
    let (mut words, mut contradiction) = (String::new(), None);
    let mut slices = Slices { through: "the middle of the data".to_owned(), response: model.about.target.clone(), ..Slices::default() };
    let kernel = model.posterior.information().features().kernel();
    let whole = kernel.value(&middle, &middle);
    for (column, feature) in model.about.features.iter().enumerate() {
        let ends = ends(points, column);
        let x: Vec<f64> = match &feature.categories {
            Some(names) => (0..names.len()).map(|i| i as f64).collect(),
            None => (0..STEPS).map(|i| ends.0 + (ends.1 - ends.0) * i as f64 / (STEPS - 1) as f64).collect(),
        };
        let moved = |value: f64| middle.iter().enumerate().map(|(c, v)| if c == column { value } else { *v }).collect::<Vec<f64>>();
        let answer = model.answers.at(Points::from_rows(&x.iter().map(|v| moved(*v)).collect::<Vec<_>>())?.view())?;
        (words, contradiction) = (crate::model::words(&answer), answer.certificate.contradiction);
        (slices.mean_label, slices.prediction_label) = (answer.label().to_string(), answer.response_certificate.label().to_string());
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
            mean: answer.mean,
            mean_interval: answer.function.into_iter().unzip(),
            prediction_interval: Some(answer.response.into_iter().unzip()),
            data: dots,
            inducing: inducing.rows().step_by(inducing.len().div_ceil(120).max(1)).map(|row| row[column]).collect(),
            x,
            ..Slice::default()
        });
    }
    Ok((slices, words, contradiction))
}

/// The model's means.
fn says<R: AsRef<[f64]>>(model: &Asked<'_>, rows: &[R]) -> Result<Vec<f64>> {
    Ok(model.answers.at(Points::from_rows(rows)?.view())?.mean)
}

/// The middle of the data, column by column.
fn middle(points: PointsRef<'_>) -> Vec<f64> {
    let every = points.len().div_ceil(MOST_DOTS).max(1);
    (0..points.dim()).map(|column| median((0..points.len()).step_by(every).map(|i| points.row(i)[column]).collect())).collect()
}

/// What the model says over the two columns that matter most, the others in the middle of the data.
fn mean_map(model: &Asked<'_>, effects: &[Effect]) -> Result<Option<MeanMap>> {
    let names: Vec<&str> = model.about.features.iter().map(|feature| feature.name.as_str()).collect();
    let Some(pair) = most_important(effects, &names) else { return Ok(None) };
    let (points, is_known) = (shown(model.posterior), model.posterior.information().locations().is_ok());
    let steps = pair.map(|column| levels(&model.about.features[column], ends(points, column), MAP_LEVELS));
    let middle = middle(points);
    let setting = |x: f64, y: f64| {
        let mut setting = middle.clone();
        (setting[pair[0]], setting[pair[1]]) = (x, y);
        setting
    };
    let grid: Vec<Vec<f64>> = steps[1].iter().flat_map(|y| steps[0].iter().map(move |x| (*x, *y))).map(|(x, y)| setting(x, y)).collect();
    let answer = model.answers.at(Points::from_rows(&grid)?.view())?;
    let side = |column: usize| Side {
        name: model.about.features[column].name.clone(),
        scale: match (&model.about.features[column].categories, ends(points, column)) {
            (Some(names), _) => Scale::Names(names.clone()),
            (None, (low, high)) => Scale::Linear { low, high },
        },
    };
    Ok(Some(MeanMap {
        through: "the middle of the data".to_owned(),
        response: model.about.target.clone(),
        label: answer.label().to_string(),
        sides: pair.map(side),
        says: answer.mean.iter().zip(&answer.function).map(|(mean, (low, high))| Some((*mean, 0.5 * (high - low)))).collect(),
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
fn levels(feature: &ColumnInfo, (low, high): (f64, f64), count: usize) -> Vec<f64> {
    match &feature.categories {
        Some(names) => (0..names.len()).map(|i| i as f64).collect(),
        None => (0..count).map(|i| low + (high - low) * (i as f64 + 0.5) / count as f64).collect(),
    }
}

/// How much each column matters, over rows of the data in which it takes values evenly over its range.
fn effects(model: &Asked<'_>) -> Result<Vec<Effect>> {
    let points = shown(model.posterior);
    let rows: Vec<&[f64]> = (0..points.len()).step_by(points.len().div_ceil(SETTINGS).max(1)).map(|i| points.row(i)).collect();
    let mut list = Vec::new();
    for (column, feature) in model.about.features.iter().enumerate() {
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
        let (mean, deviation) = (model.answers.at(grid.view())?.mean, model.posterior.std_dev(grid.view())?);
        list.push(Effect::new(&feature.name, levels.len(), &mean, &deviation, Label::Estimated));
    }
    Ok(list)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
