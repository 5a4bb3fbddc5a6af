//! Repeats of one setting of which one is probably mistyped.

use super::Study;
use crate::trial::TrialRow;
use crate::{Result, TrialStatus, Value};
use std::collections::BTreeMap;

/// Repeats this many times as far apart as they should be are said to be: normal noise does not do that once in 10¹⁴.
const FAR: f64 = 8.0;

/// Two results of one setting that are far apart.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The trial with the smaller result.
    pub low: TrialRow,
    /// The trial with the larger one.
    pub high: TrialRow,
    /// How far apart repeats usually are: by what was said of the noise, or by what the other repeats show.
    pub usual: f64,
}

impl Study {
    /// The two results of one setting that are farthest apart, if that is much farther than was said of the noise and than other repeats are. Where replicates bound a level
    /// that nobody knows, no premise is contradicted by a mistyped value: it only makes every interval wider.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub fn repeats_apart(&self) -> Result<Option<Apart>> {
        let problem = self.spec().problem();
        let Some(noise) = problem.noise() else { return Ok(None) };
        let expected = std::f64::consts::SQRT_2 * noise.std_dev_bound() * problem.prior().unit();
        let mut groups = BTreeMap::<String, Vec<TrialRow>>::new();
        for row in self.trials()?.into_iter().filter(|row| row.state == TrialStatus::Done) {
            let setting: Vec<String> = row.values.iter().map(Value::to_string).collect();
            groups.entry(setting.join("\n")).or_default().push(row);
        }
        let value = |row: &TrialRow| row.value.unwrap_or_default();
        let mut pairs: Vec<(f64, TrialRow, TrialRow)> = groups
            .into_values()
            .filter_map(|mut rows| {
                rows.sort_by(|a, b| value(a).total_cmp(&value(b)));
                let (high, low) = (rows.pop()?, rows.into_iter().next()?);
                Some((value(&high) - value(&low), low, high))
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((distance, low, high)) = pairs.pop() else { return Ok(None) };
        let usual = pairs.get(pairs.len() / 2).map_or(expected, |middle| expected.max(middle.0));
        Ok((distance > FAR * usual).then_some(Apart { low, high, usual }))
    }
}
