//! Runge-Kutta methods with 1 to 4 stages of as many orders.
//!
//! Stage input `Q + dt sum_j a_ij k_j`, result `Q + dt sum_i b_i k_i`. Four stages are Kutta's 3/8
//! rule (Kutta 1901), three his third-order rule, two the midpoint rule.

/// An explicit Runge-Kutta method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tableau {
    /// Stages, as many as its order.
    pub stages: usize,
    /// `a_ij`: weight of rate j in the input of stage i.
    pub inner: [[f64; 3]; 4],
    /// `b_i`: weight of rate i in the result.
    pub weights: [f64; 4],
    /// `c_i`: time of stage i as a fraction of the step.
    pub times: [f64; 4],
    /// How far its stability region reaches along the negative real axis.
    pub real_reach: f64,
}

const THIRD: f64 = 1.0 / 3.0;

const EULER: Tableau = Tableau {
    stages: 1,
    inner: [[0.0; 3]; 4],
    weights: [1.0, 0.0, 0.0, 0.0],
    times: [0.0; 4],
    real_reach: 2.0,
};

const MIDPOINT: Tableau = Tableau {
    stages: 2,
    inner: [[0.0; 3], [0.5, 0.0, 0.0], [0.0; 3], [0.0; 3]],
    weights: [0.0, 1.0, 0.0, 0.0],
    times: [0.0, 0.5, 0.0, 0.0],
    real_reach: 2.0,
};

const KUTTA_3: Tableau = Tableau {
    stages: 3,
    inner: [[0.0; 3], [0.5, 0.0, 0.0], [-1.0, 2.0, 0.0], [0.0; 3]],
    weights: [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0, 0.0],
    times: [0.0, 0.5, 1.0, 0.0],
    real_reach: 2.512_745_327,
};

const KUTTA_38: Tableau = Tableau {
    stages: 4,
    inner: [[0.0; 3], [THIRD, 0.0, 0.0], [-THIRD, 1.0, 0.0], [1.0, -1.0, 1.0]],
    weights: [0.125, 0.375, 0.375, 0.125],
    times: [0.0, THIRD, 2.0 * THIRD, 1.0],
    real_reach: 2.785_293_563,
};

impl Tableau {
    /// The method of an order from 1 to 4.
    #[must_use]
    pub const fn of_order(order: u8) -> Option<Self> {
        match order {
            1 => Some(EULER),
            2 => Some(MIDPOINT),
            3 => Some(KUTTA_3),
            4 => Some(KUTTA_38),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth of y' = lambda y over one step, lambda dt = z.
    fn growth(tableau: &Tableau, z: f64) -> f64 {
        let mut rates = [0.0; 4];
        for i in 0..tableau.stages {
            let input: f64 = (0..i).map(|j| tableau.inner[i][j] * rates[j]).sum();
            rates[i] = z * (1.0 + input);
        }
        1.0 + (0..tableau.stages).map(|i| tableau.weights[i] * rates[i]).sum::<f64>()
    }

    #[test]
    fn every_method_has_the_taylor_terms_of_its_order_and_no_more() {
        for order in 1..=4_u8 {
            let tableau = Tableau::of_order(order).unwrap();
            let taylor = |z: f64| {
                let mut term = 1.0;
                (1..=order).fold(1.0, |sum, n| {
                    term *= z / f64::from(n);
                    sum + term
                })
            };
            for z in [-1.5, -0.3, 0.7] {
                assert!((growth(&tableau, z) - taylor(z)).abs() < 1e-14, "order {order}, z {z}");
            }
        }
    }

    #[test]
    fn times_are_row_sums_and_weights_sum_to_one() {
        for order in 1..=4_u8 {
            let tableau = Tableau::of_order(order).unwrap();
            for i in 0..tableau.stages {
                let sum: f64 = tableau.inner[i].iter().sum();
                assert!((sum - tableau.times[i]).abs() < 1e-15, "order {order}, stage {i}");
            }
            assert!((tableau.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn the_real_reach_is_where_growth_is_one() {
        for order in 1..=4_u8 {
            let tableau = Tableau::of_order(order).unwrap();
            let at = growth(&tableau, -tableau.real_reach).abs();
            assert!((at - 1.0).abs() < 1e-8, "order {order}: {at}");
            assert!(growth(&tableau, -1.01 * tableau.real_reach).abs() > 1.0);
        }
    }

    #[test]
    fn a_rate_that_depends_on_time_is_integrated_to_the_order() {
        // y' = 3 t^2 from 0 to 1 in one step is 1 for every method of order 3 and more.
        for order in 3..=4_u8 {
            let tableau = Tableau::of_order(order).unwrap();
            let sum: f64 = (0..tableau.stages)
                .map(|i| tableau.weights[i] * 3.0 * tableau.times[i].powi(2))
                .sum();
            assert!((sum - 1.0).abs() < 1e-14, "order {order}: {sum}");
        }
    }
}
