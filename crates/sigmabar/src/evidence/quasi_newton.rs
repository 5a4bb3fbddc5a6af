//! Bounded quasi-Newton ascent behind one function: the only place that knows the optimisation crate.

use crate::error::{Error, Result};
use basin::{BoxBounds, ConstraintDescription, ConstraintSet, Constraints, CostFunction, Executor, FirstOrderState, Gradient, Lbfgsb};
use std::cell::RefCell;

/// Where the ascent ended: the best point seen, whatever made it stop.
#[derive(Clone, Debug)]
pub(crate) struct Ascent {
    pub point: Vec<f64>,
    pub value: f64,
    /// How often value and gradient were computed.
    pub evaluations: usize,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Steps of the quasi-Newton method.
    pub steps: usize,
    /// Stop when a step gains less than this share of the value, or no bounded derivative is larger.
    pub tolerance: f64,
}

/// Maximises `objective` (value and gradient) over a box by L-BFGS-B from `start`, moved into the box if need be.
///
/// A point where the objective cannot be computed counts as very bad, so the line search turns back; only a start that cannot be computed is an error.
pub(crate) fn maximise(
    objective: impl Fn(&[f64]) -> Result<(f64, Vec<f64>)>,
    start: &[f64],
    bounds: &[(f64, f64)],
    effort: Effort,
) -> Result<Ascent> {
    let start: Vec<f64> = start.iter().zip(bounds).map(|(&v, &(low, high))| v.clamp(low, high)).collect();
    let (value, gradient) = objective(&start)?;
    if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
        return Err(Error::Premise { what: "learning from this start", reason: "the evidence is not finite there: start elsewhere" });
    }
    let cost = Evaluated { point: start.clone(), cost: -value, slope: negated(&gradient) };
    let memory = RefCell::new(Memory { best: cost.clone(), last: cost, evaluations: 1 });
    let (lower, upper) = bounds.iter().copied().unzip();
    let problem = Problem { objective: &objective, memory: &memory, lower, upper };
    let solver = Lbfgsb::new()
        .with_absolute_projected_gradient_tolerance(effort.tolerance)
        .with_relative_cost_reduction_tolerance(effort.tolerance * 0.1);
    // A failed line search ends the run; what counts is the best point seen.
    if effort.steps > 0 {
        let _ = Executor::new(problem, solver, FirstOrderState::new(start)).max_iter(effort.steps as u64).run();
    }
    let Memory { best, evaluations, .. } = memory.into_inner();
    Ok(Ascent { point: best.point, value: -best.cost, evaluations })
}

#[derive(Clone, Debug)]
struct Evaluated {
    point: Vec<f64>,
    cost: f64,
    slope: Vec<f64>,
}

struct Memory {
    last: Evaluated,
    best: Evaluated,
    evaluations: usize,
}

/// The objective as the optimisation crate wants it: cost and slope apart, though they are computed together.
struct Problem<'a, F> {
    objective: &'a F,
    memory: &'a RefCell<Memory>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl<F: Fn(&[f64]) -> Result<(f64, Vec<f64>)>> Problem<'_, F> {
    fn at(&self, point: &[f64]) -> Evaluated {
        let mut memory = self.memory.borrow_mut();
        if memory.last.point != point {
            memory.evaluations += 1;
            memory.last = match (self.objective)(point) {
                Ok((value, gradient)) if value.is_finite() && gradient.iter().all(|g| g.is_finite()) => {
                    Evaluated { point: point.to_vec(), cost: -value, slope: negated(&gradient) }
                }
                _ => Evaluated { point: point.to_vec(), cost: 1e3 * (1.0 + memory.best.cost.abs()), slope: vec![0.0; point.len()] },
            };
            if memory.last.cost < memory.best.cost {
                memory.best = memory.last.clone();
            }
        }
        memory.last.clone()
    }
}

impl<F: Fn(&[f64]) -> Result<(f64, Vec<f64>)>> CostFunction for Problem<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = std::convert::Infallible;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Self::Error> {
        Ok(self.at(point).cost)
    }
}

impl<F: Fn(&[f64]) -> Result<(f64, Vec<f64>)>> Gradient for Problem<'_, F> {
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Self::Error> {
        Ok(self.at(point).slope)
    }
}

impl<F> Constraints for Problem<'_, F> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.lower), Some(&self.upper)))
    }
}

fn negated(gradient: &[f64]) -> Vec<f64> {
    gradient.iter().map(|g| -g).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// −Rosenbrock, undefined beyond |x| > 3.
    fn valley(p: &[f64]) -> Result<(f64, Vec<f64>)> {
        if p[0].abs() > 3.0 {
            return Err(Error::Premise { what: "the valley", reason: "out of range" });
        }
        let (a, b) = (1.0 - p[0], p[1] - p[0] * p[0]);
        Ok((-(a * a + 100.0 * b * b), vec![2.0 * a + 400.0 * p[0] * b, -200.0 * b]))
    }

    const EFFORT: Effort = Effort { steps: 200, tolerance: 1e-10 };

    #[test]
    fn the_top_is_found_inside_and_on_the_bounds() {
        let free = maximise(valley, &[-1.2, 1.0], &[(-50.0, 50.0), (-50.0, 50.0)], EFFORT).unwrap();
        assert!((free.point[0] - 1.0).abs() < 1e-4 && (free.point[1] - 1.0).abs() < 1e-4, "{free:?}");
        let bounded = maximise(valley, &[-1.2, 1.0], &[(-50.0, 0.5), (-50.0, 50.0)], EFFORT).unwrap();
        assert!((bounded.point[0] - 0.5).abs() < 1e-9 && (bounded.point[1] - 0.25).abs() < 1e-4, "{bounded:?}");
    }

    #[test]
    fn a_start_outside_is_moved_and_a_bad_start_is_an_error() {
        assert!(maximise(valley, &[9.0, 1.0], &[(-2.0, 2.0), (-5.0, 5.0)], EFFORT).unwrap().value > -1e-6);
        assert!(maximise(valley, &[4.0, 1.0], &[(-5.0, 5.0), (-5.0, 5.0)], EFFORT).is_err());
    }
}
