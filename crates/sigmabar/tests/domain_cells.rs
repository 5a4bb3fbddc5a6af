//! The cell tree: tiling, lookup, radii and storage.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::domain::CellTree;
use sigmabar::{BoxDomain, Error, Kernel};

fn boxed(dim: usize) -> BoxDomain {
    BoxDomain::new(vec![-1.0, 0.3, 10.0][..dim].to_vec(), vec![2.0, 0.7, 90.0][..dim].to_vec()).expect("a box")
}

/// A tree after random splits and discards.
fn grown(dim: usize, seed: u64, steps: usize) -> CellTree {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut tree = CellTree::new(&boxed(dim), vec![0.5, 0.1, 30.0][..dim].to_vec(), 100_000).expect("a tree");
    for _ in 0..steps {
        let leaves: Vec<usize> = tree.leaves().collect();
        let Some(&cell) = leaves.get(rng.random_range(0..leaves.len().max(1))) else { break };
        if rng.random::<f64>() < 0.8 || leaves.len() < 3 {
            assert!(tree.split(cell).is_some());
        } else {
            assert!(tree.discard(cell));
        }
    }
    tree
}

fn volume(tree: &CellTree, cell: usize) -> f64 {
    tree.low(cell).iter().zip(tree.high(cell)).map(|(low, high)| high - low).product()
}

#[test]
fn leaves_tile_the_box() {
    for dim in 1..=3 {
        let tree = grown(dim, dim as u64, 400);
        let whole = volume(&tree, 0);
        let (mut surviving, mut discarded) = (0.0, 0.0);
        for cell in 0..tree.len() {
            if let Some([lower, upper]) = tree.halves(cell) {
                // The halves are the cell cut across its widest side in length-scales, level one deeper.
                let scales = [0.5, 0.1, 30.0];
                let width = |column: usize| (tree.high(cell)[column] - tree.low(cell)[column]) / scales[column];
                let cut: Vec<usize> = (0..dim).filter(|&column| tree.high(lower)[column] != tree.high(cell)[column]).collect();
                assert_eq!(cut.len(), 1);
                assert!((0..dim).all(|column| width(column) <= width(cut[0]) * (1.0 + 1e-12)));
                for column in 0..dim {
                    assert_eq!(tree.low(lower)[column], tree.low(cell)[column]);
                    assert_eq!(tree.high(upper)[column], tree.high(cell)[column]);
                    let border = if column == cut[0] { tree.high(lower)[column] } else { tree.low(cell)[column] };
                    assert_eq!(tree.low(upper)[column], border);
                }
                for half in [lower, upper] {
                    assert_eq!((tree.parent(half), tree.level(half)), (Some(cell), tree.level(cell) + 1));
                    assert!((volume(&tree, half) / volume(&tree, cell) - 0.5).abs() < 1e-10);
                }
            } else if tree.is_discarded(cell) {
                discarded += volume(&tree, cell);
            } else {
                surviving += volume(&tree, cell);
            }
        }
        assert!(((surviving + discarded) / whole - 1.0).abs() < 1e-10);
        assert!((tree.surviving_share() - surviving / whole).abs() < 1e-10);
        assert!(discarded > 0.0);
    }
}

#[test]
fn lookup_is_brute_force() {
    for dim in 1..=3 {
        let tree = grown(dim, 10 + dim as u64, 500);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let check = |point: &[f64]| {
            let found = tree.leaf_of(point).expect("inside");
            let top = tree.high(0);
            // Half-open cells, closed at the top of the box.
            let holds = |cell: &usize| {
                tree.halves(*cell).is_none()
                    && (0..dim).all(|i| {
                        let (low, high) = (tree.low(*cell)[i], tree.high(*cell)[i]);
                        point[i] >= low && (point[i] < high || (point[i] == high && high == top[i]))
                    })
            };
            let brute: Vec<usize> = (0..tree.len()).filter(holds).collect();
            assert_eq!(brute, [found], "{point:?}");
            assert_eq!(tree.survives(point), tree.is_surviving_leaf(found));
        };
        for _ in 0..2000 {
            let point: Vec<f64> = (0..dim).map(|i| rng.random_range(tree.low(0)[i]..tree.high(0)[i])).collect();
            check(&point);
        }
        for cell in 0..tree.len() {
            check(tree.low(cell));
            check(tree.high(cell));
            check(&tree.centre(cell));
        }
        let mut outside = tree.low(0).to_vec();
        outside[dim - 1] = tree.high(0)[dim - 1].next_up();
        assert_eq!((tree.leaf_of(&outside), tree.survives(&outside)), (None, false));
        assert_eq!(tree.leaf_of(&vec![f64::NAN; dim]), None);
        assert_eq!(tree.leaf_of(&[0.5; 7]), None);
    }
}

#[test]
fn the_radius_covers_every_point_and_is_reached_at_the_corner() {
    let kernels = [
        Kernel::matern(2.5, [0.5, 0.1, 30.0], 2.0),
        Kernel::matern(0.5, [0.5, 0.1, 30.0], 2.0),
        Kernel::squared_exponential([0.5, 0.1, 30.0], 0.3),
    ];
    let tree = grown(3, 77, 300);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for kernel in kernels.map(|kernel| kernel.expect("a kernel")) {
        for cell in tree.leaves() {
            let (centre, half) = (tree.centre(cell), tree.half_widths(cell));
            let radius = tree.radius(cell, &kernel).expect("a radius");
            let corner = kernel.metric(&centre, tree.high(cell));
            assert!(corner <= radius * (1.0 + 1e-14) && radius <= corner * (1.0 + 1e-7));
            for _ in 0..20 {
                let point: Vec<f64> = (0..3).map(|i| rng.random_range(tree.low(cell)[i]..=tree.high(cell)[i])).collect();
                assert!((0..3).all(|i| (point[i] - centre[i]).abs() <= half[i]));
                assert!(kernel.metric(&centre, &point) <= radius * (1.0 + 1e-14));
            }
        }
    }
    assert_eq!(tree.radius(0, &Kernel::hamming(1.0, 1.0).expect("a kernel")), None);
    let leaves: Vec<usize> = tree.leaves().collect();
    assert_eq!(tree.centres(&leaves).expect("centres").row(3), tree.centre(leaves[3]));
    assert!(matches!(tree.centres(&[]), Err(Error::Empty { .. })));
}

#[test]
fn limits_keep_the_tree_coarse() {
    let mut tree = CellTree::new(&boxed(2), 1.0, 10).expect("a tree");
    for _ in 0..10 {
        for cell in tree.leaves().collect::<Vec<_>>() {
            tree.split(cell);
        }
    }
    assert_eq!((tree.len(), tree.capacity()), (9, 10));
    assert_eq!(tree.surviving_share(), 1.0);
    // What is no surviving leaf is neither split nor discarded.
    assert_eq!((tree.split(0), tree.discard(0)), (None, false));
    let leaf = tree.leaves().next().expect("leaves");
    assert!(tree.discard(leaf) && !tree.discard(leaf) && tree.split(leaf).is_none());

    // Halving ends where numbers do, without a panic.
    let narrow = BoxDomain::new(vec![1.0], vec![1.0 + 4.0 * f64::EPSILON]).expect("a box");
    let mut tree = CellTree::new(&narrow, 1.0, 1000).expect("a tree");
    for _ in 0..10 {
        for cell in tree.leaves().collect::<Vec<_>>() {
            tree.split(cell);
        }
    }
    assert_eq!(tree.leaves().count(), 4);

    for capacity in [0, usize::MAX] {
        assert!(matches!(CellTree::new(&boxed(2), 1.0, capacity), Err(Error::Parameter { .. })));
    }
    assert!(matches!(CellTree::new(&boxed(2), [1.0, 1.0, 1.0], 5), Err(Error::Length { expected: 2, found: 3, .. })));
    assert!(matches!(CellTree::new(&boxed(2), [1.0, 0.0], 5), Err(Error::Parameter { .. })));
}

#[test]
fn compacting_keeps_what_survives_and_frees_the_rest() {
    for dim in 1..=3 {
        let mut tree = grown(dim, 40 + dim as u64, 600);
        // Discard a whole region, so that there is something to forget.
        let border = tree.low(0)[0] + 0.6 * (tree.high(0)[0] - tree.low(0)[0]);
        for cell in tree.leaves().collect::<Vec<_>>() {
            if tree.high(cell)[0] <= border {
                tree.discard(cell);
            }
        }
        let before = tree.clone();
        let renumbered = tree.compact();
        assert!(tree.len() < before.len());
        assert_eq!(tree.surviving_share(), before.surviving_share());
        for cell in before.leaves() {
            let new = renumbered[cell].expect("survivors are kept");
            assert!(tree.is_surviving_leaf(new));
            assert_eq!((tree.low(new), tree.high(new), tree.level(new)), (before.low(cell), before.high(cell), before.level(cell)));
        }
        assert_eq!(tree.leaves().count(), before.leaves().count());
        assert!((1..tree.len()).all(|cell| tree.level(cell) >= tree.level(cell - 1)), "breadth first");
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for _ in 0..2000 {
            let point: Vec<f64> = (0..dim).map(|i| rng.random_range(tree.low(0)[i]..tree.high(0)[i])).collect();
            assert_eq!(tree.survives(&point), before.survives(&point));
        }
        // Nothing surviving: one discarded cell is left.
        for cell in tree.leaves().collect::<Vec<_>>() {
            tree.discard(cell);
        }
        tree.compact();
        assert_eq!((tree.len(), tree.is_discarded(0), tree.surviving_share()), (1, true, 0.0));
    }
}

#[test]
fn trees_survive_storage_and_damage_is_refused() {
    let mut tree = grown(2, 3, 60);
    for _ in 0..2 {
        let stored = postcard::to_allocvec(&tree).expect("can be stored");
        let mut read: CellTree = postcard::from_bytes(&stored).expect("can be read");
        assert_eq!(read, tree);
        // And has the same future.
        let leaf = tree.leaves().last().expect("leaves");
        assert_eq!(read.split(leaf), tree.clone().split(leaf));
        let mut refused = 0;
        for byte in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[byte] ^= 0x15;
            match postcard::from_bytes::<CellTree>(&damaged) {
                Ok(read) => assert!(read.leaf_of(&read.centre(0)).is_some()),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0);
        tree.compact();
    }
}
