//! Catoni's mean: insensitive to heavy tails.

/// Halvings of the bracket around the root: beyond the precision of a float.
const HALVINGS: usize = 200;

/// The root $\theta$ of $\sum_i\psi(a(z_i-\theta))=0$, $\psi(z)=\mathrm{sgn}(z)\log(1+|z|+z^2/2)$, with
/// $a=\sqrt{2L/(n(v+2vL/(n-2L)))}$ for samples of variance at most $v$ and $L=\log(1/\delta)$ (recalled); for $n\le2L$, where the theorem is silent, $a=\sqrt{2L/(nv)}$.
pub(super) fn catoni_mean(samples: &[f64], variance: f64, tail: f64) -> f64 {
    let n = samples.len() as f64;
    let inflated = if n > 2.0 * tail { variance * (1.0 + 2.0 * tail / (n - 2.0 * tail)) } else { variance };
    let a = (2.0 * tail / (n * inflated)).sqrt();
    let influence = |z: f64| z.signum() * (z.abs() + 0.5 * z * z).ln_1p();
    let sum = |theta: f64| samples.iter().map(|z| influence(a * (z - theta))).sum::<f64>();
    // The sum falls in θ: positive below every sample, negative above.
    let mut low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if sum(middle) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::catoni_mean;

    #[test]
    fn it_is_the_mean_of_tame_samples_and_ignores_one_wild_one() {
        let tame: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let mean = tame.iter().sum::<f64>() / 200.0;
        assert!((catoni_mean(&tame, 0.5, 3.0) - mean).abs() < 0.02);
        let mut wild = tame;
        wild[7] = 1e6;
        let wild_mean = wild.iter().sum::<f64>() / 200.0;
        assert!(wild_mean > 1000.0);
        assert!((catoni_mean(&wild, 0.5, 3.0) - mean).abs() < 2.0);
        assert_eq!(catoni_mean(&[2.5], 1.0, 1.0), 2.5);
    }
}
