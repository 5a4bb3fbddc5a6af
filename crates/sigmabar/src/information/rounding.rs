//! What rounding adds to the parts of any query, in units of what is computed (docs/numerics.md has the proof).
//!
//! The triangular solve gives $\hat c$ with $(\hat L+\Delta)\hat c=\psi$, $|\Delta|\le m\varepsilon|\hat L|$. Let $\tilde e=\hat L^{-\top}\hat c$. Because
//! $\hat L\hat L^\top\succeq I$ up to rounding, the computed $\hat e$ is within $\nu\lVert\hat e\rVert$ of $\tilde e$, and even $\lVert\hat L^\top(\tilde e-\hat e)\rVert\le\nu\lVert\hat e\rVert$, with
//! $\nu=m\varepsilon\sqrt{\operatorname{tr}B}$; and $\psi=\hat L\hat L^\top\tilde e+\Delta\hat c$ with $\lVert\Delta\hat c\rVert\le\nu\lVert\hat c\rVert$. What the certificate speaks of are weights that
//! belong to $\tilde e$:
//!
//! - *From a Gram matrix*, $\hat L\hat L^\top=B+E$ with $\lVert E\rVert\le\eta=(m+\ell)\varepsilon\operatorname{tr}B$. With $V=\Psi\tilde e/\tau^2$
//!   $$\psi-\Psi^\top V=\tilde e+E\tilde e+\Delta\hat c,\qquad\tau^2\lVert V\rVert^2=\lVert\hat c\rVert^2-\lVert\tilde e\rVert^2-\tilde e^\top E\tilde e.$$
//! - *From an orthogonal factorisation* of $A=[I;\Psi/\tau]$, $\hat L\hat L^\top=(A+\Delta A)^\top(A+\Delta A)$ with columns $\lVert\Delta A_j\rVert\le\gamma\lVert A_j\rVert$, so
//!   $\lVert\Delta A\rVert_F\le\omega=\gamma\sqrt{\operatorname{tr}B}$. With $V=(\Psi+\Delta\Psi)\tilde e/\tau^2$
//!   $$\psi-\Psi^\top V=(I+\Delta I)^\top(I+\Delta I)\tilde e+\Delta\Psi^\top V+\Delta\hat c,\qquad\tau^2\lVert V\rVert^2=\lVert\hat c\rVert^2-\lVert(I+\Delta I)\tilde e\rVert^2,$$
//!   and $\lVert\Delta\Psi^\top V\rVert\le\omega\tau\lVert V\rVert\le\omega\lVert\hat c\rVert$: only the root of $\lVert B\rVert$ appears, and everything is relative to $\lVert\hat c\rVert$ or $\lVert\hat e\rVert$.
//!
//! The features' own error adds at most $\sqrt u(\sqrt{k(x,x)}+\sqrt{\operatorname{tr}K}\lVert V\rVert)$ inside the span (`features/rounding.rs`).

use super::{GramMethod, Information, VarianceParts};

/// Beyond this share a perturbation proves nothing any more.
const SHARE_LIMIT: f64 = 0.25;
/// What stands for "nothing is proved": finite, so that nothing times it is nothing.
const HOPELESS: f64 = 1e100;

/// The constants of the bounds, computed once for all queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartsRounding {
    /// $\eta$ with $(1-\eta)B\preceq\hat L\hat L^\top\preceq(1+\eta)B$.
    stretch: f64,
    /// $\nu$: a solve, relative to its result.
    solve: f64,
    /// $\omega$ on the orthogonal road, else 0.
    factor: f64,
    /// $\gamma$ on the orthogonal road, else 0.
    column: f64,
    /// $m\varepsilon$: the sums of squares.
    sums: f64,
    /// What the features lose inside their span, per $\sqrt{k(x,x)}$.
    features: f64,
    /// $\sqrt{\operatorname{tr}K}/\tau$.
    prior: f64,
}

/// The sizes of what a linear functional was computed from: of the point, or of the points whose solves were subtracted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// $\sum\lVert\hat e\rVert$.
    pub fit: f64,
    /// $\sum\lVert\hat c\rVert$.
    pub whitened: f64,
    /// $\sum\sqrt{k(x,x)}$.
    pub prior: f64,
}

impl Sizes {
    /// Of one solve.
    pub(crate) fn of(parts: &VarianceParts, prior: f64) -> Self {
        Self { fit: parts.fit.sqrt(), whitened: (parts.fit + parts.noise.max(0.0)).sqrt(), prior }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { fit: self.fit + other.fit, whitened: self.whitened + other.whitened, prior: self.prior + other.prior }
    }
}

impl PartsRounding {
    /// The parts enlarged by their rounding bounds; `residual` is that of the projection part.
    pub(crate) fn enlarge(&self, parts: VarianceParts, sizes: Sizes, residual: f64) -> VarianceParts {
        let fit = parts.fit.sqrt() + self.solve * sizes.fit;
        // ‖ẽ‖² for ‖ê‖²; where eᵀGe/τ² is formed instead, twice η and the cross term of ‖L̂ᵀ(ẽ−ê)‖ ≤ ν‖ê‖.
        let noise = parts.noise.max(0.0)
            + 2.0 * self.stretch * fit * fit
            + 8.0 * self.solve * sizes.fit * sizes.whitened
            + 2.0 * self.sums * sizes.whitened * sizes.whitened;
        let inside = self.features * (sizes.prior + self.prior * noise.sqrt());
        let fit = (1.0 + self.stretch) * fit + (self.solve + 2.0 * self.factor) * sizes.whitened + inside;
        VarianceParts { projection: parts.projection + residual, fit: fit * fit * (1.0 + self.sums), noise }
    }

    /// A bound on $\tau\lVert V-\Psi\hat e/\tau^2\rVert$: how far the weights of the certificate are from those the computed $\hat e$ makes.
    pub(crate) fn drift(&self, fit: f64) -> f64 {
        2.0 * (self.solve + self.factor) * fit
    }

    /// A bound on $|\psi^\top\hat\beta-V^\top y|$ but for the sums behind $h$, for parts that [`PartsRounding::enlarge`] gave, with $\lVert\beta\rVert$ and $\lVert y\rVert/\tau$.
    ///
    /// By two solves from $h$, $\psi^\top\hat\beta$ and $\tilde e^\top h/\tau^2$ differ by $2\nu\lVert\hat c\rVert\lVert\hat\beta\rVert$ and by $\nu\lVert\tilde e\rVert$ times the half-way vector
    /// $\lVert\hat L^{-1}h/\tau^2\rVert\le\lVert y\rVert/\tau$; on the orthogonal road $\Delta\Psi\tilde e$ meets $y$ besides. Where $y$ went through the reflections itself (`orthogonal`) the half-way vector is
    /// theirs, and only $\Delta y$, at most $\gamma\lVert y\rVert$, meets $V$ and $\tilde e/\tau$.
    pub(crate) fn mean(&self, parts: &VarianceParts, coefficients: f64, responses: f64, orthogonal: bool) -> f64 {
        let (fit, whitened) = (parts.fit.sqrt(), parts.total().sqrt());
        let data = if orthogonal { 4.0 * self.column * whitened } else { self.drift(fit) };
        2.0 * self.solve * whitened * coefficients + data * responses
    }
}

impl Information {
    /// $\operatorname{tr}B$, which bounds $\lVert B\rVert$ and the sums of absolute values behind every entry.
    fn trace_bound(&self) -> f64 {
        self.gram.rows() as f64 + self.gram.diagonal().iter().sum::<f64>() / (self.ridge * self.ridge)
    }

    /// $\gamma$: the reflections, one for each column, of $n+m$ rows lose $3\varepsilon(m+1)(n+m)$ of each column; an update loses $2m\varepsilon$ more.
    fn column_rounding(&self) -> f64 {
        let (m, n) = (self.features.len() as f64 + 1.0, self.facts.reflected_rows);
        (3.0 * (n + m) + 2.0 * self.updates as f64) * m * f64::EPSILON
    }

    /// $\omega=\gamma\sqrt{\operatorname{tr}B}$.
    fn factor_rounding(&self) -> f64 {
        self.column_rounding() * self.trace_bound().sqrt()
    }

    /// A bound on $\lVert\hat G-G\rVert/\tau^2$ for the stored $\hat G$, whitening after the product included.
    pub(crate) fn gram_rounding(&self) -> f64 {
        let m = self.features.len() as f64;
        let whitening = self.facts.whitening_bound / (self.ridge * self.ridge);
        let sums = (m + self.facts.summation_length + 4.0) * f64::EPSILON * self.trace_bound() + whitening;
        if self.facts.method == GramMethod::Orthogonal { sums + 2.0 * self.factor_rounding() * self.trace_bound().sqrt() } else { sums }
    }

    /// $\eta$: the factor in use satisfies $(1-\eta)B\preceq\hat L\hat L^\top\preceq(1+\eta)B$ for the exact $B = I+\tau^{-2}\sum c_i\psi_i\psi_i^\top$ of the computed features:
    /// $\eta=(m(1+4\,\text{updates})+\ell)\varepsilon\operatorname{tr}B$ from a Gram matrix (because $B\succeq I$), $2\omega+\omega^2$ with $\omega\propto\varepsilon\sqrt{\operatorname{tr}B}$ on the
    /// orthogonal road.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        let eta = if self.facts.method == GramMethod::Orthogonal {
            let omega = self.factor_rounding();
            (2.0 + omega) * omega
        } else {
            let updates = 4.0 * (self.features.len() * self.updates) as f64 * f64::EPSILON * self.trace_bound();
            self.gram_rounding() + updates
        };
        if eta < 2.0 * SHARE_LIMIT { eta } else { HOPELESS }
    }

    /// The constants behind [`Information::certified_parts`]. Cost O(m).
    pub(crate) fn parts_rounding(&self) -> PartsRounding {
        let sums = self.features.len() as f64 * f64::EPSILON;
        let known = |share: f64| if share < SHARE_LIMIT { share } else { HOPELESS };
        let (column, factor) = match self.facts.method {
            GramMethod::Orthogonal => (self.column_rounding(), self.factor_rounding()),
            _ => (0.0, 0.0),
        };
        PartsRounding {
            stretch: self.rounding(),
            solve: known(sums * self.trace_bound().sqrt()),
            factor: known(factor),
            column: known(column),
            sums,
            features: self.features.inside_rounding(),
            prior: self.prior_trace.sqrt() / self.ridge,
        }
    }
}
