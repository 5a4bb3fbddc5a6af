//! Functions as large as premises say, to look at: could yours look like these?

use super::{Learnt, Pilot, SAFETY};
use crate::Result;
use crate::space::{Parameter, ParameterKind, Space};
use sigmabar::{Expansion, Points};

/// Choices at which functions are drawn.
const SHOWN: usize = 3;
/// Functions, centres of each, and steps along the parameter.
const FUNCTIONS: u64 = 3;
const CENTRES: usize = 60;
const STEPS: u32 = 200;

/// Functions along one parameter, at some choices of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The parameter along which they are drawn, over its range.
    pub along: String,
    /// The choices, each with its parameter; none where no parameter has choices.
    pub choices: Vec<String>,
    /// Values of each function at each choice, in the data's scale.
    pub functions: Vec<Vec<Vec<f64>>>,
}

/// Some choices of the first parameter that has choices, as functions of another are drawn at them; none where no parameter has a range along which one could draw.
#[must_use]
pub fn shown_choices(space: &Space) -> Option<Vec<String>> {
    let parameters = space.parameters();
    if parameters.iter().all(Parameter::is_choice) {
        return None;
    }
    let named = |parameter: &Parameter| match &parameter.kind {
        ParameterKind::Categorical { choices } => {
            Some(choices.iter().take(SHOWN).map(|choice| format!("{} = {choice}", parameter.name)).collect())
        }
        _ => None,
    };
    Some(parameters.iter().find_map(named).unwrap_or_default())
}

impl Pilot {
    /// Random functions under learnt premises, with two thirds of the norm bound, along the parameter that changes fastest while the other numbers stay in the middle; none where no
    /// parameter is a number.
    ///
    /// # Errors
    /// What evaluating the kernel runs into.
    pub fn functions(&self, learnt: &Learnt, seed: u64) -> Result<Option<Drawn>> {
        let space = self.spec.space();
        let Some(choices) = shown_choices(space) else { return Ok(None) };
        let numbers = (0..space.parameters().len()).filter(|&i| !space.parameters()[i].is_choice());
        let Some(along) = numbers.min_by(|&a, &b| learnt.lengthscales[a].1.total_cmp(&learnt.lengthscales[b].1)) else { return Ok(None) };
        let kernel = self.spec.matern(&learnt.lengthscales, learnt.variance)?;
        let few: Vec<Vec<f64>> = self.points.iter().step_by(self.points.len().div_ceil(CENTRES)).cloned().collect();
        let centres = Points::from_rows(&few)?;
        let one = |which: u64| -> Result<Vec<Vec<f64>>> {
            let function = Expansion::random(kernel.clone(), centres.clone(), learnt.norm_bound / SAFETY, seed.wrapping_add(which))?;
            let line = |choice: usize| -> Result<Vec<f64>> {
                let steps: Vec<Vec<f64>> = (0..=STEPS).map(|i| at(space, along, f64::from(i) / f64::from(STEPS), choice)).collect();
                let values = function.values(Points::from_rows(&steps)?.view())?;
                Ok(values.into_iter().map(|value| learnt.prior.mean() + learnt.prior.unit() * value).collect())
            };
            (0..choices.len().max(1)).map(line).collect()
        };
        let functions = (0..FUNCTIONS).map(one).collect::<Result<_>>()?;
        Ok(Some(Drawn { along: space.parameters()[along].name.clone(), choices, functions }))
    }
}

/// The strategy's point at a share of one parameter's range and at one choice of the first parameter that has choices; the others in the middle, or at their first choice.
fn at(space: &Space, along: usize, share: f64, choice: usize) -> Vec<f64> {
    let mut point = vec![0.5; space.domain().dim()];
    let choices: Vec<usize> = (0..space.parameters().len()).filter(|&i| space.parameters()[i].is_choice()).collect();
    choices.iter().enumerate().for_each(|(place, &i)| space.choose(&mut point, i, if place == 0 { choice } else { 0 }));
    point[space.columns_of(along).start] = share;
    point
}
