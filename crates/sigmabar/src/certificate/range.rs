//! For which premises a claim stands, by the same data (algorithm notes 13).

use serde::{Deserialize, Serialize};

/// The range of premises within which a claim stands. Norms and noise levels are in the model's scale, where the prior's unit is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Range {
    /// $c_0$: the data exclude every norm below it, at the alarm's share of $\delta$.
    pub least_norm: f64,
    /// What is judged: the recommended setting is within this of the best, in the data's scale.
    pub gap: Option<f64>,
    /// $C^\dagger$: so much holds for every function of norm up to this.
    pub norm_breakdown: Option<f64>,
    /// $R^\dagger$: so much holds for noise of a level up to this, at the declared norm bound.
    pub noise_breakdown: Option<f64>,
}

impl Range {
    /// The range in words; none where nothing is known.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let excluded = (self.least_norm > 0.0).then(|| format!("the data exclude norms below {}", short(self.least_norm)));
        let stands = self.gap.zip(self.norm_breakdown).map(|(gap, norm)| {
            let noise = self.noise_breakdown.map(|noise| format!(", or noise up to {} at the declared norm", short(noise)));
            format!(
                "that it is within {} of the best stands for every function of norm up to {}{}",
                short(gap),
                short(norm),
                noise.unwrap_or_default()
            )
        });
        match (stands, excluded) {
            (Some(stands), Some(excluded)) => Some(format!("{stands}; {excluded}")),
            (stands, excluded) => stands.or(excluded),
        }
    }
}

/// Three digits.
fn short(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 8);
    format!("{value:.*}", digits as usize)
}
