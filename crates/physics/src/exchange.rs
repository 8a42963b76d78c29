//! The least largest residual of linear equations: Stiefel's exchange.
//!
//! Among m unknowns the best x is decided by m + 1 equations, the reference, whose residuals are
//! equal in size, with signs for which a positive combination of their rows vanishes. Each round brings
//! in the equation that is missed most and takes out the one that keeps those signs; the level rises until
//! nothing is missed by more (Stiefel 1959, Numer. Math. 1, 1-28; it is the simplex method on the dual
//! problem, and Remez' exchange where the rows form a Haar system).

/// Most unknowns.
pub(crate) const MOST: usize = 7;

/// An equation `row . x = target`, or a bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Equation {
    pub(crate) row: [f64; MOST],
    pub(crate) target: f64,
    /// Whether `row . x <= target` must hold, whatever that costs.
    pub(crate) bound: bool,
}

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Levelled {
    pub(crate) x: Vec<f64>,
    /// Largest |residual|.
    pub(crate) level: f64,
    /// The equations that decide.
    pub(crate) reference: Vec<usize>,
}

/// Solves `unknowns + 1` equations or more, under bounds, from a first reference of equations.
///
/// Returns the best x that was met if rounding keeps the level from rising; `None` if the bounds
/// cannot be met.
pub(crate) fn least_largest(
    equations: &[Equation],
    unknowns: usize,
    first: &[usize],
) -> Option<Levelled> {
    assert!(unknowns <= MOST && first.len() == unknowns + 1, "{unknowns} unknowns");
    let size = unknowns + 1;
    let mut reference = first.to_vec();
    let mut signs = first_signs(equations, unknowns, first)?;
    let mut best: Option<Levelled> = None;
    for round in 0..500 {
        let column = |j: usize, i: usize| {
            let equation = &equations[reference[j]];
            if i < unknowns {
                signs[j] * equation.row[i]
            } else {
                f64::from(u8::from(!equation.bound))
            }
        };
        let transposed: Vec<Vec<f64>> =
            (0..size).map(|j| (0..size).map(|i| column(j, i)).collect()).collect();
        let targets = (0..size).map(|j| signs[j] * equations[reference[j]].target).collect();
        let mut x = solve(transposed.clone(), targets)?;
        let level = x.pop()?;
        if round == 0 && level < 0.0 {
            signs.iter_mut().for_each(|sign| *sign = -*sign);
            continue;
        }
        let residual =
            |e: &Equation| e.target - x.iter().zip(&e.row).map(|(x, a)| x * a).sum::<f64>();
        let (mut largest, mut worst, mut sign, mut excess) = (0.0_f64, 0, 1.0_f64, 0.0_f64);
        let mut broken = false;
        for (n, equation) in equations.iter().enumerate() {
            let value = residual(equation);
            let over = if equation.bound { -value } else { value.abs() - level };
            if equation.bound {
                broken |= over > 1e-9;
            } else {
                largest = largest.max(value.abs());
            }
            if over > excess {
                (worst, excess) = (n, over);
                sign = if equation.bound { -1.0 } else { value.signum() };
            }
        }
        if !broken && best.as_ref().is_none_or(|b| largest < b.level) {
            best = Some(Levelled { x, level: largest, reference: reference.clone() });
        }
        if excess <= 1e-11 * level {
            break;
        }
        let matrix: Vec<Vec<f64>> =
            (0..size).map(|i| (0..size).map(|j| transposed[j][i]).collect()).collect();
        let mut unit = vec![0.0; size];
        unit[unknowns] = 1.0;
        let shares = solve(matrix.clone(), unit)?;
        let entering = (0..size)
            .map(|i| match (i < unknowns, equations[worst].bound) {
                (true, _) => sign * equations[worst].row[i],
                (false, bound) => f64::from(u8::from(!bound)),
            })
            .collect();
        let change = solve(matrix, entering)?;
        let leaving = (0..size)
            .filter(|&j| change[j] > 1e-14)
            .min_by(|&a, &b| (shares[a] / change[a]).total_cmp(&(shares[b] / change[b])))?;
        reference[leaving] = worst;
        signs[leaving] = sign;
    }
    best
}

/// Signs with which a positive combination of the reference's rows vanishes.
fn first_signs(equations: &[Equation], unknowns: usize, first: &[usize]) -> Option<Vec<f64>> {
    let matrix = (0..unknowns)
        .map(|i| (0..unknowns).map(|j| equations[first[j]].row[i]).collect())
        .collect();
    let right = (0..unknowns).map(|i| -equations[first[unknowns]].row[i]).collect();
    let shares = solve(matrix, right)?;
    Some(shares.into_iter().map(f64::signum).chain([1.0]).collect())
}

/// Solves a small square system by elimination with pivots; `None` if it is singular.
pub(crate) fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&a, &b| matrix[a][c].abs().total_cmp(&matrix[b][c].abs()))?;
        if matrix[pivot][c] == 0.0 || !matrix[pivot][c].is_finite() {
            return None;
        }
        matrix.swap(c, pivot);
        right.swap(c, pivot);
        for r in c + 1..n {
            let factor = matrix[r][c] / matrix[c][c];
            for k in c..n {
                matrix[r][k] -= factor * matrix[c][k];
            }
            right[r] -= factor * right[c];
        }
    }
    for c in (0..n).rev() {
        for k in c + 1..n {
            right[c] -= matrix[c][k] * right[k];
        }
        right[c] /= matrix[c][c];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_best_met_by_the_line_that_chebyshev_gives() {
        // x^2 on [-1, 1] by a + b x: a = 1/2, b = 0, largest residual 1/2.
        let equations: Vec<_> = (-100..=100)
            .map(|n| {
                let t = f64::from(n) / 100.0;
                let mut row = [0.0; MOST];
                row[..2].copy_from_slice(&[1.0, t]);
                Equation { row, target: t * t, bound: false }
            })
            .collect();
        let found = least_largest(&equations, 2, &[3, 50, 120]).unwrap();
        assert!((found.x[0] - 0.5).abs() < 1e-14 && found.x[1].abs() < 1e-14, "{found:?}");
        assert!((found.level - 0.5).abs() < 1e-14);
    }

    #[test]
    fn rows_that_form_no_haar_system_are_solved_too() {
        // max(x, y) on a square by a x + b y.
        let mut equations = Vec::new();
        for i in -10..=10 {
            for j in -10..=10 {
                let (x, y) = (f64::from(i) / 10.0, f64::from(j) / 10.0);
                let mut row = [0.0; MOST];
                row[..2].copy_from_slice(&[x, y]);
                equations.push(Equation { row, target: x.max(y), bound: false });
            }
        }
        let found = least_largest(&equations, 2, &[5, 100, 300]).unwrap();
        // At (1, -1) and (-1, 1) it is one and the plane has opposite values: one of them is missed by one.
        assert!((found.level - 1.0).abs() < 1e-13, "{found:?}");
    }

    #[test]
    fn a_bound_is_kept_at_the_least_cost() {
        // x^2 on [-1, 1] by a + b x with a <= 1/4: a = 1/4, largest residual 3/4 at both ends.
        let mut equations: Vec<_> = (-100..=100)
            .map(|n| {
                let t = f64::from(n) / 100.0;
                let mut row = [0.0; MOST];
                row[..2].copy_from_slice(&[1.0, t]);
                Equation { row, target: t * t, bound: false }
            })
            .collect();
        let mut row = [0.0; MOST];
        row[0] = 1.0;
        equations.push(Equation { row, target: 0.25, bound: true });
        let found = least_largest(&equations, 2, &[3, 50, 120]).unwrap();
        assert!((found.x[0] - 0.25).abs() < 1e-14 && (found.level - 0.75).abs() < 1e-14);
        // a >= 1/2 on top leaves nothing.
        row[0] = -1.0;
        equations.push(Equation { row, target: -0.5, bound: true });
        assert!(least_largest(&equations, 2, &[3, 50, 120]).is_none());
    }
}
