//! For which premises a claim stands, by the same data (algorithm notes 13).

use super::premises::Premises;
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
    /// Whether the gap is that from the best of the candidates that stand for the space, and not from the best there is.
    #[serde(default)]
    pub among_candidates: bool,
}

impl Range {
    /// The range in words: with noise in the data's scale, and norms in units and under the kernel that was declared, where the run went by one with shorter length-scales.
    /// None where nothing is known.
    #[must_use]
    pub fn sentence(&self, premises: &Premises) -> Option<String> {
        // Under the shorter length-scales a norm is at most so many times as large: what is shown of all norms up to one there is shown of all up to that share of it.
        let growth = premises.lengthscales.as_ref().map_or(1.0, |l| l.value.bound / l.value.norm_bound);
        self.words(premises.prior.value.unit(), growth)
    }

    fn words(&self, unit: f64, growth: f64) -> Option<String> {
        let least = self.least_norm / growth;
        let excluded = (least > 0.0).then(|| format!("the data exclude norms below {}", short(least, Towards::Below)));
        let stands = self.gap.zip(self.norm_breakdown).map(|(gap, norm)| {
            let noise =
                self.noise_breakdown.map(|noise| format!(", or noise up to {} at the declared norm", short(unit * noise, Towards::Below)));
            format!(
                "it is within {} of the best{} for every function of norm up to {}{}",
                short(gap, Towards::Above),
                if self.among_candidates { " of the candidates that stand for the space" } else { "" },
                short(norm / growth, Towards::Below),
                noise.unwrap_or_default()
            )
        });
        match (stands, excluded) {
            (Some(stands), Some(excluded)) => Some(format!("{stands}; {excluded}")),
            (stands, excluded) => stands.or(excluded),
        }
    }
}

/// Where the words may err: a claim that is rounded claims less, never more.
#[derive(Clone, Copy, PartialEq)]
enum Towards {
    Below,
    Above,
}

/// Three digits, and for whole numbers all of them.
fn short(value: f64, towards: Towards) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let power = value.abs().log10().floor() as i32;
    let is_plain = (-4..6).contains(&power);
    let unit = 10_f64.powi(if is_plain { (power - 2).min(0) } else { power - 2 });
    let written = |steps: f64| match is_plain {
        true => format!("{:.*}", usize::try_from(2 - power).unwrap_or(0), steps * unit),
        false => format!("{:.2e}", steps * unit),
    };
    let nearest = (value / unit).round();
    let (step, text) = (if towards == Towards::Above { 1.0 } else { -1.0 }, written(nearest));
    let is_beyond = text.parse::<f64>().is_ok_and(|said| (said - value) * step < 0.0);
    if is_beyond { written(nearest + step) } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Range, Towards, short};

    #[test]
    fn noise_is_said_in_the_unit_of_the_results() {
        let range =
            Range { least_norm: 1.0, gap: Some(4.0), norm_breakdown: Some(2.5), noise_breakdown: Some(0.1), among_candidates: false };
        let said = range.words(20.0, 1.0).expect("something stands");
        assert!(said.contains("norm up to 2.50, or noise up to 2.00 at the declared norm; the data exclude norms below 1.00"), "{said}");
        // In the norm that was declared where the run goes by a shorter length-scale, and of what it speaks.
        let said = Range { among_candidates: true, ..range }.words(20.0, 2.0).expect("something stands");
        assert!(
            said.starts_with(
                "it is within 4.00 of the best of the candidates that stand for the space for every function of norm up to 1.25"
            ),
            "{said}"
        );
        assert!(said.ends_with("exclude norms below 0.500"), "{said}");
    }

    #[test]
    fn words_claim_no_more_than_numbers() {
        for (value, below, above) in [
            (0.0, "0", "0"),
            (0.1, "0.100", "0.100"),
            (1.40127, "1.40", "1.41"),
            (3.2393, "3.23", "3.24"),
            (9.999, "9.99", "10.00"),
            (2261.3, "2261", "2262"),
            (3.3e-12, "3.30e-12", "3.30e-12"),
            (1.2345e9, "1.23e9", "1.24e9"),
        ] {
            assert_eq!((short(value, Towards::Below).as_str(), short(value, Towards::Above).as_str()), (below, above));
        }
        for i in 1..2000 {
            let value = f64::from(i).powi(7) * 1e-15;
            let said = |towards| short(value, towards).parse::<f64>().expect("a number");
            assert!(said(Towards::Below) <= value && value <= said(Towards::Above) && said(Towards::Above) <= 1.02 * value, "{value}");
        }
    }
}
