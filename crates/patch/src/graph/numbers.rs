//! The operations on numbers, as every target computes them.

use super::{Binary, Logic, Unary};

/// A function of one number, as every target computes it.
#[must_use]
pub fn apply_unary(function: Unary, a: f64) -> f64 {
    match function {
        Unary::Negate => -a,
        Unary::Absolute => a.abs(),
        Unary::SquareRoot => a.sqrt(),
        Unary::CubeRoot => a.cbrt(),
        Unary::Exponential => a.exp(),
        Unary::Logarithm => a.ln(),
        Unary::Sine => a.sin(),
        Unary::Cosine => a.cos(),
        Unary::Tangent => a.tan(),
        Unary::ArcTangent => a.atan(),
        Unary::HyperbolicSine => a.sinh(),
        Unary::HyperbolicCosine => a.cosh(),
        Unary::HyperbolicTangent => a.tanh(),
        Unary::Floor => a.floor(),
    }
}

/// A function of two numbers, as every target computes it.
#[must_use]
pub fn apply_binary(function: Binary, a: f64, b: f64) -> f64 {
    match function {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Minimum => {
            if a < b {
                a
            } else {
                b
            }
        }
        Binary::Maximum => {
            if a > b {
                a
            } else {
                b
            }
        }
        Binary::Power => a.powf(b),
        Binary::ArcTangent2 => a.atan2(b),
    }
}

pub(crate) fn compare(logic: Logic, a: f64, b: f64) -> bool {
    match logic {
        Logic::Less => a < b,
        Logic::LessEqual => a <= b,
        #[allow(clippy::float_cmp, reason = "the text asks for equality")]
        Logic::Equal => a == b,
        Logic::And => a != 0.0 && b != 0.0,
        Logic::Or => a != 0.0 || b != 0.0,
    }
}
