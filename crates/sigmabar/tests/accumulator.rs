//! Sums over rows: the same bits whoever adds them, never a row twice, and certificates that hold without rows.

use crate::oracle;

use oracle::{Draws, close};
use sigmabar::accumulator::{Accumulator, Digest, Picked, Plan, Road, RowPlace, RowSample, SumsError};
use sigmabar::certificate::{Coverage, Method, ResidualNormMethod};
use sigmabar::linalg::Matrix;
use sigmabar::sealed::{self, SavedError};
use sigmabar::{Claim, Collected, Error, Expansion, FeatureMap, Kernel, Noise, Observations, Origin, Points, Posterior, Prior, Sourced};
use std::sync::Arc;

/// Rows in chunks of uneven length.
struct Data {
    chunks: Vec<(Vec<f64>, Vec<f64>)>,
    inducing: Points,
    kernel: Kernel,
}

const DIM: usize = 2;

impl Data {
    fn new(seed: u64, sizes: &[usize], m: usize) -> Self {
        let mut draws = Draws::new(seed);
        let kernel = Kernel::matern(2.5, 0.5, 1.3).unwrap();
        let chunks = sizes.iter().map(|&n| {
            let x: Vec<f64> = draws.points(n.max(1), DIM).concat()[..n * DIM].to_vec();
            let y = x.chunks(DIM).map(|p| 40.0 + (3.0 * p[0]).sin() + p[1] + 0.1 * draws.normal()).collect();
            (x, y)
        });
        let chunks = chunks.collect();
        Self { chunks, inducing: Points::from_rows(&draws.points(m, DIM)).unwrap(), kernel }
    }

    fn plan(&self, tau: f64) -> Plan {
        let rows = self.chunks.iter().map(|(_, y)| Some(y.len() as u64)).collect();
        Plan::new(self.kernel.clone(), self.inducing.clone(), tau, rows).unwrap().centre(40.0).unwrap()
    }

    fn leaf(&self, plan: &Plan, chunk: usize, batch: usize) -> Accumulator {
        let (x, y) = &self.chunks[chunk];
        let mut leaf = plan.leaf(chunk as u64).unwrap();
        for (x, y) in x.chunks(batch * DIM).zip(y.chunks(batch)) {
            leaf.add(x, y).unwrap();
        }
        leaf.finish().unwrap()
    }

    /// Merged in a random order and a random grouping, through bytes.
    fn merged(&self, plan: &Plan, seed: u64) -> Accumulator {
        let mut draws = Draws::new(seed);
        let batch = 1 + draws.below(3000);
        let mut parts: Vec<Accumulator> = (0..self.chunks.len()).map(|chunk| self.leaf(plan, chunk, batch)).collect();
        while parts.len() > 1 {
            let other = parts.swap_remove(draws.below(parts.len()));
            let into = draws.below(parts.len());
            parts[into].merge(Accumulator::from_bytes(plan, &other.to_bytes()).unwrap()).unwrap();
        }
        parts.remove(0)
    }

    fn rows(&self) -> (Vec<f64>, Vec<f64>) {
        let (x, y): (Vec<Vec<f64>>, Vec<Vec<f64>>) = self.chunks.iter().cloned().unzip();
        (x.concat(), y.concat())
    }
}

#[test]
fn whoever_adds_the_bits_are_the_same() {
    let data = Data::new(1, &[1500, 1, 0, 1024, 700, 2100, 33], 40);
    for road in [Road::Gram, Road::Orthogonal] {
        let plan = data.plan(0.1).road(road);
        let one = Posterior::from_sums(&plan, &data.merged(&plan, 0)).unwrap().to_bytes();
        for seed in 1..6 {
            assert!(Posterior::from_sums(&plan, &data.merged(&plan, seed)).unwrap().to_bytes() == one, "{road:?}, seed {seed}");
        }
        // The promise rests on the fixed tree: the same chunks added in another order give other bits.
        let mut other = Data::new(1, &[1500, 1, 0, 1024, 700, 2100, 33], 40);
        other.chunks.rotate_left(3);
        let plan = other.plan(0.1).road(road);
        assert!(Posterior::from_sums(&plan, &other.merged(&plan, 0)).unwrap().to_bytes() != one);
    }
}

#[test]
fn sums_make_the_model_that_the_rows_make() {
    let data = Data::new(2, &[300, 450, 250], 35);
    let (x, y) = data.rows();
    let queries = Points::from_rows(&Draws::new(3).points(20, DIM)).unwrap();
    let features = Arc::new(FeatureMap::new(data.kernel.clone(), data.inducing.clone()).unwrap());
    for (tau, road) in [(0.1, Road::Gram), (0.1, Road::Orthogonal), (1e-5, Road::Orthogonal)] {
        for prior in [None, Some(Prior::declared(41.0, 2.5).unwrap())] {
            let mut plan = data.plan(tau).road(road);
            (plan.prior, plan.collected) = (prior, Collected::DeclaredFixed);
            let sums = data.merged(&plan, 5);
            let summed = Posterior::from_sums(&plan, &sums).unwrap();
            let prior = prior.unwrap_or_else(|| Prior::learnt(&y).unwrap());
            let observations = Observations::new(Points::new(x.clone(), DIM).unwrap(), &y, Collected::DeclaredFixed, prior).unwrap();
            let fitted = Posterior::fit(Arc::clone(&features), tau, observations).unwrap();
            let ((a, s), (b, t)) = (summed.predict(queries.view()).unwrap(), fitted.predict(queries.view()).unwrap());
            let share = if tau < 0.01 { 1e-3 } else { 1e-8 };
            for i in 0..a.len() {
                close(a[i], b[i], share, "mean");
                close(s[i], t[i], share, "std");
            }
            assert_eq!((sums.rows(), summed.information().len()), (1000, 1000));
            close(summed.information().residual_trace(), fitted.information().residual_trace(), 1e-6, "tr D");
            close(summed.prior().mean(), prior.mean(), 1e-12, "learnt mean");
            if tau > 0.01 {
                close(summed.elbo(), fitted.elbo(), 1e-9, "elbo");
                // The bound on λ from sums is a bound, and hardly larger than the one that sees every row.
                let (own, full) =
                    [&summed, &fitted].map(|p| p.information().residual_norm(ResidualNormMethod::Trace).unwrap().value).into();
                let plain = summed.information().residual_trace();
                assert!(own >= plain && own <= full * (1.0 + 1e-6) + 1e-9, "{own:e} {full:e}");
            }
        }
    }
}

/// Literal sums: plain loops over ψ = L⁻¹k_Z(x).
#[test]
fn worst_rows_and_traces_are_what_loops_find() {
    let data = Data::new(4, &[200, 90], 12);
    let plan = data.plan(0.2).worst(7);
    let sums = data.merged(&plan, 1);
    let features = plan.features();
    let mut all: Vec<(f64, RowPlace)> = Vec::new();
    for (chunk, (x, _)) in data.chunks.iter().enumerate() {
        for (row, point) in x.chunks(DIM).enumerate() {
            let psi = features.features(Points::new(point.to_vec(), DIM).unwrap().view()).unwrap();
            let explained: f64 = psi.as_slice().iter().map(|v| v * v).sum();
            all.push((data.kernel.value(point, point) - explained, RowPlace { chunk: chunk as u64, row: row as u64 }));
        }
    }
    close(sums.residual_trace(), all.iter().map(|(s, _)| s).sum(), 1e-9, "tr D");
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst = sums.worst();
    assert_eq!(worst.len(), 7);
    for (found, (residual, place)) in worst.iter().zip(&all) {
        close(found.residual, *residual, 1e-9, "residual");
        assert_eq!(found.place, *place);
    }
    // They are the next inducing points: tr D falls, by what the extended plan says at least.
    let extended = plan.extended(&sums, usize::MAX).unwrap();
    assert!((1..=7).contains(&extended.added));
    let again = data.merged(&extended.plan, 1);
    assert!(again.residual_trace() < 0.9 * sums.residual_trace());
    assert!(again.mean_residual() <= extended.mean_residual * (1.0 + 1e-9), "{} {}", again.mean_residual(), extended.mean_residual);
    let capped = plan.extended(&sums, 14).unwrap();
    assert_eq!((capped.added, capped.plan.inducing().len()), (2, 14));
    assert_eq!(capped.plan.inducing().row(12), worst[0].point, "the worst comes first");
    // Nothing left, other sums, as many as were asked for.
    let explained = plan.extended(&sums, 12).unwrap_err().to_string();
    assert_eq!(explained, "the plan cannot be extended: it has 12 inducing points, and at most 12 were asked for");
    assert_eq!(extended.plan.extended(&sums, usize::MAX).err(), Some(Error::Sums(SumsError::Other { what: "inducing points" })));
    let known = Plan::new(data.kernel.clone(), Points::new(data.rows().0, DIM).unwrap(), 0.2, plan.chunks().to_vec())
        .unwrap()
        .centre(40.0)
        .unwrap();
    let refused = known.extended(&data.merged(&known, 1), usize::MAX).map(drop).unwrap_err().to_string();
    assert!(refused.contains("inducing points do not explain already"), "{refused}");
}

#[test]
fn what_would_count_twice_or_not_at_all_is_refused_by_name() {
    let data = Data::new(5, &[50, 60, 70], 8);
    let plan = data.plan(0.1);
    let said = |result: sigmabar::Result<()>| result.unwrap_err().to_string();
    let mut sums = data.leaf(&plan, 0, 9);
    sums.merge(data.leaf(&plan, 1, 50)).unwrap();
    // Also inside a subtree that was added up already.
    for chunk in [0, 1] {
        assert_eq!(said(sums.merge(data.leaf(&plan, chunk, 1))), format!("chunk {chunk} is in both: it would be counted twice"));
    }
    assert_eq!((sums.rows(), sums.uncovered(), sums.covered()), (110, vec![2], vec![(0, 2)]), "refusing changes nothing");
    assert_eq!(said(Posterior::from_sums(&plan, &sums).map(drop)), "chunk 2 is missing: sum it and merge again");
    let other = Data { kernel: Kernel::matern(2.5, 0.6, 1.3).unwrap(), ..Data::new(5, &[50, 60, 70], 8) };
    assert!(said(sums.merge(other.leaf(&other.plan(0.1), 2, 70))).contains("another kernel"));
    let other = Data { inducing: Points::from_rows(&Draws::new(9).points(8, DIM)).unwrap(), ..Data::new(5, &[50, 60, 70], 8) };
    assert!(said(sums.merge(other.leaf(&other.plan(0.1), 2, 70))).contains("another inducing points"));
    for plan in [data.plan(0.1).data("other.parquet"), data.plan(0.1).centre(1.0).unwrap(), data.plan(0.1).drop_missing(true)] {
        assert!(said(sums.merge(data.leaf(&plan, 2, 70))).contains("another data"));
    }
    // Sums that rest on something else are not added: whose premises would the whole have?
    let changed = |change: &dyn Fn(&mut Plan)| {
        let mut plan = data.plan(0.1);
        change(&mut plan);
        plan
    };
    let learnt = Sourced::new(data.kernel.clone(), Origin::LearntHere);
    let rows = data.plan(0.1).chunks().to_vec();
    for other in [
        changed(&|plan| plan.ridge = 0.3.into()),
        changed(&|plan| plan.ridge.origin = Origin::LearntHere),
        changed(&|plan| plan.prior = Some(Prior::ZERO)),
        changed(&|plan| plan.collected = Collected::DeclaredFixed),
        changed(&|plan| plan.distinct_rows = true),
        Plan::new(learnt, data.inducing.clone(), 0.1, rows).unwrap().centre(40.0).unwrap(),
    ] {
        assert!(said(sums.merge(data.leaf(&other, 2, 70))).contains("another ridge or prior, another way of choosing points"));
        assert!(said(Accumulator::from_bytes(&other, &sums.to_bytes()).map(drop)).contains("another ridge or prior"));
    }
    // But they leave ridge and prior open to whoever makes the model.
    sums.merge(data.leaf(&plan, 2, 70)).unwrap();
    let open = changed(&|plan| (plan.ridge, plan.prior) = (0.3.into(), Some(Prior::ZERO)));
    assert_eq!(Posterior::from_sums(&open, &sums).unwrap().information().ridge(), 0.3);

    let mut short = plan.leaf(1).unwrap();
    short.add(&[0.0; 4], &[1.0; 2]).unwrap();
    assert_eq!(short.finish().err(), Some(Error::Sums(SumsError::Rows { chunk: 1, expected: 60, found: 2 })));
    assert_eq!(plan.leaf(3).err(), Some(Error::Sums(SumsError::NoChunk { chunk: 3, chunks: 3 })));
    let mut odd = plan.leaf(1).unwrap();
    let refused = odd.add(&[0.0, 1.0, f64::NAN, 1.0], &[1.0; 2]).unwrap_err().to_string();
    assert!(refused.starts_with("chunk 1 has the value NaN in row 1, column 0"), "{refused}");
}

/// A plan that knows its rows sums those and no others: not in another order, which would put rows that were learnt on into the claim, and not other values.
#[test]
fn rows_that_changed_after_the_plan_are_refused() {
    let data = Data::new(12, &[50, 60], 8);
    let digest = |(x, y): &(Vec<f64>, Vec<f64>)| {
        let mut digest = Digest::default();
        x.chunks(DIM).zip(y).for_each(|(x, y)| digest.add(x, *y));
        digest
    };
    let plan = data.plan(0.1).digests(data.chunks.iter().map(digest).collect()).unwrap();
    let (plan, _) = Plan::from_bytes_with(&plan.to_bytes_with("")).map(|(plan, remark)| (plan, remark.to_owned())).unwrap();
    assert_eq!(data.merged(&plan, 1).rows(), 110);
    let summed = |x: &[f64], y: &[f64]| {
        let mut leaf = plan.leaf(1).unwrap();
        leaf.add(x, y).unwrap();
        leaf.finish().map(drop)
    };
    let (x, y) = data.chunks[1].clone();
    summed(&x, &y).unwrap();
    let changed = Err(Error::Sums(SumsError::Changed { chunk: 1 }));
    let turned: Vec<f64> = x.chunks(DIM).rev().flatten().copied().collect();
    assert_eq!(summed(&turned, &y.iter().rev().copied().collect::<Vec<_>>()), changed, "another order");
    assert_eq!(summed(&x, &y.iter().map(|y| y + 100.0).collect::<Vec<_>>()), changed, "other values");
    assert_eq!(summed(&x[DIM..], &y[1..]), Err(Error::Sums(SumsError::Rows { chunk: 1, expected: 60, found: 59 })));
    assert!(data.plan(0.1).digests(vec![Digest::default()]).is_err(), "one for each chunk");
}

#[test]
fn torn_files_of_sums_and_plans_are_refused() {
    let data = Data::new(6, &[50, 60], 8);
    let plan = data.plan(0.1);
    let bytes = data.leaf(&plan, 1, 60).to_bytes();
    assert_eq!(Accumulator::from_bytes(&plan, &bytes).unwrap().covered(), [(1, 2)]);
    for cut in [0, 63, 64, bytes.len() / 2, bytes.len() - 1] {
        assert!(matches!(Accumulator::from_bytes(&plan, &bytes[..cut]), Err(Error::Saved(_))), "cut to {cut}");
    }
    let other = Data { kernel: Kernel::matern(1.5, 0.5, 1.3).unwrap(), ..Data::new(6, &[50, 60], 8) };
    let foreign = Accumulator::from_bytes(&other.plan(0.1), &bytes).err();
    assert_eq!(foreign, Some(Error::Sums(SumsError::Other { what: "kernel" })));
    // A right checksum over a wrong content: a node that stands nowhere in the tree.
    let mut content = sealed::open(sealed::Kind::Sums, &bytes).unwrap().content.to_vec();
    let at = content.len() - 1;
    content.truncate(at);
    let torn = sealed::seal(sealed::Kind::Sums, "", &content);
    assert!(matches!(Accumulator::from_bytes(&plan, &torn), Err(Error::Saved(SavedError::Content { .. }))));
    let written = plan.to_bytes_with("{}");
    let (read, remark) = Plan::from_bytes_with(&written).unwrap();
    assert_eq!((remark, read.to_bytes_with("{}") == written), ("{}", true));
    let mut sums = data.leaf(&plan, 0, 50);
    sums.merge(data.leaf(&read, 1, 60)).unwrap();
    assert!(Plan::from_bytes_with(&written[..100]).is_err());
}

#[test]
fn missing_rows_are_dropped_and_counted_where_that_was_asked_for() {
    let mut data = Data::new(7, &[40, 30], 8);
    let clean = data.plan(0.1);
    let expected = Posterior::from_sums(&clean, &data.merged(&clean, 1)).unwrap();
    let (x, y) = &mut data.chunks[1];
    x.splice(20..20, [0.5, f64::NAN]);
    y.insert(10, 3.0);
    let plan = data.plan(0.1).drop_missing(true);
    let sums = data.merged(&plan, 1);
    assert_eq!((sums.rows(), sums.missing_rows()), (70, 1));
    assert!(Posterior::from_sums(&plan, &sums).unwrap().to_bytes() == expected.to_bytes());
    // A missing response may be missing because of its value: the same predictions, and no claim.
    let (x, y) = &mut data.chunks[1];
    x.extend([0.1, 0.2]);
    y.push(f64::NAN);
    let plan = data.plan(0.1).drop_missing(true);
    let sums = data.merged(&plan, 1);
    let (lost, at) = (Posterior::from_sums(&plan, &sums).unwrap(), Points::new(vec![0.3, 0.6], DIM).unwrap());
    assert_eq!((sums.rows(), sums.missing_rows()), (70, 2));
    assert_eq!(lost.mean(at.view()).unwrap(), expected.mean(at.view()).unwrap());
    let claim = Claim::new(0.1).unwrap().norm_bound(3.0).unwrap().noise(Noise::gaussian(0.1).unwrap());
    let losses = lost.interval(at.view(), &claim).unwrap().certificate().premises.losses;
    assert_eq!((losses.value, losses.origin), (1, Origin::Unmet));
}

#[test]
fn a_sample_by_hash_is_the_same_whoever_draws_it_and_can_be_left_out() {
    let data = Data::new(8, &[400, 300, 500], 8);
    let held = Picked::share(3, 0.2).unwrap();
    let draw = |order: &[usize]| {
        let mut parts: Vec<RowSample> = Vec::new();
        for &chunk in order {
            let mut sample = RowSample::new(1, 100, DIM + 1, vec![held]);
            for (row, (x, y)) in data.chunks[chunk].0.chunks(DIM).zip(&data.chunks[chunk].1).enumerate() {
                sample.offer(RowPlace { chunk: chunk as u64, row: row as u64 }, &[x, &[*y]].concat()).unwrap();
            }
            parts.push(sample);
        }
        parts.into_iter().reduce(|mut a, b| {
            a.merge(b);
            a
        })
    };
    let (one, other) = (draw(&[0, 1, 2]).unwrap(), draw(&[2, 0, 1]).unwrap());
    let seen = one.seen();
    assert!((850..1070).contains(&seen), "a fifth is held out: {seen}");
    let ((x, y, picked), (_, again, _)) = (one.finish(), other.finish());
    assert_eq!((y.len(), x.len()), (100, 200));
    assert_eq!(y, again);
    let plan = data.plan(0.1).leave_out(held).leave_out(picked.unwrap());
    let sums = data.merged(&plan, 2);
    assert_eq!(sums.rows(), seen - 100, "exactly the rows that were sampled are left out");
    assert_eq!(sums.rows() + sums.left_out(), 1200);
}

/// A model that has lost its rows claims what it may, says what it may not, and survives its file.
#[test]
fn claims_without_rows() {
    let data = Data::new(9, &[700, 800], 10);
    let (x, y) = data.rows();
    let features = Arc::new(FeatureMap::new(data.kernel.clone(), data.inducing.clone()).unwrap());
    let prior = Prior::declared(40.0, 1.0).unwrap();
    let observations = Observations::new(Points::new(x, DIM).unwrap(), &y, Collected::DeclaredFixed, prior).unwrap();
    let full = Posterior::fit(features, 0.1, observations).unwrap();
    let kept = Posterior::from_bytes(&full.without_rows(64).unwrap().to_bytes()).unwrap();
    let mut plan = data.plan(0.1);
    (plan.prior, plan.collected) = (Some(prior), Collected::DeclaredFixed);
    let summed = Posterior::from_sums(&plan, &data.merged(&plan, 1)).unwrap();
    let queries = Points::from_rows(&Draws::new(3).points(9, DIM)).unwrap();
    let q = queries.view();
    assert_eq!(kept.predict(q).unwrap(), full.predict(q).unwrap());
    let claim = Claim::new(0.05).unwrap().norm_bound(3.0).unwrap().noise(Noise::gaussian(0.1).unwrap());
    let width = |p: &Posterior, claim: &Claim| -> f64 {
        let found = p.interval(q, claim).unwrap();
        assert!(found.certificate().label().to_string().contains("certified"), "{}", found.certificate());
        found.upper().iter().zip(found.lower()).map(|(u, l)| u - l).sum()
    };
    // 64 pivots kept for claims do what the rows would; without them the trace is wider, and nothing is narrower than with rows.
    let (with_rows, with_pivots, with_trace) = (width(&full, &claim), width(&kept, &claim), width(&summed, &claim));
    assert!(with_rows <= with_pivots * (1.0 + 1e-9) && with_pivots < 0.8 * with_trace, "{with_rows} {with_pivots} {with_trace}");
    for method in [Method::Dictionary, Method::Direct, Method::Energy, Method::Ellipsoid, Method::DropIn] {
        let claim = claim.clone().method(method);
        assert!((0.0..1e4).contains(&width(&kept, &claim)), "{method:?}");
    }
    let uniform = claim.clone().coverage(Coverage::Uniform);
    assert!(width(&summed, &uniform) >= width(&full, &uniform) * (1.0 - 1e-9));
    for posterior in [&kept, &summed] {
        for refused in [
            posterior.interval(q, &claim.clone().method(Method::WMatrix)).map(drop),
            posterior.information().residual_norm(ResidualNormMethod::Dense).map(drop),
            posterior.information().weights(q).map(drop),
            posterior.elbo_gradient().map(drop),
            posterior.clone().append_inducing(&[0.5, 0.5]).map(drop),
            posterior.observations().map(drop),
        ] {
            assert!(refused.unwrap_err().to_string().starts_with("every measured row is needed"));
        }
    }
    // Without a claim the model's own intervals are given.
    assert_eq!(kept.answers(&Claim::new(0.05).unwrap()).unwrap().at(q).unwrap().mean, full.predict(q).unwrap().0);
    // One more observation needs no rows.
    let (mut a, mut b) = (kept, full);
    [&mut a, &mut b].into_iter().for_each(|p| p.update_declared(&[0.3, 0.4], 41.0, Collected::DeclaredFixed).unwrap());
    assert_eq!(a.predict(q).unwrap(), b.predict(q).unwrap());
}

/// Miss rates of a model that comes from sums, against the function that hides most from its weights; and what a chunk counted eight times would do.
#[test]
fn certificates_of_sums_cover_and_counting_twice_would_not() {
    let (delta, norm, level, draws) = (0.1, 0.05, 0.5, 400);
    let data = Data::new(11, &[30, 25, 45], 60);
    let (x, _) = data.rows();
    let points = Points::new(x, DIM).unwrap();
    let query = Points::new(vec![0.45, 0.55], DIM).unwrap();
    let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(Noise::gaussian(level).unwrap()).method(Method::Direct);
    let features = Arc::new(FeatureMap::new(data.kernel.clone(), data.inducing.clone()).unwrap());
    let zeros = Observations::new(points.clone(), &[0.0; 100], Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let weights: Matrix = Posterior::fit(features, level, zeros).unwrap().information().weights(query.view()).unwrap();
    let mut centres = query.clone();
    points.view().rows().for_each(|row| centres.push(row).unwrap());
    let coefficients = [1.0].into_iter().chain(weights.row(0).iter().map(|v| -v)).collect();
    let f = Expansion::new(data.kernel.clone(), centres, coefficients).unwrap().with_norm(norm).unwrap();
    let (at_x, truth) = (f.values(points.view()).unwrap(), f.values(query.view()).unwrap()[0]);
    let miss = |copies: usize| {
        let mut random = Draws::new(21);
        let misses = (0..draws).filter(|_| {
            let y: Vec<f64> = at_x.iter().map(|v| v + level * random.normal()).collect();
            let sizes = [30, 25, 45];
            let rows = sizes.iter().cycle().take(3 * copies).map(|n| Some(*n as u64)).collect();
            let mut plan = Plan::new(data.kernel.clone(), data.inducing.clone(), level, rows).unwrap();
            (plan.prior, plan.collected) = (Some(Prior::ZERO), Collected::DeclaredFixed);
            let leaf = |chunk: usize| {
                let start: usize = sizes[..chunk % 3].iter().sum();
                let mut leaf = plan.leaf(chunk as u64).unwrap();
                let n = sizes[chunk % 3];
                leaf.add(&points.as_slice()[start * DIM..(start + n) * DIM], &y[start..start + n]).unwrap();
                leaf.finish().unwrap()
            };
            let mut sums = leaf(0);
            (1..3 * copies).for_each(|chunk| sums.merge(leaf(chunk)).unwrap());
            let found = Posterior::from_sums(&plan, &sums).unwrap().interval(query.view(), &claim).unwrap();
            truth < found.lower()[0] || truth > found.upper()[0]
        });
        misses.count() as f64 / f64::from(draws)
    };
    let (once, eight) = (miss(1), miss(8));
    assert!(once <= delta + 3.0 * (delta * (1.0 - delta) / f64::from(draws)).sqrt(), "{once}");
    assert!(eight > 2.0 * delta, "the same rows under other names deceive: {eight}");
}

/// A model that keeps sums only knows its rows all the same: one that comes again is no further measurement.
#[test]
fn rows_that_come_again_to_a_model_of_sums_are_copies() {
    let data = Data::new(23, &[60, 41], 12);
    let plan = data.plan(0.3);
    let (x, y) = data.rows();
    let fixed = Collected::DeclaredFixed;
    let summed = Posterior::from_bytes(&Posterior::from_sums(&plan, &data.merged(&plan, 1)).unwrap().to_bytes()).unwrap();
    let copies = |posterior: &Posterior| {
        let claim = Claim::new(0.1).unwrap().norm_bound(2.0).unwrap().noise(Noise::gaussian(0.3).unwrap());
        let found = posterior.interval(Points::from_rows(&[[0.3, 0.4]]).unwrap().view(), &claim).unwrap();
        found.certificate().premises.copies
    };
    assert_eq!(copies(&summed), Sourced::new(0, Origin::Guaranteed), "all of a small table are compared");
    let mut other = summed.clone();
    other.update_declared(&x[..DIM], y[0] + 0.01, fixed).unwrap();
    assert_eq!(copies(&other), Sourced::new(0, Origin::Guaranteed));
    let mut one = summed.clone();
    one.update_declared(&x[6..8], y[3], fixed).unwrap();
    assert_eq!(copies(&one), Sourced::new(1, Origin::Unmet));
    let mut all = summed;
    all.update_block(Points::new(x, DIM).unwrap().view(), &y, fixed).unwrap();
    assert_eq!(copies(&all), Sourced::new(101, Origin::Unmet));
}
