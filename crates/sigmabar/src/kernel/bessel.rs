//! The Matérn profile of any order, by Bessel functions of the second kind.

use pulp::num_complex::Complex;
use statrs::function::gamma::{gamma, ln_gamma};
use std::f64::consts::{LN_2, PI};

/// From this order on the part of the power series that starts with $r^{2\nu}$ is below rounding wherever the series is used.
const LARGE_ORDER: f64 = 30.0;

/// $M_\nu(r)=\frac{2^{1-\nu}}{\Gamma(\nu)}r^\nu K_\nu(r)$: 1 at 0, decreasing.
pub(super) fn profile(nu: f64, r: f64) -> f64 {
    let q = 0.25 * r * r;
    if r == 0.0 || (nu > 1.0 && q < 1e-17 * (nu - 1.0)) {
        return 1.0;
    }
    if nu >= LARGE_ORDER && q <= nu - 1.0 {
        return 1.0 - regular_loss(nu, q);
    }
    // K overflows only where r is so small that the profile is 1 to the last bit, or where it has already decayed to 0.
    let Some(scaled) = scaled_bessel(nu, r) else { return if r < 1.0 { 1.0 } else { 0.0 } };
    if nu <= 100.0 && r < 600.0 {
        ((2.0 * scaled / gamma(nu)) * (0.5 * r).powf(nu) * (-r).exp()).min(1.0)
    } else {
        // The factors overflow and underflow one by one: only their product is a number.
        (nu * (0.5 * r).ln() - r + scaled.ln() + LN_2 - ln_gamma(nu)).exp().min(1.0)
    }
}

/// $-2\,\partial M_\nu/\partial\rho^2$ at $r=\sqrt{2\nu}\rho$, that is $\frac{2^{2-\nu}\nu}{\Gamma(\nu)}r^{\nu-1}K_{\nu-1}(r)$; at $r=0$ for $\nu\le1$,
/// where it is infinite, 0: it is only ever multiplied by a squared difference that is 0 there.
pub(super) fn slope(nu: f64, r: f64) -> f64 {
    if nu > 1.0 {
        return nu / (nu - 1.0) * profile(nu - 1.0, r);
    }
    match scaled_bessel(1.0 - nu, r) {
        Some(scaled) if r > 0.0 => 4.0 * nu / gamma(nu) * (0.5 * r).powf(nu) * (-r).exp() * scaled / r,
        _ => 0.0,
    }
}

/// $1-M_\nu(r)$ without cancellation: by power series where it is small, directly elsewhere.
pub(super) fn loss(nu: f64, r: f64) -> f64 {
    let q = 0.25 * r * r;
    if r >= 0.1 && q >= 0.1 * nu {
        return 1.0 - profile(nu, r);
    }
    if nu >= LARGE_ORDER {
        return regular_loss(nu, q);
    }
    let nearest = nu.round();
    if nearest >= 1.0 && (nu - nearest).abs() < 1e-3 {
        // Both series have a pole at an integer order and only their difference is finite.
        return loss_by_quadrature(nu, r);
    }
    regular_loss(nu, q) + singular_loss(nu, q)
}

/// $-\sum_{j\ge1}\frac{q^j}{j!\,(1-\nu)_j}$ with $q=r^2/4$.
fn regular_loss(nu: f64, q: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for j in 1..200 {
        let j = f64::from(j);
        if nu >= LARGE_ORDER && j > nu - 0.5 {
            break;
        }
        term *= q / (j * (j - nu));
        sum += term;
        if term.abs() < 1e-18 * sum.abs() && j > 2.0 {
            break;
        }
    }
    -sum
}

/// $\frac{\Gamma(1-\nu)}{\Gamma(1+\nu)}q^\nu\sum_{j\ge0}\frac{q^j}{j!\,(1+\nu)_j}$ with $q=r^2/4$.
fn singular_loss(nu: f64, q: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for j in 1..200 {
        let j = f64::from(j);
        term *= q / (j * (j + nu));
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    // Γ(1−ν) = π/(sin(πν) Γ(ν)), with the sine taken at the distance to the nearest integer.
    let nearest = nu.round();
    let sine = (PI * (nu - nearest)).sin() * if nearest % 2.0 == 0.0 { 1.0 } else { -1.0 };
    PI / (sine * gamma(nu) * gamma(1.0 + nu)) * q.powf(nu) * sum
}

/// $1-M_\nu(r)=\int_0^r\frac{t}{2\nu}\bigl(-2\,\partial M_\nu/\partial\rho^2\bigr)(t)\,dt$ by the double-exponential rule: the integrand is positive,
/// with at most a logarithm at 0.
fn loss_by_quadrature(nu: f64, r: f64) -> f64 {
    let step = 0.125;
    let mut sum = 0.0;
    for k in -26_i32..=26 {
        let y = step * f64::from(k);
        let decay = (-PI * y.sinh()).exp();
        let fraction = 1.0 / (1.0 + decay);
        let weight = step * PI * y.cosh() * fraction * fraction * decay;
        let t = r * fraction;
        if t > 0.0 && weight > 0.0 {
            sum += weight * t * slope(nu, t);
        }
    }
    0.5 * r / nu * sum
}

/// $e^rK_\nu(r)$, where it is a finite number.
fn scaled_bessel(nu: f64, r: f64) -> Option<f64> {
    let value = complex_bessel::besselk_scaled(nu, Complex::new(r, 0.0)).ok()?.re;
    value.is_finite().then_some(value)
}
