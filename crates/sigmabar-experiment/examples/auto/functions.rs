//! Functions to maximise, scaled so that noise of 0.05 is a little, with their largest values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::domain::{Column, SobolSequence, SpaceDomain};
use sigmabar::{BoxDomain, Domain};
use std::f64::consts::{PI, TAU};

use crate::Answer;
use crate::steep::{polynomial, steep};

type Plain = fn(&[f64]) -> f64;

/// Where a function comes from.
enum Source {
    /// The same for every seed, with its maximum.
    Fixed(Plain, f64),
    /// Drawn for every seed: a Gaussian process with the Matérn-5/2 kernel of this length-scale.
    Drawn(f64),
    /// Drawn for every seed: a flat valley between very high walls.
    Steep,
    /// The same between the walls of a polynomial.
    Polynomial,
    /// Drawn for every seed: Ackley's function, moved and stretched by another factor in every column.
    Cone,
    /// Drawn for every seed: two high hills and two low ones, each long in some columns and short in others.
    Hills,
    /// Drawn for every seed: a curved valley between steep walls.
    Valley,
}

/// A function of a point.
pub type Value = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A function to maximise on a domain.
pub struct TestFunction {
    pub name: &'static str,
    pub group: Group,
    pub domain: Domain,
    source: Source,
}

/// Why a function is here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Named as a goal.
    Goal,
    /// Chosen before the policy was rebuilt, never tuned on.
    Own,
    /// For the frequency of false statements.
    Battery,
    /// Families like the goals, drawn anew for every seed: settings are decided on them.
    Kin,
}

/// What one seed maximises.
pub struct Objective {
    pub value: Value,
    pub best: f64,
}

impl TestFunction {
    /// The function that a seed sees.
    pub fn objective(&self, seed: u64) -> Answer<Objective> {
        match self.source {
            Source::Fixed(value, best) => Ok(Objective { value: Box::new(value), best }),
            Source::Steep => Ok(Objective { value: Box::new(steep(self.domain.dim(), seed)), best: 0.0 }),
            Source::Polynomial => Ok(Objective { value: Box::new(polynomial(self.domain.dim(), seed)), best: 0.0 }),
            Source::Drawn(length) => {
                let wave = Wave::drawn(self.domain.dim(), length, seed);
                let best = wave.largest(seed)?;
                Ok(Objective { value: Box::new(move |x| wave.value(x)), best })
            }
            Source::Cone => Ok(cone(self.domain.dim(), seed)),
            Source::Hills => Ok(hills(self.domain.dim(), seed)),
            Source::Valley => Ok(valley(self.domain.dim(), seed)),
        }
    }
}

/// All functions.
pub fn functions() -> Answer<Vec<TestFunction>> {
    let cube = |dim: usize, low: f64, high: f64| BoxDomain::new(vec![low; dim], vec![high; dim]).map(Domain::Box);
    let mut all = Vec::new();
    let mut add = |name, group, domain, source| all.push(TestFunction { name, group, domain, source });
    let fixed = |value: Plain, best: f64| Source::Fixed(value, best);
    use Group::{Battery, Goal, Kin, Own};
    add("branin", Goal, cube(2, 0.0, 1.0)?, fixed(branin, 1.047_394));
    add("hartmann3", Goal, cube(3, 0.0, 1.0)?, fixed(hartmann3, 3.862_782));
    add("hartmann4", Goal, cube(4, 0.0, 1.0)?, fixed(hartmann4, 3.134_494_1));
    add("hartmann6", Goal, cube(6, 0.0, 1.0)?, fixed(hartmann6, 3.322_368));
    add("rosenbrock4", Goal, cube(4, -2.0, 2.0)?, fixed(rosenbrock, 0.0));
    add("ackley5", Goal, cube(5, -5.0, 5.0)?, fixed(ackley, 0.0));
    add("levy4", Goal, cube(4, -10.0, 10.0)?, fixed(levy, 0.0));
    add("styblinski5", Goal, cube(5, -5.0, 5.0)?, fixed(styblinski_tang, 3.916_616_6));
    add("michalewicz5", Goal, cube(5, 0.0, PI)?, fixed(michalewicz, 4.687_658));

    add("goldstein2", Own, cube(2, -2.0, 2.0)?, fixed(goldstein_price, -(3_f64).ln()));
    add("dropwave2", Own, cube(2, -3.0, 3.0)?, fixed(drop_wave, 1.0));
    add("beale2", Own, cube(2, -4.5, 4.5)?, fixed(beale, 0.0));
    add("weierstrass3", Own, cube(3, -0.5, 0.5)?, fixed(weierstrass, 0.0));
    add("schwefel3", Own, cube(3, -500.0, 500.0)?, fixed(schwefel, 0.0));
    add("colville4", Own, cube(4, -2.0, 2.0)?, fixed(colville, 0.0));
    add("shekel4", Own, cube(4, 0.0, 10.0)?, fixed(shekel, 10.536_409_8));
    add("rastrigin4", Own, cube(4, -3.0, 3.0)?, fixed(rotated_rastrigin, 0.0));
    add("salomon4", Own, cube(4, -5.0, 5.0)?, fixed(salomon, 0.0));
    add("gp4", Own, cube(4, 0.0, 1.0)?, Source::Drawn(0.4));
    add("dixonprice5", Own, cube(5, -3.0, 3.0)?, fixed(dixon_price, 0.0));
    add("zakharov5", Own, cube(5, -3.0, 5.0)?, fixed(zakharov, 0.0));
    add("ellipsoid5", Own, cube(5, -2.0, 2.0)?, fixed(rotated_ellipsoid, 0.0));
    add("griewank6", Own, cube(6, -5.0, 5.0)?, fixed(shifted_griewank, 0.0));
    add("trid6", Own, cube(6, -36.0, 36.0)?, fixed(trid, 50.0 / 500.0));
    add("cosine8", Own, cube(8, -1.0, 1.0)?, fixed(shifted_cosine, 0.8));
    add("powell8", Own, cube(8, -2.0, 2.0)?, fixed(powell, 0.0));
    add("gp8", Own, cube(8, 0.0, 1.0)?, Source::Drawn(0.6));
    add("wing10", Own, cube(10, 0.0, 1.0)?, fixed(wing_weight, -1.232_536_7));
    let columns = vec![
        Column::float(0.0, 1.0),
        Column::float(0.0, 1.0),
        Column::log_float(0.01, 1.0),
        Column::integer(0, 10),
        Column::categorical(4),
    ];
    add("mixed5", Own, Domain::Space(SpaceDomain::new(columns, Vec::new())?), fixed(mixed, 1.0));

    for (name, dim, length) in [("draw2", 2, 0.3), ("draw3", 3, 0.35), ("draw5", 5, 0.5), ("draw6", 6, 0.6)] {
        add(name, Battery, cube(dim, 0.0, 1.0)?, Source::Drawn(length));
    }
    add("ackley4", Battery, cube(4, -5.0, 5.0)?, fixed(ackley, 0.0));
    add("spike3", Battery, cube(3, 0.0, 1.0)?, fixed(spike, spike_top()));

    add("hills6", Kin, cube(6, 0.0, 1.0)?, Source::Hills);
    for (name, dim) in [("cone4", 4), ("cone5", 5), ("cone6", 6)] {
        add(name, Kin, cube(dim, -5.0, 5.0)?, Source::Cone);
    }
    add("valley4", Kin, cube(4, -2.0, 2.0)?, Source::Valley);
    for (name, dim) in [("steep2", 2), ("steep3", 3), ("steep4", 4)] {
        add(name, Kin, cube(dim, -1.0, 1.0)?, Source::Steep);
    }
    for (name, dim) in [("polynomial2", 2), ("polynomial3", 3), ("polynomial4", 4)] {
        add(name, Kin, cube(dim, -1.0, 1.0)?, Source::Polynomial);
    }
    Ok(all)
}

/// As the GP-ThreDS experiments scale it.
fn branin(x: &[f64]) -> f64 {
    let (u, v) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
    let bowl = v - 5.1 * u * u / (4.0 * PI * PI) + 5.0 * u / PI - 6.0;
    -(bowl * bowl + (10.0 - 10.0 / (8.0 * PI)) * u.cos() - 44.81) / 51.95
}

fn hartmann(x: &[f64], scales: &[&[f64]; 4], centres: &[&[f64]; 4]) -> f64 {
    let heights = [1.0, 1.2, 3.0, 3.2];
    let bump = |i: usize| heights[i] * (-(0..x.len()).map(|j| scales[i][j] * (x[j] - centres[i][j]).powi(2)).sum::<f64>()).exp();
    (0..4).map(bump).sum()
}

fn hartmann3(x: &[f64]) -> f64 {
    let scales: [&[f64]; 4] = [&[3.0, 10.0, 30.0], &[0.1, 10.0, 35.0], &[3.0, 10.0, 30.0], &[0.1, 10.0, 35.0]];
    let centres: [&[f64]; 4] = [&[0.3689, 0.117, 0.2673], &[0.4699, 0.4387, 0.747], &[0.1091, 0.8732, 0.5547], &[0.0381, 0.5743, 0.8828]];
    hartmann(x, &scales, &centres)
}

fn hartmann6(x: &[f64]) -> f64 {
    let scales: [&[f64]; 4] = [
        &[10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        &[0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        &[3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        &[17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ];
    let centres: [&[f64]; 4] = [
        &[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        &[0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        &[0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        &[0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ];
    hartmann(x, &scales, &centres)
}

/// In thousands.
fn rosenbrock(x: &[f64]) -> f64 {
    -x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum::<f64>() / 1000.0
}

/// The maximum moved off the centre by 0.7.
fn ackley(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let square = x.iter().map(|v| (v - 0.7).powi(2)).sum::<f64>() / n;
    let wave = x.iter().map(|v| (2.0 * PI * (v - 0.7)).cos()).sum::<f64>() / n;
    20.0 * (-0.2 * square.sqrt()).exp() + wave.exp() - 20.0 - 1_f64.exp()
}

/// In units of twenty.
fn levy(x: &[f64]) -> f64 {
    let w: Vec<f64> = x.iter().map(|v| 1.0 + (v - 1.0) / 4.0).collect();
    let last = w[w.len() - 1];
    let middle: f64 = w[..w.len() - 1].iter().map(|v| (v - 1.0).powi(2) * (1.0 + 10.0 * (PI * v + 1.0).sin().powi(2))).sum();
    -((PI * w[0]).sin().powi(2) + middle + (last - 1.0).powi(2) * (1.0 + (2.0 * PI * last).sin().powi(2))) / 20.0
}

/// In units of fifty.
fn styblinski_tang(x: &[f64]) -> f64 {
    -x.iter().map(|v| v.powi(4) - 16.0 * v * v + 5.0 * v).sum::<f64>() / 100.0
}

fn michalewicz(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, v)| v.sin() * ((i + 1) as f64 * v * v / PI).sin().powi(20)).sum()
}

/// In the form of Picheny, Wagner and Ginsbourger: zero mean and unit variance.
fn hartmann4(x: &[f64]) -> f64 {
    let scales: [&[f64]; 4] = [&[10.0, 3.0, 17.0, 3.5], &[0.05, 10.0, 17.0, 0.1], &[3.0, 3.5, 1.7, 10.0], &[17.0, 8.0, 0.05, 10.0]];
    let centres: [&[f64]; 4] = [
        &[0.1312, 0.1696, 0.5569, 0.0124],
        &[0.2329, 0.4135, 0.8307, 0.3736],
        &[0.2348, 0.1451, 0.3522, 0.2883],
        &[0.4047, 0.8828, 0.8732, 0.5743],
    ];
    (hartmann(x, &scales, &centres) - 1.1) / 0.839
}

/// The logarithm, as it is mostly used.
fn goldstein_price(x: &[f64]) -> f64 {
    let (u, v) = (x[0], x[1]);
    let one = 1.0 + (u + v + 1.0).powi(2) * (19.0 - 14.0 * u + 3.0 * u * u - 14.0 * v + 6.0 * u * v + 3.0 * v * v);
    let two = 30.0 + (2.0 * u - 3.0 * v).powi(2) * (18.0 - 32.0 * u + 12.0 * u * u + 48.0 * v - 36.0 * u * v + 27.0 * v * v);
    -(one * two).ln()
}

/// The maximum moved off the centre.
fn drop_wave(x: &[f64]) -> f64 {
    let square = (x[0] - 0.6).powi(2) + (x[1] + 0.4).powi(2);
    (1.0 + (6.0 * square.sqrt()).cos()) / (0.5 * square + 2.0)
}

/// In thousands.
fn beale(x: &[f64]) -> f64 {
    let term = |target: f64, power: i32| (target - x[0] + x[0] * x[1].powi(power)).powi(2);
    -(term(1.5, 1) + term(2.25, 2) + term(2.625, 3)) / 1000.0
}

/// Continuous and nowhere smooth down to a scale of 3⁻⁸; the maximum is at 0.11 in every column.
fn weierstrass(x: &[f64]) -> f64 {
    let sum = |v: f64| (0..8).map(|k| 0.5_f64.powi(k) * (TAU * 3_f64.powi(k) * (v + 0.5)).cos()).sum::<f64>();
    sum(0.0) - x.iter().map(|v| sum(v - 0.11)).sum::<f64>() / x.len() as f64
}

/// In units of four hundred.
fn schwefel(x: &[f64]) -> f64 {
    -(418.982_887_27 * x.len() as f64 - x.iter().map(|v| v * v.abs().sqrt().sin()).sum::<f64>()) / 400.0
}

/// In thousands.
fn colville(x: &[f64]) -> f64 {
    let one = 100.0 * (x[0] * x[0] - x[1]).powi(2) + (x[0] - 1.0).powi(2) + (x[2] - 1.0).powi(2) + 90.0 * (x[2] * x[2] - x[3]).powi(2);
    -(one + 10.1 * ((x[1] - 1.0).powi(2) + (x[3] - 1.0).powi(2)) + 19.8 * (x[1] - 1.0) * (x[3] - 1.0)) / 1000.0
}

fn shekel(x: &[f64]) -> f64 {
    let depths = [0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5];
    let odd = [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0];
    let even = [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6];
    let centre = |i: usize, j: usize| if j.is_multiple_of(2) { odd[i] } else { even[i] };
    (0..10).map(|i| 1.0 / (depths[i] + (0..4).map(|j| (x[j] - centre(i, j)).powi(2)).sum::<f64>())).sum()
}

/// Turned in the plane of every two neighbouring columns.
fn turned(x: &[f64], shift: f64) -> Vec<f64> {
    let mut z: Vec<f64> = x.iter().map(|v| v - shift).collect();
    for i in 1..z.len() {
        let (sine, cosine) = (0.5 + 0.3 * i as f64).sin_cos();
        (z[i - 1], z[i]) = (cosine * z[i - 1] - sine * z[i], sine * z[i - 1] + cosine * z[i]);
    }
    z
}

/// In units of ten.
fn rotated_rastrigin(x: &[f64]) -> f64 {
    -turned(x, 0.4).iter().map(|v| v * v + 5.0 * (1.0 - (0.8 * TAU * v).cos())).sum::<f64>() / 10.0
}

fn salomon(x: &[f64]) -> f64 {
    let r = x.iter().map(|v| (v - 0.7).powi(2)).sum::<f64>().sqrt();
    (2.0 * r).cos() - 1.0 - 0.4 * r
}

/// In thousands.
fn dixon_price(x: &[f64]) -> f64 {
    -((x[0] - 1.0).powi(2) + x.windows(2).enumerate().map(|(i, w)| (i + 2) as f64 * (2.0 * w[1] * w[1] - w[0]).powi(2)).sum::<f64>())
        / 1000.0
}

/// In units of ten thousand.
fn zakharov(x: &[f64]) -> f64 {
    let slope: f64 = x.iter().enumerate().map(|(i, v)| 0.5 * (i + 1) as f64 * v).sum();
    -(x.iter().map(|v| v * v).sum::<f64>() + slope.powi(2) + slope.powi(4)) / 10_000.0
}

/// Axes from 1 to 100, in units of a hundred.
fn rotated_ellipsoid(x: &[f64]) -> f64 {
    let last = (x.len() - 1) as f64;
    -turned(x, 0.3).iter().enumerate().map(|(i, v)| 100_f64.powf(i as f64 / last) * v * v).sum::<f64>() / 100.0
}

/// Twice as large, and moved off the centre.
fn shifted_griewank(x: &[f64]) -> f64 {
    let z: Vec<f64> = x.iter().map(|v| v - 0.9).collect();
    let product: f64 = z.iter().enumerate().map(|(i, v)| (v / ((i + 1) as f64).sqrt()).cos()).product();
    2.0 * (product - 1.0 - z.iter().map(|v| v * v).sum::<f64>() / 400.0)
}

/// In units of five hundred.
fn trid(x: &[f64]) -> f64 {
    (x.windows(2).map(|w| w[0] * w[1]).sum::<f64>() - x.iter().map(|v| (v - 1.0).powi(2)).sum::<f64>()) / 500.0
}

fn shifted_cosine(x: &[f64]) -> f64 {
    let z = || x.iter().map(|v| v - 0.2);
    0.1 * z().map(|v| (5.0 * PI * v).cos()).sum::<f64>() - z().map(|v| v * v).sum::<f64>()
}

/// In units of five hundred.
fn powell(x: &[f64]) -> f64 {
    let four =
        |z: &[f64]| (z[0] + 10.0 * z[1]).powi(2) + 5.0 * (z[2] - z[3]).powi(2) + (z[1] - 2.0 * z[2]).powi(4) + 10.0 * (z[0] - z[3]).powi(4);
    -x.chunks_exact(4).map(four).sum::<f64>() / 500.0
}

/// The weight of a light aircraft's wing, in hundreds of pounds; lightest in a corner.
fn wing_weight(x: &[f64]) -> f64 {
    let at = |i: usize, low: f64, high: f64| low + x[i] * (high - low);
    let (area, fuel, aspect, sweep) = (at(0, 150.0, 200.0), at(1, 220.0, 300.0), at(2, 6.0, 10.0), at(3, -10.0, 10.0) * PI / 180.0);
    let (pressure, taper, thickness, load, weight, paint) =
        (at(4, 16.0, 45.0), at(5, 0.5, 1.0), at(6, 0.08, 0.18), at(7, 2.5, 6.0), at(8, 1700.0, 2500.0), at(9, 0.025, 0.08));
    let cosine = sweep.cos();
    let shape =
        0.036 * area.powf(0.758) * fuel.powf(0.0035) * (aspect / cosine.powi(2)).powf(0.6) * pressure.powf(0.006) * taper.powf(0.04);
    -(shape * (100.0 * thickness / cosine).powf(-0.3) * (load * weight).powf(0.49) + area * paint) / 100.0
}

/// Two numbers, one more on a logarithmic scale, a whole number and a category that moves the best place of the others.
fn mixed(x: &[f64]) -> f64 {
    let category = x[4] as usize;
    let (height, shift) = ([0.6, 1.0, 0.8, 0.3][category], 0.15 * category as f64);
    let far =
        (x[0] - 0.3 - shift).powi(2) + (x[1] - 0.7 + shift).powi(2) + 0.3 * (x[2].log10() + 1.3).powi(2) + 0.02 * (x[3] - 6.0).powi(2);
    height * (-2.0 * far).exp() - 0.1 * far
}

/// A broad hill and, elsewhere, a narrow one that is higher.
fn spike(x: &[f64]) -> f64 {
    let hill = |centre: f64, width: f64| (-x.iter().map(|v| ((v - centre) / width).powi(2)).sum::<f64>()).exp();
    hill(0.3, 0.4) + 1.2 * hill(0.8, 0.08)
}

fn spike_top() -> f64 {
    1.2 + (-3.0 * (0.5_f64 / 0.4).powi(2)).exp()
}

/// Four bumps, drawn until the second hill has 85 to 98 % of the height of the first.
fn hills(dim: usize, seed: u64) -> Objective {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x4115);
    loop {
        let mut draw = |low: f64, high: f64| (0..dim).map(|_| rng.random_range(low..high)).collect::<Vec<f64>>();
        let bumps = [1.0, 1.2, 3.0, 3.2].map(|height| Bump {
            height,
            centre: draw(0.0, 1.0),
            scales: draw(-0.7, 2.9).into_iter().map(f64::exp).collect(),
        });
        let tops = tops(&bumps);
        if tops.len() > 1 && (0.85..0.98).contains(&(tops[1] / tops[0])) {
            return Objective { value: Box::new(move |x| bumps.iter().map(|bump| bump.value(x)).sum()), best: tops[0] };
        }
    }
}

struct Bump {
    height: f64,
    centre: Vec<f64>,
    scales: Vec<f64>,
}

impl Bump {
    fn value(&self, x: &[f64]) -> f64 {
        let far: f64 = (0..x.len()).map(|j| self.scales[j] * (x[j] - self.centre[j]).powi(2)).sum();
        self.height * (-far).exp()
    }
}

/// Heights of the hills of a sum of bumps, the highest first: the mean shift climbs them from every centre.
fn tops(bumps: &[Bump]) -> Vec<f64> {
    let mut tops: Vec<f64> = Vec::new();
    for start in bumps {
        let mut x = start.centre.clone();
        for _ in 0..500 {
            let weights: Vec<f64> = bumps.iter().map(|bump| bump.value(&x)).collect();
            let sum = |j: usize, of: &dyn Fn(&Bump) -> f64| bumps.iter().zip(&weights).map(|(b, w)| w * b.scales[j] * of(b)).sum::<f64>();
            x = (0..x.len()).map(|j| sum(j, &|b| b.centre[j]) / sum(j, &|_| 1.0)).collect();
        }
        let top: f64 = bumps.iter().map(|bump| bump.value(&x)).sum();
        if tops.iter().all(|other| (other - top).abs() > 1e-3) {
            tops.push(top);
        }
    }
    tops.sort_by(|a, b| b.total_cmp(a));
    tops
}

fn cone(dim: usize, seed: u64) -> Objective {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xc04e);
    let mut draw = |low: f64, high: f64| (0..dim).map(|_| rng.random_range(low..high)).collect::<Vec<f64>>();
    let (top, scales) = (draw(-3.0, 3.0), draw(0.6, 1.4));
    let value = move |x: &[f64]| ackley(&(0..x.len()).map(|j| 0.7 + scales[j] * (x[j] - top[j])).collect::<Vec<f64>>());
    Objective { value: Box::new(value), best: 0.0 }
}

/// In thousands; 0 at its one maximum.
fn valley(dim: usize, seed: u64) -> Objective {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x7a11e);
    let top: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.4..1.4)).collect();
    let (wall, bend) = (rng.random_range(50.0..200.0), rng.random_range(-1.0..1.0));
    let value = move |x: &[f64]| {
        let floor = |i: usize| x[i + 1] - top[i + 1] - bend * (x[i].powi(2) - top[i].powi(2));
        -(0..x.len() - 1).map(|i| wall * floor(i).powi(2) + (x[i] - top[i]).powi(2)).sum::<f64>() / 1000.0
    };
    Objective { value: Box::new(value), best: 0.0 }
}

/// A function drawn from a Gaussian process, as a sum of waves.
struct Wave {
    frequencies: Vec<Vec<f64>>,
    phases: Vec<f64>,
    factors: Vec<f64>,
}

impl Wave {
    /// Frequencies of the Matérn-5/2 kernel follow a Student distribution with five degrees of freedom.
    fn drawn(dim: usize, length: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(dim as u64));
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let count = 400;
        let mut frequencies = Vec::new();
        for _ in 0..count {
            let chi: f64 = (0..5).map(|_| normal().powi(2)).sum();
            frequencies.push((0..dim).map(|_| normal() * (5.0 / chi).sqrt() / length).collect());
        }
        let factors = (0..count).map(|_| normal() * (2.0 / count as f64).sqrt()).collect();
        let phases = (0..count).map(|_| rng.random_range(0.0..TAU)).collect();
        Self { frequencies, phases, factors }
    }

    fn waves<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = (f64, f64, &'a [f64])> {
        let angle = move |w: &[f64], phase: f64| w.iter().zip(x).map(|(w, v)| w * v).sum::<f64>() + phase;
        self.frequencies
            .iter()
            .zip(&self.phases)
            .zip(&self.factors)
            .map(move |((w, &phase), &factor)| (factor, angle(w, phase), w.as_slice()))
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.waves(x).map(|(factor, angle, _)| factor * angle.cos()).sum()
    }

    fn slope(&self, x: &[f64]) -> Vec<f64> {
        let mut slope = vec![0.0; x.len()];
        for (factor, angle, w) in self.waves(x) {
            let weight = -factor * angle.sin();
            slope.iter_mut().zip(w).for_each(|(s, w)| *s += weight * w);
        }
        slope
    }

    /// The largest value on the unit cube: gradient ascent from the best of many points.
    fn largest(&self, seed: u64) -> Answer<f64> {
        let dim = self.frequencies[0].len();
        let sequence = SobolSequence::new(dim, seed)?;
        let mut point = vec![0.0; dim];
        let mut starts: Vec<(f64, Vec<f64>)> = Vec::new();
        for i in 0..4096 {
            sequence.point_into(i, &mut point);
            starts.push((self.value(&point), point.clone()));
        }
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(starts[..48].iter().map(|(_, x)| self.climbed(x)).fold(f64::NEG_INFINITY, f64::max))
    }

    fn climbed(&self, start: &[f64]) -> f64 {
        let (mut x, mut value, mut step) = (start.to_vec(), self.value(start), 0.05);
        while step > 1e-7 {
            let slope = self.slope(&x);
            let next: Vec<f64> = x.iter().zip(&slope).map(|(v, s)| (v + step * s).clamp(0.0, 1.0)).collect();
            let found = self.value(&next);
            if found > value {
                (x, value, step) = (next, found, 1.5 * step);
            } else {
                step *= 0.3;
            }
        }
        value
    }
}
