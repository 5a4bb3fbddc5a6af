//! Columns, encodings, constraints and refusals of domains.

use sigmabar::domain::{CandidateKind, Column, Constraint, ListDomain, SpaceDomain};
use sigmabar::{BoxDomain, Domain, Error, Kernel, Points};

fn space(columns: Vec<Column>, constraints: Vec<Constraint>) -> Domain {
    Domain::Space(SpaceDomain::new(columns, constraints).expect("a valid space"))
}

fn mixed() -> Domain {
    let columns = vec![
        Column::float(-3.0, 7.5),
        Column::log_float(1e-6, 1e3),
        Column::Integer { low: -7, high: 20, step: Some(4) },
        Column::ordinal([0.001, 0.1, 0.2, 77.0]),
        Column::categorical(5),
    ];
    space(columns, Vec::new())
}

fn points(rows: &[&[f64]]) -> Points {
    Points::from_rows(rows).expect("valid rows")
}

#[test]
fn encoding_follows_its_definition_and_comes_back() {
    let domain = mixed();
    // By hand: (x+3)/10.5, log₁₀(x·10⁶)/9, (v+7)/24 because 17 is the last of −7, −3, …, rank/3, the choice.
    let natural = points(&[&[2.25, 1e-3, 5.0, 0.1, 3.0], &[-3.0, 1e-6, -7.0, 0.001, 0.0], &[7.5, 1e3, 17.0, 77.0, 4.0]]);
    let expected = [[0.5, 1.0 / 3.0, 0.5, 1.0 / 3.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 4.0]];
    let encoded = domain.encode(natural.view()).expect("inside");
    for (row, expected) in expected.iter().enumerate() {
        for column in 0..5 {
            assert!((encoded.row(row)[column] - expected[column]).abs() < 1e-14, "row {row}, column {column}");
        }
    }
    let back = domain.decode(encoded.view()).expect("same columns");
    for row in 0..3 {
        for column in 0..5 {
            let (was, is) = (natural.row(row)[column], back.row(row)[column]);
            assert!((was - is).abs() <= 1e-13 * was.abs(), "{was} came back as {is}");
            assert!(column < 2 || was == is);
        }
        assert!(domain.contains(back.row(row)));
    }
}

#[test]
fn every_level_comes_back_exactly() {
    let hardest = 1_i64 << 50;
    for (low, high, step) in [(0, 1000, 1), (-hardest, hardest, 1), (-hardest, hardest, 3), (1, 1, 1), (5, 11, 7), (0, 3 * 7919, 3)] {
        let domain = space(vec![Column::Integer { low, high, step: Some(step) }, Column::categorical(1 << 40)], Vec::new());
        let levels = (high - low) / step as i64;
        let mut rank = 0;
        while rank <= levels {
            for value in [low + rank * step as i64, low + (levels - rank) * step as i64] {
                let choice = (rank % (1 << 40)) as f64;
                let natural = points(&[&[value as f64, choice]]);
                let encoded = domain.encode(natural.view()).expect("a level");
                assert!((0.0..=1.0).contains(&encoded.row(0)[0]));
                assert_eq!(domain.decode(encoded.view()).expect("same columns"), natural);
            }
            rank = 1 + rank + rank / 3;
        }
    }
}

#[test]
fn what_is_not_taken_is_refused_with_its_place() {
    let domain = mixed();
    let good = [2.0, 1.0, 1.0, 0.2, 2.0];
    for (column, bad) in [(0, 7.6), (1, 0.0), (2, 2.0), (2, 21.0), (2, -11.0), (3, 0.15), (3, 80.0), (4, 5.0), (4, -1.0), (4, 0.5)] {
        let mut row = good;
        row[column] = bad;
        let refused = domain.encode(points(&[&good, &row]).view());
        assert_eq!(refused, Err(Error::Outside { row: 1, column, value: bad }));
        assert!(!domain.contains(&row));
    }
    assert!(matches!(domain.encode(points(&[&[1.0]]).view()), Err(Error::Length { expected: 5, found: 1, .. })));
    let rectangle = Domain::Box(BoxDomain::new(vec![0.0, 1.0], vec![1.0, 2.0]).expect("a box"));
    assert_eq!(rectangle.encode(points(&[&[0.5, 2.5]]).view()), Err(Error::Outside { row: 0, column: 1, value: 2.5 }));
    let list = Domain::List(ListDomain::new(points(&[&[0.0, 1.0], &[3.0, 4.0]])).expect("two rows"));
    assert!(list.encode(points(&[&[3.0, 4.0]]).view()).is_ok());
    assert!(matches!(list.encode(points(&[&[3.0, 4.5]]).view()), Err(Error::Outside { row: 0, .. })));
}

#[test]
fn bad_columns_are_refused_by_number() {
    let refused = |column: Column| SpaceDomain::new(vec![Column::categorical(2), column], Vec::new()).expect_err("must be refused");
    for (low, high) in
        [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN), (0.0, f64::INFINITY), (f64::NEG_INFINITY, 0.0), (-1e308, 1e308)]
    {
        assert!(matches!(refused(Column::float(low, high)), Error::Interval { column: 1, .. }), "{low} to {high}");
        assert!(matches!(BoxDomain::new(vec![0.0, low], vec![1.0, high]), Err(Error::Interval { column: 1, .. })), "{low} to {high}");
    }
    assert!(matches!(refused(Column::integer(3, 2)), Error::Interval { column: 1, low: 3.0, high: 2.0 }));
    let others = [
        Column::log_float(0.0, 1.0),
        Column::log_float(-1.0, 1.0),
        Column::Integer { low: 0, high: 4, step: Some(0) },
        Column::integer(i64::MIN, 0),
        Column::integer(0, i64::MAX),
        Column::ordinal([]),
        Column::ordinal([1.0, 1.0]),
        Column::ordinal([2.0, 1.0]),
        Column::ordinal([0.0, f64::NAN]),
        Column::categorical(0),
        Column::categorical(usize::MAX),
    ];
    for column in others {
        assert!(matches!(refused(column.clone()), Error::Column { column: 1, .. }), "{column:?}");
    }
    assert!(matches!(SpaceDomain::new(Vec::new(), Vec::new()), Err(Error::NoColumns { .. })));
    assert!(matches!(BoxDomain::new(Vec::new(), Vec::new()), Err(Error::NoColumns { .. })));
    assert!(matches!(BoxDomain::new(vec![0.0], vec![1.0, 2.0]), Err(Error::Length { expected: 1, found: 2, .. })));
}

#[test]
fn lists_refuse_repetition_wrong_labels_and_costs() {
    let rows = points(&[&[0.0, 1.0], &[2.0, 3.0], &[4.0, 5.0]]);
    let list = ListDomain::new(rows.clone()).expect("all different");
    assert!(matches!(list.clone().with_labels(vec!["a".into()]), Err(Error::Length { expected: 3, found: 1, .. })));
    assert!(matches!(list.clone().with_costs(vec![1.0; 4]), Err(Error::Length { expected: 3, found: 4, .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(list.clone().with_costs(vec![1.0, bad, 1.0]), Err(Error::Row { row: 1, .. })));
    }
    let full = list.with_labels(vec!["a".into(), "b".into(), "c".into()]).and_then(|list| list.with_costs(vec![1.0, 2.0, 0.5]));
    let full = full.expect("labels and costs fit");
    assert_eq!(full.position(&[2.0, 3.0]), Some(1));
    let stored = postcard::to_allocvec(&full).expect("can be stored");
    assert_eq!(postcard::from_bytes::<ListDomain>(&stored).expect("can be read"), full);

    let repeated = points(&[&[0.0, 1.0], &[2.0, 3.0], &[-0.0, 1.0], &[2.0, 3.0]]);
    let refused = ListDomain::new(repeated.clone());
    assert!(matches!(refused, Err(Error::DuplicateRow { first: 0, row: 2, .. })), "{refused:?}");
    let (merged, candidate) = ListDomain::distinct(repeated);
    assert_eq!((merged.len(), candidate), (2, vec![0, 1, 0, 1]));
    let candidates = Domain::List(merged).candidates(1, 0).expect("the list");
    assert_eq!((candidates.len(), candidates.kind()), (2, CandidateKind::Whole));
}

#[test]
fn bad_constraints_are_refused() {
    let columns = || vec![Column::float(0.0, 1.0), Column::float(0.0, 1.0), Column::integer(0, 9), Column::categorical(3)];
    let refused = |constraints: Vec<Constraint>| SpaceDomain::new(columns(), constraints).expect_err("must be refused");
    let fine = Constraint::less(0, 1);
    for (terms, column) in [
        (vec![(4, 1.0)], 4),
        (vec![(0, 1.0), (3, 1.0)], 3),
        (vec![(0, f64::NAN)], 0),
        (vec![(2, 0.0)], 2),
        (vec![(1, 1.0), (0, 1.0), (1, 2.0)], 1),
    ] {
        let error = refused(vec![fine.clone(), Constraint::at_most(terms, 1.0)]);
        assert!(matches!(error, Error::Constraint { constraint: 1, column: found, .. } if found == column), "{error:?}");
    }
    assert!(matches!(refused(vec![Constraint::at_most(Vec::new(), 1.0)]), Error::Empty { .. }));
    // Impossible by the columns' ranges alone: the numbers are in the error.
    let error = refused(vec![fine.clone(), Constraint::sum(&[0, 1], 2.5)]);
    assert_eq!(error, Error::Infeasible { constraint: 1, least: 0.0, most: 2.0, bound: 2.5 });
    assert!(matches!(refused(vec![Constraint::at_most([(2, 1.0)], -1.0)]), Error::Infeasible { constraint: 0, .. }));
    assert!(matches!(refused(vec![Constraint::at_least([(2, 1.0)], 9.5)]), Error::Infeasible { constraint: 0, .. }));
    assert!(matches!(refused(vec![Constraint::at_most([(2, 1.0)], f64::NAN)]), Error::Infeasible { constraint: 0, .. }));
    // Impossible together only: found out by a bounded search.
    let error = refused(vec![Constraint::less(0, 1), Constraint::less(1, 0)]);
    assert_eq!(error, Error::NoFeasiblePoint { tried: 1 << 20 });
    let error = refused(vec![Constraint::sum(&[0, 1], 1.0), Constraint::at_least([(0, 1.0), (1, 1.0)], 1.1)]);
    assert_eq!(error, Error::NoFeasiblePoint { tried: 1 << 20 });
    let error = refused(vec![Constraint::sum(&[0, 1], 1.0), Constraint::equal([(1, 2.0), (2, 1.0)], 3.0)]);
    assert_eq!(error, Error::SharedColumn { column: 1, first: 0, second: 1 });
    // Exhaustively, where the space is discrete and small.
    let discrete = SpaceDomain::new(vec![Column::integer(0, 9), Column::integer(0, 9)], vec![Constraint::equal([(0, 2.0), (1, 4.0)], 7.0)]);
    assert_eq!(discrete, Err(Error::NoFeasiblePoint { tried: 100 }));
}

#[test]
fn default_kernel_is_matern_times_hamming() {
    let columns = vec![Column::categorical(3), Column::float(0.0, 1.0), Column::categorical(2), Column::integer(0, 4)];
    let domain = space(columns, Vec::new());
    let kernel = domain.default_kernel([0.7, 0.3, 2.0, 0.5], 4.0).expect("a kernel");
    let shared = domain.default_kernel(0.3, 4.0).expect("a kernel");
    let (x, z) = ([2.0, 0.25, 1.0, 0.5], [1.0, 0.5, 1.0, 0.0]);
    let matern = |squared: f64| {
        let r = (5.0 * squared).sqrt();
        (1.0 + r + r * r / 3.0) * (-r).exp()
    };
    let literal = 4.0 * matern((0.25_f64 / 0.3).powi(2) + 1.0) * (-1.0_f64 / 0.7).exp();
    assert!((kernel.value(&x, &z) - literal).abs() < 1e-14);
    let literal = 4.0 * matern((0.25_f64 / 0.3).powi(2) + (0.5_f64 / 0.3).powi(2)) * (-1.0_f64).exp();
    assert!((shared.value(&x, &z) - literal).abs() < 1e-14);
    assert!(domain.default_kernel([0.1, 0.2], 1.0).is_err());
    assert!(domain.default_kernel(0.0, 1.0).is_err());
    let numeric = Domain::Box(BoxDomain::unit(3).expect("a box")).default_kernel(0.2, 1.0);
    assert_eq!(numeric, Kernel::matern(2.5, 0.2, 1.0));
    let categories = space(vec![Column::categorical(3)], Vec::new()).default_kernel(0.2, 2.0);
    assert_eq!(categories, Kernel::hamming(1.0, 2.0));
}

#[test]
fn spaces_survive_storage_and_damage_is_refused() {
    let domain = space(vec![Column::float(0.0, 1.0), Column::integer(1, 5)], vec![Constraint::at_most([(0, 2.0), (1, 1.0)], 4.0)]);
    let stored = postcard::to_allocvec(&domain).expect("can be stored");
    assert_eq!(postcard::from_bytes::<Domain>(&stored).expect("can be read"), domain);
    for byte in 0..stored.len() {
        let mut damaged = stored.clone();
        damaged[byte] ^= 0x41;
        // Anything may come of it but a panic or an invalid domain.
        if let Ok(read) = postcard::from_bytes::<Domain>(&damaged) {
            let candidates = read.candidates(8, 1).expect("what was read is valid");
            assert!(candidates.natural(0, 1).is_ok());
        }
    }
}
