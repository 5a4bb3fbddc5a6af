//! Why a claim is not certified: what happened, and what would have helped.

use super::premises::Premises;
use super::record::{Certificate, Theorem};
use crate::origin::Origin;
use crate::points::Collected;

impl Certificate {
    /// The premises that keep the claim from being certified, in words; empty if it is, and for a theorem about rows declared exchangeable.
    #[must_use]
    pub fn weak_premises(&self) -> Vec<String> {
        let mut weak: Vec<String> = self.contradiction.iter().map(ToString::to_string).collect();
        if self.theorem == Theorem::Model {
            let who = if self.premises.kernel.value.is_some() { "the model says so" } else { "a guess without a model" };
            weak.push(format!("{who}, and no theorem covers it"));
        }
        let premises = self.premises.list();
        let is_taught = self.premises.taught.is_some_and(|taught| taught.origin == Origin::Unmet);
        for origin in [Origin::Assumed, Origin::LearntHere, Origin::Estimated] {
            // That what was learnt elsewhere was learnt here follows from the one reason below.
            let is_said_below = is_taught && origin == Origin::LearntHere && self.theorem != Theorem::Model;
            let names: Vec<&str> = premises.iter().filter(|p| p.origin == origin && !is_said_below).map(|p| p.name).collect();
            weak.extend((!names.is_empty()).then(|| format!("{origin}: {}", names.join(", ").replace('_', " "))));
        }
        let unmet = premises.iter().filter(|p| p.origin == Origin::Unmet && !self.is_beside_the_point(p.name));
        weak.extend(unmet.map(|p| self.premises.unmet(p.name)));
        weak
    }

    /// Without a theorem nothing is asked of the points, and where these are in doubt so is their number.
    fn is_beside_the_point(&self, name: &str) -> bool {
        let results = ["copies", "losses", "corrections", "means", "taught"];
        let is_doubted_already = name == "observations" && self.premises.points.origin == Origin::Unmet;
        is_doubted_already || (self.theorem == Theorem::Model && !results.contains(&name))
    }
}

impl Premises {
    /// What is wrong with a premise that is not met.
    fn unmet(&self, name: &str) -> String {
        let results = |count: usize| if count == 1 { "1 result was".to_owned() } else { format!("{count} results were") };
        match name {
            "kernel" => "no kernel was declared".to_owned(),
            "norm_bound" => "no norm bound was declared".to_owned(),
            "noise" => "no noise level was declared".to_owned(),
            "points" if self.points.value == Collected::Adaptive => "earlier results may have chosen the points".to_owned(),
            "points" => "nobody declared how the points were chosen".to_owned(),
            "observations" => "the number of observations was not fixed in advance".to_owned(),
            "copies" => format!(
                "{} rows equal another in every number: they may be one measurement written down twice, unless rows are declared distinct",
                self.copies.value
            ),
            "losses" => format!(
                "{} lost or measured again, and nobody declared before the first result that a loss has nothing to do with the value (failures = \"unrelated\"): \
                 measuring again cannot mend that, a new study can declare it",
                results(self.losses.value)
            ),
            "corrections" => format!(
                "{} corrected after the batch was analysed, and nobody declared before the first result that lost and corrected results have nothing to do with \
                 the value (failures = \"unrelated\")",
                results(self.corrections.value)
            ),
            "taught" if self.taught.is_none_or(|taught| taught.value == 0) => {
                "the premises were learnt from other results, which are not named (learnt_rows, as sigmabar premises --from writes it): one that was told again would not be noticed (if none \
                 was, declare distinct_rows = true)"
                    .to_owned()
            }
            "taught" => format!(
                "{} told that taught the premises, equal in setting and but for rounding in value: the same data cannot teach and prove (if measured anew, declare distinct_rows = true; \
                 if copied, begin a study of which everything is measured; noise = 0 where a repeat always gives the same)",
                results(self.taught.map_or(0, |taught| taught.value))
            ),
            "inducing" => "responses may have chosen the inducing points".to_owned(),
            "queries" => "responses may have chosen the points asked about".to_owned(),
            "constants" => "the theorem's constants do not cover this case".to_owned(),
            other => format!("{}: {}", Origin::Unmet, other.replace('_', " ")),
        }
    }
}
