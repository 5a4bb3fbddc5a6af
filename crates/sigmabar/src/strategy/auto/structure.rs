//! The kernel that the automatic policy learns: a joint term, a sum of terms of one column each, and a constant (algorithm notes 5.10).

use crate::domain::Domain;
use crate::error::Result;
use crate::kernel::{Kernel, exp_in_place};
use crate::points::PointsRef;
use pulp::Arch;
use serde::{Deserialize, Serialize};

/// The constant is a linear kernel whose slope over the whole domain is this small beside its offset.
const FLAT: f64 = 1e-5;

/// How smooth the terms on numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Smoothness {
    /// Matérn-5/2: functions with two derivatives.
    #[default]
    Twice,
    /// Squared exponential: functions with all derivatives, which a few values pin down far around.
    Fully,
}

impl Smoothness {
    #[cfg(test)]
    pub const ALL: [Self; 2] = [Self::Twice, Self::Fully];

    fn kernel(self, lengths: Vec<f64>, variance: f64) -> Result<Kernel> {
        match self {
            Self::Twice => Kernel::matern(2.5, lengths, variance),
            Self::Fully => Kernel::squared_exponential(lengths, variance),
        }
    }

    /// The exponent $p$ of the term's $e^p$ at a squared distance $\rho^2$: $-a$ with $a=\sqrt5\rho$, or $-\rho^2/2$.
    #[inline(always)]
    fn exponent(self, square: f64) -> f64 {
        match self {
            Self::Twice => -(5.0 * square).sqrt(),
            Self::Fully => -0.5 * square,
        }
    }

    /// What $e^p$ is multiplied by for the term's value and for minus twice its derivative by $\rho^2$: $1+a+a^2/3$ and $\frac53(1+a)$, or 1 and 1.
    #[inline(always)]
    fn factors(self, exponent: f64) -> (f64, f64) {
        match self {
            Self::Twice => (1.0 - exponent + exponent * exponent / 3.0, 5.0 / 3.0 * (1.0 - exponent)),
            Self::Fully => (1.0, 1.0),
        }
    }
}

/// $k=v\,k_0(\rho)\prod_ce^{-[x_c\ne z_c]/\ell_c}+\frac sd\sum_jk_j(x_j,z_j)+m$ with Matérn-5/2 or squared exponential terms on numbers and Hamming
/// terms on categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Structure {
    /// Not saved: a run keeps the fits that its search goes by, which are the rougher ones.
    #[serde(skip)]
    pub smoothness: Smoothness,
    /// Which columns hold categories.
    pub category: Vec<bool>,
    /// Length-scales of the joint term.
    pub joint: Vec<f64>,
    /// $v$
    pub variance: f64,
    /// Length-scales of the terms of one column each; none where there is only one column.
    pub alone: Vec<f64>,
    /// $s$
    pub share: f64,
    /// $m$
    pub constant: f64,
    /// The largest coordinate there is.
    pub reach: f64,
}

impl Structure {
    /// A template: all lengths 1.
    pub fn new(domain: &Domain, constant: f64) -> Self {
        let dim = domain.dim();
        let category: Vec<bool> = (0..dim).map(|c| matches!(domain, Domain::Space(space) if space.columns()[c].is_categorical())).collect();
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(1.0, |most: f64, v| most.max(v.abs()));
        let reach = match domain {
            Domain::Box(b) => largest(&mut b.low().iter().chain(b.high()).copied()),
            Domain::List(list) => largest(&mut list.points().as_slice().iter().copied()),
            Domain::Space(_) => 1.0,
        };
        let alone = if dim > 1 { vec![1.0; dim] } else { Vec::new() };
        Self { smoothness: Smoothness::Twice, category, joint: vec![1.0; dim], variance: 1.0, alone, share: 0.5, constant, reach }
    }

    pub fn dim(&self) -> usize {
        self.joint.len()
    }

    /// $k(x,x)$, the same everywhere.
    pub fn diagonal(&self) -> f64 {
        self.variance + self.constant + if self.alone.is_empty() { 0.0 } else { self.share }
    }

    /// The share of the variance that is joint.
    pub fn jointness(&self) -> f64 {
        self.variance / (self.diagonal() - self.constant)
    }

    /// Logarithms: lengths of the joint term, its variance, lengths of the single terms, their variance.
    pub fn theta(&self) -> Vec<f64> {
        let mut theta: Vec<f64> = self.joint.iter().map(|l| l.ln()).collect();
        theta.push(self.variance.ln());
        if !self.alone.is_empty() {
            theta.extend(self.alone.iter().map(|l| l.ln()));
            theta.push(self.share.ln());
        }
        theta
    }

    /// The same with other parameters.
    pub fn with_theta(&self, theta: &[f64]) -> Self {
        let d = self.dim();
        let lengths = |part: &[f64]| part.iter().map(|t| t.exp()).collect::<Vec<f64>>();
        let alone = if self.alone.is_empty() { Vec::new() } else { lengths(&theta[d + 1..2 * d + 1]) };
        let share = if self.alone.is_empty() { self.share } else { theta[2 * d + 1].exp() };
        Self { joint: lengths(&theta[..d]), variance: theta[d].exp(), alone, share, ..self.clone() }
    }

    /// As a kernel of the library.
    pub fn kernel(&self) -> Result<Kernel> {
        let mut kernel = self.joint_kernel()?;
        for (c, &length) in self.alone.iter().enumerate() {
            kernel = kernel + self.alone_kernel(c, length, self.share / self.dim() as f64)?;
        }
        if self.constant > 0.0 {
            kernel = kernel + Kernel::linear(1.0, self.reach * (self.dim() as f64).sqrt() / FLAT, self.constant)?;
        }
        Ok(kernel)
    }

    pub fn joint_kernel(&self) -> Result<Kernel> {
        let (categories, numbers): (Vec<usize>, Vec<usize>) = (0..self.dim()).partition(|&c| self.category[c]);
        let of = |columns: &[usize]| columns.iter().map(|&c| self.joint[c]).collect::<Vec<f64>>();
        if categories.is_empty() {
            return self.smoothness.kernel(of(&numbers), self.variance);
        }
        if numbers.is_empty() {
            return Kernel::hamming(of(&categories), self.variance);
        }
        let smooth = self.smoothness.kernel(of(&numbers), self.variance)?.columns(numbers)?;
        Ok(smooth * Kernel::hamming(of(&categories), 1.0)?.columns(categories)?)
    }

    pub fn alone_kernel(&self, column: usize, length: f64, variance: f64) -> Result<Kernel> {
        let lengths = vec![length];
        let kernel = if self.category[column] { Kernel::hamming(lengths, variance) } else { self.smoothness.kernel(lengths, variance) };
        kernel?.columns(vec![column])
    }

    /// Slopes by [`Structure::theta`] from those by the parameters of [`Structure::kernel`], in their order.
    pub fn folded(&self, slope: &[f64]) -> Vec<f64> {
        let d = self.dim();
        let mut folded = vec![0.0; self.theta().len()];
        let mut slope = slope.iter();
        let mut take = |slot: Option<usize>| {
            if let (Some(value), Some(slot)) = (slope.next(), slot) {
                folded[slot] += value;
            }
        };
        let (categories, numbers): (Vec<usize>, Vec<usize>) = (0..d).partition(|&c| self.category[c]);
        if !numbers.is_empty() {
            numbers.iter().for_each(|&c| take(Some(c)));
            take(Some(d));
        }
        if !categories.is_empty() {
            categories.iter().for_each(|&c| take(Some(c)));
            // The second factor's variance is 1 and stays.
            take(if numbers.is_empty() { Some(d) } else { None });
        }
        for c in 0..self.alone.len() {
            take(Some(d + 1 + c));
            take(Some(2 * d + 1));
        }
        folded
    }

    /// The distance over which the function changes in each column; infinite in categories.
    pub fn steps(&self) -> Vec<f64> {
        let share = if self.alone.is_empty() { 0.0 } else { self.share / self.dim() as f64 };
        let step = |c: usize| {
            let alone = self.alone.get(c).map_or(0.0, |l| share / (l * l));
            ((self.variance + share) / (self.variance / self.joint[c].powi(2) + alone)).sqrt()
        };
        (0..self.dim()).map(|c| if self.category[c] { f64::INFINITY } else { step(c) }).collect()
    }
}

/// The structure with one side fixed, for sums $\sum_kw_kk(x,z_k)$ with their slopes in $x$.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    structure: Structure,
    /// One row a column of the points.
    columns: Vec<Vec<f64>>,
    len: usize,
}

impl Sites {
    pub fn new(structure: &Structure, z: PointsRef<'_>) -> Self {
        let columns = (0..z.dim()).map(|c| z.rows().map(|row| row[c]).collect()).collect();
        Self { structure: structure.clone(), columns, len: z.len() }
    }

    /// $\sum_kw_kk(x,z_k)$, and its slope added to `slope`, 0 in categories. Cost O(nd).
    pub fn sum_with_slope(&self, x: &[f64], weights: &[f64], slope: &mut [f64]) -> f64 {
        Arch::new().dispatch(|| self.vectorised_sum(x, weights, slope))
    }

    /// Inlined where vectors are as long as the machine has them.
    #[inline(always)]
    fn vectorised_sum(&self, x: &[f64], weights: &[f64], slope: &mut [f64]) -> f64 {
        let (s, n, d) = (&self.structure, self.len, x.len());
        let parts = if s.alone.is_empty() { 1 } else { d + 1 };
        // Part 0 is the joint term. `powers` holds squared distances, then exponents; `exponent` what categories add to those.
        let mut powers = vec![0.0; parts * n];
        let mut exponent = vec![0.0; n];
        for c in 0..d {
            let column = &self.columns[c];
            if s.category[c] {
                let cost = 1.0 / s.joint[c];
                exponent.iter_mut().zip(column).for_each(|(e, z)| *e -= if *z == x[c] { 0.0 } else { cost });
                if parts > 1 {
                    let cost = 1.0 / s.alone[c];
                    let own = &mut powers[(c + 1) * n..(c + 2) * n];
                    own.iter_mut().zip(column).for_each(|(p, z)| *p = if *z == x[c] { 0.0 } else { -cost });
                }
                continue;
            }
            let weight = s.joint[c].powi(-2);
            let (joint, rest) = powers.split_at_mut(n);
            joint.iter_mut().zip(column).for_each(|(p, z)| *p += weight * (x[c] - z) * (x[c] - z));
            if parts > 1 {
                let weight = s.alone[c].powi(-2);
                let own = &mut rest[c * n..(c + 1) * n];
                own.iter_mut().zip(column).for_each(|(p, z)| *p = s.smoothness.exponent(weight * (x[c] - z) * (x[c] - z)));
            }
        }
        powers[..n].iter_mut().for_each(|p| *p = s.smoothness.exponent(*p));
        let mut exponentials = powers.clone();
        exponentials[..n].iter_mut().zip(&exponent).for_each(|(e, extra)| *e += extra);
        exp_in_place(&mut exponentials);

        let mut total = s.constant * weights.iter().sum::<f64>();
        let mut pull = vec![0.0; n];
        let mut joint = 0.0;
        for k in 0..n {
            let ((value, steep), e) = (s.smoothness.factors(powers[k]), weights[k] * exponentials[k]);
            joint += value * e;
            pull[k] = steep * e;
        }
        total += s.variance * joint;
        for c in (0..d).filter(|&c| !s.category[c]) {
            let column = &self.columns[c];
            let sum: f64 = pull.iter().zip(column).map(|(p, z)| p * (x[c] - z)).sum();
            slope[c] -= s.variance / s.joint[c].powi(2) * sum;
        }
        for c in 0..parts - 1 {
            let share = s.share / d as f64;
            let (powers, exponentials) = (&powers[(c + 1) * n..(c + 2) * n], &exponentials[(c + 1) * n..(c + 2) * n]);
            let (mut sum, mut steep) = (0.0, 0.0);
            if s.category[c] {
                sum = weights.iter().zip(exponentials).map(|(w, e)| w * e).sum();
            } else {
                for k in 0..n {
                    let ((value, pull), e) = (s.smoothness.factors(powers[k]), weights[k] * exponentials[k]);
                    sum += value * e;
                    steep += pull * e * (x[c] - self.columns[c][k]);
                }
                slope[c] -= share / s.alone[c].powi(2) * steep;
            }
            total += share * sum;
        }
        total
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{Column, SpaceDomain};
    use crate::points::Points;

    fn mixed(smoothness: Smoothness) -> (Structure, Points) {
        let columns = vec![Column::float(0.0, 1.0), Column::categorical(3), Column::integer(0, 9)];
        let domain = Domain::Space(SpaceDomain::new(columns, Vec::new()).unwrap());
        let theta = [-0.4, 0.3, 0.2, 0.5, -1.0, -0.2, 0.1, -0.7];
        let at = |i: usize, golden: f64| (0.3 + i as f64 * golden).fract();
        let rows: Vec<[f64; 3]> = (0..11).map(|i| [at(i, 0.618), (i % 3) as f64, at(i, 0.414)]).collect();
        (Structure { smoothness, ..Structure::new(&domain, 4.0).with_theta(&theta) }, Points::from_rows(&rows).unwrap())
    }

    #[test]
    fn sums_and_slopes_are_those_of_the_kernel() {
        for smoothness in Smoothness::ALL {
            let (structure, points) = mixed(smoothness);
            let kernel = structure.kernel().unwrap();
            let weights: Vec<f64> = (0..points.len()).map(|i| (i as f64 * 1.7).sin()).collect();
            let sites = Sites::new(&structure, points.view());
            let plain = |x: &[f64]| points.view().rows().zip(&weights).map(|(z, w)| w * kernel.value(x, z)).sum::<f64>();
            let x = [0.37, 1.0, 0.81];
            let mut slope = vec![0.0; 3];
            let total = sites.sum_with_slope(&x, &weights, &mut slope);
            assert!((total - plain(&x)).abs() < 1e-8, "{total} and {}", plain(&x));
            assert!((structure.diagonal() - kernel.value(&x, &x)).abs() < 1e-8);
            for c in [0, 2] {
                let moved = |step: f64| {
                    let mut x = x;
                    x[c] += step;
                    plain(&x)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((difference - slope[c]).abs() < 1e-6, "column {c}: {difference} and {}", slope[c]);
            }
            assert_eq!(slope[1], 0.0);
        }
    }

    #[test]
    fn slopes_by_the_kernels_parameters_fold_into_those_of_the_structure() {
        for smoothness in Smoothness::ALL {
            let (structure, points) = mixed(smoothness);
            let theta = structure.theta();
            let (x, z) = (points.row(1), points.row(3));
            let kernel = structure.kernel().unwrap();
            let mut slope = vec![0.0; kernel.parameters().len()];
            kernel.gradient_value(x, z, &mut slope);
            let folded = structure.folded(&slope);
            for p in 0..theta.len() {
                let moved = |step: f64| {
                    let mut theta = theta.clone();
                    theta[p] += step;
                    structure.with_theta(&theta).kernel().unwrap().value(x, z)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((difference - folded[p]).abs() < 1e-8, "parameter {p}: {difference} and {}", folded[p]);
            }
        }
    }
}
