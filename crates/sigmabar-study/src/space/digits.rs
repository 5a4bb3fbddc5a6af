//! The nearest setting of few digits that keeps the constraints.

use super::{Parameter, ParameterKind, Space};
use crate::Value;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

/// How many steps of its last digit each number is moved at most.
const STEPS: i32 = 2;
/// How many settings are tried, nearest first. Reports ask for thousands of settings.
const TRIES: usize = 1000;

/// Which of its values each parameter has, in a heap of settings by their distance.
#[derive(PartialEq)]
struct Tried {
    distance: f64,
    places: Vec<usize>,
}

impl Eq for Tried {}

impl PartialOrd for Tried {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tried {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then_with(|| self.places.cmp(&other.places))
    }
}

impl Space {
    /// The nearest setting with as many digits as can be set that keeps the constraints; `None` where there is none near.
    pub(super) fn rounded(&self, natural: &[f64]) -> Option<Vec<Value>> {
        let near: Vec<Vec<(f64, Value)>> = self.parameters.iter().zip(natural).map(|(p, &number)| p.near(number)).collect();
        let tried = |places: Vec<usize>| Tried { distance: near.iter().zip(&places).map(|(near, &place)| near[place].0).sum(), places };
        let first = vec![0; near.len()];
        let (mut queue, mut seen) = (BinaryHeap::from([Reverse(tried(first.clone()))]), HashSet::from([first]));
        for _ in 0..TRIES {
            let Reverse(Tried { places, .. }) = queue.pop()?;
            let values: Vec<Value> = near.iter().zip(&places).map(|(near, &place)| near[place].1.clone()).collect();
            if self.point(&values).is_ok() {
                return Some(values);
            }
            for i in (0..places.len()).filter(|&i| places[i] + 1 < near[i].len()) {
                let mut next = places.clone();
                next[i] += 1;
                if seen.insert(next.clone()) {
                    queue.push(Reverse(tried(next)));
                }
            }
        }
        None
    }
}

impl Parameter {
    /// Values with as many digits as can be set, nearest first, each with the square of its distance as a share of the parameter's range.
    fn near(&self, natural: f64) -> Vec<(f64, Value)> {
        let rounded = self.value(natural);
        let (ParameterKind::Float { low, high, log }, Some(digits), Some(number)) = (&self.kind, self.digits, rounded.as_number()) else {
            return vec![(0.0, rounded)];
        };
        let scale = |value: f64| if *log { value.ln() } else { value };
        let distance = |value: f64| ((scale(value) - scale(natural)) / (scale(*high) - scale(*low))).powi(2);
        let step = 10_f64.powi(-self.decimals(natural, digits));
        let moved = (-STEPS..=STEPS).map(|steps| number + f64::from(steps) * step).filter(|value| (*low..=*high).contains(value));
        let mut near: Vec<(f64, Value)> =
            moved.filter_map(|value| self.value(value).as_number()).map(|value| (distance(value), Value::Float(value))).collect();
        near.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        near.dedup_by(|(_, a), (_, b)| a.same(b));
        if near.is_empty() { vec![(0.0, rounded)] } else { near }
    }
}
