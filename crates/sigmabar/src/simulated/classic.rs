//! The functions that everybody tests on, turned so that large values are wanted.

use crate::domain::BoxDomain;
use crate::error::{Error, Result, positive};
use serde::{Deserialize, Serialize};
use std::f64::consts::{E, PI, TAU};

/// The place of the largest value of $-(x^4-16x^2+5x)/2$, a root of $4x^3-32x+5$.
const STYBLINSKI_TANG_PLACE: f64 = -2.903_534_027_771_177;

/// A well-known function, to be maximised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Classic {
    /// Branin on $\[0,1\]^2$, scaled as in algorithm notes 10.3: with $u=15x_1-5$, $v=15x_2$,
    /// $-\big((v-5.1u^2/4\pi^2+5u/\pi-6)^2+(10-10/8\pi)\cos u-44.81\big)/51.95$. Three maximisers, 1.0474.
    Branin,
    /// Rosenbrock on $\[0,1\]^2$ as in algorithm notes 10.3: with $z=0.3x+0.8$, $10-100(z_2-z_1^2)^2-(1-z_1)^2$. Largest at $x=(2/3,2/3)$: 10.
    RosenbrockPlane,
    /// Rosenbrock on $[-h,h]^d$, divided by `divisor`: $-\sum_{i<d}\big(100(x_{i+1}-x_i^2)^2+(1-x_i)^2\big)/\text{divisor}$. Largest at ones: 0.
    Rosenbrock {
        /// Number of columns, at least 2.
        dim: usize,
        /// $h \ge 1$.
        half_width: f64,
        /// What values are divided by.
        divisor: f64,
    },
    /// Hartmann's function of three columns on the unit cube. Largest 3.86278.
    Hartmann3,
    /// Hartmann's function of six columns on the unit cube. Largest 3.32237.
    Hartmann6,
    /// Ackley on $[-h,h]^d$, moved so that its largest value, 0, is at `shift` in every column:
    /// $20e^{-0.2\sqrt{\overline{z^2}}}+e^{\overline{\cos2\pi z}}-20-e$ with $z=x-\text{shift}$.
    Ackley {
        /// Number of columns.
        dim: usize,
        /// $h$.
        half_width: f64,
        /// Where the largest value is, inside the box.
        shift: f64,
    },
    /// Levy on $[-10,10]^d$: with $w=1+(x-1)/4$, $-\sin^2\pi w_1-\sum_{i<d}(w_i-1)^2(1+10\sin^2(\pi w_i+1))-(w_d-1)^2(1+\sin^22\pi w_d)$. Largest at ones: 0.
    Levy {
        /// Number of columns.
        dim: usize,
    },
    /// Styblinski–Tang on $[-5,5]^d$: $-\frac12\sum(x_i^4-16x_i^2+5x_i)$. Largest 39.16617 d.
    StyblinskiTang {
        /// Number of columns.
        dim: usize,
    },
}

impl Classic {
    /// What it is called in tables.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Branin => "branin".into(),
            Self::RosenbrockPlane => "rosenbrock".into(),
            Self::Rosenbrock { dim, .. } => format!("rosenbrock-{dim}"),
            Self::Hartmann3 => "hartmann-3".into(),
            Self::Hartmann6 => "hartmann-6".into(),
            Self::Ackley { dim, .. } => format!("ackley-{dim}"),
            Self::Levy { dim } => format!("levy-{dim}"),
            Self::StyblinskiTang { dim } => format!("styblinski-tang-{dim}"),
        }
    }

    /// The box it lives on.
    ///
    /// # Errors
    /// [`Error::Parameter`] for too few columns, a half-width or divisor that is not positive, or a largest value outside the box.
    pub fn domain(&self) -> Result<BoxDomain> {
        match *self {
            Self::Branin | Self::RosenbrockPlane => BoxDomain::unit(2),
            Self::Hartmann3 => BoxDomain::unit(3),
            Self::Hartmann6 => BoxDomain::unit(6),
            Self::Rosenbrock { dim, half_width, divisor } => {
                positive("divisor", divisor)?;
                if dim < 2 {
                    return Err(Error::Parameter { name: "dim", value: dim as f64, requirement: "at least 2 for Rosenbrock's function" });
                }
                around(dim, half_width, 1.0)
            }
            Self::Ackley { dim, half_width, shift } => around(dim, half_width, shift),
            Self::Levy { dim } => around(dim, 10.0, 1.0),
            Self::StyblinskiTang { dim } => around(dim, 5.0, STYBLINSKI_TANG_PLACE),
        }
    }

    /// The value at a point of the box.
    #[must_use]
    pub fn value(&self, x: &[f64]) -> f64 {
        match self {
            Self::Branin => branin(x),
            Self::RosenbrockPlane => {
                let (z1, z2) = (0.3 * x[0] + 0.8, 0.3 * x[1] + 0.8);
                10.0 - 100.0 * (z2 - z1 * z1).powi(2) - (1.0 - z1).powi(2)
            }
            Self::Rosenbrock { divisor, .. } => {
                -x.windows(2).map(|z| 100.0 * (z[1] - z[0] * z[0]).powi(2) + (1.0 - z[0]).powi(2)).sum::<f64>() / divisor
            }
            Self::Hartmann3 => hartmann(&HARTMANN_3, x),
            Self::Hartmann6 => hartmann(&HARTMANN_6, x),
            Self::Ackley { shift, .. } => ackley(x, *shift),
            Self::Levy { .. } => levy(x),
            Self::StyblinskiTang { .. } => -0.5 * x.iter().map(|x| x.powi(4) - 16.0 * x * x + 5.0 * x).sum::<f64>(),
        }
    }

    /// The largest value on the box.
    #[must_use]
    pub fn maximum(&self) -> f64 {
        match self {
            // The square vanishes where cos u = −1.
            Self::Branin => (54.81 - 1.25 / PI) / 51.95,
            Self::RosenbrockPlane => 10.0,
            Self::Hartmann3 => 3.862_779_787_332_662_4,
            Self::Hartmann6 => 3.322_368_011_415_514_7,
            Self::Rosenbrock { .. } | Self::Ackley { .. } | Self::Levy { .. } => 0.0,
            Self::StyblinskiTang { dim } => 39.166_165_703_771_41 * *dim as f64,
        }
    }

    /// All places of the largest value.
    #[must_use]
    pub fn maximisers(&self) -> Vec<Vec<f64>> {
        match *self {
            Self::Branin => vec![
                vec![(5.0 - PI) / 15.0, 12.275 / 15.0],
                vec![(5.0 + PI) / 15.0, 2.275 / 15.0],
                vec![(5.0 + 3.0 * PI) / 15.0, 2.475 / 15.0],
            ],
            Self::RosenbrockPlane => vec![vec![2.0 / 3.0; 2]],
            Self::Hartmann3 => vec![vec![0.114_588_876_655_068_96, 0.555_648_894_616_93, 0.852_546_984_686_677_4]],
            Self::Hartmann6 => vec![vec![
                0.201_689_511_006_705_43,
                0.150_010_691_823_457_97,
                0.476_873_974_221_897,
                0.275_332_430_494_056_1,
                0.311_651_616_600_113_26,
                0.657_300_534_065_620_3,
            ]],
            Self::Rosenbrock { dim, .. } | Self::Levy { dim } => vec![vec![1.0; dim]],
            Self::Ackley { dim, shift, .. } => vec![vec![shift; dim]],
            Self::StyblinskiTang { dim } => vec![vec![STYBLINSKI_TANG_PLACE; dim]],
        }
    }
}

/// $[-h,h]^d$, which must hold the place of the largest value.
fn around(dim: usize, half_width: f64, place: f64) -> Result<BoxDomain> {
    positive("half-width", half_width)?;
    if place.is_nan() || place.abs() > half_width {
        return Err(Error::Parameter {
            name: "half-width",
            value: half_width,
            requirement: "so large that the place of the largest value is inside the box",
        });
    }
    BoxDomain::new(vec![-half_width; dim], vec![half_width; dim])
}

fn branin(x: &[f64]) -> f64 {
    let (u, v) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
    let bowl = v - 5.1 * u * u / (4.0 * PI * PI) + 5.0 * u / PI - 6.0;
    -(bowl * bowl + (10.0 - 10.0 / (8.0 * PI)) * u.cos() - 44.81) / 51.95
}

fn ackley(x: &[f64], shift: f64) -> f64 {
    let d = x.len() as f64;
    let square = x.iter().map(|x| (x - shift).powi(2)).sum::<f64>() / d;
    let cosine = x.iter().map(|x| (TAU * (x - shift)).cos()).sum::<f64>() / d;
    20.0 * (-0.2 * square.sqrt()).exp() + cosine.exp() - 20.0 - E
}

fn levy(x: &[f64]) -> f64 {
    let w: Vec<f64> = x.iter().map(|x| 1.0 + (x - 1.0) / 4.0).collect();
    let last = w[w.len() - 1];
    let middle = |w: &f64| (w - 1.0).powi(2) * (1.0 + 10.0 * (PI * w + 1.0).sin().powi(2));
    let first = (PI * w[0]).sin().powi(2);
    -first - w[..w.len() - 1].iter().map(middle).sum::<f64>() - (last - 1.0).powi(2) * (1.0 + (TAU * last).sin().powi(2))
}

/// $\sum_i \alpha_i\exp(-\sum_j A_{ij}(x_j-P_{ij})^2)$; rows are (A, P in units of $10^{-4}$).
fn hartmann<const D: usize>(terms: &[([f64; D], [f64; D]); 4], x: &[f64]) -> f64 {
    let bump = |(sharpness, place): &([f64; D], [f64; D])| {
        let far: f64 = (0..D).map(|j| sharpness[j] * (x[j] - 1e-4 * place[j]).powi(2)).sum();
        (-far).exp()
    };
    [1.0, 1.2, 3.0, 3.2].iter().zip(terms).map(|(weight, term)| weight * bump(term)).sum()
}

const HARTMANN_3: [([f64; 3], [f64; 3]); 4] = [
    ([3.0, 10.0, 30.0], [3689.0, 1170.0, 2673.0]),
    ([0.1, 10.0, 35.0], [4699.0, 4387.0, 7470.0]),
    ([3.0, 10.0, 30.0], [1091.0, 8732.0, 5547.0]),
    ([0.1, 10.0, 35.0], [381.0, 5743.0, 8828.0]),
];

const HARTMANN_6: [([f64; 6], [f64; 6]); 4] = [
    ([10.0, 3.0, 17.0, 3.5, 1.7, 8.0], [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0]),
    ([0.05, 10.0, 17.0, 0.1, 8.0, 14.0], [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0]),
    ([3.0, 3.5, 1.7, 10.0, 17.0, 8.0], [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0]),
    ([17.0, 8.0, 0.05, 10.0, 0.1, 14.0], [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0]),
];
