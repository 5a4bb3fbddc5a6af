//! Up to which norm a conclusion from an interval, or the error of a design, stands: against formulas in plain loops.

use crate::oracle;

use oracle::{Draws, close, exact, squared_exponential, worst_case};
use sigmabar::certificate::{Breakdown, Certificate, Followed, Method};
use sigmabar::design::MaxVariance;
use sigmabar::points::Locations;
use sigmabar::{Claim, Collected, FeatureMap, Information, Kernel, Label, Noise, Observations, Points, Posterior, Prior};
use std::sync::Arc;

const TAU: f64 = 0.1;
const LEVEL: f64 = 0.1;
const NORM: f64 = 1.5;
/// Two sides of what is left of δ = 0.05 after a twentieth of it found what the data exclude, for normal noise.
const Z: f64 = 1.981_814_553_506_451;

fn kernel() -> Kernel {
    // The oracle's.
    Kernel::squared_exponential(0.3, 1.0).unwrap()
}

fn claim(norm_bound: f64) -> Claim {
    Claim::new(0.05).unwrap().norm_bound(norm_bound).unwrap().noise(Noise::gaussian(LEVEL).unwrap())
}

/// A posterior of a sine through declared points, and queries on a grid.
fn fitted(seed: u64, height: f64) -> (Vec<Vec<f64>>, Vec<f64>, Posterior, Points) {
    let mut draws = Draws::new(seed);
    let x = draws.points(14, 1);
    let y: Vec<f64> = x.iter().map(|p| height * (5.0 * p[0]).sin() + LEVEL * draws.normal()).collect();
    let points = Points::from_rows(&x).unwrap();
    let features = Arc::new(FeatureMap::new(kernel(), points.clone()).unwrap());
    let observations = Observations::new(points, &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let queries = Points::on_line((0..12).map(|q| (f64::from(q) + 0.5) / 12.0).collect()).unwrap();
    (x, y, Posterior::fit(features, TAU, observations).unwrap(), queries)
}

/// Conclusions about each query by itself.
fn one_by_one(posterior: &Posterior, queries: &Points, claim: &Claim) -> Vec<Breakdown> {
    (0..queries.len()).map(|i| posterior.breakdown(queries.view().range(i, i + 1), claim, 0.3).unwrap()).collect()
}

/// The level at which an end crosses the threshold is a quotient too.
#[test]
fn a_conclusion_breaks_at_the_noise_that_it_says() {
    let mut found = 0;
    for seed in 30..50 {
        let (x, y, posterior, queries) = fitted(seed, 1.0);
        let stands = one_by_one(&posterior, &queries, &claim(NORM).method(Method::Direct));
        if stands[0].certificate.contradiction.is_some() {
            assert!(stands.iter().all(|stands| stands.levels == [None]));
            continue;
        }
        assert!(stands[0].certificate.label().is_certified());
        for (query, stands) in queries.view().rows().zip(stands.iter().map(|stands| stands.levels[0])) {
            let o = exact(squared_exponential, TAU, &x, &y, query);
            let noise = Z * o.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
            let literal = ((o.mean - 0.3).abs() - NORM * worst_case(squared_exponential, &x, &o.weights, query)) / noise;
            match stands {
                Some(level) if level < 7.9 * LEVEL => {
                    assert!((0.99 * literal / 1.04..=1.001 * literal).contains(&level), "seed {seed}: {level} for {literal}");
                    found += 1;
                }
                Some(_) => assert!(literal > 7.5 * LEVEL, "{literal}"),
                None => assert!(literal < 1.01 * LEVEL, "seed {seed}: {literal}"),
            }
        }
    }
    assert!(found >= 45, "{found}");
}

/// Each row of the curve is the interval under its own norm bound, with those of smaller bounds inside.
#[test]
fn the_curve_of_an_interval_is_the_interval_under_each_norm() {
    let (x, y, posterior, queries) = fitted(7, 3.0);
    let found = posterior.interval_curve(queries.view(), &claim(NORM).method(Method::Direct)).unwrap();
    let (curve, range) = (found.rows, found.certificate.range.unwrap());
    assert!(curve.iter().all(|row| row.ends.is_none() || row.norm_bound >= range.least_norm));
    assert!(curve.len() == 20 && curve[0].norm_bound < 0.3 * NORM && curve[19].norm_bound > 6.0 * NORM);
    let mut known = 0;
    for row in &curve {
        let Some(ends) = &row.ends else { continue };
        known += 1;
        for (query, (lower, upper)) in queries.view().rows().zip(ends) {
            let o = exact(squared_exponential, TAU, &x, &y, query);
            let noise = LEVEL * Z * o.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
            let half = row.norm_bound * worst_case(squared_exponential, &x, &o.weights, query) + noise;
            // |f| ≤ C√k(x,x) may cut an end off.
            assert!(*lower >= o.mean - half - 1e-4 && *upper <= o.mean + half + 1e-4, "{} at {query:?}", row.norm_bound);
            assert!((upper - lower - 2.0 * half).abs() < 1e-3 || upper.abs().max(lower.abs()) > row.norm_bound - 1e-3);
        }
    }
    assert!((1..20).contains(&known), "the data exclude small norms: {known}");
    let widths: Vec<f64> = curve.iter().filter_map(|row| row.ends.as_ref().map(|ends| ends[0].1 - ends[0].0)).collect();
    assert!(widths.windows(2).all(|w| w[0] <= w[1]) && curve.iter().skip_while(|row| row.ends.is_none()).all(|row| row.ends.is_some()));
}

/// Lower and upper at C are μ ∓ (C·b + R z ‖V‖): the C at which one of them crosses the threshold is a quotient.
#[test]
fn a_conclusion_breaks_where_the_printed_interval_crosses() {
    let mut draws = Draws::new(11);
    let mut found = 0;
    for problem in 0..20 {
        let x = draws.points(14, 1);
        let y: Vec<f64> = x.iter().map(|p| (5.0 * p[0]).sin() + LEVEL * draws.normal()).collect();
        let points = Points::from_rows(&x).unwrap();
        let features = Arc::new(FeatureMap::new(kernel(), points.clone()).unwrap());
        let observations = |collected| Observations::new(points.clone(), &y, collected, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(Arc::clone(&features), TAU, observations(Collected::DeclaredFixed)).unwrap();
        let queries: Vec<Vec<f64>> = (0..12).map(|q| vec![(f64::from(q) + 0.5) / 12.0]).collect();
        let (threshold, direct) = (0.3, claim(NORM).method(Method::Direct));
        let stands = one_by_one(&posterior, &Points::from_rows(&queries).unwrap(), &direct);
        if stands[0].certificate.contradiction.is_some() {
            assert!(stands.iter().all(|stands| stands.norms == [None]));
            continue;
        }
        for (query, stands) in queries.iter().zip(stands.iter().map(|stands| &stands.norms[0])) {
            let o = exact(squared_exponential, TAU, &x, &y, query);
            let noise = LEVEL * Z * o.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
            let bias = worst_case(squared_exponential, &x, &o.weights, query);
            let literal = ((o.mean - threshold).abs() - noise) / bias;
            match stands {
                // In steps of a twenty-fifth from below, up to eight times the bound; λ = 0 but for rounding.
                Some(norm) if *norm < 7.9 * NORM => {
                    assert!((0.99 * literal / 1.04..=1.001 * literal).contains(norm), "problem {problem}: {norm} for {literal}");
                    found += 1;
                }
                Some(_) => assert!(literal > 7.5 * NORM, "{literal}"),
                None => assert!(literal < 1.01 * NORM, "problem {problem}: {literal}"),
            }
        }
        // By the intervals themselves, for the narrowest ones and for points that nobody vouches for.
        for collected in [Collected::DeclaredFixed, Collected::Undeclared] {
            let posterior = Posterior::fit(Arc::clone(&features), TAU, observations(collected)).unwrap();
            let stands = one_by_one(&posterior, &Points::from_rows(&queries).unwrap(), &claim(NORM));
            let checked = posterior.norm_check(&claim(NORM).with_delta(0.05 / 20.0).unwrap()).unwrap();
            assert!(checked.contradicted == Some(false) && stands[0].certificate.range.unwrap().least_norm == checked.least_norm);
            for (query, stands) in queries.iter().zip(stands.iter().map(|stands| stands.norms[0])) {
                let excludes = |norm: f64| {
                    let left = claim(norm).with_delta(0.95 * 0.05).unwrap();
                    let ends = posterior.interval(Points::from_rows(&[query]).unwrap().view(), &left).unwrap();
                    ends.certificate().contradiction.is_none() && (ends.lower()[0] > threshold || ends.upper()[0] < threshold)
                };
                assert_eq!(stands.is_some(), excludes(NORM));
                if let Some(norm) = stands.filter(|norm| *norm < 7.9 * NORM) {
                    assert!(excludes(norm) && !excludes(1.04 * norm), "problem {problem}, {collected:?}: {norm}");
                }
            }
        }
    }
    assert!(found >= 45, "{found}");
    let one = Points::on_line(vec![0.2]).unwrap();
    let posterior = Posterior::fit(
        Arc::new(FeatureMap::new(kernel(), one.clone()).unwrap()),
        TAU,
        Observations::new(one.clone(), &[1.0], Collected::DeclaredFixed, Prior::ZERO).unwrap(),
    );
    assert!(posterior.unwrap().breakdown(one.view(), &claim(NORM), f64::NAN).is_err());
}

/// Premises that the data contradict conclude nothing: the widths alone would, since they know nothing of the responses.
#[test]
fn nothing_is_concluded_from_premises_that_the_data_contradict() {
    let (_, _, posterior, queries) = fitted(7, 3.0);
    let wrong = claim(0.4 * NORM).method(Method::Direct);
    let ends = posterior.interval(queries.view(), &wrong).unwrap();
    assert!(ends.certificate().contradiction.is_none() && ends.lower().iter().any(|low| *low > 0.3), "an interval alone does not look");
    let found = posterior.breakdown(queries.view(), &wrong, 0.3).unwrap();
    assert!(found.norms.iter().chain(&found.levels).all(Option::is_none), "{:?}", found.norms);
    assert!(found.certificate.contradiction.is_some() && !found.certificate.label().is_certified());
    assert!(found.certificate.range.unwrap().norm_breakdown.is_none() && found.certificate.stands().is_none());
    assert!(found.certificate.delta == 0.05 && found.certificate.spent.iter().map(|s| s.delta).sum::<f64>() <= 0.05 * (1.0 + 1e-12));
}

/// No function of norm 3 is above 3 anywhere: an interval that lies there refutes the norm, and nothing follows from it under that or any smaller one.
#[test]
fn nothing_is_concluded_beyond_the_reach_of_the_norm() {
    let mut refuted = 0;
    for seed in 0..20 {
        let mut draws = Draws::new(seed);
        let x: Vec<f64> = (0..40).map(|i| 0.49 + 0.0005 * f64::from(i)).collect();
        let y: Vec<f64> = x.iter().map(|_| 3.8 + draws.normal()).collect();
        let features = Arc::new(FeatureMap::new(kernel(), Points::on_line(vec![0.49, 0.5, 0.51]).unwrap()).unwrap());
        let observations = Observations::new(Points::on_line(x).unwrap(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(features, 1.0, observations).unwrap();
        let query = Points::on_line(vec![0.5]).unwrap();
        let claim = Claim::new(0.05).unwrap().norm_bound(3.0).unwrap().noise(Noise::gaussian(1.0).unwrap());
        let found = posterior.breakdown(query.view(), &claim, 3.0001).unwrap();
        assert_eq!((&found.norms[..], &found.levels[..]), (&[None][..], &[None][..]), "seed {seed}");
        let is_beyond = found.intervals.lower()[0] > 3.0001;
        assert!(!is_beyond || found.certificate.contradiction.is_some(), "seed {seed}");
        refuted += usize::from(is_beyond);
        for row in posterior.interval_curve(query.view(), &claim).unwrap().rows {
            assert!(row.ends.is_none_or(|ends| ends[0].0 <= 1.0001 * row.norm_bound), "seed {seed}: norm {}", row.norm_bound);
        }
    }
    assert!(refuted >= 10, "{refuted}");
}

/// What is concluded is in the certificate with where it breaks: under its own C† and R† every conclusion of the list still stands, and a little farther one is lost.
#[test]
fn the_certificate_of_a_conclusion_carries_where_it_breaks() {
    let (mut above, mut below, mut ends) = (0, 0, 0);
    for seed in 60..75 {
        let (.., posterior, queries) = fitted(seed, 1.0);
        let found = posterior.breakdown(queries.view(), &claim(NORM), 0.3).unwrap();
        let range = found.certificate.range.unwrap();
        let written: Certificate = serde_json::from_str(&serde_json::to_string(&found.certificate).unwrap()).unwrap();
        assert_eq!(written, found.certificate);
        let Followed::Side { threshold: 0.3, above: over, below: under } = range.of else { continue };
        (above, below) = (above + over, below + under);
        assert_eq!(over + under, found.norms.iter().flatten().count());
        let sides = |claim: Claim| {
            let claim = claim.with_delta(0.95 * 0.05 / queries.len() as f64).unwrap();
            let ends = posterior.interval(queries.view(), &claim).unwrap();
            let sides = ends.lower().iter().zip(ends.upper()).map(|(low, high)| (*low > 0.3, *high < 0.3));
            sides.zip(&found.norms).filter(|(_, norm)| norm.is_some()).map(|(side, _)| side).collect::<Vec<_>>()
        };
        let now = sides(claim(NORM));
        if let Some(norm) = range.norm_breakdown {
            assert!(sides(claim(norm)) == now && (range.norm_is_open || sides(claim(1.04 * norm)) != now), "seed {seed}: {norm}");
            let noisy = |level: f64| claim(NORM).noise(Noise::gaussian(level).unwrap());
            let level = range.noise_breakdown.unwrap();
            assert!(sides(noisy(level)) == now && (range.noise_is_open || sides(noisy(1.04 * level)) != now), "seed {seed}: {level}");
            assert!(found.certificate.stands().unwrap().contains(" for every function of norm up to "));
            ends += 1;
        }
    }
    assert!(above > 20 && below > 20 && ends >= 10, "{above}, {below}, {ends}");
}

/// "Below at all of these" is one sentence: intervals that hold at each point by itself make it false far more often than δ.
#[test]
fn conclusions_about_several_points_hold_at_all_of_them_at_once() {
    let (delta, runs, threshold, mut draws) = (0.1, 150, 0.5, Draws::new(91));
    // Far apart, so that each value is as good as free, with six measurements each.
    let places = Points::on_line((0..30).map(|i| 4.0 * f64::from(i)).collect()).unwrap();
    let x = Points::on_line((0..180).map(|i| 4.0 * f64::from(i / 6)).collect()).unwrap();
    let features = Arc::new(FeatureMap::new(kernel(), places.clone()).unwrap());
    let claim = Claim::new(delta).unwrap().norm_bound(threshold * 30_f64.sqrt()).unwrap().noise(Noise::gaussian(0.3).unwrap());
    let (mut together, mut by_themselves) = (0, 0);
    for _ in 0..runs {
        // The function is a hair below the threshold everywhere.
        let y: Vec<f64> = (0..180).map(|_| threshold - 1e-6 + 0.3 * draws.normal()).collect();
        let observations = Observations::new(x.clone(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(Arc::clone(&features), 0.3, observations).unwrap();
        let found = posterior.breakdown(places.view(), &claim, threshold).unwrap();
        if found.certificate.contradiction.is_some() {
            continue;
        }
        assert_eq!(found.certificate.label(), Label::Certified);
        let Followed::Side { above, .. } = found.certificate.range.unwrap().of else { panic!("a side") };
        together += usize::from(above > 0);
        let each = posterior.interval(places.view(), &claim.clone().with_delta(0.95 * delta).unwrap()).unwrap();
        by_themselves += usize::from(each.lower().iter().any(|lower| *lower > threshold));
    }
    let allowed = delta + 4.0 * (delta * (1.0 - delta) / f64::from(runs)).sqrt();
    let share = |count: usize| count as f64 / f64::from(runs);
    println!("false in {} of runs at once, in {} by each point's own interval", share(together), share(by_themselves));
    assert!(share(together) <= allowed && share(by_themselves) > allowed, "{together} {by_themselves} of {runs}");
}

/// Levels that differ from row to row have no one level to be enlarged: the largest of them on all rows would not do.
#[test]
fn levels_of_single_rows_have_no_breakdown_of_their_own() {
    let (.., posterior, queries) = fitted(7, 1.0);
    let n = posterior.information().len();
    let levels = |last: f64| (0..n).map(|i| if i + 1 == n { last } else { LEVEL }).collect::<Vec<f64>>();
    let at =
        |levels: Vec<f64>| posterior.breakdown(queries.view(), &claim(NORM).noise(Noise::per_observation(levels).unwrap()), 0.3).unwrap();
    let (equal, different) = (at(levels(LEVEL)), at(levels(5.0 * LEVEL)));
    assert!(equal.levels.iter().flatten().count() > 0 && equal.certificate.range.unwrap().noise_breakdown.is_some());
    assert!(different.norms.iter().flatten().count() > 0 && different.levels.iter().all(Option::is_none));
    assert!(different.certificate.range.unwrap().noise_breakdown.is_none());
}

/// Without a conclusion the dependence itself: every interval, under any norm and any noise, lies within C·b + R·z‖V‖ of its middle, and without tightenings it is that.
#[test]
fn half_widths_lie_under_their_slopes() {
    let (.., posterior, queries) = fitted(7, 1.0);
    for method in [Method::Direct, Method::Tight] {
        let slopes = posterior.interval_curve(queries.view(), &claim(NORM).method(method)).unwrap().slopes.unwrap();
        for (norm, level) in [(NORM, LEVEL), (0.2 * NORM, 3.0 * LEVEL), (9.0 * NORM, 0.01 * LEVEL)] {
            let claim = claim(norm).method(method).noise(Noise::gaussian(level).unwrap()).with_delta(0.95 * 0.05).unwrap();
            let found = posterior.interval(queries.view(), &claim).unwrap();
            for (i, slope) in slopes.iter().enumerate() {
                let (half, line) = (found.upper()[i] - found.mean()[i], norm * slope.per_norm + level * slope.per_noise);
                assert!(half <= line * (1.0 + 1e-6), "{method:?}, {norm}, {level}: {half} for {line}");
                assert!(method != Method::Direct || half >= line * (1.0 - 1e-6), "the line itself: {half} for {line}");
            }
        }
    }
    let adaptive = Observations::new(queries.clone(), &[0.5; 12], Collected::Adaptive, Prior::ZERO).unwrap();
    let adaptive = Posterior::fit(Arc::new(FeatureMap::new(kernel(), queries.clone()).unwrap()), TAU, adaptive).unwrap();
    assert!(adaptive.interval_curve(queries.view(), &claim(NORM)).unwrap().slopes.is_none(), "its widths depend on the responses");
}

#[test]
fn the_error_of_a_design_stands_up_to_the_norm_that_it_says() {
    let candidates = Points::on_line((0..60).map(|i| f64::from(i) / 59.0).collect()).unwrap();
    for measurements in [5, 20, 80] {
        let design = MaxVariance::new(Arc::new(FeatureMap::new(kernel(), candidates.clone()).unwrap()), TAU).unwrap();
        let design = design.choose(candidates.view(), measurements).unwrap();
        let error = |norm: f64| {
            let found = design.uniform_error(&claim(norm)).unwrap();
            found.before.min(found.after)
        };
        // λ = 0 but for rounding: β = C + z/τ·R with z for 60 candidates and two sides.
        let beta = NORM + (2.0 * (2.0 * 60.0_f64 / 0.05).ln()).sqrt() * LEVEL / TAU;
        assert!(error(NORM) <= (beta * design.max_std()).min(NORM) * 1.001);
        let range = |wanted: f64| design.uniform_error_wanted(&claim(NORM), wanted).unwrap().certificate.range.unwrap();
        for wanted in [1.01 * error(NORM), 1.5 * error(NORM), 4.0 * error(NORM)] {
            let norm = range(wanted).norm_breakdown.unwrap();
            assert!(
                range(wanted).wanted == Some(wanted) && error(norm) <= wanted * (1.0 + 1e-9) && error(1.001 * norm) > wanted,
                "{measurements}: {norm}"
            );
            close(error(norm), wanted, 1e-6, "the end");
        }
        // What is wanted and not reached, and where nothing is wanted: twice what is claimed.
        let plain = design.uniform_error(&claim(NORM)).unwrap().certificate.range.unwrap();
        assert!(plain == range(0.99 * error(NORM)) && plain.wanted.is_none() && plain.of == Followed::Error);
        close(error(plain.norm_breakdown.unwrap()), 2.0 * error(NORM), 1e-6, "twice the error");
        for (norm, bound) in design.error_curve(&claim(NORM)).unwrap() {
            close(bound, error(norm), 1e-9, "the curve");
        }
        // The noise at which a design is no longer good enough, by designs that declare it; where the norm bound alone says so, no noise spoils it.
        let noisy = |level: f64| {
            let found = design.uniform_error(&claim(NORM).noise(Noise::gaussian(level).unwrap())).unwrap();
            found.before.min(found.after)
        };
        for wanted in [1.01 * error(NORM), 1.5 * error(NORM)] {
            let (level, is_open) = (range(wanted).noise_breakdown.unwrap(), range(wanted).noise_is_open);
            assert!(level >= LEVEL && noisy(level) <= wanted * (1.0 + 1e-9));
            match is_open {
                false => {
                    close(noisy(level), wanted, 1e-6, "the end of the noise");
                    assert!(noisy(1.001 * level) > wanted);
                }
                true => assert!(level == 8.0 * LEVEL),
            }
        }
        assert!(design.uniform_error_wanted(&claim(NORM), 0.0).is_err());
    }
}

/// The map of a design: each row against an information of that kernel made from nothing, and the worst function of that kernel, which finds its fit as far off as the row says and
/// no farther. Rows at 0.6 of their width are passed by it.
#[test]
fn the_map_of_a_design_holds_under_every_kernel_and_not_at_0_6_of_its_width() {
    let candidates = Points::on_line((0..40).map(|i| f64::from(i) / 39.0).collect()).unwrap();
    let claim = claim(NORM).noise(Noise::sub_gaussian(0.01 * LEVEL).unwrap());
    let (mut found, mut narrow) = (0, 0);
    for measurements in [4, 7, 12] {
        let design = MaxVariance::new(Arc::new(FeatureMap::new(kernel(), candidates.clone()).unwrap()), TAU).unwrap();
        let design = design.choose(candidates.view(), measurements).unwrap();
        let factors = [0.4, 0.7, 1.0, 1.6];
        let map = design.error_map(&claim, &factors).unwrap();
        assert_eq!(map[2].curve, design.error_curve(&claim).unwrap());
        for (row, factor) in map.iter().zip(factors) {
            let stretched = Kernel::squared_exponential(factor * 0.3, 1.0).unwrap();
            let features = Arc::new(FeatureMap::new(stretched.clone(), candidates.clone()).unwrap());
            let locations = Arc::new(Locations::new(design.points().to_points(), Collected::Designed));
            let information = Information::new(features, TAU, locations).unwrap();
            let variances = information.variance(candidates.view()).unwrap();
            let widest = (0..40).max_by(|&a, &b| variances[a].total_cmp(&variances[b])).unwrap();
            let noise = (2.0 * (2.0 * 40.0_f64 / 0.05).ln()).sqrt() * 0.01 * LEVEL / TAU;
            for (norm, error) in &row.curve {
                close(*error, ((norm + noise) * variances[widest].sqrt()).min(*norm), 1e-4, "a row");
            }
            assert!(row.factor == factor && row.certificate.label().is_certified());
            let named = row.certificate.premises.kernel.value.as_ref().unwrap().value(&[0.0], &[0.2]);
            close(named, stretched.value(&[0.0], &[0.2]), 1e-12, "its kernel");
            let range = row.certificate.range.unwrap();
            assert!(range.of == Followed::Error && range.norm_breakdown.unwrap() > NORM);
            // f = C·r/‖r‖ with r = k(x,·) − ΣV k(xᵢ,·): of all functions of norm C the one whose mean is farthest off at x.
            let weights = information.weights(candidates.view().range(widest, widest + 1)).unwrap();
            let r = |x: &[f64]| {
                let fitted: f64 = design.points().rows().zip(weights.row(0)).map(|(z, w)| w * stretched.value(z, x)).sum();
                stretched.value(candidates.row(widest), x) - fitted
            };
            let size = r(candidates.row(widest)) - design.points().rows().zip(weights.row(0)).map(|(z, w)| w * r(z)).sum::<f64>();
            let bias = NORM * size.sqrt();
            let claimed = row.curve.iter().find(|(norm, _)| *norm == NORM).unwrap().1;
            assert!(bias <= claimed, "{measurements}, {factor}: {bias} for {claimed}");
            found += 1;
            narrow += usize::from(bias > 0.6 * claimed);
        }
    }
    assert!(found == 12 && narrow >= 6, "{narrow} of {found}");
    let design = MaxVariance::growing(kernel(), TAU, sigmabar::design::DictionarySize::at_most(100)).unwrap();
    assert!(design.choose(candidates.view(), 5).unwrap().error_map(&claim, &[1.0, -0.5]).is_err());
}

/// A certificate whose numbers no run of this program could have made is refused by the name of the field, label or not.
#[test]
fn a_certificate_that_was_altered_is_refused_by_field() {
    let (_, _, posterior, queries) = fitted(7, 1.0);
    let of_side = posterior.breakdown(queries.view(), &claim(NORM), 0.3).unwrap().certificate;
    let design =
        MaxVariance::growing(kernel(), TAU, sigmabar::design::DictionarySize::at_most(100)).unwrap().choose(queries.view(), 30).unwrap();
    let of_error = design.uniform_error(&claim(NORM)).unwrap().certificate;
    for written in [&of_side, &of_error] {
        assert!(written.label().is_certified());
        let json = serde_json::to_value(written).unwrap();
        assert_eq!(&serde_json::from_value::<Certificate>(json.clone()).unwrap(), written);
        let refused = |path: &str, value: f64| {
            let mut altered = json.clone();
            *altered.pointer_mut(&format!("/{}", path.replace('.', "/"))).unwrap() = value.into();
            serde_json::from_value::<Certificate>(altered).err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (path, value, field) in [
            ("delta", 5.0, "delta"),
            ("delta", 0.0, "delta"),
            ("delta", 0.001, "spent"),
            ("spent.0.delta", -0.1, "spent.delta"),
            ("premises.norm_bound.value", -3.0, "premises.norm_bound"),
            ("range.least_norm", 1e9, "range.least_norm"),
            ("range.least_norm", -1.0, "range.least_norm"),
            ("range.norm_breakdown", -1.0, "range.norm_breakdown"),
            ("range.noise_breakdown", 1e9, "range.noise_breakdown"),
        ] {
            assert!(refused(path, value).contains(field), "{path} = {value}: {:?}", refused(path, value));
        }
        // What is certified about points or a design says nothing about the best setting.
        let mut altered = json.clone();
        altered["claim"] = "optimum".into();
        assert!(serde_json::from_value::<Certificate>(altered).unwrap_err().to_string().contains("its theorem does not prove"));
    }
    let mut altered = serde_json::to_value(&of_side).unwrap();
    altered["bounds"]["residual_norm"]["value"] = (-1.0).into();
    assert!(serde_json::from_value::<Certificate>(altered).unwrap_err().to_string().contains("bounds.residual_norm"));
    let mut altered = serde_json::to_value(&of_side).unwrap();
    altered["range"]["norm_breakdown"] = 1e9.into();
    assert!(serde_json::from_value::<Certificate>(altered).unwrap_err().to_string().contains("range.norm_breakdown"));
}

/// Under other length-scales the intervals are those of a posterior that was given that kernel to begin with.
#[test]
fn a_stretched_posterior_is_the_one_of_the_stretched_kernel() {
    let (x, y, posterior, queries) = fitted(3, 1.0);
    for factor in [0.5, 1.0, 2.0] {
        let kernel = Kernel::squared_exponential(factor * 0.3, 1.0).unwrap();
        let points = Points::from_rows(&x).unwrap();
        let features = Arc::new(FeatureMap::new(kernel, points.clone()).unwrap());
        let observations = Observations::new(points, &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let direct = Posterior::fit(features, TAU, observations).unwrap().interval_curve(queries.view(), &claim(NORM)).unwrap();
        let stretched = posterior.stretched(factor).unwrap().interval_curve(queries.view(), &claim(NORM)).unwrap();
        let range = |curve: &sigmabar::certificate::IntervalCurve| curve.certificate.range.unwrap().least_norm;
        close(range(&stretched), range(&direct), 1e-9, "least norm");
        for (a, b) in direct.rows.iter().zip(&stretched.rows) {
            assert_eq!((a.norm_bound, a.ends.is_some()), (b.norm_bound, b.ends.is_some()));
            for (a, b) in a.ends.iter().flatten().zip(b.ends.iter().flatten()) {
                close(b.0, a.0, 1e-9, "lower");
                close(b.1, a.1, 1e-9, "upper");
            }
        }
    }
    assert!(posterior.stretched(0.0).is_err() && posterior.stretched(f64::NAN).is_err());
}
