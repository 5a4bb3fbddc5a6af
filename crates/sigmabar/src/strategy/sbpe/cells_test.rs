//! Cell bounds against dense grids.

use super::cells::Cells;
use super::elimination::{Batch, CHALLENGERS};
use super::premises::Premises;
use super::shares::{Budget, Counted};
use super::{Sbpe, state::State};
use crate::domain::{BoxDomain, Domain};
use crate::expansion::Expansion;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::points::Points;
use crate::strategy::run::ledger::{Ledger, Outcome};
use crate::strategy::run::problem::Problem;

fn problem(kernel: &Kernel) -> Problem {
    Problem::new(Domain::Box(BoxDomain::unit(2).expect("valid")), 60)
        .and_then(|p| p.with_kernel(kernel.clone()))
        .and_then(|p| p.with_norm_bound(2.0))
        .and_then(|p| p.with_noise(Noise::sub_gaussian(0.1)?))
        .expect("a complete problem")
}

/// Plans and answers one batch; the state before it is digested.
fn one_batch(problem: &Problem, policy: &mut Sbpe, function: &Expansion) -> (Ledger, State) {
    let mut ledger = Ledger::default();
    ledger.open(policy.plan(problem, &ledger).expect("plans"));
    for trial in ledger.hand_out(usize::MAX) {
        let wobble = 0.1 * (7.0 * trial.id as f64).sin();
        ledger.tell(trial.id, Outcome::Value(function.value(&trial.point) + wobble)).expect("asked for");
    }
    ledger.close();
    (ledger, policy.state.clone().expect("planned"))
}

#[test]
fn cells_bound_a_dense_grid_and_discard_only_what_points_would() {
    for (seed, kernel) in [Kernel::squared_exponential(0.4, 1.0), Kernel::matern(2.5, 0.5, 1.0)].into_iter().enumerate() {
        let kernel = kernel.expect("valid");
        let centres = Points::new(vec![0.2, 0.3, 0.8, 0.7, 0.5, 0.9], 2).expect("valid");
        let function = Expansion::random(kernel.clone(), centres, 2.0, seed as u64 + 3).expect("valid");
        let problem = problem(&kernel);
        let mut policy = Sbpe::default().with_schedule(super::Schedule::Lengths(vec![30, 30])).with_max_cells(4000).expect("valid");
        let (ledger, mut state) = one_batch(&problem, &mut policy, &function);
        let premises = Premises::new(&problem).expect("complete");
        let batch = Batch {
            settings: &policy,
            problem: &problem,
            ledger: &ledger,
            premises,
            index: 0,
            counted: Counted { first: 0, count: 2 },
            budget: Budget::of_batch(problem.delta(), 0, Counted { first: 0, count: 2 }),
        };
        let evidence = batch.evidence(&mut state).expect("fits").expect("arrived");
        let mut cells: Cells = state.cells.take().expect("a box");
        cells.learn(&batch, &evidence, &mut state).expect("learns");

        let grid = problem.domain().grid(101).expect("a grid").range(0, 101 * 101).expect("rows");
        let singles = batch.singles(&evidence, &grid).expect("evaluates");
        let design = Points::new(ledger.trials().iter().take(CHALLENGERS).flat_map(|t| t.point.clone()).collect(), 2).expect("points");
        let own = batch.singles(&evidence, &design).expect("evaluates").centres;
        let tail = batch.pair_tail(&evidence.noise, design.len());
        let ranks = vec![0; design.len()];
        let challengers = batch.against(&evidence, design, &ranks).expect("fits");
        let (mut discarded, mut tight) = (0, f64::INFINITY);
        challengers
            .for_each_survivor(grid.view(), &singles.centres, &own, |i, _, differences| {
                let cell = cells.tree.leaf_of(grid.row(i)).expect("inside");
                let beaten = differences.iter().any(|d| d.upper(tail) < 0.0) || singles.upper[i] < state.floor;
                if cells.tree.is_discarded(cell) {
                    discarded += 1;
                    assert!(beaten, "a point was discarded with its cell that no challenger beats");
                } else {
                    assert!(cells.upper_of(cell) >= singles.upper[i] - 1e-12);
                    tight = tight.min(cells.upper_of(cell) - singles.upper[i]);
                }
                Ok(())
            })
            .expect("evaluates");
        assert!(discarded > 500, "{discarded} of the grid discarded: too few to say anything");
        assert!(tight < 0.3, "bounds {tight} above what they bound");
    }
}
