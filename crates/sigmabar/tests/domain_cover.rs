//! How far a point of the domain can be from the nearest candidate: the bound against points that look for the largest gap.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::domain::{Candidates, Column, Constraint, ListDomain, SpaceDomain};
use sigmabar::{BoxDomain, Domain, Kernel, Points};

/// The largest distance from the nearest candidate among random points of the domain, each moved away from its nearest candidate while that helps.
fn attack(domain: &Domain, candidates: &Candidates, kernel: &Kernel, tries: u64) -> f64 {
    let all = candidates.range(0, candidates.len()).unwrap();
    let nearest = |x: &[f64]| all.view().rows().map(|c| kernel.metric(x, c)).fold(f64::INFINITY, f64::min);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let strangers = domain.candidates(tries as usize, 12_345).unwrap();
    let inside = |x: &[f64]| {
        let natural = domain.decode(Points::new(x.to_vec(), x.len()).unwrap().view()).unwrap();
        domain.contains(natural.row(0)).then(|| domain.encode(natural.view()).unwrap().row(0).to_vec())
    };
    let mut largest: f64 = 0.0;
    for (_, block) in strangers.blocks(1) {
        let (mut x, mut step) = (block.row(0).to_vec(), 0.1);
        let mut here = nearest(&x);
        for _ in 0..20 {
            let moved: Vec<f64> = x.iter().map(|v| v + step * rng.random_range(-1.0..1.0)).collect();
            match inside(&moved).map(|z| (nearest(&z), z)) {
                Some((there, z)) if there > here => (here, x) = (there, z),
                _ => step *= 0.8,
            }
        }
        largest = largest.max(here);
    }
    largest
}

fn kernels(dim: usize) -> Vec<Kernel> {
    let lengths: Vec<f64> = (0..dim).map(|i| 0.3 * (1.0 + i as f64)).collect();
    vec![
        Kernel::squared_exponential(lengths, 2.0).unwrap(),
        Kernel::matern(0.5, 0.7, 1.0).unwrap(),
        Kernel::matern(2.5, 0.5, 1.0).unwrap() + Kernel::linear(0.3, 2.0, 0.5).unwrap(),
        Kernel::periodic(0.9, 1.0, 1.0).unwrap(),
    ]
}

#[test]
fn boxes_of_one_to_six_columns() {
    for dim in 1..=6 {
        let domain = Domain::Box(BoxDomain::new(vec![-1.0; dim], (0..dim).map(|i| i as f64).collect()).unwrap());
        for (number, kernel) in kernels(dim).into_iter().enumerate() {
            let mut before = f64::INFINITY;
            for count in [1, 16, 300, 1000] {
                let candidates = domain.candidates(count, 3).unwrap();
                let bound = candidates.cover_radius(&kernel).unwrap();
                let found = attack(&domain, &candidates, &kernel, if dim <= 2 { 400 } else { 20 });
                println!("d = {dim}, kernel {number}, {count} candidates: at most {bound:.4}, found {found:.4}");
                assert!(found <= bound, "{found} {bound}");
                assert!(bound <= before * (1.0 + 1e-9), "more candidates of one sequence cannot be farther: {bound} after {before}");
                assert!(dim > 2 || count < 300 || bound <= 2.0 * found + 1e-6, "not idle: {bound} {found}");
                before = bound;
            }
        }
    }
}

fn space(columns: Vec<Column>, constraints: Vec<Constraint>) -> Domain {
    Domain::Space(SpaceDomain::new(columns, constraints).unwrap())
}

#[test]
fn mixed_spaces_and_constraints() {
    let shares = vec![Column::float(0.0, 1.0); 3];
    let mixed = vec![Column::log_float(1e-3, 10.0), Column::integer(1, 9), Column::categorical(3), Column::ordinal(vec![1.0, 2.0, 5.0])];
    let cases = [
        ("mixed", space(mixed.clone(), vec![])),
        ("mixed and cut", space(mixed, vec![Constraint::at_most(vec![(0, 1.0), (1, 1.0)], 9.0)])),
        ("half a square", space(vec![Column::float(0.0, 1.0); 2], vec![Constraint::less(0, 1)])),
        ("simplex", space([shares, vec![Column::categorical(2)]].concat(), vec![Constraint::sum(&[0, 1, 2], 1.0)])),
        ("integers", space(vec![Column::integer(0, 60), Column::integer(0, 60), Column::integer(-5, 5)], vec![])),
    ];
    for (name, domain) in cases {
        let kernel = domain.default_kernel(0.5, 1.0).unwrap();
        let mut before = f64::INFINITY;
        for count in [60, 500, 4000] {
            let candidates = domain.candidates(count, 1).unwrap();
            let bound = candidates.cover_radius(&kernel).unwrap();
            let found = attack(&domain, &candidates, &kernel, 25);
            println!("{name}, {count} candidates: at most {bound:.4}, found {found:.4}");
            assert!(found <= bound, "{name}: {found} {bound}");
            assert!(bound <= 1.02 * before && bound < 1.415, "{name}: {bound} after {before}");
            before = bound;
        }
        assert!(before < 0.7, "{name}: {before}");
    }
}

#[test]
fn what_is_whole_is_0_and_what_is_unknown_is_none() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let list = Domain::List(ListDomain::new(Points::on_line(vec![0.0, 0.7]).unwrap()).unwrap());
    assert_eq!(list.candidates(1, 0).unwrap().cover_radius(&kernel), Some(0.0));
    let small = space(vec![Column::integer(0, 3), Column::categorical(2)], vec![]);
    let smooth = small.default_kernel(0.3, 1.0).unwrap();
    assert_eq!(small.candidates(100, 0).unwrap().cover_radius(&smooth), Some(0.0));
    // A grid with its ends: the half-spacing, exactly.
    let line = Domain::Box(BoxDomain::unit(1).unwrap());
    let bound = line.grid(11).unwrap().cover_radius(&kernel).unwrap();
    let exact = kernel.metric(&[0.0], &[0.05]);
    assert!(bound >= exact && bound <= 1.06 * exact, "{bound} {exact}");
    // Some combination of choices has no candidate.
    let many = space([vec![Column::categorical(5); 4], vec![Column::float(0.0, 1.0)]].concat(), vec![]);
    let by_choice = many.default_kernel(0.3, 1.0).unwrap();
    assert_eq!(many.candidates(300, 0).unwrap().cover_radius(&by_choice), None);
    // Categories that the kernel takes for one thing need no candidate each; a kernel of another width has nothing to say.
    assert_eq!(line.candidates(5, 0).unwrap().cover_radius(&Kernel::hamming(1.0, 1.0).unwrap()), None);
    assert_eq!(line.candidates(5, 0).unwrap().cover_radius(&Kernel::squared_exponential([1.0, 2.0], 1.0).unwrap()), None);
    // Huge offsets lose nothing but the digits that floating point has not.
    let far = Domain::Box(BoxDomain::new(vec![1e9], vec![1e9 + 1.0]).unwrap());
    let (near, away) = (line.candidates(64, 5).unwrap(), far.candidates(64, 5).unwrap());
    let (a, b) = (near.cover_radius(&kernel).unwrap(), away.cover_radius(&kernel).unwrap());
    assert!((a - b).abs() < 1e-4 * a, "{a} {b}");
}
