//! Where a norm bound comes from, for people (algorithm notes 13.4).

use crate::error::{Result, at_least_one, positive};

/// What is added for what nobody thought of.
const SAFETY: f64 = 1.5;

/// A norm bound for a function that strays by `height` from its prior mean, in `hills` separate hills and valleys: $C = 1.5\,h\sqrt q$ for a kernel of variance 1, because one
/// hill $h\,k(\cdot,c)$ has the norm $h$, and $q$ of them far from each other $h\sqrt q$.
///
/// # Errors
/// [`crate::Error::Parameter`] unless the height is finite and positive and there is one hill at least.
pub fn norm_of_hills(height: f64, hills: usize) -> Result<f64> {
    positive("height", height)?;
    Ok(SAFETY * height * (at_least_one("the number of hills and valleys", hills)? as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::Expansion;
    use crate::kernel::Kernel;
    use crate::points::Points;

    #[test]
    fn separate_hills_and_valleys_have_the_norm_that_the_rule_has_in_mind() {
        let centres = Points::on_line(vec![0.0, 2.0, 4.0, 6.0]).expect("valid");
        let kernel = Kernel::squared_exponential(0.2, 1.0).expect("valid");
        let function = Expansion::new(kernel, centres, vec![3.0, -3.0, 3.0, -3.0]).expect("valid");
        let norm = function.norm().expect("a norm");
        assert!((norm - 6.0).abs() < 1e-9 && (norm_of_hills(3.0, 4).expect("valid") - SAFETY * norm).abs() < 1e-9);
        assert!(norm_of_hills(0.0, 4).is_err() && norm_of_hills(1.0, 0).is_err());
    }
}
