//! Held-out checks of the model: calibration, residuals and the Q–Q picture.

use super::cloud::{Look, MOST_MARKS};
use super::{Axis, Dot, Figure, Fill, Ink, Marker, Panel, Picture, Sample, Scale, Stroke, Table, number};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// One measurement that the model did not see when it predicted it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// What was predicted.
    pub predicted: f64,
    /// The standard deviation predicted for a measurement, noise included; positive.
    pub std_dev: f64,
    /// What was measured.
    pub measured: f64,
    /// The trial, if it is one of a study's.
    pub trial: Option<u64>,
}

impl HeldOut {
    /// The residual in predicted standard deviations: standard normal if the model is right.
    #[must_use]
    pub fn standardised(&self) -> f64 {
        (self.measured - self.predicted) / self.std_dev
    }
}

/// A central prediction interval of a nominal probability, and how often it held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// What was promised.
    pub nominal: f64,
    /// The share of held-out measurements inside.
    pub observed: f64,
    /// Where the observed share of a right model lies in 95 of 100 cases.
    pub envelope: (f64, f64),
}

/// Coverage of the central prediction intervals, in steps of 5 %.
#[must_use]
pub fn coverage(held_out: &[HeldOut]) -> Vec<Coverage> {
    let mut distances: Vec<f64> = held_out.iter().map(|h| h.standardised().abs()).collect();
    distances.sort_by(f64::total_cmp);
    let count = distances.len();
    let normal = Normal::standard();
    let one = |nominal: f64| {
        let reach = normal.inverse_cdf(0.5 + nominal / 2.0);
        let share = |hits: u64| hits as f64 / count.max(1) as f64;
        let envelope = Binomial::new(nominal, count as u64)
            .map_or((0.0, 1.0), |binomial| (share(binomial.inverse_cdf(0.025)), share(binomial.inverse_cdf(0.975))));
        Coverage { nominal, observed: share(distances.partition_point(|d| *d <= reach) as u64), envelope }
    };
    (1..20).map(|i| f64::from(i) / 20.0).map(one).collect()
}

/// What the picture of coverage says, in a sentence: whether the intervals hold as often as they say, by more than chance.
#[must_use]
pub fn verdict(held_out: &[HeldOut]) -> String {
    let rows = coverage(held_out);
    let count = held_out.len();
    if count < 20 {
        return format!("Too few measurements to judge by ({count}): treat the intervals with care.");
    }
    let (below, above) =
        (rows.iter().filter(|c| c.observed < c.envelope.0).count(), rows.iter().filter(|c| c.observed > c.envelope.1).count());
    let at_95 = rows.last().map_or(0.0, |c| 100.0 * c.observed);
    let held = format!("intervals that say 95 % held {} % of {count} measurements", number(at_95));
    match (below, above) {
        // A few of nineteen shares leave their envelopes by chance, and neighbours leave it together.
        (below, above) if below + above <= 3 => format!("The intervals hold about as often as they say: {held}."),
        (below, above) if below > above => format!("The model is too sure: {held}. It needs wider intervals than those shown."),
        _ if at_95 < 95.0 => format!(
            "Most measurements are closer to the model than it says, and a few much farther: {held}, narrower ones held more often than they say. Such tails are no normal noise."
        ),
        _ => format!("The model is too careful: {held}. Narrower intervals would do."),
    }
}

/// Nominal against observed coverage, with the binomial envelope. `how` says how the measurements were held out.
#[must_use]
pub fn calibration(held_out: &[HeldOut], how: &str) -> Picture {
    let rows = coverage(held_out);
    let mut figure = Figure::new("calibration", "Do prediction intervals hold as often as they say?");
    let (envelope, right) = (Fill::faint(Ink::Series(5), 0.35), Stroke::dashed(Ink::Muted, 1.5));
    let observed = Stroke::solid(Ink::Series(0), 2.0);
    figure.legend(&[
        (Sample::Line(observed), "observed"),
        (Sample::Line(right), "what is promised"),
        (Sample::Band(envelope), "where a right model lies in 95 of 100 cases"),
    ]);
    let area = figure.grid(1, 1, 380.0)[0];
    let axis = |label: &str| Axis::new(Scale::Linear { low: 0.0, high: 100.0 }, label);
    let panel = Panel::new(&mut figure.scene, area, "", axis("nominal coverage / %"), axis("observed coverage / %"));
    let percent = |f: fn(&Coverage) -> f64| rows.iter().map(|row| 100.0 * f(row)).collect::<Vec<f64>>();
    let nominal = percent(|c| c.nominal);
    panel.band(&mut figure.scene, &nominal, &percent(|c| c.envelope.0), &percent(|c| c.envelope.1), envelope);
    panel.line(&mut figure.scene, &[(0.0, 0.0), (100.0, 100.0)], right);
    let points: Vec<(f64, f64)> = nominal.iter().copied().zip(percent(|c| c.observed)).collect();
    panel.line(&mut figure.scene, &points, observed);
    for point in &points {
        panel.mark(
            &mut figure.scene,
            *point,
            3.0,
            Marker::Disc,
            Fill::opaque(Ink::Series(0)),
            format!("{} %: {} %", number(point.0), number(point.1)),
        );
    }
    let mut table = Table::new(["nominal", "observed", "envelope_lower", "envelope_upper", "count"]);
    for row in &rows {
        let numbers = [row.nominal, row.observed, row.envelope.0, row.envelope.1];
        table.push(numbers.into_iter().map(Into::into).chain([held_out.len().into()]).collect());
    }
    let caption = format!(
        "The model's normal prediction intervals, on {} measurements, {how}. On the dashed line an interval that says 90 % holds 90 % of the time; below it the model is too sure, above it too careful. \
         The band allows for chance.",
        held_out.len()
    );
    figure.finish(caption, table)
}

/// Predicted against measured, with the predicted spread.
#[must_use]
pub fn measured_against_predicted(held_out: &[HeldOut], response: &str, how: &str) -> Picture {
    let mut figure = Figure::new("predicted-measured", "Predicted against measured");
    let (dot, line) = (Fill::faint(Ink::Series(0), 0.6), Stroke::dashed(Ink::Muted, 1.5));
    let spread = Stroke::solid(Ink::Grid, 1.0);
    figure.legend(&[
        (Sample::Point(Marker::Disc, dot), "held-out measurements"),
        (Sample::Line(spread), "prediction interval of 95 %"),
        (Sample::Line(line), "predicted as measured"),
    ]);
    let area = figure.grid(1, 1, 380.0)[0];
    let every = held_out.len().div_ceil(MOST_LINES).max(1);
    let scale = Scale::covering(held_out.iter().flat_map(|h| [h.predicted, h.measured]));
    let axis = |label: String| Axis::new(scale.clone(), label);
    let panel = Panel::new(&mut figure.scene, area, "", axis(format!("predicted {response}")), axis(format!("measured {response}")));
    if let Scale::Linear { low, high } = scale {
        for h in held_out.iter().step_by(every) {
            let inside = |v: f64| v.clamp(low, high);
            panel.line(
                &mut figure.scene,
                &[(h.predicted, inside(h.predicted - 1.96 * h.std_dev)), (h.predicted, inside(h.predicted + 1.96 * h.std_dev))],
                spread,
            );
        }
        panel.line(&mut figure.scene, &[(low, low), (high, high)], line);
    }
    panel.cloud(&mut figure.scene, held_out.iter().map(|h| Dot { at: (h.predicted, h.measured), trial: h.trial }), look(dot));
    let caption = format!("{} measurements, {how}. The nearer to the dashed line, the better the prediction.", held_out.len());
    figure.finish(caption, residual_table(held_out))
}

/// The most intervals drawn; the file of numbers has all.
const MOST_LINES: usize = 1500;

fn look(fill: Fill) -> Look<'static> {
    Look { radius: 2.8, marker: Marker::Disc, fill, what: "measurements", most: MOST_MARKS }
}

/// Residuals against the prediction, and their quantiles against the normal ones. `response` is what is measured, with its unit.
#[must_use]
pub fn residuals(held_out: &[HeldOut], response: &str, how: &str) -> Picture {
    let mut figure = Figure::new("residuals", "What the model gets wrong: residuals against prediction, and their distribution");
    let (dot, line) = (Fill::faint(Ink::Series(0), 0.6), Stroke::dashed(Ink::Muted, 1.5));
    let envelope = Fill::faint(Ink::Series(5), 0.35);
    figure.legend(&[
        (Sample::Point(Marker::Disc, dot), "held-out measurements"),
        (Sample::Line(line), "a right model"),
        (Sample::Band(envelope), "about where 95 of 100 lie"),
    ]);
    let areas = figure.grid(2, 2, 300.0);
    let standardised: Vec<f64> = held_out.iter().map(HeldOut::standardised).collect();
    let y = Scale::covering(standardised.iter().copied().chain([-3.0, 3.0]));
    let y_axis = || Axis::new(y.clone(), "residual / predicted std. dev.");

    let x = Scale::covering(held_out.iter().map(|h| h.predicted));
    let left = Panel::new(
        &mut figure.scene,
        areas[0],
        "residual against prediction",
        Axis::new(x.clone(), format!("predicted {response}")),
        y_axis(),
    );
    if let Scale::Linear { low, high } = x {
        left.band(&mut figure.scene, &[low, high], &[-1.96; 2], &[1.96; 2], envelope);
    }
    left.level(&mut figure.scene, 0.0, line);
    let dots = held_out.iter().zip(&standardised).map(|(h, z)| Dot { at: (h.predicted, *z), trial: h.trial });
    left.cloud(&mut figure.scene, dots, look(dot));

    let quantiles = quantiles(&standardised);
    let x = Scale::covering(quantiles.iter().map(|q| q.normal).chain([-2.5, 2.5]));
    let right = Panel::new(&mut figure.scene, areas[1], "quantiles (Q–Q)", Axis::new(x, "standard normal quantile"), y_axis());
    let normal: Vec<f64> = quantiles.iter().map(|q| q.normal).collect();
    let inside = |v: f64| if let Scale::Linear { low, high } = y { v.clamp(low, high) } else { v };
    let lower: Vec<f64> = quantiles.iter().map(|q| inside(q.envelope.0)).collect();
    let upper: Vec<f64> = quantiles.iter().map(|q| inside(q.envelope.1)).collect();
    right.band(&mut figure.scene, &normal, &lower, &upper, envelope);
    right.line(&mut figure.scene, &[(-2.5, -2.5), (2.5, 2.5)], line);
    for q in &quantiles {
        right.mark(&mut figure.scene, (q.normal, q.observed), 2.8, Marker::Disc, dot, "");
    }
    figure.finish(
        format!(
            "{} measurements, {how}. No pattern on the left and points along the dashed line on the right speak for the model.",
            held_out.len()
        ),
        residual_table(held_out),
    )
}

fn residual_table(held_out: &[HeldOut]) -> Table {
    let mut table = Table::new(["predicted", "std_dev", "measured", "standardised_residual"]);
    for h in held_out {
        table.push(vec![h.predicted.into(), h.std_dev.into(), h.measured.into(), h.standardised().into()]);
    }
    table
}

struct Quantile {
    normal: f64,
    observed: f64,
    envelope: (f64, f64),
}

/// Sorted values against normal quantiles at (i − ½)/n, with ± 1.96 standard errors of an order statistic; at most some hundreds of them.
fn quantiles(values: &[f64]) -> Vec<Quantile> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (normal, n) = (Normal::standard(), sorted.len() as f64);
    let every = sorted.len().div_ceil(400).max(1);
    let one = |(i, observed): (usize, &f64)| {
        let p = (i as f64 + 0.5) / n;
        let z = normal.inverse_cdf(p);
        // The variance of the i-th order statistic is about p(1 − p)/(n φ(z)²).
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        let reach = 1.96 * (p * (1.0 - p) / n).sqrt() / density;
        Quantile { normal: z, observed: *observed, envelope: (z - reach, z + reach) }
    };
    sorted.iter().enumerate().step_by(every).map(one).collect()
}
