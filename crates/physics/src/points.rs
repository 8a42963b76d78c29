//! Weights that tie a point anywhere in space to the grid's nodes.
//!
//! They are separable: the weight of node (i, j, k) is the product of three weights, one per axis.
//! A backend may use the factors as they are or multiply them out.

use serde::{Deserialize, Serialize};

/// Weights of consecutive nodes along one axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisWeights {
    /// Node of the first weight.
    pub first: usize,
    /// Weights of nodes `first`, `first + 1`, ...; at least one.
    pub weights: Vec<f64>,
}

impl AxisWeights {
    /// Weight one on a single node.
    #[must_use]
    pub fn on_node(node: usize) -> Self {
        Self { first: node, weights: vec![1.0] }
    }
}

/// A point's weights along (x, y, z); all nodes lie inside the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointWeights {
    /// Factors along (x, y, z).
    pub axes: [AxisWeights; 3],
}

impl PointWeights {
    /// Weight one on a single node.
    #[must_use]
    pub fn on_node(node: [usize; 3]) -> Self {
        Self { axes: node.map(AxisWeights::on_node) }
    }

    /// Nodes and products of weights, z fastest.
    pub fn nodes(&self) -> impl Iterator<Item = ([usize; 3], f64)> + '_ {
        let [x, y, z] = &self.axes;
        x.weights.iter().enumerate().flat_map(move |(i, wx)| {
            y.weights.iter().enumerate().flat_map(move |(j, wy)| {
                z.weights
                    .iter()
                    .enumerate()
                    .map(move |(k, wz)| ([x.first + i, y.first + j, z.first + k], wx * wy * wz))
            })
        })
    }
}
