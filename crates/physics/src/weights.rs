//! Finite-difference weights on equispaced nodes.
//!
//! Fornberg, B. (1988), Generation of finite difference formulas on arbitrarily spaced grids,
//! Math. Comp. 51, 699-706. Central formulas of order 2M use M nodes on either side.

/// Central weights of the second derivative for unit spacing: `w[0]` is the centre's, `w[r]` that
/// of both nodes at distance r. Divide by the spacing squared.
///
/// # Panics
/// If `order` is odd or outside 2..=16.
#[must_use]
pub fn second_derivative(order: usize) -> Vec<f64> {
    one_sided_half(order, 2)
}

/// Central weights of the first derivative for unit spacing: `w[r]` belongs to the node at +r and
/// `-w[r]` to that at -r; `w[0]` is zero. Divide by the spacing.
///
/// # Panics
/// If `order` is odd or outside 2..=16.
#[must_use]
pub fn first_derivative(order: usize) -> Vec<f64> {
    one_sided_half(order, 1)
}

fn one_sided_half(order: usize, derivative: usize) -> Vec<f64> {
    assert!(
        (2..=16).contains(&order) && order.is_multiple_of(2),
        "space order {order}: even orders 2 to 16 exist"
    );
    let radius = order / 2;
    let nodes: Vec<f64> = (0..=order).map(|m| m as f64 - radius as f64).collect();
    let mut weights = fornberg(&nodes, derivative).split_off(radius);
    if derivative == 1 {
        weights[0] = 0.0;
    } else {
        // The centre as minus the others' sum: a constant is annihilated to the last bit.
        weights[0] = -2.0 * weights[1..].iter().rev().sum::<f64>();
    }
    weights
}

/// Weights of the `derivative`-th derivative at zero from values at `nodes` (Fornberg 1988).
#[must_use]
pub fn fornberg(nodes: &[f64], derivative: usize) -> Vec<f64> {
    let count = nodes.len();
    let orders: Vec<f64> = (0..=derivative).map(|m| m as f64).collect();
    let mut delta = vec![vec![0.0; count]; derivative + 1];
    delta[0][0] = 1.0;
    let mut product_before = 1.0;
    for n in 1..count {
        let mut product = 1.0;
        let previous = delta.clone();
        for v in 0..n {
            let gap = nodes[n] - nodes[v];
            product *= gap;
            for m in 0..=derivative.min(n) {
                let lower = if m > 0 { orders[m] * previous[m - 1][v] } else { 0.0 };
                delta[m][v] = (nodes[n] * previous[m][v] - lower) / gap;
            }
        }
        for m in 0..=derivative.min(n) {
            let lower = if m > 0 { orders[m] * previous[m - 1][n - 1] } else { 0.0 };
            delta[m][n] = product_before / product * (lower - nodes[n - 1] * previous[m][n - 1]);
        }
        product_before = product;
    }
    delta.swap_remove(derivative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_eight_has_the_published_weights() {
        let expected = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
        for (w, e) in second_derivative(8).iter().zip(expected) {
            assert!((w - e).abs() < 1e-15, "{w} instead of {e}");
        }
        let expected = [0.0, 4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
        for (w, e) in first_derivative(8).iter().zip(expected) {
            assert!((w - e).abs() < 1e-15, "{w} instead of {e}");
        }
    }

    #[test]
    fn every_order_differentiates_polynomials_exactly() {
        for order in (2..=16).step_by(2) {
            let (second, first) = (second_derivative(order), first_derivative(order));
            for power in 0..=order {
                let moment = |w: &[f64]| -> f64 {
                    (1..w.len()).map(|r| 2.0 * w[r] * (r as f64).powf(power as f64)).sum()
                };
                let (value, expected) = match power {
                    0 => (second[0] + moment(&second), 0.0),
                    1 => (moment(&first), 1.0),
                    2 => (moment(&second), 2.0),
                    _ if power % 2 == 0 => (moment(&second), 0.0),
                    _ => (moment(&first), 0.0),
                };
                let scale = (order as f64 / 2.0).powf(power as f64).max(1.0);
                assert!((value - expected).abs() < 1e-13 * scale, "order {order}, x^{power}");
            }
        }
    }
}
