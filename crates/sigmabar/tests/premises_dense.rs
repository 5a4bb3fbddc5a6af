//! The breakdown points of norm and noise against dense formulas in plain loops, which share nothing with the code: over several batches, planned with the declared norm
//! bound and with more.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, PLAN_FACTOR, exact_weights, planned};
use sigmabar::certificate::Range;
use sigmabar::strategy::{Sbpe, Schedule};
use sigmabar::{Ask, Kernel, Outcome, Problem, Strategy};

const CANDIDATES: usize = 12;
/// Shares of a batch's δ.
const PAIRS: f64 = 0.785;
const SINGLES: f64 = 0.02;
const ELLIPSOID: f64 = 0.125;
/// Within this the literal formulas agree, the code on the safe side: its λ is zero but for rounding.
const EXACT: f64 = 2e-3;

fn z(events: f64, delta: f64) -> f64 {
    (2.0 * (events / delta).ln()).sqrt()
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix by Jacobi rotations.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..40 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (s, c) = angle.sin_cos();
                for row in a.iter_mut().chain(v.iter_mut()) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}

/// A functional Σ V y − f of one batch: its weights on the rows, and the residual's coefficients at the candidates.
struct Functional {
    mean: f64,
    noise: f64,
    /// Coordinates of the residual along the eigenvectors, its norm, and what of it lies outside of them all.
    coordinates: Vec<f64>,
    norm: f64,
    outside: f64,
}

/// What is known about a run before one of its batches: the candidates it had not ruled out, and what it measured then.
struct Measured {
    list: Vec<usize>,
    chosen: Vec<usize>,
    values: Vec<f64>,
}

/// One batch as plain numbers: counts and mean responses of the candidates, and everything that was fixed before its noise.
struct Batch {
    level: f64,
    planned: f64,
    delta: f64,
    gram: Vec<Vec<f64>>,
    measured: Measured,
    counts: Vec<f64>,
    /// Eigenvalues γ of √c K √c, descending; its eigenvectors; and the weighted mean responses along them.
    gamma: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    along: Vec<f64>,
    ridge: f64,
    /// How many directions are kept.
    rank: usize,
    slices: Vec<f64>,
    /// Weights of every candidate under the batch's ridge and those beside it.
    weights: Vec<Vec<Vec<f64>>>,
    /// Challengers with the noise factor of each.
    challengers: Vec<(usize, f64)>,
    singles: Vec<Functional>,
    /// Each candidate against each challenger.
    pairs: Vec<Vec<Functional>>,
}

impl Batch {
    /// `lower` are the lower bounds of earlier batches, under the premises of the plan.
    fn new(known: &Known, (planned, delta): (f64, f64), measured: Measured, lower: &[f64]) -> Self {
        let gram: Vec<Vec<f64>> = (0..CANDIDATES)
            .map(|i| (0..CANDIDATES).map(|j| known.kernel.value(known.points.row(i), known.points.row(j))).collect())
            .collect();
        let (mut counts, mut sums): (Vec<f64>, Vec<f64>) = (vec![0.0; CANDIDATES], vec![0.0; CANDIDATES]);
        measured.chosen.iter().zip(&measured.values).for_each(|(&i, y)| {
            counts[i] += 1.0;
            sums[i] += y;
        });
        let weighted = |i: usize, j: usize| (counts[i] * counts[j]).sqrt() * gram[i][j];
        let (values, columns) = eigen((0..CANDIDATES).map(|i| (0..CANDIDATES).map(|j| weighted(i, j)).collect()).collect());
        let mut order: Vec<usize> = (0..CANDIDATES).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let vectors: Vec<Vec<f64>> = order.iter().map(|&k| (0..CANDIDATES).map(|i| columns[i][k]).collect()).collect();
        let along = vectors.iter().map(|u| (0..CANDIDATES).map(|i| u[i] * sums[i] / counts[i].max(1.0).sqrt()).sum()).collect();
        let ridge = known.level.max(known.level * z(64.0 / PAIRS, delta) / planned);
        let rows: Vec<Vec<f64>> = measured.chosen.iter().map(|&i| known.points.row(i).to_vec()).collect();
        let at = |factor: f64| (0..CANDIDATES).map(|i| exact_weights(&known.kernel, factor * ridge, &rows, known.points.row(i))).collect();
        let weights = [1.0, 0.35, 0.7, 1.4].into_iter().map(at).collect();
        let gamma = order.iter().map(|&k| values[k].max(0.0)).collect();
        let (level, rank, slices, challengers, singles, pairs) = (known.level, 0, Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut batch = Self {
            level,
            planned,
            delta,
            gram,
            measured,
            counts,
            gamma,
            vectors,
            along,
            ridge,
            rank,
            slices,
            weights,
            challengers,
            singles,
            pairs,
        };
        batch.rank = batch.best_rank();
        batch.slices = batch.slices();
        batch.challengers = batch.ranked(lower);
        batch.singles = (0..CANDIDATES).map(|i| batch.functional(&batch.weights[0][i], &[(i, 1.0)])).collect();
        batch.pairs = (0..CANDIDATES).map(|i| batch.challengers.iter().map(|&(j, factor)| batch.pair(i, j, factor)).collect()).collect();
        batch
    }

    /// All candidates of the list are challengers; those with larger lower bounds have more of δ, in proportion to 1, 1/2, 1/3, …
    fn ranked(&self, lower: &[f64]) -> Vec<(usize, f64)> {
        let mut order = self.measured.list.clone();
        let is_first = lower.iter().all(|l| *l == f64::NEG_INFINITY);
        let weight = |rank: usize| if is_first { 1.0 } else { 1.0 / (1.0 + rank as f64) };
        if is_first {
            order.retain(|c| self.measured.chosen.contains(c));
        } else {
            order.sort_by(|&a, &b| lower[b].total_cmp(&lower[a]).then(a.cmp(&b)));
        }
        let total: f64 = (0..order.len()).map(weight).sum();
        order.into_iter().enumerate().map(|(rank, c)| (c, z(total / (weight(rank) * PAIRS), self.delta))).collect()
    }

    fn functional(&self, v: &[f64], at: &[(usize, f64)]) -> Functional {
        let mut a = vec![0.0; CANDIDATES];
        self.measured.chosen.iter().zip(v).for_each(|(&i, v)| a[i] -= v);
        at.iter().for_each(|&(i, sign)| a[i] += sign);
        let image: Vec<f64> = self.gram.iter().map(|row| row.iter().zip(&a).map(|(k, a)| k * a).sum()).collect();
        let coordinate = |(u, g): (&Vec<f64>, &f64)| {
            if *g > 1e-12 { (0..CANDIDATES).map(|i| u[i] * self.counts[i].sqrt() * image[i]).sum::<f64>() / g.sqrt() } else { 0.0 }
        };
        let coordinates: Vec<f64> = self.vectors.iter().zip(&self.gamma).map(coordinate).collect();
        let square = a.iter().zip(&image).map(|(a, k)| a * k).sum::<f64>().max(0.0);
        Functional {
            mean: v.iter().zip(&self.measured.values).map(|(v, y)| v * y).sum(),
            noise: self.level * v.iter().map(|v| v * v).sum::<f64>().sqrt(),
            outside: (square - coordinates.iter().map(|x| x * x).sum::<f64>()).max(0.0),
            coordinates,
            norm: square.sqrt(),
        }
    }

    /// Under the ridge that promises most before the noise.
    fn pair(&self, i: usize, j: usize, factor: f64) -> Functional {
        let of = |weights: &Vec<Vec<f64>>| {
            let v: Vec<f64> = weights[i].iter().zip(&weights[j]).map(|(a, b)| a - b).collect();
            self.functional(&v, &[(i, 1.0), (j, -1.0)])
        };
        let promised = |f: &Functional| self.planned * f.norm + factor * f.noise;
        let all: Vec<Functional> = self.weights.iter().map(of).collect();
        all.into_iter().reduce(|best, other| if promised(&other) < promised(&best) { other } else { best }).unwrap()
    }

    fn radius2(&self, rank: usize, scale: f64) -> f64 {
        let (t, rank) = ((1.0 / (ELLIPSOID * self.delta)).ln(), rank as f64);
        (scale * self.level).powi(2) * (rank + 2.0 * (rank * t).sqrt() + 2.0 * t)
    }

    /// What the responses say along the kept directions under s²: yᵀ(κ+s²)⁻¹y.
    fn fitted(&self, s2: f64) -> f64 {
        (0..self.rank).map(|k| self.along[k].powi(2) / (self.gamma[k] + s2)).sum()
    }

    /// The seven values of s² under which a pair is bounded: of 25 around Γ/C the one that makes functionals like those of the design smallest under the plan's premises, and
    /// those one, three and five steps beside it.
    fn slices(&self) -> Vec<f64> {
        let (gamma2, c2, ridge2) = (self.radius2(self.rank, 1.0), self.planned.powi(2), self.ridge.powi(2));
        let grid: Vec<f64> = (0..25).map(|i| gamma2 / c2 * 100.0_f64.powf(2.0 * (f64::from(i) / 12.0 - 1.0))).collect();
        let profile = |k: usize| self.gamma[k] * (ridge2 / (self.gamma[k] + ridge2)).powi(2);
        let size = |s2: f64| {
            let shrunk = |k: usize| if k < self.rank { 1.0 / (1.0 + self.gamma[k] / s2) } else { 1.0 };
            (c2 + gamma2 / s2 - self.fitted(s2)).max(0.0) * (0..CANDIDATES).map(|k| profile(k) * shrunk(k)).sum::<f64>()
        };
        let best = (0..25).min_by(|&a, &b| size(grid[a]).total_cmp(&size(grid[b]))).unwrap();
        [-5_isize, -3, -1, 0, 1, 3, 5].iter().map(|&step| grid[best.saturating_add_signed(step).min(24)]).collect()
    }

    /// The largest ⟨f, r⟩ of a function of norm C at most whose distance to the responses in the kept directions is Γ at most, as the slices have it: c of the norm lies outside of
    /// the directions, and what it adds is concave in c.
    fn largest(&self, f: &Functional, (c, scale): (f64, f64)) -> f64 {
        let gamma2 = self.radius2(self.rank, scale);
        let bound = |s2: f64| {
            let kept = |k: usize| if k < self.rank { self.gamma[k] } else { 0.0 };
            let centre: f64 = f.coordinates.iter().enumerate().map(|(k, x)| kept(k).sqrt() * self.along[k] / (kept(k) + s2) * x).sum();
            let inside: f64 = f.coordinates.iter().enumerate().map(|(k, x)| x * x * s2 / (kept(k) + s2)).sum();
            let (radius2, outside) = (c * c + gamma2 / s2 - self.fitted(s2), f.outside.sqrt());
            let both = (inside + f.outside).sqrt();
            if radius2.max(0.0).sqrt() * outside <= c * both {
                return centre + radius2.max(0.0).sqrt() * both;
            }
            centre + (radius2 - c * c).max(0.0).sqrt() * inside.sqrt() + c * outside
        };
        self.slices.iter().map(|&s2| bound(s2)).fold(c * f.norm, f64::min)
    }

    /// How many directions are kept: those with which functionals of mean square γ(τ²/(γ+τ²))² along each have the smallest mean square of all, before any response.
    fn best_rank(&self) -> usize {
        let (c2, ridge2) = (self.planned.powi(2), self.ridge.powi(2));
        let size = |rank: usize, s2: f64| {
            let kept = |k: usize| if k < rank { self.gamma[k] } else { 0.0 };
            let spread: f64 =
                (0..CANDIDATES).map(|k| self.gamma[k] * (ridge2 / (self.gamma[k] + ridge2)).powi(2) * s2 / (kept(k) + s2)).sum();
            (c2 + self.radius2(rank, 1.0) / s2) * spread
        };
        let grid = (0..25).map(|i| self.radius2(1, 1.0) / c2 * 100.0_f64.powf(2.0 * (f64::from(i) / 12.0 - 1.0)));
        let kept = self.gamma.iter().filter(|g| **g > 1e-12).count();
        let all = grid.flat_map(|s2| (1..=kept).map(move |rank| (rank, s2)));
        all.min_by(|a, b| size(a.0, a.1).total_cmp(&size(b.0, b.1))).unwrap().0
    }

    /// Upper and lower end at a candidate under C and noise `scale` times as large.
    fn ends(&self, i: usize, (c, scale): (f64, f64)) -> (f64, f64) {
        let (f, events) = (&self.singles[i], self.measured.list.len() as f64);
        let above = c * f.norm + z(1.0 / SINGLES, self.delta) * scale * f.noise;
        (f.mean + above, f.mean - c * f.norm - z(events / SINGLES, self.delta) * scale * f.noise)
    }
}

/// A whole run.
struct Dense {
    known: Known,
    batches: Vec<Batch>,
    recommended: usize,
}

impl Dense {
    fn new(known: Known, factor: f64, planned_batches: i32, seen: Vec<Measured>, recommended: usize) -> Self {
        let planned = factor * known.norm;
        let mut lower = vec![f64::NEG_INFINITY; CANDIDATES];
        let mut batches: Vec<Batch> = Vec::new();
        for (b, measured) in seen.into_iter().enumerate() {
            // Half as much of δ as the batch before.
            let delta = DELTA * 0.5_f64.powi(b as i32 + 1) / (1.0 - 0.5_f64.powi(planned_batches));
            let batch = Batch::new(&known, (planned, delta), measured, &lower);
            for &i in &batch.measured.list {
                lower[i] = lower[i].max(batch.ends(i, (planned, 1.0)).1);
            }
            batches.push(batch);
        }
        Self { known, batches, recommended }
    }

    /// How far the recommended candidate can be from the best under C and noise so many times as large.
    fn gap(&self, at: (f64, f64)) -> f64 {
        let mut left: Vec<usize> = (0..CANDIDATES).collect();
        let mut upper = [f64::INFINITY; CANDIDATES];
        let (mut floor, mut lower, mut gap) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 2.0 * at.0);
        for batch in &self.batches {
            left.iter().for_each(|&i| upper[i] = upper[i].min(batch.ends(i, at).0));
            for &i in &batch.measured.list {
                let low = batch.ends(i, at).1;
                floor = floor.max(low);
                lower = if i == self.recommended { lower.max(low) } else { lower };
            }
            let difference = |i: usize, p: usize| {
                let (f, factor) = (&batch.pairs[i][p], batch.challengers[p].1);
                f.mean + batch.largest(f, at) + factor * at.1 * f.noise
            };
            let beaten = |i: usize| (0..batch.challengers.len()).any(|p| batch.challengers[p].0 != i && difference(i, p) < 0.0);
            left.retain(|&i| upper[i] >= floor && !beaten(i));
            let ceiling = left.iter().map(|&i| upper[i]).fold(f64::NEG_INFINITY, f64::max);
            gap = gap.min(ceiling - lower);
            if let Some(p) = batch.challengers.iter().position(|c| c.0 == self.recommended) {
                let pairs = left.iter().map(|&i| if i == self.recommended { 0.0 } else { difference(i, p) });
                gap = gap.min(pairs.fold(0.0, f64::max));
            }
        }
        gap
    }
}

/// A run over twelve candidates in batches of these lengths, and its range; none where dense formulas do not apply: a first batch that leaves candidates out, fewer inducing
/// points than were measured, an end that lies where nothing is looked for.
fn dense(i: u64, lengths: &[usize], factor: f64) -> Option<(Dense, Range, Strategy)> {
    let kernel = if i.is_multiple_of(2) { Kernel::matern(0.5, 0.3, 1.0) } else { Kernel::matern(1.5, 0.2, 1.0) }.unwrap();
    let known = Known::random(kernel, 1 + i as usize % 2, CANDIDATES, 1.5, 0.1, 600 + i);
    let policy = Sbpe::default().with_schedule(Schedule::Lengths(lengths.to_vec()));
    let finished = |problem: Problem| {
        let mut run = Strategy::new(problem, planned(policy.clone(), factor)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(i);
        let (mut seen, mut list) = (Vec::new(), (0..CANDIDATES).collect::<Vec<_>>());
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            let mut measured = Measured { list, chosen: Vec::new(), values: Vec::new() };
            for trial in trials {
                let c = trial.candidate.unwrap();
                measured.chosen.push(c);
                measured.values.push(known.values[c] + Drawn::Uniform.draw(known.level, &mut rng));
                run.tell(trial.id, Outcome::Value(measured.values[measured.values.len() - 1])).unwrap();
            }
            list = run.survivors().unwrap()?.candidates()?.to_vec();
            seen.push(measured);
        }
        Some((run, seen))
    };
    let problem = || known.problem(lengths.iter().sum(), Drawn::Rademacher, i);
    // The same run, wanted to be a tenth worse than it is: that claim breaks not far away.
    let gap = finished(problem())?.0.recommend().unwrap().map(|advice| advice.gap).filter(|gap| *gap > 0.0)?;
    let (run, seen) = finished(problem().with_wanted_gap(1.1 * gap).unwrap())?;
    let distinct = |measured: &Measured| (0..CANDIDATES).filter(|c| measured.chosen.contains(c)).count();
    let is_dense =
        run.batches().unwrap().iter().zip(&seen).all(|(report, measured)| report.inducing.is_none_or(|m| m >= distinct(measured)));
    if distinct(&seen[0]) < CANDIDATES || !is_dense || seen.len() < lengths.len() {
        return None;
    }
    let advice = run.recommend_with_range().unwrap().unwrap();
    let range = advice.certificate.range?;
    Some((Dense::new(known, factor, lengths.len() as i32, seen, advice.candidate?), range, run))
}

/// Whether the ends of norm and noise of one run lie inside what is looked for; where they do, the dense formulas keep the claim just below and lose it just above.
fn ends(i: u64, lengths: &[usize], factor: f64) -> Option<[bool; 2]> {
    let (dense, range, run) = dense(i, lengths, factor)?;
    let (judged, norm) = (range.gap?, dense.known.norm);
    let end = |away: f64, at: &dyn Fn(f64) -> (f64, f64)| {
        for factor in [1.0, 0.5 * (1.0 + away), away, 1.02 * away] {
            let ((c, scale), literal) = (at(factor), dense.gap(at(factor)));
            let gap = run.gap_under(c, scale).unwrap().unwrap();
            assert!((gap / literal - 1.0).abs() < EXACT, "run {i} at {c}, {scale}: {gap} for {literal}");
        }
        let is_inside = away > 1.001 && away < 7.9;
        if is_inside {
            // Ends are found to within one step of 289 on the way to eight times what was declared.
            assert!(dense.gap(at((1.0 - EXACT) * away)) <= judged, "run {i}: just below it stands");
            assert!(dense.gap(at(1.01 * away)) > judged, "run {i}: just above it is lost");
        }
        is_inside
    };
    let by_norm = end(range.norm_breakdown? / norm, &|factor| (factor * norm, 1.0));
    let by_noise = end(range.noise_breakdown? / dense.known.level, &|factor| (norm, factor));
    Some([by_norm, by_noise])
}

/// Literally: the weights, the directions and the slices of the ellipsoid by their formulas, everything judged again under each premise.
#[test]
fn the_breakdown_points_are_those_of_the_dense_formulas() {
    let mut inside = [0, 0];
    let plans: [(u64, &[usize], f64); 4] =
        [(80, &[16], 1.0), (100, &[16, 12], 1.0), (100, &[16, 12], PLAN_FACTOR), (60, &[16, 10, 10], PLAN_FACTOR)];
    for (problems, lengths, factor) in plans {
        let found: Vec<[bool; 2]> = (0..problems).into_par_iter().filter_map(|i| ends(i, lengths, factor)).collect();
        println!("batches of {lengths:?}, plans by {factor}: {} runs", found.len());
        inside.iter_mut().enumerate().for_each(|(k, inside)| *inside += found.iter().filter(|ends| ends[k]).count());
    }
    println!("by norm and by noise {inside:?} break inside");
    assert!(inside.iter().all(|&count| count >= 100), "{inside:?}");
}
