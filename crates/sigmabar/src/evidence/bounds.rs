//! Where the parameters may lie, where to start, and what is likely before the data: all relative to the spread of the data.

use crate::kernel::{Kernel, Lengthscale};
use crate::points::{Observations, PointsRef};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Length-scales stay within these multiples of a column's standard deviation.
const LENGTH_LIMITS: (f64, f64) = (1e-2, 1e3);
/// Variances stay within these multiples of the responses' mean square.
const VARIANCE_LIMITS: (f64, f64) = (1e-4, 1e4);
/// Exponents, offsets and category lengths stay within these.
const SHAPE_LIMITS: (f64, f64) = (1e-3, 1e3);
/// Periods stay within these multiples of their start.
const PERIOD_LIMITS: (f64, f64) = (0.2, 5.0);
/// A uniform column's range in units of its standard deviation.
const RANGE: f64 = 3.464_101_615_137_754_6;
/// How wide the priors of length-scales and variances are above their centres: a column that does not matter has no length-scale, and a straight line wants a long one
/// and a large variance.
const ABOVE: f64 = 4.0;
/// How much shorter than its prior's centre a length-scale is looked for, with all others and by itself, and with which ridges: as multiples of the ridge's centre and of
/// the one that was found.
const SHORT: [f64; 3] = [4.0, 16.0, 64.0];
const SHORT_ALONE: [f64; 2] = [8.0, 32.0];
const RIDGES: [f64; 3] = [1.0, 3.0, 6.0];
const RIDGES_ALONE: [f64; 3] = [1.0, 0.5, 0.25];
/// With more length-scales than these none is looked for by itself.
const MOST_ALONE: usize = 8;
/// A column with a length-scale of so many times its prior's centre hardly matters, and the evidence hardly has a slope there.
const ASLEEP: f64 = 4.0;
/// Pairs of points behind a median distance.
const PAIRS: usize = 1000;

/// One variable of the search: bounds, start and log-normal prior, all on the logarithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub bounds: (f64, f64),
    /// The start from the median distance.
    pub median: f64,
    /// Centre of the prior and its width below; the centre is also a start.
    pub centre: f64,
    pub width: f64,
    /// The width of the prior above its centre.
    pub above: f64,
    pub is_length: bool,
}

impl Variable {
    /// How far from the centre, in widths, and the width there.
    fn distance(&self, value: f64) -> (f64, f64) {
        let width = if value > self.centre { self.above } else { self.width };
        ((value - self.centre) / width, width)
    }
}

/// The variables of a kernel's parameters, in their order, and of the ridge.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub kernel: Vec<Variable>,
    pub ridge: Variable,
}

impl Space {
    /// Reads the spread of the data. `ridge_limits` are relative to the root mean square of the responses. Cost O(nd).
    pub fn new(template: &Kernel, observations: &Observations, ridge_limits: (f64, f64)) -> Self {
        let columns = columns(observations.locations().points());
        let square = |count: f64| if observations.sum_squares() > 0.0 { observations.sum_squares() / count } else { 1.0 };
        // The ridge is that of a row of weight 1, whatever the weights of those that are there.
        let (scale, noise) = (square(observations.locations().total()), square(observations.len() as f64).sqrt());
        let all: Vec<usize> = (0..columns.len()).collect();
        let mut kernel = Vec::new();
        add_variables(template, &columns, &all, scale, &mut kernel);
        let ridge = Variable {
            bounds: ((ridge_limits.0 * noise).ln(), (ridge_limits.1 * noise).ln()),
            median: (0.3 * noise).ln(),
            centre: (0.1 * noise).ln(),
            width: 2.0,
            above: 2.0,
            is_length: false,
        };
        Self { kernel, ridge }
    }

    /// With priors as wide above their centres as below.
    pub fn even(mut self) -> Self {
        self.kernel.iter_mut().for_each(|v| v.above = v.width);
        self
    }

    fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.kernel.iter().chain(std::iter::once(&self.ridge))
    }

    /// Bounds of all variables, the ridge last.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        self.variables().map(|v| v.bounds).collect()
    }

    /// The centres of all priors, the ridge last.
    pub fn centre(&self) -> Vec<f64> {
        self.variables().map(|v| v.centre).collect()
    }

    /// The width of a variable's prior, the ridge counted last.
    pub fn width(&self, p: usize) -> f64 {
        self.kernel.get(p).unwrap_or(&self.ridge).width
    }

    /// The first starts are the template, the median distances and the prior's centre; the rest are drawn around that centre.
    pub fn starts(&self, template: Vec<f64>, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let median = self.variables().map(|v| v.median).collect();
        let mut starts: Vec<Vec<f64>> = vec![template, median, self.centre()];
        while starts.len() < count {
            let drawn = self.variables().map(|v| {
                let normal: f64 = StandardNormal.sample(&mut rng);
                v.centre + normal * v.width.min(1.0)
            });
            starts.push(drawn.collect());
        }
        starts.truncate(count.max(1));
        starts
    }

    /// Where a function may be that turns many times: short length-scales in all columns, or in one of them beside what was `found`.
    pub fn short(&self, found: &[f64]) -> Vec<Vec<f64>> {
        let lengths: Vec<usize> = (0..self.kernel.len()).filter(|&p| self.kernel[p].is_length).collect();
        let ridge = self.kernel.len();
        let mut places = Vec::new();
        let mut place = |from: &[f64], lengths: &[usize], factor: f64, log_ridge: f64| {
            let mut theta = from.to_vec();
            lengths.iter().for_each(|&p| theta[p] = (self.kernel[p].centre - factor.ln()).max(self.kernel[p].bounds.0));
            theta[ridge] = log_ridge.clamp(self.ridge.bounds.0, self.ridge.bounds.1);
            places.push(theta);
        };
        let centre: Vec<f64> = self.centre().into_iter().chain(found[ridge + 1..].iter().copied()).collect();
        for (factor, times) in SHORT.into_iter().flat_map(|factor| RIDGES.map(|times| (factor, times))) {
            place(&centre, &lengths, factor, self.ridge.centre + times.ln());
        }
        let alone = lengths.iter().filter(|_| lengths.len() <= MOST_ALONE);
        for (p, factor) in alone.flat_map(|p| SHORT_ALONE.map(|factor| (p, factor))) {
            RIDGES_ALONE.iter().for_each(|times| place(found, std::slice::from_ref(p), factor, found[ridge] + times.ln()));
        }
        places
    }

    /// What was found, with the length-scales that are far above the prior's centre moved there. None where none is.
    pub fn woken(&self, found: &[f64]) -> Option<Vec<f64>> {
        let mut theta = found.to_vec();
        let asleep = self.kernel.iter().enumerate().filter(|&(p, v)| v.is_length && found[p] > v.centre + ASLEEP.ln());
        asleep.clone().for_each(|(p, v)| theta[p] = v.centre);
        asleep.count().gt(&0).then_some(theta)
    }

    /// The log-normal priors' logarithm up to a constant, $-\sum_p (\theta_p - c_p)^2/(2w_p^2)$ with one $w_p$ below $c_p$ and another above, and its slope.
    pub fn log_prior(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let terms = self.variables().zip(theta).map(|(v, t)| v.distance(*t)).collect::<Vec<_>>();
        let value = -0.5 * terms.iter().map(|(t, _)| t * t).sum::<f64>();
        (value, terms.iter().map(|(t, width)| -t / width).collect())
    }
}

/// What matters of a column: its standard deviation and the median distance of two points; both 1 where it does not vary.
#[derive(Clone, Copy, Debug)]
struct Column {
    deviation: f64,
    median: f64,
    varies: bool,
}

fn columns(x: PointsRef<'_>) -> Vec<Column> {
    let n = x.len() as f64;
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let pairs: Vec<(usize, usize)> = (0..PAIRS).map(|_| (rng.random_range(0..x.len()), rng.random_range(0..x.len()))).collect();
    (0..x.dim())
        .map(|c| {
            let mean = x.rows().map(|r| r[c] / n).sum::<f64>();
            let deviation = x.rows().map(|r| (r[c] - mean).powi(2) / n).sum::<f64>().sqrt();
            // A column of equal values may show a deviation of rounding size.
            if deviation.is_nan() || deviation <= 1e-13 * mean.abs() || deviation <= f64::MIN_POSITIVE {
                return Column { deviation: 1.0, median: 1.0, varies: false };
            }
            let mut distances: Vec<f64> = pairs.iter().map(|&(i, j)| (x.row(i)[c] - x.row(j)[c]).abs()).filter(|d| *d > 0.0).collect();
            distances.sort_by(f64::total_cmp);
            let median = distances.get(distances.len() / 2).copied().unwrap_or(deviation);
            Column { deviation, median, varies: true }
        })
        .collect()
}

/// Follows the order of [`Kernel::parameters`]; `seen` maps the columns of this part to those of the points.
fn add_variables(kernel: &Kernel, columns: &[Column], seen: &[usize], scale: f64, out: &mut Vec<Variable>) {
    match kernel {
        Kernel::SquaredExponential(k) => add_lengths(k.lengthscale(), columns, seen, out),
        Kernel::Matern(k) => add_lengths(k.lengthscale(), columns, seen, out),
        Kernel::RationalQuadratic(k) => {
            add_lengths(k.lengthscale(), columns, seen, out);
            out.push(around(0.0, SHAPE_LIMITS, 2.0));
        }
        Kernel::Periodic(k) => {
            // Length-scales of a periodic kernel are in units of a chord, not of the column.
            out.extend(k.lengthscale().values().iter().map(|_| around(0.0, SHAPE_LIMITS, 1.0)));
            out.extend(k.period().values().iter().map(|p| around(p.ln(), PERIOD_LIMITS, 1.0)));
        }
        Kernel::Linear(k) => {
            add_lengths(k.lengthscale(), columns, seen, out);
            if k.offset() > 0.0 {
                out.push(around(0.0, SHAPE_LIMITS, 2.0));
            }
        }
        Kernel::Hamming(k) => out.extend(k.lengthscale().values().iter().map(|_| around(0.0, SHAPE_LIMITS, 1.0))),
        Kernel::Sum(parts) => {
            let share = scale / parts.len() as f64;
            return parts.iter().for_each(|part| add_variables(part, columns, seen, share, out));
        }
        Kernel::Product(parts) => {
            return parts
                .iter()
                .enumerate()
                .for_each(|(p, part)| add_variables(part, columns, seen, if p == 0 { scale } else { 1.0 }, out));
        }
        Kernel::Columns { columns: chosen, kernel } => {
            let seen: Vec<usize> = chosen.iter().map(|&c| seen[c]).collect();
            return add_variables(kernel, columns, &seen, scale, out);
        }
    }
    out.push(Variable { above: ABOVE, ..around(scale.ln(), VARIANCE_LIMITS, 1.5) });
}

fn add_lengths(lengths: &Lengthscale, columns: &[Column], seen: &[usize], out: &mut Vec<Variable>) {
    let varying: Vec<Column> = seen.iter().map(|&c| columns[c]).filter(|c| c.varies).collect();
    let root = (varying.len().max(1) as f64).sqrt();
    match lengths {
        Lengthscale::Shared(_) => {
            let count = varying.len().max(1) as f64;
            let mean = |f: fn(&Column) -> f64| {
                let square = varying.iter().map(|c| f(c).powi(2)).sum::<f64>() / count;
                if square > 0.0 { square.sqrt() } else { 1.0 }
            };
            out.push(length(mean(|c| c.deviation), mean(|c| c.median), root));
        }
        Lengthscale::PerColumn(_) => out.extend(seen.iter().map(|&c| length(columns[c].deviation, columns[c].median, root))),
    }
}

/// A length-scale is about $0.4\sqrt d$ times the column's range, hardly shorter than by a factor of $e^{0.8}$, and may be longer.
fn length(deviation: f64, median: f64, root: f64) -> Variable {
    Variable {
        bounds: ((LENGTH_LIMITS.0 * deviation).ln(), (LENGTH_LIMITS.1 * deviation).ln()),
        median: (root * median).ln(),
        centre: (0.4 * root * RANGE * deviation).ln(),
        width: 0.8,
        above: ABOVE,
        is_length: true,
    }
}

fn around(centre: f64, limits: (f64, f64), width: f64) -> Variable {
    Variable { bounds: (centre + limits.0.ln(), centre + limits.1.ln()), median: centre, centre, width, above: width, is_length: false }
}
