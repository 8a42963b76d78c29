//! Matrices that schemes apply along an axis.
//!
//! Gauss-Lobatto matrices take the p voxels of a patch as the p Gauss-Lobatto nodes of one element, in
//! units of a voxel: divide by `dx(n)`. With weights w, derivative matrix D and half an element's width
//! J = p / 2: derivative `D / J`; stiffness `w_j D_ji / (w_i J)`; lifting `-1 / (w_0 J)` from the face
//! below the patch, `1 / (w_(p-1) J)` from the one above (Kopriva and Gassner 2010,
//! doi:10.1007/s10915-010-9372-3).

use crate::kernel::Matrix;
use crate::ranges::Margin;

/// How the entries of a matrix follow.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// Derivative on Gauss-Lobatto nodes.
    GaussLobattoDerivative,
    /// Derivative moved to the test function, on Gauss-Lobatto nodes.
    GaussLobattoStiffness,
    /// From faces to Gauss-Lobatto nodes; takes a block at faces.
    GaussLobattoLifting,
    /// Numbers: a row per voxel of the patch, columns from voxel `first` on.
    Numbers {
        /// Voxel of the first column.
        first: i16,
        /// Rows.
        rows: Vec<Vec<f64>>,
    },
}

impl Generator {
    /// Generators by name.
    pub const NAMED: [(&'static str, Self); 3] = [
        ("gauss_lobatto_derivative", Self::GaussLobattoDerivative),
        ("gauss_lobatto_stiffness", Self::GaussLobattoStiffness),
        ("gauss_lobatto_lifting", Self::GaussLobattoLifting),
    ];

    /// Voxels that the columns stand for, as a margin around the patch.
    #[must_use]
    pub fn margin(&self) -> Margin {
        match self {
            Self::GaussLobattoDerivative | Self::GaussLobattoStiffness => Margin::INTERIOR,
            Self::GaussLobattoLifting => Margin { low: -1, high: 0 },
            Self::Numbers { first, rows } => {
                let columns = rows.first().map_or(0, Vec::len);
                let short = |count: usize| i16::try_from(count).unwrap_or(i16::MAX);
                Margin { low: *first, high: first + short(columns) - short(rows.len()) }
            }
        }
    }

    /// The matrix for patches of p voxels per axis.
    ///
    /// # Errors
    /// What does not fit, as a sentence.
    pub fn matrix(&self, name: &str, cells: u16) -> Result<Matrix, String> {
        let p = usize::from(cells);
        let entries = match self {
            Self::Numbers { rows, .. } => {
                if rows.len() != p {
                    return Err(format!(
                        "matrix {name} has {} rows, the patch {p} voxels per axis: give a row per \
                         voxel, or take a built-in matrix, which fits any patch",
                        rows.len()
                    ));
                }
                return Ok(Matrix {
                    name: name.into(),
                    columns: rows[0].len(),
                    entries: rows.concat(),
                });
            }
            _ if p < 2 => {
                return Err(format!("matrix {name} needs patches of at least 2 voxels per axis"));
            }
            Self::GaussLobattoDerivative => scaled(p, GaussLobatto::derivative),
            Self::GaussLobattoStiffness => scaled(p, |rule, row, column| {
                rule.weights[column] * rule.derivative(column, row) / rule.weights[row]
            }),
            Self::GaussLobattoLifting => {
                let rule = GaussLobatto::new(p);
                let mut entries = vec![0.0; p * (p + 1)];
                let scale = 2.0 / f64::from(cells);
                entries[0] = -scale / rule.weights[0];
                entries[p * (p + 1) - 1] = scale / rule.weights[p - 1];
                return Ok(Matrix { name: name.into(), columns: p + 1, entries });
            }
        };
        Ok(Matrix { name: name.into(), columns: p, entries })
    }
}

fn scaled(p: usize, entry: impl Fn(&GaussLobatto, usize, usize) -> f64) -> Vec<f64> {
    let rule = GaussLobatto::new(p);
    let half_width = 0.5 * count(p);
    (0..p * p).map(|place| entry(&rule, place / p, place % p) / half_width).collect()
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// Gauss-Lobatto quadrature on [-1, 1]: exact for polynomials of degree 2 p - 3.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussLobatto {
    /// Nodes, ascending, -1 and 1 among them.
    pub nodes: Vec<f64>,
    /// Weights; their sum is 2.
    pub weights: Vec<f64>,
    legendre: Vec<f64>,
}

impl GaussLobatto {
    /// The rule with p >= 2 nodes: the ends and the zeros of the derivative of the Legendre
    /// polynomial of degree p - 1.
    ///
    /// # Panics
    /// For fewer than 2 nodes.
    #[must_use]
    pub fn new(p: usize) -> Self {
        assert!(p >= 2, "a Gauss-Lobatto rule has at least 2 nodes, not {p}");
        let degree = p - 1;
        let n = count(degree);
        let mut nodes = vec![0.0; p];
        for i in 0..p {
            let mut x = -(std::f64::consts::PI * count(i) / n).cos();
            if i == 0 || i == degree {
                x = if i == 0 { -1.0 } else { 1.0 };
            } else {
                // Newton on (1 - x^2) P' from Chebyshev's nodes, whose derivative is -n (n + 1) P.
                for _ in 0..100 {
                    let (value, before) = legendre(degree, x);
                    let step = (x * value - before) / ((n + 1.0) * value);
                    x -= step;
                    if step.abs() < 1e-16 {
                        break;
                    }
                }
            }
            nodes[i] = x;
        }
        for i in 0..p / 2 {
            let x = 0.5 * (nodes[degree - i] - nodes[i]);
            (nodes[i], nodes[degree - i]) = (-x, x);
        }
        if p % 2 == 1 {
            nodes[p / 2] = 0.0;
        }
        let legendre: Vec<f64> = nodes.iter().map(|&x| legendre(degree, x).0).collect();
        let weights = legendre.iter().map(|value| 2.0 / (n * (n + 1.0) * value * value)).collect();
        Self { nodes, weights, legendre }
    }

    /// Derivative at node `row` of the polynomial that is 1 at node `column` and 0 at the others.
    #[must_use]
    pub fn derivative(&self, row: usize, column: usize) -> f64 {
        let last = self.nodes.len() - 1;
        let corner = count(last) * count(last + 1) / 4.0;
        match (row, column) {
            (0, 0) => -corner,
            (row, column) if row == last && column == last => corner,
            (row, column) if row == column => 0.0,
            _ => {
                self.legendre[row] / self.legendre[column] / (self.nodes[row] - self.nodes[column])
            }
        }
    }
}

/// Legendre polynomials of degree n >= 1 and n - 1.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 1..degree {
        let k = count(k);
        (before, value) = (value, ((2.0 * k + 1.0) * x * value - k * before) / (k + 1.0));
    }
    (value, before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_lobatto_rules_are_the_tabulated_ones() {
        // Abramowitz and Stegun 1964, table 25.6.
        let rule = GaussLobatto::new(4);
        assert!((rule.nodes[2] - 0.2f64.sqrt()).abs() < 1e-15);
        assert!((rule.weights[1] - 5.0 / 6.0).abs() < 1e-15);
        let rule = GaussLobatto::new(5);
        assert!((rule.nodes[3] - (3.0f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((rule.weights[2] - 32.0 / 45.0).abs() < 1e-15);
    }

    #[test]
    fn derivative_is_exact_for_polynomials_of_the_elements_degree() {
        for p in 2..9 {
            let rule = GaussLobatto::new(p);
            let power = i32::try_from(p).unwrap() - 1;
            for row in 0..p {
                let derivative: f64 = (0..p)
                    .map(|column| rule.derivative(row, column) * rule.nodes[column].powi(power))
                    .sum();
                let exact = f64::from(power) * rule.nodes[row].powi(power - 1);
                assert!((derivative - exact).abs() < 1e-13 * f64::from(power * power), "p {p}");
            }
        }
    }

    #[test]
    fn stiffness_and_lifting_sum_by_parts() {
        // w_i (D + S)_ij in units of the element is the difference of the ends' products.
        let p = 5u16;
        let size = usize::from(p);
        let all = [
            Generator::GaussLobattoDerivative,
            Generator::GaussLobattoStiffness,
            Generator::GaussLobattoLifting,
        ]
        .map(|generator| generator.matrix("M", p).unwrap());
        for i in 0..size {
            for j in 0..size {
                let sum = all[0].entries[i * size + j] + all[1].entries[i * size + j];
                let ends = match (i, j) {
                    (0, 0) => all[2].entries[0],
                    (4, 4) => all[2].entries[size * (size + 1) - 1],
                    _ => 0.0,
                };
                assert!((sum - ends).abs() < 1e-13, "{i} {j}: {sum} {ends}");
            }
        }
    }
}
