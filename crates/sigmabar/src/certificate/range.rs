//! For which premises a claim stands, by the same data (algorithm notes 13).

use super::premises::Premises;
use crate::origin::Origin;
use serde::{Deserialize, Serialize};

/// Norm bounds, or noise levels, of a curve: quarter powers of two around the declared one.
const BELOW: i32 = 8;
const ABOVE: i32 = 11;

/// The norm bounds, or noise levels, of a curve around a declared one.
pub(crate) fn values_around(declared: f64) -> Vec<f64> {
    (-BELOW..=ABOVE).map(|k| declared * (0.25 * f64::from(k)).exp2()).collect()
}

/// Breakdown points are looked for up to this many times the declared value.
pub(crate) const FARTHEST: f64 = 8.0;
/// Where nothing smaller is wanted, the claim that is followed is of so many times what is claimed, which itself grows with the norm at once.
pub(crate) const LEEWAY: f64 = 2.0;

/// Which claim a range follows to where it breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Followed {
    /// The recommended setting is within a gap of the best.
    #[default]
    Gap,
    /// The middle of every interval is within an error of the function.
    Error,
    /// The function lies on this side of a threshold, at the points whose intervals exclude it: all of these at once.
    Side {
        /// The threshold, in the data's scale.
        threshold: f64,
        /// At so many points above it.
        above: usize,
        /// At so many below it.
        below: usize,
    },
}

/// The range of premises within which a claim stands. Norms and noise levels are in the model's scale, where the prior's unit is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Range {
    /// $c_0$: the data exclude every norm below it, at the alarm's share of $\delta$.
    pub least_norm: f64,
    /// What is followed: a gap, the error of a design, or a conclusion from intervals.
    #[serde(default)]
    pub of: Followed,
    /// What is claimed under the declared premises: the recommended setting is within this of the best, in the data's scale; or the error, in the model's.
    #[serde(default)]
    pub claimed: Option<f64>,
    /// The gap that was wanted, where it was reached: the claim of it is the one followed to where it breaks.
    #[serde(default)]
    pub wanted: Option<f64>,
    /// The gap whose claim is followed to where it breaks: the wanted one, else twice the claimed one, which itself is proved for the declared premises alone.
    pub gap: Option<f64>,
    /// $C^\dagger$: so much holds for every function of norm up to this.
    pub norm_breakdown: Option<f64>,
    /// $R^\dagger$: so much holds for noise of a level up to this, at the declared norm bound.
    pub noise_breakdown: Option<f64>,
    /// Whether the gap is that from the best of the candidates that stand for the space, and not from the best there is.
    #[serde(default)]
    pub among_candidates: bool,
    /// Whether $C^\dagger$ is as far as was looked: the claim may stand farther.
    #[serde(default)]
    pub norm_is_open: bool,
    /// The same of $R^\dagger$.
    #[serde(default)]
    pub noise_is_open: bool,
    /// Whether the norm bound alone says what is claimed: the data rule nothing out.
    #[serde(default)]
    pub is_trivial: bool,
}

impl Range {
    /// The gap that it claims of a norm bound and a noise level, infinite where it claims none: beyond what was declared it speaks of one of both at a time.
    pub(crate) fn gap_of(&self, (norm_bound, noise): (f64, f64), (declared, level): (f64, f64)) -> f64 {
        let (usual_norm, usual_noise) = (norm_bound <= declared, noise <= level);
        let reaches = |end: Option<f64>, value: f64| end.is_some_and(|end| value <= end);
        let stands = (usual_noise && reaches(self.norm_breakdown, norm_bound)) || (usual_norm && reaches(self.noise_breakdown, noise));
        let (followed, claimed) = (self.gap.filter(|_| stands), self.claimed.filter(|_| usual_norm && usual_noise));
        followed.into_iter().chain(claimed).fold(f64::INFINITY, f64::min)
    }

    /// The range in words: $c_0 \le C \le C^\dagger$ and $R^\dagger$, and for which gap; with noise in the data's scale, and norms in units and under the kernel that was declared,
    /// where the run went by one with shorter length-scales. None where nothing is known.
    #[must_use]
    pub fn sentence(&self, premises: &Premises) -> Option<String> {
        // Under the shorter length-scales a norm is at most so many times as large: what is shown of all norms up to one there is shown of all up to that share of it.
        let whose = if premises.norm_bound.origin == Origin::LearntElsewhere { "learnt" } else { "declared" };
        self.words(premises.prior.value.unit(), premises.norm_growth(), premises.norm_bound.value, whose)
    }

    fn words(&self, unit: f64, growth: f64, declared: Option<f64>, whose: &str) -> Option<String> {
        let best = match self.of {
            Followed::Error => "the function",
            _ if self.among_candidates => "the best of the candidates that stand for the space",
            _ => "the best",
        };
        let it = if self.of == Followed::Error { "the middle of every interval" } else { "it" };
        let declared = declared.map(|norm| as_said(norm / growth));
        let claimed = self.claimed.zip(declared.as_ref()).map(|(gap, norm)| {
            format!("{it} is within {} of {best} for every function of norm up to the {whose} {norm}", short(gap, Towards::Above))
        });
        let why = match self.of {
            Followed::Error => "so few measurements tell nothing",
            Followed::Gap => "the data rule nothing out yet",
            Followed::Side { .. } => "the data add nothing to it",
        };
        let nothing = self.is_trivial.then(|| format!("that follows from the norm alone: {why}"));
        let farthest = |is_open: bool| if is_open { " (no farther was looked)" } else { "" };
        // A conclusion is said even where the norm alone draws it: nothing else says what it is.
        let followed = self.norm_breakdown.filter(|_| !self.is_trivial || self.gap.is_none()).map(|norm| {
            let norm = format!("{}{}", short(norm / growth, Towards::Below), farthest(self.norm_is_open));
            let noise = self.noise_breakdown.zip(declared).map_or_else(String::new, |(noise, declared)| {
                format!(", or up to noise {}{} at norm {declared}", short(unit * noise, Towards::Below), farthest(self.noise_is_open))
            });
            let gap = self.gap.map(|gap| short(gap, Towards::Above));
            match (gap, &claimed) {
                (Some(gap), Some(_)) => format!("within {gap}, {}, up to norm {norm}{noise}", self.which()),
                (Some(gap), None) => format!("{it} is within {gap} of {best} for every function of norm up to {norm}{noise}"),
                (None, _) => format!("it is {} for every function of norm up to {norm}{noise}", self.sides()),
            }
        });
        let least = self.least_norm / growth;
        let excluded = (least > 0.0).then(|| format!("the data exclude norms below {}", short(least, Towards::Below)));
        let said: Vec<String> = claimed.into_iter().chain(followed).chain(nothing).chain(excluded).collect();
        (!said.is_empty()).then(|| format!("under this kernel and noise {}", said.join("; ")))
    }

    /// A conclusion from intervals: where one point was asked for it goes without saying.
    fn sides(&self) -> String {
        let Followed::Side { threshold, above, below } = self.of else { return "as concluded".to_owned() };
        let at = |points: usize| if points == 1 { "1 point".to_owned() } else { format!("{points} points") };
        match (above, below) {
            (1, 0) => format!("above {threshold}"),
            (0, 1) => format!("below {threshold}"),
            (above, 0) => format!("above {threshold} at {}", at(above)),
            (0, below) => format!("below {threshold} at {}", at(below)),
            (above, below) => format!("above {threshold} at {} and below it at {below}", at(above)),
        }
    }

    /// Why the claim of this gap is the one that is followed.
    fn which(&self) -> &'static str {
        match (self.wanted, self.gap.zip(self.claimed)) {
            (Some(_), _) if self.of == Followed::Error => "the error wanted",
            (Some(wanted), Some((gap, _))) if wanted == gap => "the gap wanted",
            (Some(_), _) => "the gap wanted and what rounding the setting costs",
            (None, Some((gap, claimed))) if gap == 2.0 * claimed => "twice that",
            _ => "about twice that",
        }
    }

    /// The range of a design's error, which is in the model's scale, in another unit.
    #[must_use]
    pub fn in_unit(self, unit: f64) -> Self {
        let times = |value: Option<f64>| value.map(|value| unit * value);
        Self { claimed: times(self.claimed), wanted: times(self.wanted), gap: times(self.gap), ..self }
    }

    /// About a setting at a kernel distance from the recommended one, of which a unit of norm makes `slack` in the data's scale.
    #[must_use]
    pub fn moved(self, norm_bound: f64, slack: f64) -> Self {
        let farthest = self.norm_breakdown.unwrap_or(norm_bound);
        Self { claimed: self.claimed.map(|gap| gap + norm_bound * slack), gap: self.gap.map(|gap| gap + farthest * slack), ..self }
    }
}

/// Where the words may err: a claim that is rounded claims less, never more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Never more than the number.
    Below,
    /// Never less.
    Above,
}

/// A number that somebody said, as it was said unless that is long.
fn as_said(value: f64) -> String {
    let text = value.to_string();
    if text.len() <= 6 { text } else { short(value, Towards::Below) }
}

/// Three digits, and for whole numbers all of them.
#[must_use]
pub fn short(value: f64, towards: Towards) -> String {
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
    use super::{Followed, Range, Towards, short};

    #[test]
    fn the_sentence_says_every_end_and_of_which_gap() {
        let range = Range {
            least_norm: 1.0,
            claimed: Some(2.0),
            wanted: None,
            gap: Some(4.0),
            norm_breakdown: Some(2.5),
            noise_breakdown: Some(0.1),
            ..Range::default()
        };
        let said = |range: Range, growth: f64| range.words(20.0, growth, Some(2.0), "declared").expect("something stands");
        assert_eq!(
            said(range, 1.0),
            "under this kernel and noise it is within 2.00 of the best for every function of norm up to the declared 2; within 4.00, twice that, up to norm 2.50, or up to noise 2.00 at norm 2; \
             the data exclude norms below 1.00"
        );
        assert!(said(Range { wanted: Some(4.0), ..range }, 1.0).contains("within 4.00, the gap wanted, up to norm 2.50"));
        // In the norm that was declared where the run goes by a shorter length-scale, and of what it speaks.
        let shorter = said(Range { among_candidates: true, ..range }, 2.0);
        assert!(shorter.starts_with("under this kernel and noise it is within 2.00 of the best of the candidates that stand for the space for every function of norm up to the declared 1; within 4.00"));
        assert!(
            shorter.contains("up to norm 1.25, or up to noise 2.00 at norm 1") && shorter.ends_with("exclude norms below 0.500"),
            "{shorter}"
        );
        // A setting whose digits are cut is a little farther from the best, and more so under a larger norm.
        let moved = range.moved(2.0, 0.1);
        assert!((moved.claimed, moved.gap) == (Some(2.2), Some(4.25)) && said(moved, 1.0).contains("about twice that"));
        assert!(said(Range { wanted: Some(4.0), ..moved }, 1.0).contains("the gap wanted and what rounding the setting costs"));
        // A bound that somebody learnt was not declared; where the search ended is no end; and where the norm alone says it, nothing else is followed.
        assert!(range.words(20.0, 1.0, Some(2.0), "learnt").expect("stands").contains("up to the learnt 2;"));
        let open = said(Range { norm_is_open: true, noise_is_open: true, ..range }, 1.0);
        assert!(open.contains("up to norm 2.50 (no farther was looked), or up to noise 2.00 (no farther was looked) at norm 2;"), "{open}");
        let trivial = said(Range { is_trivial: true, ..range }, 1.0);
        assert!(
            trivial.contains("up to the declared 2; that follows from the norm alone: the data rule nothing out yet; the data exclude"),
            "{trivial}"
        );
        // Certificates of earlier versions know one gap.
        assert!(
            said(Range { claimed: None, ..range }, 1.0)
                .starts_with("under this kernel and noise it is within 4.00 of the best for every function of norm up to 2.50, or")
        );
    }

    #[test]
    fn the_sentence_says_what_is_followed() {
        let range = Range { least_norm: 1.0, norm_breakdown: Some(2.5), noise_breakdown: Some(0.1), ..Range::default() };
        let side = |above, below| {
            let of = Followed::Side { threshold: 80.0, above, below };
            Range { of, ..range }.words(20.0, 1.0, Some(2.0), "declared").expect("something stands")
        };
        assert_eq!(
            side(1, 0),
            "under this kernel and noise it is above 80 for every function of norm up to 2.50, or up to noise 2.00 at norm 2; the data exclude norms below 1.00"
        );
        for ((above, below), words) in
            [((0, 1), "below 80"), ((3, 0), "above 80 at 3 points"), ((1, 2), "above 80 at 1 point and below it at 2")]
        {
            assert!(side(above, below).contains(&format!("it is {words} for every function")), "{}", side(above, below));
        }
        let known = Range { of: Followed::Side { threshold: 80.0, above: 1, below: 0 }, is_trivial: true, noise_breakdown: None, ..range };
        assert_eq!(
            known.words(20.0, 1.0, Some(2.0), "declared").expect("something stands"),
            "under this kernel and noise it is above 80 for every function of norm up to 2.50; that follows from the norm alone: the data add nothing to it; \
             the data exclude norms below 1.00"
        );
        let error = Range { of: Followed::Error, least_norm: 0.0, claimed: Some(0.5), wanted: Some(0.75), gap: Some(0.75), ..range };
        let said = |range: Range| range.words(20.0, 1.0, Some(2.0), "declared").expect("something stands");
        assert_eq!(
            said(error.in_unit(20.0)),
            "under this kernel and noise the middle of every interval is within 10.0 of the function for every function of norm up to the declared 2; \
             within 15.0, the error wanted, up to norm 2.50, or up to noise 2.00 at norm 2"
        );
        assert!(said(Range { is_trivial: true, ..error }).ends_with("that follows from the norm alone: so few measurements tell nothing"));
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
