//! The Matérn kernel $v\,\frac{2^{1-\nu}}{\Gamma(\nu)}r^\nu K_\nu(r)$.

use super::{Lengthscale, bessel};
use crate::error::{Result, positive};
use serde::{Deserialize, Serialize};

/// $k(x,z)=v\,\frac{2^{1-\nu}}{\Gamma(\nu)}r^\nu K_\nu(r)$ with $r=\sqrt{2\nu}\,\rho$: functions with fewer than $\nu$ derivatives more than
/// continuity asks, so rougher for smaller $\nu$. Closed forms at $\nu=\tfrac12,\tfrac32,\tfrac52$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matern {
    pub(super) nu: f64,
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl Matern {
    pub(super) fn validate(&self) -> Result<()> {
        positive("nu", self.nu)?;
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
    }

    /// The smoothness $\nu$.
    #[must_use]
    pub fn nu(&self) -> f64 {
        self.nu
    }

    /// The length-scales $\ell$.
    #[must_use]
    pub fn lengthscale(&self) -> &Lengthscale {
        &self.lengthscale
    }

    /// The variance $v=k(x,x)$.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// $r=\sqrt{2\nu}\,\rho$.
    fn radius(&self, squared_distance: f64) -> f64 {
        (2.0 * self.nu * squared_distance).sqrt()
    }

    /// $k$ at squared distance $\rho^2$.
    pub(super) fn at(&self, squared_distance: f64) -> f64 {
        self.variance * profile(self.nu, self.radius(squared_distance))
    }

    /// $-2\,\partial k/\partial\rho^2$; at 0 for $\nu\le1$, where it is infinite, any finite number, since it meets a factor 0.
    pub(super) fn slope(&self, squared_distance: f64) -> f64 {
        self.variance * slope(self.nu, self.radius(squared_distance))
    }

    /// $d_k^2=2v(1-M_\nu(r))$ without cancellation.
    pub(super) fn squared_metric(&self, squared_distance: f64) -> f64 {
        2.0 * self.variance * loss(self.nu, self.radius(squared_distance))
    }
}

/// $M_\nu(r)$.
pub(super) fn profile(nu: f64, r: f64) -> f64 {
    if nu == 0.5 {
        (-r).exp()
    } else if nu == 1.5 {
        decayed(1.0 + r, r)
    } else if nu == 2.5 {
        decayed(1.0 + r + r * r / 3.0, r)
    } else {
        bessel::profile(nu, r)
    }
}

/// $-2\,\partial M_\nu/\partial\rho^2$ at $r=\sqrt{2\nu}\rho$.
pub(super) fn slope(nu: f64, r: f64) -> f64 {
    if nu == 0.5 {
        if r > 0.0 { (-r).exp() / r } else { 0.0 }
    } else if nu == 1.5 {
        3.0 * (-r).exp()
    } else if nu == 2.5 {
        decayed(5.0 / 3.0 * (1.0 + r), r)
    } else {
        bessel::slope(nu, r)
    }
}

/// $1-M_\nu(r)$ without cancellation. Where it is small, by its power series, in which $(-r)^j/j!$ comes $j-1$ times for $\nu=3/2$ and $-(j-1)(j-3)/3$ times for
/// $\nu=5/2$.
fn loss(nu: f64, r: f64) -> f64 {
    if nu == 0.5 {
        -(-r).exp_m1()
    } else if nu == 1.5 || nu == 2.5 {
        if r >= 1.0 {
            return 1.0 - profile(nu, r);
        }
        let coefficient = |j: f64| if nu == 1.5 { j - 1.0 } else { -(j - 1.0) * (j - 3.0) / 3.0 };
        let (mut power, mut sum) = (-r, 0.0);
        for j in 2..24 {
            let j = f64::from(j);
            power *= -r / j;
            sum += coefficient(j) * power;
            if power.abs() * j * j < 1e-18 * sum {
                break;
            }
        }
        sum
    } else {
        bessel::loss(nu, r)
    }
}

/// $p\,e^{-r}$, and 0 (not $\infty\cdot0$) for points infinitely far apart.
fn decayed(polynomial: f64, r: f64) -> f64 {
    if r > 800.0 { 0.0 } else { polynomial * (-r).exp() }
}
