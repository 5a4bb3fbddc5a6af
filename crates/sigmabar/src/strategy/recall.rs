//! A run made again from its record: what was asked is what was written down then, whatever would be planned today.

use super::Strategy;
use super::run::ledger::Proposal;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::points::PointsRef;

impl Strategy {
    /// Opens the next batch as it was recorded when it was planned and handed out, in the order of the ids; telling and closing go on from there as they did.
    ///
    /// The policy plans as it would now, so that it knows all that belongs to a plan. `is_recorded` is given the number of each recorded point with the candidate
    /// and the model's coordinates planned in its place: where it says no, because another version had planned, the recorded point stands. Claims stay what
    /// they are: no policy looks at a response of the batch that it plans, and certificates are computed from the points that were measured.
    ///
    /// Points are natural ones, as in [`Strategy::attach`].
    ///
    /// # Errors
    /// [`Error::Premise`] while a batch is open, [`Error::Empty`] for no point, [`Error::Outside`], or what planning runs into; nothing is opened then.
    pub fn recall(&mut self, recorded: &[Vec<f64>], is_recorded: impl Fn(usize, Option<usize>, &[f64]) -> bool) -> Result<()> {
        if self.ledger.is_open() {
            return Err(Error::Premise { what: "recalling a batch", reason: "another is open: close it first" });
        }
        if recorded.is_empty() {
            return Err(Error::Empty { what: "the list of recorded points" });
        }
        let mut planned = self.policy.plan(&self.problem, &self.ledger)?.into_iter();
        let stands = |(i, natural): (usize, &Vec<f64>)| match planned.next() {
            Some(proposal) if is_recorded(i, proposal.candidate, &proposal.point) => Ok(proposal),
            _ => self.placed(natural),
        };
        let proposals = recorded.iter().enumerate().map(stands).collect::<Result<_>>()?;
        self.finished = false;
        self.ledger.open(proposals);
        self.ledger.hand_out(usize::MAX);
        Ok(())
    }

    /// A natural point in the model's coordinates, with its candidate on a list.
    pub(super) fn placed(&self, natural: &[f64]) -> Result<Proposal> {
        let domain = self.problem.domain();
        let point = domain.encode(PointsRef::new(natural, domain.dim())?)?;
        let candidate = match domain {
            Domain::List(list) => list.position(natural),
            _ => None,
        };
        Ok(Proposal { candidate, point: point.row(0).to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{BoxDomain, Domain};
    use crate::error::Error;
    use crate::kernel::Kernel;
    use crate::noise::Noise;
    use crate::strategy::{Ask, Auto, GpThreds, GpUcb, Outcome, Policy, Problem, Sbpe, Sequential, Strategy, Trial};

    fn runs() -> Vec<Strategy> {
        let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 12).unwrap();
        let problem = problem.with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap()).unwrap().with_norm_bound(2.0).unwrap();
        let problem = problem.with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
        let ucb = GpUcb::default().with_sequential(Sequential::default().with_batch_len(3).with_box_candidates(64));
        let declared = Box::new(Sbpe::default().with_candidates(40).unwrap());
        let policies = [
            Policy::Sbpe(Box::default()),
            Policy::Sbpe(declared),
            Policy::Auto(Auto::new(3).unwrap()),
            Policy::GpUcb(ucb),
            Policy::GpThreds(GpThreds::new(-1.0, 1.0).unwrap()),
        ];
        policies.map(|policy| Strategy::new(problem.clone(), policy).unwrap()).into()
    }

    fn answer(run: &mut Strategy, trials: &[Trial]) {
        for trial in trials {
            run.tell(trial.id, Outcome::Value((5.0 * trial.point[0]).sin())).unwrap();
        }
    }

    #[test]
    fn a_run_made_again_from_its_own_record_is_the_same() {
        for mut run in runs() {
            let mut again = run.clone();
            while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
                let recorded: Vec<Vec<f64>> = trials.iter().map(|trial| trial.point.clone()).collect();
                again.recall(&recorded, |i, _, point| point == recorded[i]).unwrap();
                assert!(matches!(again.recall(&recorded, |_, _, _| true), Err(Error::Premise { .. })), "one batch at a time");
                answer(&mut run, &trials);
                answer(&mut again, &trials);
                assert_eq!(again.recommend().unwrap(), run.recommend().unwrap());
            }
            assert_eq!(again.ask(1).unwrap(), Ask::Finished);
            assert_eq!(again, run, "{}", run.policy().name());
        }
    }

    #[test]
    fn what_was_recorded_stands_where_it_was_planned_otherwise() {
        for mut run in runs() {
            // More points than the policy plans, all of them others, in more batches.
            for batch in 0..3 {
                let recorded: Vec<Vec<f64>> = (0..13).map(|i| vec![(f64::from(i) + 0.1 + 0.2 * f64::from(batch)) / 13.0]).collect();
                run.recall(&recorded, |_, _, _| false).unwrap();
                let trials = run.ledger().trials()[13 * batch as usize..].to_vec();
                assert!(trials.iter().zip(&recorded).all(|(trial, point)| trial.point == *point));
                answer(&mut run, &trials);
            }
            assert_eq!(run.ledger().closed(), 3);
            assert!(run.recommend().unwrap().is_some(), "{}", run.policy().name());
            assert_eq!(Strategy::from_bytes(&run.to_bytes()).unwrap(), run);
            assert!(matches!(run.recall(&[vec![2.0]], |_, _, _| false), Err(Error::Outside { .. })));
            assert!(matches!(run.recall(&[], |_, _, _| true), Err(Error::Empty { .. })));
        }
    }
}
