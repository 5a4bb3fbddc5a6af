//! Candidate sets: the sequence, grids, constraints on what is generated, and lazy blocks.

use sigmabar::domain::{CandidateKind, Candidates, Column, Constraint, SobolSequence, SpaceDomain};
use sigmabar::{BoxDomain, Domain, Error};
use std::collections::HashSet;

fn space(columns: Vec<Column>, constraints: Vec<Constraint>) -> Domain {
    Domain::Space(SpaceDomain::new(columns, constraints).expect("a valid space"))
}

fn all_natural(candidates: &Candidates) -> Vec<Vec<f64>> {
    let points = candidates.natural(0, candidates.len()).expect("all rows");
    points.view().rows().map(<[f64]>::to_vec).collect()
}

#[test]
fn every_dyadic_interval_has_one_of_the_first_points() {
    for (dim, seed) in [(1, 0), (6, 1), (40, 99), (1000, 12345)] {
        let sequence = SobolSequence::new(dim, seed).expect("columns in range");
        for power in [0, 1, 5, 10] {
            let mut seen = vec![vec![false; 1 << power]; dim];
            let mut point = vec![0.0; dim];
            for index in 0..1_u32 << power {
                sequence.point_into(index, &mut point);
                for (column, &value) in point.iter().enumerate() {
                    assert!(value > 0.0 && value < 1.0);
                    let interval = (value * f64::from(1 << power)) as usize;
                    assert!(!std::mem::replace(&mut seen[column][interval], true), "column {column}, 2^{power} points");
                }
            }
        }
    }
    for dim in [0, 1001, usize::MAX] {
        assert!(matches!(SobolSequence::new(dim, 0), Err(Error::Parameter { .. })));
    }
}

#[test]
fn the_first_two_columns_fill_every_dyadic_rectangle() {
    let power = 12;
    for seed in 0..5 {
        let sequence = SobolSequence::new(2, seed).expect("two columns");
        for wide in 0..=power {
            let mut counts = vec![0; 1 << power];
            let mut point = [0.0; 2];
            for index in 0..1_u32 << power {
                sequence.point_into(index, &mut point);
                let (i, j) = ((point[0] * f64::from(1 << wide)) as usize, (point[1] * f64::from(1 << (power - wide))) as usize);
                counts[(i << (power - wide)) + j] += 1;
            }
            assert!(counts.iter().all(|&count| count == 1), "seed {seed}, shape 2^{wide}");
        }
    }
}

/// Warnock's formula for the squared L2 star discrepancy.
fn squared_star_discrepancy(rows: &[Vec<f64>]) -> f64 {
    let (n, d) = (rows.len() as f64, rows[0].len() as i32);
    let single: f64 = rows.iter().map(|x| x.iter().map(|v| (1.0 - v * v) / 2.0).product::<f64>()).sum();
    let double: f64 =
        rows.iter().flat_map(|x| rows.iter().map(move |z| x.iter().zip(z).map(|(a, b)| 1.0 - a.max(*b)).product::<f64>())).sum();
    3.0_f64.powi(-d) - 2.0 / n * single + double / (n * n)
}

#[test]
fn discrepancy_is_far_below_that_of_independent_points() {
    for (dim, factor) in [(2, 25.0), (4, 8.0), (6, 3.0)] {
        let n = 1024;
        // The mean of the squared discrepancy of n independent uniform points is (2^−d − 3^−d)/n.
        let independent = (0.5_f64.powi(dim) - 3.0_f64.powi(-dim)) / n as f64;
        for seed in 0..4 {
            let domain = Domain::Box(BoxDomain::unit(dim as usize).expect("a box"));
            let found = squared_star_discrepancy(&all_natural(&domain.candidates(n, seed).expect("candidates")));
            assert!(found * factor < independent, "d = {dim}, seed {seed}: {found:e} against {independent:e}");
        }
    }
}

#[test]
fn seeds_decide_and_different_seeds_differ() {
    let domain = Domain::Box(BoxDomain::new(vec![-1.0, 2.0], vec![1.0, 20.0]).expect("a box"));
    let rows = |seed| domain.candidates(500, seed).expect("candidates").range(0, 500).expect("all");
    assert_eq!(rows(7), rows(7));
    let (a, b) = (rows(7), rows(8));
    let equal = a.as_slice().iter().zip(b.as_slice()).filter(|(x, y)| x == y).count();
    assert_eq!(equal, 0);
    // Scrambles of different seeds are uniform at every point: means over seeds of the first point's coordinates.
    let mean: f64 =
        (0..4000).map(|seed| domain.candidates(1, seed).expect("one").range(0, 1).expect("one").row(0)[0]).sum::<f64>() / 4000.0;
    assert!(mean.abs() < 5.0 / (3.0_f64 * 4000.0).sqrt(), "mean {mean}");
}

#[test]
fn a_million_in_six_columns_block_by_block() {
    let domain = Domain::Box(BoxDomain::new(vec![-2.0; 6], vec![3.0; 6]).expect("a box"));
    let n = 1_000_000;
    let candidates = domain.candidates(n, 3).expect("candidates");
    assert_eq!((candidates.len(), candidates.dim(), candidates.kind()), (n, 6, CandidateKind::Sobol { seed: 3 }));
    let mut sums = [0.0; 6];
    let mut rows = 0;
    let mut eighths = [[0_u32; 8]; 6];
    for (start, block) in candidates.blocks(1 << 15) {
        assert_eq!(start, rows);
        rows += block.len();
        for row in block.view().rows() {
            for (column, &value) in row.iter().enumerate() {
                assert!((-2.0..=3.0).contains(&value));
                sums[column] += value;
                eighths[column][((value + 2.0) / 5.0 * 8.0) as usize] += 1;
            }
        }
        // The same rows whatever the block they are asked for in.
        let middle = start + block.len() / 2;
        assert_eq!(candidates.range(middle, middle + 1).expect("a row").row(0), block.row(block.len() / 2));
    }
    assert_eq!(rows, n);
    for column in 0..6 {
        assert!((sums[column] / n as f64 - 0.5).abs() < 1e-5);
        assert!(eighths[column].iter().all(|&count| count.abs_diff(n as u32 / 8) < 64));
    }
    // What is held does not grow with the number of candidates.
    let few = domain.candidates(10, 3).expect("candidates");
    let size = |candidates: &Candidates| postcard::to_allocvec(candidates).expect("can be stored").len();
    assert!(size(&candidates) < size(&few) + 8);
    for (start, end) in [(5, 5), (6, 5), (0, n + 1), (n, n + 1)] {
        assert!(matches!(candidates.range(start, end), Err(Error::Range { len, .. }) if len == n));
    }
    assert!(matches!(candidates.rows_into(0, &mut [0.0; 7]), Err(Error::Width { .. })));
    assert!(matches!(domain.candidates(0, 0), Err(Error::Parameter { .. })));
}

#[test]
fn grids_have_the_size_said_and_the_order_of_counting() {
    let columns = vec![Column::categorical(3), Column::ordinal([1.0, 4.0, 9.0, 16.0]), Column::Integer { low: 2, high: 9, step: Some(3) }];
    let domain = space(columns, Vec::new());
    assert_eq!(domain.size(), Some(36));
    let grid = domain.grid(1).expect("a grid");
    assert_eq!((grid.len(), grid.kind()), (36, CandidateKind::Whole));
    let mut literal = Vec::new();
    for a in [0.0, 1.0, 2.0] {
        for b in [1.0, 4.0, 9.0, 16.0] {
            for c in [2.0, 5.0, 8.0] {
                literal.push(vec![a, b, c]);
            }
        }
    }
    assert_eq!(all_natural(&grid), literal);
    assert_eq!(all_natural(&domain.candidates(36, 5).expect("all")), literal);
    assert_eq!(all_natural(&domain.candidates(1000, 5).expect("all")), literal);
    assert_eq!(grid.natural(17, 19).expect("two").as_slice(), [literal[17].clone(), literal[18].clone()].concat());
    // Sizes are said without making anything, however large.
    assert_eq!(space(vec![Column::integer(1, 1 << 40); 3], Vec::new()).size(), Some(1 << 120));
    assert_eq!(space(vec![Column::categorical(4); 100], Vec::new()).size(), Some(u128::MAX));
    assert_eq!(space(vec![Column::categorical(4), Column::float(0.0, 1.0)], Vec::new()).size(), None);
    assert!(matches!(space(vec![Column::categorical(4); 100], Vec::new()).grid(1), Err(Error::Parameter { .. })));
}

#[test]
fn grids_of_boxes_include_the_ends() {
    let domain = Domain::Box(BoxDomain::new(vec![-5.0, 0.1], vec![5.0, 0.3]).expect("a box"));
    let grid = domain.grid(50).expect("a grid");
    assert_eq!((grid.len(), grid.kind()), (2500, CandidateKind::Grid));
    let rows = all_natural(&grid);
    assert_eq!((rows[0].as_slice(), rows[2499].as_slice()), ([-5.0, 0.1].as_slice(), [5.0, 0.3].as_slice()));
    for (i, row) in rows.iter().enumerate() {
        let literal = [-5.0 + 10.0 * (i / 50) as f64 / 49.0, 0.1 + 0.2 * (i % 50) as f64 / 49.0];
        assert!((row[0] - literal[0]).abs() < 1e-14 && (row[1] - literal[1]).abs() < 1e-14);
    }
    assert!(matches!(domain.grid(0), Err(Error::Parameter { .. })));
    // A mixture in tenths: 66 compositions of three parts.
    let mixture = space(vec![Column::float(0.0, 1.0); 3], vec![Constraint::sum(&[0, 1, 2], 1.0)]);
    assert_eq!(mixture.grid(11).expect("a lattice").len(), 66);
}

#[test]
fn discrete_candidates_are_distinct_and_as_many_as_asked() {
    let huge = space(vec![Column::integer(0, 99), Column::integer(0, 99), Column::categorical(10)], Vec::new());
    for count in [1, 1000, 30_000, 50_000, 50_001, 99_999, 100_000] {
        let candidates = huge.candidates(count, 11).expect("candidates");
        let rows: HashSet<Vec<u64>> = all_natural(&candidates).iter().map(|row| row.iter().map(|v| v.to_bits()).collect()).collect();
        assert_eq!((rows.len(), candidates.len()), (count, count));
    }
    assert_eq!(huge.candidates(99_999, 1).expect("candidates").kind(), CandidateKind::Subset);
    assert_eq!(huge.candidates(1000, 1).expect("candidates").kind(), CandidateKind::Sobol { seed: 1 });
    // Every level of every column gets its share.
    let rows = all_natural(&huge.candidates(6400, 2).expect("candidates"));
    for (column, levels) in [(0, 100), (1, 100), (2, 10)] {
        let mut counts = vec![0; levels];
        rows.iter().for_each(|row| counts[row[column] as usize] += 1);
        let even = 6400 / levels;
        assert!(counts.iter().all(|count: &usize| count.abs_diff(even) <= 14), "{counts:?}");
    }
}

#[test]
fn inequalities_hold_exactly_on_every_candidate() {
    let columns = vec![Column::float(0.0, 1.0), Column::log_float(0.01, 1.0), Column::integer(1, 6), Column::categorical(3)];
    let constraints = vec![Constraint::less(0, 1), Constraint::at_most([(0, 1.5), (2, 0.25)], 1.3), Constraint::at_least([(1, 1.0)], 0.02)];
    let domain = space(columns, constraints);
    let candidates = domain.candidates(20_000, 4).expect("candidates");
    assert_eq!(candidates.len(), 20_000);
    for row in all_natural(&candidates) {
        assert!(row[0] < row[1] && 1.5 * row[0] + 0.25 * row[2] <= 1.3 && row[1] >= 0.02, "{row:?}");
        assert!(domain.contains(&row));
    }
    // Decoding what the kernel sees gives those very values.
    let encoded = candidates.range(0, 100).expect("rows");
    assert_eq!(domain.decode(encoded.view()).expect("same columns"), candidates.natural(0, 100).expect("rows"));
    // Asked for in pieces, the same.
    assert_eq!(candidates.range(9000, 9100).expect("rows").row(50), candidates.range(0, 20_000).expect("rows").row(9050));
    let few = domain.candidates(50, 4).expect("candidates");
    let stored = postcard::to_allocvec(&few).expect("can be stored");
    assert_eq!(postcard::from_bytes::<Candidates>(&stored).expect("can be read"), few);
    for byte in 0..stored.len() {
        let mut damaged = stored.clone();
        damaged[byte] ^= 0x23;
        // Anything may come of it but a panic.
        if let Ok(read) = postcard::from_bytes::<Candidates>(&damaged) {
            assert!(read.natural(read.len() - 1, read.len()).is_ok());
        }
    }
}

#[test]
fn a_narrow_constraint_gives_fewer_and_says_so() {
    // One of 720 orders: 2^20 points contain about 1456 that satisfy it.
    let chain = (0..5).map(|column| Constraint::less(column, column + 1)).collect();
    let domain = space(vec![Column::float(0.0, 1.0); 6], chain);
    let candidates = domain.candidates(5000, 0).expect("candidates");
    assert!((1300..1600).contains(&candidates.len()), "{}", candidates.len());
    assert!(all_natural(&candidates).iter().all(|row| row.windows(2).all(|pair| pair[0] < pair[1])));
}

#[test]
fn discrete_constraints_are_searched_exhaustively() {
    // a + 2b = 30 over 0..=29: b from 1 to 15, fifteen solutions.
    let domain = space(vec![Column::integer(0, 29), Column::integer(0, 29)], vec![Constraint::equal([(0, 1.0), (1, 2.0)], 30.0)]);
    let all = domain.candidates(500, 0).expect("candidates");
    assert_eq!((all.len(), all.kind()), (15, CandidateKind::Whole));
    assert!(all_natural(&all).iter().all(|row| row[0] + 2.0 * row[1] == 30.0));
    let some = domain.candidates(6, 0).expect("candidates");
    assert_eq!((some.len(), some.kind()), (6, CandidateKind::Subset));
    let known: HashSet<_> = all_natural(&all).iter().map(|row| row[0] as u64).collect();
    assert!(all_natural(&some).iter().all(|row| known.contains(&(row[0] as u64))));
    // A continuous column that follows from discrete ones repeats with them: eight integers leave eight candidates.
    let followed = space(vec![Column::integer(1, 8), Column::float(0.0, 100.0)], vec![Constraint::equal([(0, 3.0), (1, 1.0)], 50.0)]);
    let rows = all_natural(&followed.candidates(100, 0).expect("candidates"));
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| (3.0 * row[0] + row[1] - 50.0).abs() < 1e-12));
}

#[test]
fn the_simplex_is_filled_uniformly() {
    for dim in [2, 3, 5] {
        let columns: Vec<usize> = (0..dim).collect();
        let domain = space(vec![Column::float(0.0, 1.0); dim], vec![Constraint::sum(&columns, 1.0)]);
        let n = 16_384;
        let candidates = domain.candidates(n, 1).expect("candidates");
        assert_eq!(candidates.len(), n);
        let rows = all_natural(&candidates);
        for row in &rows {
            assert!((row.iter().sum::<f64>() - 1.0).abs() <= 1e-12 && row.iter().all(|v| (0.0..=1.0).contains(v)));
        }
        // Dirichlet(1, …, 1): P(x_i > t) = (1 − t)^(d−1) for every column, and E x_i x_j = 1/(d(d+1)).
        for column in 0..dim {
            for t in [0.05, 0.2, 0.5, 0.8] {
                let share = rows.iter().filter(|row| row[column] > t).count() as f64 / n as f64;
                assert!((share - (1.0 - t).powi(dim as i32 - 1)).abs() < 0.01, "d = {dim}, column {column}, t = {t}: {share}");
            }
        }
        let product = rows.iter().map(|row| row[0] * row[dim - 1]).sum::<f64>() / n as f64;
        assert!((product * (dim * (dim + 1)) as f64 - 1.0).abs() < 0.02);
    }
}

#[test]
fn equalities_of_every_shape_hold() {
    let floats = |ranges: &[(f64, f64)]| ranges.iter().map(|&(low, high)| Column::float(low, high)).collect::<Vec<_>>();
    let twelve: Vec<usize> = (0..12).collect();
    let cases: Vec<(Vec<Column>, Vec<Constraint>)> = vec![
        // Mixture with caps; near the top; in the middle of many; signs; degenerate to a corner; two mixtures; log and discrete company.
        (floats(&[(0.1, 0.5), (0.0, 0.4), (0.0, 0.6)]), vec![Constraint::sum(&[0, 1, 2], 1.0)]),
        (floats(&[(0.0, 1.0); 3]), vec![Constraint::sum(&[0, 1, 2], 2.9)]),
        (floats(&[(0.0, 1.0); 12]), vec![Constraint::sum(&twelve, 6.0)]),
        (floats(&[(-3.0, 2.0), (1.0, 4.0), (-1.0, 1.0)]), vec![Constraint::equal([(0, 1.0), (1, -2.0), (2, 0.5)], -4.0)]),
        (floats(&[(0.1, 1.0), (0.2, 1.0), (0.3, 1.0)]), vec![Constraint::sum(&[0, 1, 2], 0.6)]),
        (floats(&[(0.0, 1.0); 5]), vec![Constraint::sum(&[0, 1], 1.0), Constraint::sum(&[2, 3, 4], 1.0), Constraint::less(0, 2)]),
        (
            vec![Column::log_float(0.001, 1.0), Column::integer(0, 2), Column::float(0.0, 3.0), Column::categorical(2)],
            vec![Constraint::equal([(0, 1.0), (1, 1.0), (2, 1.0)], 2.5)],
        ),
        (vec![Column::log_float(0.001, 1.0), Column::ordinal([0.1, 0.2, 0.7])], vec![Constraint::equal([(0, 1.0), (1, 1.0)], 0.75)]),
    ];
    for (number, (columns, constraints)) in cases.into_iter().enumerate() {
        let domain = space(columns.clone(), constraints.clone());
        let candidates = domain.candidates(4096, 9).expect("candidates");
        // The fifth is one corner, up to rounding; in the last the logarithmic column follows from each of three levels.
        let (least, most) = [(4096, 4096), (1, 8), (3, 3)][usize::from(number == 4) + 2 * usize::from(number == 7)];
        assert!((least..=most).contains(&candidates.len()), "case {number}: {}", candidates.len());
        for row in all_natural(&candidates) {
            assert!(domain.contains(&row), "case {number}: {row:?}");
            for constraint in constraints.iter().filter(|constraint| constraint.relation() == sigmabar::domain::Relation::Equal) {
                let left: f64 = constraint.terms().iter().map(|&(column, coefficient)| coefficient * row[column]).sum();
                assert!((left - constraint.bound()).abs() <= 1e-12, "case {number}: {left}");
            }
        }
    }
}

/// One equality on a box: the columns' ends, the coefficients, the right-hand side.
type Slice<'a> = (&'a [(f64, f64)], &'a [f64], f64);

/// Means and second moments of independent uniform points, with the last column solved for, refused outside its range.
fn slice_moments(ranges: &[(f64, f64)], coefficients: &[f64], bound: f64) -> (Vec<f64>, Vec<f64>) {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(17);
    let last = ranges.len() - 1;
    let (mut sums, mut squares, mut n) = (vec![0.0; last + 1], vec![0.0; last + 1], 0);
    while n < 100_000 {
        let mut x: Vec<f64> = ranges.iter().map(|&(low, high)| rng.random_range(low..high)).collect();
        x[last] = (bound - (0..last).map(|i| coefficients[i] * x[i]).sum::<f64>()) / coefficients[last];
        if (ranges[last].0..=ranges[last].1).contains(&x[last]) {
            n += 1;
            x.iter().enumerate().for_each(|(i, v)| {
                sums[i] += v;
                squares[i] += v * v;
            });
        }
    }
    let mean = |sums: Vec<f64>| sums.iter().map(|sum| sum / f64::from(n)).collect();
    (mean(sums), mean(squares))
}

#[test]
fn slices_are_filled_uniformly_whatever_the_signs_and_caps() {
    let cases: [Slice<'_>; 4] = [
        (&[(0.1, 0.5), (0.0, 0.4), (0.0, 0.6)], &[1.0, 1.0, 1.0], 1.0),
        (&[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)], &[1.0, 1.0, 1.0], 2.9),
        (&[(-3.0, 2.0), (1.0, 4.0), (-1.0, 1.0)], &[1.0, -2.0, 0.5], -4.0),
        (&[(0.0, 1.0), (0.0, 2.0), (-1.0, 1.0), (0.0, 0.5), (3.0, 5.0)], &[1.0, -1.0, 2.0, 0.3, -1.0], -4.5),
    ];
    for (number, (ranges, coefficients, bound)) in cases.into_iter().enumerate() {
        let columns = ranges.iter().map(|&(low, high)| Column::float(low, high)).collect();
        let terms: Vec<(usize, f64)> = coefficients.iter().copied().enumerate().collect();
        let rows = all_natural(&space(columns, vec![Constraint::equal(terms, bound)]).candidates(1 << 14, 5).expect("candidates"));
        let (means, squares) = slice_moments(ranges, coefficients, bound);
        for (column, &(low, high)) in ranges.iter().enumerate() {
            let mean = rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
            let square = rows.iter().map(|row| row[column] * row[column]).sum::<f64>() / rows.len() as f64;
            let size = low.abs().max(high.abs());
            assert!((mean - means[column]).abs() < 0.005 * size, "case {number}, column {column}: {mean} against {}", means[column]);
            assert!((square - squares[column]).abs() < 0.01 * size * size, "case {number}, column {column}");
        }
    }
}

#[test]
fn candidates_do_not_depend_on_the_number_of_threads() {
    let chain = vec![Constraint::less(0, 1), Constraint::less(1, 2)];
    let domain = space(vec![Column::float(0.0, 1.0), Column::float(0.0, 1.0), Column::integer(0, 5)], chain);
    let made = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| domain.candidates(3000, 21).and_then(|candidates| candidates.range(0, candidates.len())).expect("candidates"))
    };
    assert_eq!(made(1), made(3));
}
