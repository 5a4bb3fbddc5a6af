//! A sum over single columns beside a kernel of all: what each column does by itself is learnt from far fewer points.

use crate::kernel::Kernel;
use crate::points::PointsRef;

/// The share of the variance that the single columns start with.
const SHARE: f64 = 0.1;
/// With more columns than this the parameters would be too many.
const MOST_COLUMNS: usize = 30;

/// The kernel plus one of the same family for each of its columns; none where there is but one, too many, or the kernel is a sum already.
pub(super) fn with_single_columns(kernel: &Kernel, x: PointsRef<'_>) -> Option<Kernel> {
    let all: Vec<usize> = (0..x.dim()).collect();
    let mut singles = Vec::new();
    add_singles(kernel, &all, &mut singles)?;
    let fits = (2..=MOST_COLUMNS).contains(&singles.len());
    fits.then(|| Kernel::Sum(std::iter::once(kernel.clone()).chain(singles).collect()))
}

/// `seen` maps the columns of this part to those of the points.
fn add_singles(kernel: &Kernel, seen: &[usize], out: &mut Vec<Kernel>) -> Option<()> {
    let at = |values: &[f64], i: usize| values[if values.len() == 1 { 0 } else { i }];
    for (i, &column) in seen.iter().enumerate() {
        let single = match kernel {
            Kernel::SquaredExponential(k) => Kernel::squared_exponential(at(k.lengthscale().values(), i), SHARE * k.variance()),
            Kernel::Matern(k) => Kernel::matern(k.nu(), at(k.lengthscale().values(), i), SHARE * k.variance()),
            Kernel::RationalQuadratic(k) => Kernel::rational_quadratic(k.alpha(), at(k.lengthscale().values(), i), SHARE * k.variance()),
            Kernel::Hamming(k) => Kernel::hamming(at(k.lengthscale().values(), i), SHARE * k.variance()),
            Kernel::Product(parts) => return parts.iter().try_for_each(|part| add_singles(part, seen, out)),
            Kernel::Columns { columns, kernel } => {
                return add_singles(kernel, &columns.iter().map(|&c| seen[c]).collect::<Vec<_>>(), out);
            }
            Kernel::Sum(_) | Kernel::Periodic(_) | Kernel::Linear(_) => return None,
        };
        out.push(single.and_then(|k| k.columns(vec![column])).ok()?);
    }
    Some(())
}
