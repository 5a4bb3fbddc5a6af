//! What an interval may be called, and why.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an interval may be called, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Label {
    /// A theorem whose premises were declared before the data.
    Certified,
    /// A theorem if $\lVert f\rVert \le C$ holds under the kernel that was learnt on earlier data.
    CertifiedForLearntKernel,
    /// Something in the claim was learnt from the same responses: right on average if the model is, not a theorem.
    Calibrated,
    /// A premise of the theorem is known not to hold.
    Heuristic,
}

/// Why an interval is not simply certified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// The kernel was learnt on other responses than those being certified.
    KernelLearntBefore,
    /// The kernel was learnt on the responses themselves.
    KernelLearntHere,
    /// Prior mean and unit were learnt from the responses.
    PriorLearnt,
    /// The norm bound was estimated.
    NormEstimated,
    /// Points may have been chosen by looking at responses, and the method asked for needs them fixed.
    AdaptivePoints,
    /// The paper's constants are used where they do not bound what they should (small kernel variance or norm bound).
    PaperConstants,
    /// The data contradict the claimed norm bound or noise: whatever follows from them says nothing.
    Contradicted,
    /// Points of a batch failed or did not arrive in time: the claim is valid if that does not depend on the noise.
    LostPoints,
    /// Points of a batch were lost, and losing them says something about their values.
    InformativeLoss,
    /// Results from before the run count: the claim is valid if none of their points was chosen by looking at a response, as was declared.
    AttachedResults,
    /// The claim is about the declared candidates, not about the whole domain they stand for.
    DeclaredCandidates,
}

impl Reason {
    fn label(self) -> Label {
        match self {
            Self::KernelLearntBefore => Label::CertifiedForLearntKernel,
            Self::KernelLearntHere | Self::PriorLearnt | Self::NormEstimated | Self::InformativeLoss => Label::Calibrated,
            Self::AdaptivePoints | Self::PaperConstants | Self::Contradicted => Label::Heuristic,
            // Premises to be told, which the claim rests on like on the others.
            Self::LostPoints | Self::AttachedResults | Self::DeclaredCandidates => Label::Certified,
        }
    }
}

impl Label {
    /// The strongest label that all reasons allow.
    pub(crate) fn from_reasons(reasons: &[Reason]) -> Self {
        reasons.iter().map(|r| r.label()).max().unwrap_or(Self::Certified)
    }
}

/// What the claim rests on and nobody can check from the data alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Assumption {
    /// $\lVert f - \text{mean}\rVert_k \le C$, in the model's scale.
    NormBound {
        /// $C$.
        bound: f64,
    },
    /// The noise is independent, mean zero and as declared.
    Noise,
    /// This library chose the points without seeing a response.
    PointsDesigned,
    /// The user declared that no point, inducing point or query was chosen by looking at a response.
    PointsDeclaredFixed,
    /// Points may have been chosen by looking at earlier responses.
    PointsAdaptive,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certified => "certified",
            Self::CertifiedForLearntKernel => "certified if the norm bound holds under the kernel learnt before",
            Self::Calibrated => "calibrated, not certified",
            Self::Heuristic => "heuristic, not certified",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KernelLearntBefore => "the kernel was learnt on earlier responses",
            Self::KernelLearntHere => "the kernel was learnt on these responses",
            Self::PriorLearnt => "prior mean and unit were learnt from these responses",
            Self::NormEstimated => "the norm bound is an estimate",
            Self::AdaptivePoints => "points may depend on responses and this method needs them fixed",
            Self::PaperConstants => "the paper's constants do not bound this case",
            Self::Contradicted => "the data contradict the claimed norm bound or noise",
            Self::LostPoints => "points were lost: valid if failing does not depend on the noise",
            Self::InformativeLoss => "points were lost, and losing them says something about their values",
            Self::AttachedResults => {
                "results from before the run count: valid if their points were not chosen by looking at responses, as declared"
            }
            Self::DeclaredCandidates => "the claim is about the declared candidates, not the whole domain",
        })
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NormBound { bound } => write!(f, "the norm of f minus its prior mean is at most {bound}"),
            Self::Noise => f.write_str("noise is independent, mean zero and as declared"),
            Self::PointsDesigned => f.write_str("points were designed without seeing a response"),
            Self::PointsDeclaredFixed => f.write_str("the user declared that no point was chosen by looking at a response"),
            Self::PointsAdaptive => f.write_str("points may have been chosen by looking at earlier responses"),
        }
    }
}
