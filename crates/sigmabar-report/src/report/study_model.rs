//! What a run's model says at settings of the study, in the data's own scale.

use super::error::Result;
use super::parameter;
use crate::plot::{Dot, Effect, MOST_DOTS, MeanMap, Side, Slice, Slices};
use sigmabar::certificate::Coverage;
use sigmabar::strategy::{RunPosterior, Scale};
use sigmabar::{Certificate, Label, Points, PointsRef, Sourced, Strategy};
use sigmabar_study::{Advice, ParameterKind, Space, Value};
use std::f64::consts::FRAC_1_SQRT_2;

/// Both sides of a normal interval that misses once in twenty times.
const REACH: f64 = 1.96;

/// Declared settings of the other parameters, over which effects are averaged.
const SETTINGS: usize = 64;
/// Values of a parameter that are put into each of them; all of a categorical one.
const LEVELS: usize = 12;
/// Values of each parameter of a map; all of a categorical one.
const MAP_LEVELS: usize = 33;

/// The run's posterior, asked in the strategy's coordinates.
pub(super) struct StudyModel<'a> {
    run: &'a Strategy,
    posterior: RunPosterior<'a>,
    scale: Option<Scale>,
    noise: f64,
}

/// What was measured where, in which trial if it was one: by the study, and before it.
pub(super) struct Dots<'a> {
    pub own: Vec<Seen<'a>>,
    pub imported: Vec<Seen<'a>>,
}

type Seen<'a> = (Option<u64>, &'a [Value], f64);

/// A measurement beside a slice: its trial, its place on the parameter's axis, its value, how near it is, its point, and the foot of that on the slice.
struct Beside {
    trial: Option<u64>,
    x: f64,
    y: f64,
    nearness: f64,
    point: Vec<f64>,
    foot: Vec<f64>,
}

/// A setting that slices are laid through.
pub(super) struct Through {
    pub values: Vec<(String, Value)>,
    pub point: Vec<f64>,
    /// What it is, after "through".
    pub words: String,
}

impl From<&Advice> for Through {
    fn from(advice: &Advice) -> Self {
        Self { values: advice.values.clone(), point: advice.point.clone(), words: "the recommendation".to_owned() }
    }
}

/// What the model says at points.
pub(super) struct View {
    pub mean: Vec<f64>,
    pub interval: Vec<(f64, f64)>,
    pub prediction: Vec<(f64, f64)>,
    /// What the interval is worth.
    pub label: Label,
    /// What the interval for a new measurement is worth.
    pub prediction_label: Label,
    /// What it rests on, where a theorem is behind it.
    pub certificate: Option<Certificate>,
}

impl<'a> StudyModel<'a> {
    /// `None` where there is no kernel or nothing was measured.
    pub fn new(run: &'a Strategy) -> Result<Option<Self>> {
        let Some(posterior) = run.posterior()? else { return Ok(None) };
        let (scale, noise) = (posterior.scale(), posterior.noise());
        Ok(Some(Self { run, posterior, scale, noise }))
    }

    pub fn run(&self) -> &Strategy {
        self.run
    }

    pub fn posterior(&self) -> &RunPosterior<'a> {
        &self.posterior
    }

    /// The noise of one evaluation, on the model's scale.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// The noise of one evaluation where the function has this value, in the data's scale.
    pub fn noise_at(&self, value: f64) -> f64 {
        self.spread(self.to_model(value), self.noise)
    }

    /// From the model's scale to the data's.
    pub fn to_data(&self, value: f64) -> f64 {
        self.posterior.to_data(value)
    }

    /// From the data's scale to the model's.
    pub fn to_model(&self, value: f64) -> f64 {
        let value = self.run.problem().to_model(value);
        self.scale.map_or(value, |scale| scale.to_model(value))
    }

    /// Half the distance between one standard deviation below and above, in the data's scale.
    pub fn spread(&self, mean: f64, deviation: f64) -> f64 {
        0.5 * (self.to_data(mean + deviation) - self.to_data(mean - deviation)).abs()
    }

    /// Means and standard deviations in the data's scale.
    pub fn predict(&self, points: PointsRef<'_>) -> Result<Vec<(f64, f64)>> {
        let (mean, deviation) = self.posterior.posterior().predict(points)?;
        Ok(mean.iter().zip(&deviation).map(|(m, s)| (self.to_data(*m), self.spread(*m, *s))).collect())
    }

    /// Intervals at points: by a theorem where norm bound and noise were declared, else the model's own.
    pub fn view(&self, points: PointsRef<'_>) -> Result<View> {
        let model = self.posterior.posterior();
        let (mean, deviation) = model.predict(points)?;
        let ends = |a: f64, b: f64| {
            let (a, b) = (self.to_data(a), self.to_data(b));
            (a.min(b), a.max(b))
        };
        let around =
            |noise: f64| mean.iter().zip(&deviation).map(|(m, s)| (m, REACH * s.hypot(noise))).map(|(m, r)| ends(m - r, m + r)).collect();
        let means = mean.iter().map(|m| self.to_data(*m)).collect();
        if let Some(claim) = self.posterior.claim() {
            // One event for all points at once: the points shown were chosen by looking at the measurements.
            let interval = model.interval(points, &claim.clone().coverage(Coverage::Uniform))?;
            let response = model.prediction_interval(points, claim)?;
            let certificate = self.run.with_mishaps(self.in_data_scale(interval.certificate().clone()));
            let pairs = |low: &[f64], high: &[f64]| low.iter().zip(high).map(|(a, b)| ends(*a, *b)).collect();
            return Ok(View {
                mean: means,
                interval: pairs(interval.lower(), interval.upper()),
                prediction: pairs(response.response_lower(), response.response_upper()),
                label: certificate.label(),
                prediction_label: response.certificate().label(),
                certificate: Some(certificate),
            });
        }
        // The run's own claim may be a theorem; these bands are not, and must not borrow its name.
        let label = self.posterior.certificate().label();
        Ok(View { mean: means, interval: around(0.0), prediction: around(self.noise), label, prediction_label: label, certificate: None })
    }

    /// The model's values are centred and in units; what was said about mean and unit is the problem's.
    fn in_data_scale(&self, mut certificate: Certificate) -> Certificate {
        let prior = self.run.problem().prior();
        certificate.premises.prior = Sourced::new(prior, prior.origin());
        certificate
    }

    /// How much each parameter matters, over declared settings of the space; with certified bounds where the band is certified.
    pub fn effects(&self, space: &Space) -> Result<Vec<Effect>> {
        let base = space.domain().candidates(SETTINGS, self.run.problem().seed())?;
        let count = base.len().min(SETTINGS);
        let base = base.range(0, count)?;
        let settings: Vec<Vec<Value>> = base.view().rows().map(|point| space.values(point)).collect();
        let mut list = Vec::new();
        for (p, parameter) in space.parameters().iter().enumerate() {
            let levels = parameter::some_levels(parameter, LEVELS);
            let mut grid = Vec::with_capacity(levels.len() * count);
            for (setting, point) in settings.iter().zip(base.view().rows()) {
                grid.extend(levels.iter().filter_map(|value| moved(space, p, setting, point, value)));
            }
            if levels.len() < 2 || grid.len() != levels.len() * count {
                continue;
            }
            let view = self.view(Points::from_rows(&grid)?.view())?;
            let reach: Vec<f64> = view.interval.iter().zip(&view.mean).map(|((low, high), mean)| (high - mean).max(mean - low)).collect();
            let is_certified = view.label.is_certified();
            // The model's own reach is what is left of it after 1.96 standard deviations.
            let reach = if is_certified { reach } else { reach.iter().map(|r| r / REACH).collect() };
            list.push(Effect::new(&parameter.name, levels.len(), &view.mean, &reach, view.label));
        }
        Ok(list)
    }

    /// Slices through a setting, and what their interval rests on. A parameter whose other values the constraints forbid there has none.
    pub fn slices(&self, space: &Space, through: &Through, dots: &Dots<'_>, response: &str) -> Result<(Slices, Option<Certificate>)> {
        let mut slices = Slices { through: through.words.clone(), response: response.to_owned(), ..Slices::default() };
        let mut certificate = None;
        for p in 0..space.parameters().len() {
            let (x, points) = line(space, through, p);
            if x.len() < 2 {
                continue;
            }
            let view = self.view(Points::from_rows(&points)?.view())?;
            slices.mean_label = view.label.to_string();
            slices.prediction_label = view.prediction_label.to_string();
            slices.slices.push(self.slice(space, through, dots, p, x, &view)?);
            certificate = view.certificate;
        }
        Ok((slices, certificate))
    }

    fn slice(&self, space: &Space, through: &Through, dots: &Dots<'_>, p: usize, x: Vec<f64>, view: &View) -> Result<Slice> {
        let parameter = &space.parameters()[p];
        let (inducing, distinct) = (self.inducing(space, p)?, parameter::names(parameter).is_some());
        Ok(Slice {
            parameter: parameter.title(),
            names: parameter::names(parameter),
            log: parameter::is_log(parameter),
            discrete: parameter::is_discrete(parameter),
            x,
            mean: view.mean.clone(),
            mean_interval: view.interval.iter().copied().unzip(),
            prediction_interval: Some(view.prediction.iter().copied().unzip()),
            data: self.partial_residuals(space, through, &dots.own, p)?,
            imported: self.partial_residuals(space, through, &dots.imported, p)?,
            inducing: if distinct { Vec::new() } else { inducing },
            through: through.values.get(p).map(|(_, value)| parameter::coordinate(parameter, value)),
        })
    }

    /// Where measurements would be on a slice, by the model: its mean at their foot on the slice, plus how far they were from its mean at their own place. Those
    /// nearest to the slice, with how near they are: the correlation with their foot.
    fn partial_residuals(&self, space: &Space, through: &Through, dots: &[Seen<'_>], p: usize) -> Result<Vec<(Dot, f64)>> {
        let (parameter, kernel) = (&space.parameters()[p], &self.posterior.kernel().value);
        let scale = kernel.value(&through.point, &through.point);
        let mut near: Vec<Beside> = Vec::new();
        for (trial, values, y) in dots {
            let Ok(point) = space.point(values) else { continue };
            let (mut foot, columns) = (through.point.clone(), space.columns_of(p));
            foot[columns.clone()].copy_from_slice(&point[columns]);
            let nearness = (kernel.value(&foot, &point) / scale).clamp(0.0, 1.0);
            near.push(Beside { trial: *trial, x: parameter::coordinate(parameter, &values[p]), y: *y, nearness, point, foot });
        }
        near.sort_by(|a, b| b.nearness.total_cmp(&a.nearness));
        near.truncate(MOST_DOTS);
        if near.is_empty() {
            return Ok(Vec::new());
        }
        let says = |points: Vec<&[f64]>| self.predict(Points::from_rows(&points)?.view());
        let there = says(near.iter().map(|dot| dot.point.as_slice()).collect())?;
        let on_slice = says(near.iter().map(|dot| dot.foot.as_slice()).collect())?;
        let moved = |(i, dot): (usize, &Beside)| {
            let at = (dot.x, dot.y - there[i].0 + on_slice[i].0);
            (Dot { at, trial: dot.trial }, dot.nearness)
        };
        Ok(near.iter().enumerate().map(moved).collect())
    }

    /// What the model says over the two parameters that matter most, the others as in a setting; none where fewer than two can be moved.
    pub fn mean_map(
        &self,
        space: &Space,
        through: &Through,
        effects: &[Effect],
        dots: &Dots<'_>,
        response: &str,
    ) -> Result<Option<MeanMap>> {
        let Some([p, q]) = most_important(effects, &space.parameters().iter().map(|p| p.name.as_str()).collect::<Vec<_>>()) else {
            return Ok(None);
        };
        let [across, up] = [p, q].map(|i| parameter::some_levels(&space.parameters()[i], MAP_LEVELS));
        let mut asked = Vec::new();
        let mut places = Vec::with_capacity(across.len() * up.len());
        for y in &up {
            for x in &across {
                let point = placed(space, through, &[(p, x), (q, y)]);
                places.push(point.is_some());
                asked.extend(point);
            }
        }
        if asked.is_empty() {
            return Ok(None);
        }
        let view = self.view(Points::from_rows(&asked)?.view())?;
        let mut said = view.mean.iter().zip(&view.interval).map(|(mean, (low, high))| (*mean, 0.5 * (high - low)));
        let place = |values: &[Value]| {
            let at = |i: usize| parameter::coordinate(&space.parameters()[i], &values[i]);
            (at(p), at(q))
        };
        let here: Vec<Value> = through.values.iter().map(|(_, value)| value.clone()).collect();
        Ok(Some(MeanMap {
            through: through.words.clone(),
            response: response.to_owned(),
            label: view.label.to_string(),
            sides: [p, q].map(|i| Side { name: space.parameters()[i].title(), scale: parameter::scale(&space.parameters()[i]) }),
            steps: [(p, &across), (q, &up)].map(|(i, all)| all.iter().map(|v| parameter::coordinate(&space.parameters()[i], v)).collect()),
            says: places.into_iter().map(|is_there| if is_there { said.next() } else { None }).collect(),
            measured: dots.own.iter().chain(&dots.imported).map(|(trial, values, _)| Dot { at: place(values), trial: *trial }).collect(),
            through_point: (here.len() == space.parameters().len()).then(|| place(&here)),
        }))
    }

    /// Where inducing points are along a parameter.
    fn inducing(&self, space: &Space, p: usize) -> Result<Vec<f64>> {
        let points = self.posterior.posterior().information().features().inducing();
        let mut places: Vec<f64> = points
            .rows()
            .map(|point| space.values(point))
            .filter_map(|values| Some(parameter::coordinate(&space.parameters()[p], values.get(p)?)))
            .collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        // More ticks than these are one bar.
        let every = places.len().div_ceil(120).max(1);
        Ok(places.into_iter().step_by(every).collect())
    }
}

/// A setting with another value of one parameter, as the strategy sees it. The model is asked between the candidates of a list too, and where constraints
/// forbid a setting: how much a parameter matters is a question about the model.
fn moved(space: &Space, p: usize, setting: &[Value], point: &[f64], value: &Value) -> Option<Vec<f64>> {
    let mut moved = point.to_vec();
    if space.candidates().is_some() {
        return put(space, p, value, &mut moved).then_some(moved);
    }
    let columns = space.columns_of(p);
    let mut values = setting.to_vec();
    values[p] = value.clone();
    let encoded = space.encoded(&values)?;
    moved[columns.clone()].copy_from_slice(&encoded[columns]);
    Some(moved)
}

/// The settings that differ from a setting in one parameter: their places on its axis and the strategy's points.
fn line(space: &Space, through: &Through, p: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    let parameter = &space.parameters()[p];
    let place = |value: &Value| Some((parameter::coordinate(parameter, value), placed(space, through, &[(p, value)])?));
    parameter::levels(parameter).iter().filter_map(place).unzip()
}

/// A setting with other values of some parameters, as the strategy sees it; none where constraints forbid it.
fn placed(space: &Space, through: &Through, others: &[(usize, &Value)]) -> Option<Vec<f64>> {
    if space.candidates().is_none() {
        let mut values: Vec<Value> = through.values.iter().map(|(_, value)| value.clone()).collect();
        for (p, value) in others {
            values[*p] = (*value).clone();
        }
        return space.point(&values).ok();
    }
    // Between the candidates of a list the model is asked all the same.
    let mut point = through.point.clone();
    others.iter().all(|(p, value)| put(space, *p, value, &mut point)).then_some(point)
}

/// Puts a value into a point between the candidates of a list, where it has a place there.
fn put(space: &Space, p: usize, value: &Value, point: &mut [f64]) -> bool {
    let columns = space.columns_of(p);
    match (&space.parameters()[p].kind, value.as_number()) {
        (ParameterKind::Column { low, high }, Some(number)) if high > low => point[columns.start] = (number - low) / (high - low),
        (ParameterKind::Categorical { choices }, _) => {
            choices.iter().zip(&mut point[columns]).for_each(|(choice, v)| *v = if choice.same(value) { FRAC_1_SQRT_2 } else { 0.0 });
        }
        _ => return false,
    }
    true
}

/// The places among all parameters of the two that matter most.
pub(super) fn most_important(effects: &[Effect], names: &[&str]) -> Option<[usize; 2]> {
    let mut sorted: Vec<&Effect> = effects.iter().collect();
    sorted.sort_by(|a, b| b.total.total_cmp(&a.total));
    let place = |effect: &Effect| names.iter().position(|name| *name == effect.parameter);
    match sorted[..] {
        [first, second, ..] => Some([place(first)?, place(second)?]),
        _ => None,
    }
}
