//! Numbers known when the text is read: sizes, enumerators, tables, defaults.

use super::ast::{Base, Expr, Kind, Number, Op, Outcome, Scalar, Unit, fault};
use crate::graph::{Binary, apply_binary, apply_unary};

/// The number that an expression of constants gives, as type `ty`.
pub(super) fn number(unit: &Unit, expr: &Expr, ty: Scalar) -> Outcome<Number> {
    let value = value(unit, expr)?;
    convert(value, ty, expr.line)
}

/// A number as another type; reals lose their fraction.
pub(super) fn convert(value: Number, ty: Scalar, line: u32) -> Outcome<Number> {
    match (ty, value) {
        (Scalar::Double, value) => Ok(Number::Real(value.real())),
        (Scalar::Int, Number::Int(_)) => Ok(value),
        (Scalar::Int, Number::Real(real)) => truncate(real, line).map(Number::Int),
    }
}

/// A real as an `int`, towards zero.
pub(super) fn truncate(real: f64, line: u32) -> Outcome<i64> {
    if real.abs() < 2_147_483_648.0 {
        #[allow(clippy::cast_possible_truncation, reason = "in range, and C truncates")]
        return Ok(real as i64);
    }
    fault(line, format!("{real} does not fit an int: keep it a double"))
}

fn value(unit: &Unit, expr: &Expr) -> Outcome<Number> {
    let line = expr.line;
    let of = |expr: &Expr| value(unit, expr);
    let truth = |expr: &Expr| value(unit, expr).map(|value| value.real() != 0.0);
    Ok(match &expr.kind {
        Kind::Int(number) => Number::Int(*number),
        Kind::Real(number) => Number::Real(*number),
        Kind::Negate(a) => match of(a)? {
            Number::Int(a) => Number::Int(-a),
            Number::Real(a) => Number::Real(-a),
        },
        Kind::Complement(a) => match of(a)? {
            Number::Int(a) => Number::Int(!a),
            Number::Real(_) => return fault(line, "`~` of a double: use an int"),
        },
        Kind::Not(a) => Number::Int(i64::from(!truth(a)?)),
        Kind::And(sides) => Number::Int(i64::from(truth(&sides[0])? && truth(&sides[1])?)),
        Kind::Or(sides) => Number::Int(i64::from(truth(&sides[0])? || truth(&sides[1])?)),
        Kind::Choose(parts) => {
            let chosen = if truth(&parts[0])? { &parts[1] } else { &parts[2] };
            of(chosen)?
        }
        Kind::Binary(..) => {
            let (first, rest) = expr.chain();
            rest.into_iter().try_fold(of(first)?, |a, (op, b, line)| binary(op, a, of(b)?, line))?
        }
        Kind::Convert(a) => convert(of(a)?, expr.ty, line)?,
        Kind::Function(function, a) => Number::Real(apply_unary(*function, of(a)?.real())),
        Kind::Function2(function, sides) => {
            Number::Real(apply_binary(*function, of(&sides[0])?.real(), of(&sides[1])?.real()))
        }
        Kind::Load(place) => match place.base {
            Base::Global(global) => {
                let global = &unit.globals[global];
                let mut at = 0;
                for (index, &size) in place.indices.iter().zip(&global.dims) {
                    let Number::Int(index) = of(index)? else { return not_constant(line) };
                    match usize::try_from(index) {
                        Ok(index) if index < size => at = at * size + index,
                        _ => return fault(line, format!("{index} is outside {}", global.name)),
                    }
                }
                global.values[at]
            }
            Base::Local(_) => return not_constant(line),
        },
        Kind::Member(_) | Kind::Call(..) => return not_constant(line),
    })
}

fn not_constant(line: u32) -> Outcome<Number> {
    fault(line, "this is not known when the text is read: write a number or a constant")
}

/// An operator on two numbers of one type, as C computes it.
pub(super) fn binary(op: Op, a: Number, b: Number, line: u32) -> Outcome<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => integer(op, a, b, line).map(Number::Int),
        (a, b) => {
            let (a, b) = (a.real(), b.real());
            let arithmetic = |function| Ok(Number::Real(apply_binary(function, a, b)));
            let truth = |truth: bool| Ok(Number::Int(i64::from(truth)));
            match op {
                Op::Add => arithmetic(Binary::Add),
                Op::Subtract => arithmetic(Binary::Subtract),
                Op::Multiply => arithmetic(Binary::Multiply),
                Op::Divide => arithmetic(Binary::Divide),
                Op::Less => truth(a < b),
                Op::LessEqual => truth(a <= b),
                #[allow(clippy::float_cmp, reason = "the text asks for equality")]
                Op::Equal => truth(a == b),
                #[allow(clippy::float_cmp, reason = "the text asks for inequality")]
                Op::NotEqual => truth(a != b),
                _ => fault(line, "an operator of integers on a double: convert with (int)"),
            }
        }
    }
}

/// An operator on two integers, as C computes it on 32 bits.
pub(super) fn integer(op: Op, a: i64, b: i64, line: u32) -> Outcome<i64> {
    if matches!(op, Op::Divide | Op::Remainder) && b == 0 {
        return fault(line, "an integer divided by zero");
    }
    if matches!(op, Op::Left | Op::Right) && !(0..32).contains(&b) {
        return fault(line, format!("a shift by {b} bits: shift an int by 0 to 31"));
    }
    let result = match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide => a / b,
        Op::Remainder => a % b,
        Op::Left => a << b,
        Op::Right => a >> b,
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        Op::Less => i64::from(a < b),
        Op::LessEqual => i64::from(a <= b),
        Op::Equal => i64::from(a == b),
        Op::NotEqual => i64::from(a != b),
    };
    if i32::try_from(result).is_err() {
        return fault(line, format!("{result} does not fit an int: use a double"));
    }
    Ok(result)
}
