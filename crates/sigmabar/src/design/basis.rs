//! $B^{-1}$ while points are being chosen: a factor and the picks since.

use super::pairs::padded;
use crate::error::Result;
use sigmabar_linalg::{Lower, Matrix, add_gram, add_transposed_matvec, dot, matvec_rows};

/// Picks between two factorisations: long enough to pay for them, short enough that subtraction keeps its digits.
const EPOCH: usize = 512;
/// A new factorisation is due as soon as the variance has fallen by this factor since the last, because so many digits have cancelled.
const FALL: f64 = 1e-4;

/// $B^{-1} = M^\top M - \sum_j u_ju_j^\top/s_j$ (algorithm notes 0.2, in product form).
///
/// $M = L_B^{-1}$ is formed: $B \succeq I$, so that it has none of the dangers of an inverse of $K_{ZZ}$.
pub(super) struct Basis {
    m: usize,
    width: usize,
    tau2: f64,
    /// $G$ at the last factorisation, lower triangle.
    gram: Matrix,
    /// $M$, padded rows.
    whitener: Vec<f64>,
    /// $\psi(x_j)$ of the picks since, not padded.
    picked: Vec<f64>,
    /// $u_j$, padded.
    log: Vec<f64>,
    /// $s_j$.
    scales: Vec<f64>,
    epoch: u32,
    rounding: f64,
    gain: f64,
    /// Variances at the first and the last pick since.
    fall: Option<(f64, f64)>,
}

impl Basis {
    /// $B = I + G/\tau^2$; without $G$ nothing is measured.
    pub fn new(m: usize, ridge: f64, gram: Option<Matrix>) -> Result<Self> {
        let mut basis = Self {
            m,
            width: padded(m),
            tau2: ridge * ridge,
            gram: Matrix::zeros(m, m),
            whitener: Vec::new(),
            picked: Vec::new(),
            log: Vec::new(),
            scales: Vec::new(),
            epoch: 0,
            rounding: 0.0,
            gain: 0.0,
            fall: None,
        };
        if let Some(gram) = gram {
            basis.gram = gram;
        }
        basis.factor()?;
        Ok(basis)
    }

    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub fn pending(&self) -> usize {
        self.scales.len()
    }

    pub fn whitener(&self) -> &[f64] {
        &self.whitener
    }

    pub fn log(&self) -> &[f64] {
        &self.log
    }

    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// A bound on the relative difference that rounding makes between values before and after a factorisation: $\eta$ of `Information::rounding`,
    /// with room for the picks of an epoch.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    pub fn is_due(&self) -> bool {
        self.pending() >= EPOCH || self.fall.is_some_and(|(first, last)| last < FALL * first)
    }

    /// One measurement at a point with padded features `psi` and variance `value`.
    pub fn pick(&mut self, psi: Vec<f64>, value: f64) {
        // u = Mᵀ(Mψ) − Σ_l u_l (u_lᵀψ)/s_l
        let mut c = vec![0.0; self.m];
        matvec_rows(&self.whitener, &psi, &mut c);
        let mut u = vec![0.0; self.width];
        add_transposed_matvec(&self.whitener, &c, &mut u);
        let mut q = vec![0.0; self.pending()];
        matvec_rows(&self.log, &psi, &mut q);
        q.iter_mut().zip(&self.scales).for_each(|(q, s)| *q /= -s);
        add_transposed_matvec(&self.log, &q, &mut u);
        // s = τ² + ψᵀB⁻¹ψ; the quadratic form is not negative, and rounding must not make it so.
        let quadratic = dot(&psi, &u).max(0.0);
        self.gain += 0.5 * (quadratic / self.tau2).ln_1p();
        self.scales.push(self.tau2 + quadratic);
        self.log.extend_from_slice(&u);
        self.picked.extend_from_slice(&psi[..self.m]);
        self.fall = Some((self.fall.map_or(value, |(first, _)| first), value));
    }

    /// Takes the picks into $G$ and factors.
    pub fn synchronise(&mut self) -> Result<()> {
        add_gram(&mut self.gram, &self.picked)?;
        self.picked.clear();
        self.log.clear();
        self.scales.clear();
        self.fall = None;
        self.epoch += 1;
        self.factor()
    }

    /// $L_B$ of the last factorisation, formed again.
    pub fn lower(&self) -> Result<Lower> {
        let mut b = self.gram.clone();
        b.mirror_lower();
        b.as_mut_slice().iter_mut().for_each(|v| *v /= self.tau2);
        (0..self.m).for_each(|i| b[(i, i)] += 1.0);
        Ok(Lower::cholesky(&b)?)
    }

    fn factor(&mut self) -> Result<()> {
        let lower = self.lower()?;
        let mut inverse = Matrix::identity(self.m).into_vec();
        lower.solve_rows(&mut inverse)?;
        self.whitener = vec![0.0; self.m * self.width];
        for (j, row) in inverse.chunks_exact(self.m).enumerate() {
            for i in j..self.m {
                self.whitener[i * self.width + j] = row[i];
            }
        }
        // ‖B‖ ≤ 1 + tr G/τ²
        let norm = 1.0 + self.gram.diagonal().iter().sum::<f64>() / self.tau2;
        self.rounding = 16.0 * (self.m + EPOCH) as f64 * f64::EPSILON * norm;
        Ok(())
    }
}
