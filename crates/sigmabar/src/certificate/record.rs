//! The certificate: what is claimed, what was assumed and what was computed, in the one record that everything claimed carries.

use super::claim::{Claim, Coverage, Method, Side};
use super::label::Label;
use super::premises::Premises;
use super::range::{Range, Towards, short};
use crate::domain::Domain;
use crate::error::Error;
use crate::noise::{LevelBound, Noise};
use crate::number::Number;
use crate::origin::Origin;
use crate::points::Collected;
use crate::residual::{ResidualNorm, ResidualNormKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a claim rests on. Its label follows from the rest: [`Certificate::label`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
#[non_exhaustive]
pub struct Certificate {
    /// What is claimed.
    pub claim: Claimed,
    /// What the claim is about.
    pub about: About,
    /// $\delta$: the total probability that something claimed is false.
    pub delta: f64,
    /// How $\delta$ was spent; the amounts add up to $\delta$ at most.
    pub spent: Vec<Spent>,
    /// The theorem.
    pub theorem: Theorem,
    /// What it rests on.
    pub premises: Premises,
    /// What was computed.
    pub bounds: Bounds,
    /// That the data contradict the premises, if they do: nothing is certified then.
    pub contradiction: Option<Contradiction>,
    /// For which other premises the claim stands by the same data, where that was worked out (algorithm notes 13).
    pub range: Option<Range>,
}

/// What is claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Claimed {
    /// The function lies within its interval.
    Function {
        /// Which ends.
        side: Side,
    },
    /// A new response lies within its interval.
    Response {
        /// Which ends.
        side: Side,
        /// The noise of the new response; none where nothing is assumed about it.
        noise: Option<Noise>,
    },
    /// The best setting was never ruled out, the recommended one is within its gap of the best, and its value within its interval.
    Optimum,
    /// The middle of the function's interval, that of $\bar\mu\pm$ width and $|f|\le C\sqrt{k(x,x)}$ together, is nowhere farther from the function than this. The
    /// mean by itself may be, where the bound is the trivial one.
    Error {
        /// The bound, in the model's scale.
        bound: f64,
    },
}

/// What a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum About {
    /// Each point asked for, by itself.
    Point,
    /// All points of a list at once.
    List {
        /// How many.
        points: usize,
    },
    /// Every point there is.
    Everywhere,
    /// Every point of a box.
    Box {
        /// The lower corner.
        low: Vec<f64>,
        /// The upper corner.
        high: Vec<f64>,
    },
    /// Every setting of a declared space.
    Space,
}

/// The theorem behind a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Theorem {
    /// Half-widths fixed before the responses (algorithm notes 8), or the exact posterior's (7.1).
    Width(Method),
    /// The energy band (algorithm notes 7.3), for every $n$ at once.
    Energy,
    /// Elimination by batches (algorithm notes 5.3).
    Elimination,
    /// Elimination by the paper's rules.
    PaperElimination,
    /// The a-priori error of a design (algorithm notes 6.5).
    Design,
    /// Calibration on exchangeable rows (algorithm notes 16).
    Conformal,
    /// None: an estimate of the model.
    Model,
}

/// A share of $\delta$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// On which events.
    pub on: String,
    /// How much, all events together.
    pub delta: f64,
    /// How many events share it, where they are counted.
    pub events: Option<f64>,
}

/// What was computed for a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The bound on $\lambda$ and how it was obtained; 0 for the exact posterior.
    pub residual_norm: Option<ResidualNorm>,
    /// The factor on the noise term: a tail factor $z$ at a point, a norm factor for uniform claims, the noise energy $\Gamma$ for the energy band.
    pub noise_factor: Option<f64>,
    /// $\beta$ where the half-width is $\beta\bar\sigma$.
    pub beta: Option<f64>,
    /// The kernel-metric radius of a cover.
    pub cover_radius: Option<f64>,
    /// The logarithm of the number of its cells.
    pub log_cells: Option<f64>,
    /// How many candidates stand for the domain: the same claim about these alone has a gap of its own, the `candidate_gap`.
    #[serde(default)]
    pub candidates: Option<usize>,
    /// The relative rounding that the widths allow for.
    pub rounding: Option<f64>,
    /// The ridges that compete with the model's own: each point takes the one that serves it best, by points, norm bound and noise alone.
    #[serde(default)]
    pub ridges: Option<[f64; 2]>,
    /// The finite-sample level of a calibrated interval: what is proved for this number of rows.
    pub level: Option<f64>,
    /// How often the model's own interval held on rows that it had not learnt from.
    pub measured: Option<Frequency>,
}

/// How often something held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    /// So often it held.
    pub held: usize,
    /// Of so many.
    pub of: usize,
    /// Rows of which kind.
    pub on: Unseen,
}

/// Rows that a model has not learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unseen {
    /// Kept from the model altogether.
    HeldOut,
    /// Left out one at a time, with kernel and ridge as learnt with it.
    LeftOut,
}

/// The data contradict the premises.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// $c_0$: no function of a smaller norm fits the data under the noise that was declared; none where only the elimination showed it.
    pub least_norm: Option<f64>,
    /// The bound that was claimed.
    pub norm_bound: f64,
    /// How many repeated measurements of a batch were equal to the last digit, more than differed, which normal noise never makes them; none where it was not that.
    #[serde(default)]
    pub equal_repeats: Option<usize>,
}

impl Contradiction {
    /// That no function within the norm bound fits.
    pub(crate) fn of_norm(least_norm: Option<f64>, norm_bound: f64) -> Self {
        Self { least_norm, norm_bound, equal_repeats: None }
    }
}

impl Certificate {
    /// For which premises the claim stands, in words: only what is certified stands for anything. An estimate has a range beside it where the band that holds whatever chose
    /// the points proves one, and the words say so.
    #[must_use]
    pub fn stands(&self) -> Option<String> {
        let range = self.range.as_ref()?;
        let sentence = range.sentence(&self.premises);
        match self.theorem {
            Theorem::Model => range.gap.and(sentence).map(|proved| format!("proved whatever chose the points: {proved}")),
            _ if self.label().is_certified() => sentence,
            _ => None,
        }
    }

    /// What the label does not say and a reader has to know: that the premises were fixed after a pilot, that the level of the noise was found from replicates, that what measures
    /// was exchanged meanwhile, and that repeats gave what was known. Noise is in
    /// the data's scale.
    #[must_use]
    pub fn terms(&self) -> Vec<String> {
        let pilot = self.premises.pilot.map(|pilot| format!("premises fixed after a pilot of {}, which is in no claim", pilot.value));
        let level = self.premises.level.map(|LevelBound { level, scatter, freedom }| {
            let unit = self.premises.prior.value.unit();
            let spent = self.spent.iter().find(|spent| spent.on == Spent::NOISE_LEVEL).map_or(0.0, |spent| spent.delta);
            format!(
                "normal noise of one unknown level, at most {} by replicates: {:.2} times their scatter {}, by the chi-squared bound with {freedom} degrees of freedom, \
                 on which all batches together spend {} of delta = {}",
                short(unit * level, Towards::Above),
                level / scatter,
                short(unit * scatter, Towards::Above),
                (1e6 * spent).round() / 1e6,
                self.delta
            )
        });
        let is_learnt = |origin: Origin| origin == Origin::LearntElsewhere;
        let premises = &self.premises;
        let origins = [premises.kernel.origin, premises.norm_bound.origin, premises.noise.origin, premises.prior.origin];
        let learnt =
            (pilot.is_none() && origins.into_iter().any(is_learnt)).then(|| "premises learnt from other data, not declared".to_owned());
        let objective = self.premises.objective.as_ref().map(|objective| objective.value.to_string());
        let repeats = self.premises.repeats.and_then(|repeats| repeats.value.said());
        pilot.into_iter().chain(learnt).chain(level).chain(objective).chain(repeats).collect()
    }

    /// The label with its terms: what is printed where a sentence has room.
    #[must_use]
    pub fn label_in_words(&self) -> String {
        std::iter::once(self.label().to_string()).chain(self.terms()).collect::<Vec<_>>().join("; ")
    }

    /// What the claim may be called: the one place where that is decided.
    #[must_use]
    pub fn label(&self) -> Label {
        Label::of(self.theorem, self.delta, &self.premises, self.contradiction.as_ref())
    }
}

/// A certificate as it is written: with its label, which is checked when it is read.
#[derive(Serialize, Deserialize)]
struct Written {
    label: Label,
    claim: Claimed,
    about: About,
    delta: f64,
    spent: Vec<Spent>,
    theorem: Theorem,
    premises: Premises,
    bounds: Bounds,
    contradiction: Option<Contradiction>,
    #[serde(default)]
    range: Option<Range>,
}

impl From<Certificate> for Written {
    fn from(certificate: Certificate) -> Self {
        let label = certificate.label();
        let Certificate { claim, about, delta, spent, theorem, premises, bounds, contradiction, range } = certificate;
        Self { label, claim, about, delta, spent, theorem, premises, bounds, contradiction, range }
    }
}

impl TryFrom<Written> for Certificate {
    type Error = Error;
    fn try_from(written: Written) -> Result<Self, Error> {
        let Written { label, claim, about, delta, spent, theorem, premises, bounds, contradiction, range } = written;
        let certificate = Self { claim, about, delta, spent, theorem, premises, bounds, contradiction, range };
        if certificate.label() == label {
            return certificate.checked();
        }
        Err(Error::Premise { what: "this certificate", reason: "its label is not the one its premises carry: it was altered" })
    }
}

/// [`Method::Tight`] on points that nobody vouches for can only be the energy band.
pub(crate) fn resolve(method: Method, collected: Collected) -> Method {
    if method == Method::Tight && !collected.is_fixed() { Method::Energy } else { method }
}

impl About {
    /// What a claim about this many queries speaks of.
    pub(super) fn of(claim: &Claim, queries: usize) -> Self {
        match claim.coverage_claimed() {
            Coverage::Point => Self::Point,
            Coverage::Points => Self::List { points: queries },
            Coverage::Uniform => Self::Everywhere,
            Coverage::Continuous(domain) => Self::Box { low: domain.low().to_vec(), high: domain.high().to_vec() },
        }
    }
}

impl About {
    /// The best over a whole domain.
    pub(crate) fn of_domain(domain: &Domain) -> Self {
        match domain {
            Domain::List(list) => Self::List { points: list.len() },
            Domain::Box(domain) => Self::Box { low: domain.low().to_vec(), high: domain.high().to_vec() },
            Domain::Space(_) => Self::Space,
        }
    }
}

impl Spent {
    /// What finding the level of the noise is called.
    pub(crate) const NOISE_LEVEL: &'static str = "the level of the noise, by replicates";

    pub(crate) fn new(on: &str, delta: f64, events: Option<f64>) -> Self {
        Self { on: on.to_owned(), delta, events }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(repeats) = self.equal_repeats {
            return write!(
                f,
                "the data contradict the premises: {repeats} repeated measurements of a batch are equal to the last digit, more than differ, which normal noise never makes them; \
                 write down more digits, or declare noise = 0 where a repeat always gives the same and values are not rounded"
            );
        }
        match self.least_norm {
            Some(least) => write!(
                f,
                "the data contradict the premises: the norm must be at least {:.3} in this unit, and {} was declared; probably the prior mean or \
                 the unit is missing, or the noise is larger than was said",
                Number(least),
                Number(self.norm_bound)
            ),
            None => f.write_str("the data contradict the premises: no function of the declared norm and noise fits them"),
        }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a number of rows proves is a fraction, of which four digits say enough.
        let is_fraction = self.theorem == Theorem::Conformal;
        let delta = if is_fraction { (1e4 * self.delta - 1e-9).ceil() / 1e4 } else { self.delta };
        writeln!(f, "{}: {} {}, wrong with probability at most {delta}", self.label(), self.claim, self.about)?;
        self.terms().iter().try_for_each(|term| writeln!(f, "{term}"))?;
        if let Some(contradiction) = &self.contradiction {
            writeln!(f, "{contradiction}")?;
        }
        let premises = self.premises.list();
        for origin in [Origin::Declared, Origin::LearntElsewhere, Origin::Assumed, Origin::LearntHere, Origin::Estimated, Origin::Unmet] {
            let said: Vec<&str> = premises.iter().filter(|p| p.origin == origin).map(|p| p.statement.as_str()).collect();
            if !said.is_empty() {
                writeln!(f, "{origin}: {}", said.join("; "))?;
            }
        }
        write!(f, "by {}; n = {}, m = {}", self.theorem, self.premises.observations.value, self.premises.inducing.value)?;
        if let Some(residual) = self.bounds.residual_norm {
            let kind = match residual.kind {
                ResidualNormKind::Trace => "by its trace".to_owned(),
                ResidualNormKind::LookAhead { pivots } => format!("by look-ahead over {pivots} pivots"),
                ResidualNormKind::Dense => "by the dense eigenvalue".to_owned(),
                ResidualNormKind::Randomised { failure } => format!("by random Lanczos, failing with probability {failure}"),
            };
            write!(f, "; lambda at most {:.4e} {kind}", residual.value)?;
        }
        self.bounds.candidates.map_or(Ok(()), |count| write!(f, "; the candidate gap is that among {count} candidates"))?;
        self.bounds.beta.map_or(Ok(()), |beta| write!(f, "; beta {beta:.4}"))?;
        match self.bounds.level {
            None => {}
            Some(1.0) => f.write_str("; too few rows for an interval with ends")?,
            Some(level) => write!(f, "; level {:.4} for this number of rows", (1e4 * level + 1e-9).floor() / 1e4)?,
        }
        self.bounds.measured.map_or(Ok(()), |measured| write!(f, "; {measured}"))?;
        self.stands().map_or(Ok(()), |range| write!(f, "\n{range}"))
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.on {
            Unseen::HeldOut => "rows held out",
            Unseen::LeftOut => "rows left out one at a time",
        };
        write!(f, "with the noise added such intervals held for {} of {} {kind}", self.held, self.of)
    }
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |side: Side, target: &str| match side {
            Side::Both => format!("lower ≤ {target} ≤ upper"),
            Side::Lower => format!("lower ≤ {target}"),
            Side::Upper => format!("{target} ≤ upper"),
        };
        match self {
            Self::Function { side } => f.write_str(&ends(*side, "f")),
            Self::Response { side, noise: Some(noise) } => write!(f, "{}, {noise},", ends(*side, "a new response")),
            Self::Response { side, noise: None } => f.write_str(&ends(*side, "a new response")),
            Self::Optimum => f.write_str("the best setting is still among those left and the recommended one within its gap of it"),
            Self::Error { bound } => write!(f, "the middle of the interval is within {} of f", Number(*bound)),
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Point => f.write_str("at each point asked for by itself"),
            Self::List { points } => write!(f, "at all {points} points of the list at once"),
            Self::Everywhere => f.write_str("at every point at once"),
            Self::Box { .. } => f.write_str("at every point of the box at once"),
            Self::Space => f.write_str("at every setting of the space at once"),
        }
    }
}

impl fmt::Display for Theorem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(method) => write!(f, "{method}"),
            Self::Energy => f.write_str("the energy band, which holds whatever chose the points and for every number of observations"),
            Self::Elimination => f.write_str("elimination by batches, pair by pair"),
            Self::PaperElimination => f.write_str("elimination by the paper's rules"),
            Self::Design => f.write_str("the a-priori error of a max-variance design"),
            Self::Conformal => f.write_str("calibration on exchangeable rows"),
            Self::Model => f.write_str("the model alone, without a theorem"),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tight => "the narrowest valid width at each point",
            Self::Paper => "the paper's beta times the standard deviation",
            Self::DropIn => "the sharpened beta times the standard deviation",
            Self::Direct => "the direct width",
            Self::WMatrix => "the direct width with the computed residual form",
            Self::Dictionary => "the direct width with a certification dictionary",
            Self::Energy => "the energy band",
            Self::Ellipsoid => "the projected ellipsoid",
        })
    }
}
