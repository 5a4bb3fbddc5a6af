//! Built-in test functions: for demonstrations, and for trying a study before the real thing.

use super::ObjectiveTable;
use crate::Value;
use crate::error::SpecProblem;
use crate::space::{ParameterKind, Space};
use sigmabar::BoxDomain;
use sigmabar::simulated::{Classic, SimulatedNoise};

/// The functions by name; those of any number of columns take the number of parameters.
const NAMES: [&str; 8] = ["hills", "branin", "hartmann-3", "hartmann-6", "rosenbrock", "ackley", "levy", "styblinski-tang"];

/// Two hills and a hollow on the unit square: east, north, height. Bumps of a squared exponential kernel with length-scale 0.3, so that the function's norm
/// under that kernel is known, 1.56: a certified search of it can be checked.
const HILLS: [[f64; 3]; 3] = [[0.7, 0.65, 1.2], [0.25, 0.3, 0.8], [0.8, 0.1, -0.7]];
const HILLS_LENGTH: f64 = 0.3;

/// What is evaluated.
#[derive(Clone, Copy, Debug)]
enum Function {
    Classic(Classic),
    Hills,
}

impl Function {
    fn domain(self) -> sigmabar::Result<BoxDomain> {
        match self {
            Self::Classic(classic) => classic.domain(),
            Self::Hills => BoxDomain::unit(2),
        }
    }

    fn value(self, point: &[f64]) -> f64 {
        let hill = |[east, north, height]: [f64; 3]| {
            let square = (point[0] - east).powi(2) + (point[1] - north).powi(2);
            height * (-square / (2.0 * HILLS_LENGTH * HILLS_LENGTH)).exp()
        };
        match self {
            Self::Classic(classic) => classic.value(point),
            Self::Hills => HILLS.into_iter().map(hill).sum(),
        }
    }
}

/// A test function with normal noise from the trial's seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builtin {
    function: Function,
    noise: f64,
}

impl Builtin {
    /// The function, for parameters that are numbers within its box.
    pub fn new(name: &str, table: &ObjectiveTable, space: &Space) -> Result<Self, (&'static str, SpecProblem)> {
        let dim = space.parameters().len();
        let function = match name {
            "hills" => Function::Hills,
            "branin" => Function::Classic(Classic::Branin),
            "hartmann-3" => Function::Classic(Classic::Hartmann3),
            "hartmann-6" => Function::Classic(Classic::Hartmann6),
            "rosenbrock" => Function::Classic(Classic::Rosenbrock { dim, half_width: 2.0, divisor: 1.0 }),
            "ackley" => Function::Classic(Classic::Ackley { dim, half_width: 5.0, shift: 0.0 }),
            "levy" => Function::Classic(Classic::Levy { dim }),
            "styblinski-tang" => Function::Classic(Classic::StyblinskiTang { dim }),
            other => return Err(("builtin", SpecProblem::unknown("test function", other, &NAMES))),
        };
        let wrong = |found: String, requirement| ("builtin", SpecProblem::Requirement { found, requirement });
        let domain = function.domain().map_err(|error| ("builtin", SpecProblem::Core(error)))?;
        if domain.dim() != dim {
            return Err(wrong(
                format!("{dim} parameters"),
                "as many parameters as the function has (hills and branin 2, hartmann-3 3, hartmann-6 6)",
            ));
        }
        for ((parameter, low), high) in space.parameters().iter().zip(domain.low()).zip(domain.high()) {
            let (from, to) = match &parameter.kind {
                ParameterKind::Float { low, high, .. } | ParameterKind::Column { low, high } => (*low, *high),
                ParameterKind::Int { low, high, .. } => (*low as f64, *high as f64),
                ParameterKind::Ordinal { levels } => {
                    let number = |level: Option<&Value>| level.and_then(Value::as_number).unwrap_or(f64::NAN);
                    (number(levels.first()), number(levels.last()))
                }
                ParameterKind::Categorical { .. } => (f64::NAN, f64::NAN),
            };
            if !(from >= *low && to <= *high) {
                return Err(wrong(
                    format!("the parameter \"{}\"", parameter.name),
                    "numbers inside the box of the function (hills, branin and hartmann 0 to 1, rosenbrock -2 to 2, ackley and styblinski-tang -5 to 5, levy -10 to 10)",
                ));
            }
        }
        let noise = table.noise.unwrap_or(0.0);
        if !(noise.is_finite() && noise >= 0.0) {
            return Err((
                "noise",
                SpecProblem::Requirement { found: noise.to_string(), requirement: "a standard deviation of at least 0" },
            ));
        }
        Ok(Self { function, noise })
    }

    /// The value of a setting, with the noise that belongs to the trial's seed.
    pub fn value(&self, values: &[(String, Value)], seed: u64) -> f64 {
        let point: Vec<f64> = values.iter().filter_map(|(_, value)| value.as_number()).collect();
        let noise = if self.noise > 0.0 { SimulatedNoise::Gaussian { std_dev: self.noise } } else { SimulatedNoise::None };
        self.function.value(&point) + noise.draw(seed, 0)
    }
}
