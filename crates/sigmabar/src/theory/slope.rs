//! How fast half-widths can change: what a search over regions needs.

/// By how much $C\,b + Rz\lVert V\rVert$ changes at most per unit of the kernel metric (algorithm notes 8.7): $C\,(a+\sqrt{a^2+4})/2 + \frac12Rz/\tau$ with
/// $a = \sqrt r/2$, because $s_1$, $s_2$ are 1-Lipschitz in $d_k$ and $\tau\lVert V\rVert$ is ½-Lipschitz. `noise` is $Rz/\tau$.
pub(crate) fn half_width_slope(norm_bound: f64, residual_ratio: f64, noise: f64) -> f64 {
    let a = 0.5 * residual_ratio.sqrt();
    norm_bound * 0.5 * (a + (a * a + 4.0).sqrt()) + 0.5 * noise
}
