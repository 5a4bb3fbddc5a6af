//! What would have to be true for a claim to be wrong (algorithm notes 13).

use super::error::Result;
use super::page::Page;
use super::study::{Content, sentence};
use crate::plot;
use sigmabar::certificate::Theorem;
use sigmabar::strategy::{PremiseRow, Standing};

/// Length-scales of the premise map beside the declared ones, as multiples of these.
const SHORTER: [f64; 2] = [0.5, 0.7];
const LONGER: [f64; 2] = [1.4, 2.0];

impl Content<'_> {
    /// The claim along the norm bound, and over the length-scale: only where a theorem stands behind it.
    pub(super) fn premises(&self, page: &mut Page) -> Result<()> {
        let Some(standing) = self.study.standing()?.filter(|s| s.certificate.label().is_certified()) else { return Ok(()) };
        if !self.breaking(page, &standing) {
            return Ok(());
        }
        let map = self.map(&standing)?;
        self.mapped(page, &standing, &map);
        Ok(())
    }

    /// The premise map around a claim, whose own row is known.
    pub(super) fn map(&self, standing: &Standing) -> Result<Vec<PremiseRow>> {
        let mut map = self.study.premise_map(&SHORTER)?;
        map.push(standing.row());
        map.extend(self.study.premise_map(&LONGER)?);
        Ok(map)
    }

    /// The map as a picture.
    pub(super) fn mapped(&self, page: &mut Page, standing: &Standing, map: &[PremiseRow]) {
        page.picture(plot::premise_map(map, standing, self.response()));
    }

    /// Where the claim breaks, in a sentence and as curves along norm and noise; false where no norm bound gives a gap.
    pub(super) fn breaking(&self, page: &mut Page, standing: &Standing) -> bool {
        page.heading("What would have to be true for this to be wrong?");
        if standing.certificate.theorem == Theorem::Energy {
            page.paragraph(
                "This strategy looks at results before it chooses the next setting, and what it recommends is an estimate. Here is what is proved about its recommendation whatever \
                 chose the settings: wide, but true.",
            );
        }
        if let Some(words) = standing.range.sentence(&standing.certificate.premises) {
            page.paragraph(&sentence(&words));
        }
        let is_curve = standing.curve.iter().any(|point| point.gap.is_some());
        if is_curve {
            page.picture(plot::standing(standing, self.response()));
            plot::noise(standing, self.response()).into_iter().for_each(|picture| page.picture(picture));
        }
        is_curve
    }
}
