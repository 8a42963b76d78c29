//! Schemes as text, in the grammar that [`crate::text`] reads.

use std::fmt::{self, Write as _};

use super::{Action, Expression, OUTPUT, Scheme, Statement};
use crate::graph::{Binary, Unary};
use crate::kernel::Output;
use crate::matrix::Generator;
use crate::scheme::INPUT;

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "scheme {}", self.name)?;
        writeln!(f, "halo {}", self.halo)?;
        writeln!(f, "input {}", self.blocks[INPUT].name)?;
        let kind = match self.output {
            Output::Step => "step",
            Output::Rate => "rate",
        };
        writeln!(f, "output {kind} {}", self.blocks[OUTPUT].name)?;
        for parameter in &self.parameters {
            writeln!(f, "parameter {} = {}", parameter.name, number(parameter.default))?;
        }
        for matrix in &self.matrices {
            writeln!(f, "matrix {} = {}", matrix.name, generator(&matrix.generator))?;
        }
        writeln!(f)?;
        let mut inside = false;
        for statement in &self.statements {
            if statement.directional && !inside {
                writeln!(f, "for each direction n")?;
            }
            inside = statement.directional;
            let indent = if inside { "    " } else { "" };
            writeln!(f, "{indent}{}", self::statement(self, statement))?;
        }
        Ok(())
    }
}

fn generator(generator: &Generator) -> String {
    if let Generator::Numbers { first, rows } = generator {
        let row = |row: &Vec<f64>| {
            format!("[{}]", row.iter().map(|&entry| number(entry)).collect::<Vec<_>>().join(", "))
        };
        let rows = rows.iter().map(row).collect::<Vec<_>>().join(", ");
        return format!("[{rows}] from {first}");
    }
    let named = Generator::NAMED.iter().find(|(_, known)| known == generator);
    named.map_or_else(String::new, |(name, _)| (*name).into())
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(number: f64) -> String {
    if number.abs() >= 1e15 || (number != 0.0 && number.abs() < 1e-4) {
        format!("{number:e}")
    } else {
        format!("{number}")
    }
}

/// A statement without its `for each direction`.
pub(crate) fn statement(scheme: &Scheme, statement: &Statement) -> String {
    match &statement.action {
        Action::Maximum(value) => format!("reduce max {}", expression(scheme, value)),
        Action::Assign { block, faces, over, value } => {
            let mut line = scheme.blocks[*block].name.clone();
            if *faces {
                line.push_str(" at faces");
            }
            if let Some(over) = over {
                let _ = write!(line, " over {}", over.text());
            }
            let _ = write!(line, " = {}", expression(scheme, value));
            line
        }
    }
}

/// An expression.
pub(crate) fn expression(scheme: &Scheme, value: &Expression) -> String {
    Printer { scheme, expanded: None }.print(value, 0)
}

/// A statement for one direction of so many: instances by name, shifts along their axis.
pub(crate) fn expanded(scheme: &Scheme, statement: &Statement, axis: usize, axes: usize) -> String {
    let printer = Printer { scheme, expanded: Some((axis, axes)) };
    let value = printer.print(statement.action.value(), 0);
    match &statement.action {
        Action::Maximum(_) => format!("reduce max {value}"),
        Action::Assign { block, .. } => format!("{} = {value}", printer.block(*block, axis)),
    }
}

/// Names of the axes.
pub(crate) const AXES: [&str; 3] = ["x", "y", "z"];

struct Printer<'a> {
    scheme: &'a Scheme,
    /// Direction, and the number of them.
    expanded: Option<(usize, usize)>,
}

impl Printer<'_> {
    /// A block's name, with its axis where directions are written out.
    fn block(&self, block: usize, axis: usize) -> String {
        let declaration = &self.scheme.blocks[block];
        match self.expanded {
            Some(_) if declaration.directional => format!("{}_{}", declaration.name, AXES[axis]),
            _ => declaration.name.clone(),
        }
    }

    fn instances(&self, block: usize) -> Vec<String> {
        let (_, axes) = self.expanded.unwrap_or((0, 0));
        (0..axes).map(|axis| self.block(block, axis)).collect()
    }

    /// Binding strength: 0 choice, 1 sum, 2 product, 3 sign, 4 atom.
    fn print(&self, value: &Expression, strength: u8) -> String {
        let (axis, axes) = self.expanded.unwrap_or((0, 0));
        let direction = if axes > 0 { AXES[axis] } else { "n" };
        let name = |block: &usize| self.block(*block, axis);
        let one = |name: &str, a: &Expression| format!("{name}({})", self.print(a, 0));
        let (own, text) = match value {
            Expression::Number(value) if value.is_sign_negative() => (3, number(*value)),
            Expression::Number(value) => (4, number(*value)),
            Expression::Parameter(place) => (4, self.scheme.parameters[*place].name.clone()),
            Expression::TimeStep => (4, "dt".into()),
            Expression::Spacing => (4, format!("dx({direction})")),
            Expression::Each(block) if axes > 0 => (4, self.instances(*block).join(", ")),
            Expression::Sum(block) if axes > 0 => (1, self.instances(*block).join(" + ")),
            Expression::Largest(block) if axes > 0 => {
                (4, format!("max({})", self.instances(*block).join(", ")))
            }
            Expression::Block(block, 0) | Expression::Each(block) => (4, name(block)),
            Expression::Block(block, shift) => {
                let along = if axes > 0 { direction } else { "" };
                (4, format!("{}[{along}{shift:+}]", name(block)))
            }
            Expression::Sum(block) => (4, format!("sum({})", name(block))),
            Expression::Largest(block) => (4, format!("maximum({})", name(block))),
            Expression::Unary(Unary::Negate, a) => (3, format!("-{}", self.print(a, 3))),
            Expression::Unary(function, a) => (4, one(unary_name(*function), a)),
            Expression::Binary(function, a, b) => match function {
                Binary::Add => (1, format!("{} + {}", self.print(a, 1), self.print(b, 2))),
                Binary::Subtract => (1, format!("{} - {}", self.print(a, 1), self.print(b, 2))),
                Binary::Multiply => (2, format!("{} * {}", self.print(a, 2), self.print(b, 3))),
                Binary::Divide => (2, format!("{} / {}", self.print(a, 2), self.print(b, 3))),
                function => (
                    4,
                    format!(
                        "{}({}, {})",
                        binary_name(*function),
                        self.print(a, 0),
                        self.print(b, 0)
                    ),
                ),
            },
            Expression::Evolved(a) => (4, one("evolved", a)),
            Expression::Complete(a) => (4, one("complete", a)),
            Expression::Call(term, arguments) => {
                let mut list: Vec<String> = arguments.iter().map(|a| self.print(a, 0)).collect();
                if term.directional() {
                    list.push(direction.into());
                }
                (4, format!("{}({})", term.name(), list.join(", ")))
            }
            Expression::Apply(matrix, block) => {
                (4, format!("apply({}, {}, n)", self.scheme.matrices[*matrix].name, name(block)))
            }
            Expression::Has(term, a, b) => (
                0,
                format!("{} if has {} else {}", self.print(a, 1), term.name(), self.print(b, 0)),
            ),
        };
        if own < strength { format!("({text})") } else { text }
    }
}

/// Functions of one value that schemes may use, by name.
pub(crate) const UNARY: [(&str, Unary); 4] = [
    ("sqrt", Unary::SquareRoot),
    ("abs", Unary::Absolute),
    ("exp", Unary::Exponential),
    ("log", Unary::Logarithm),
];

/// Functions of two values that schemes may use, by name.
pub(crate) const BINARY: [(&str, Binary); 3] =
    [("min", Binary::Minimum), ("max", Binary::Maximum), ("pow", Binary::Power)];

fn unary_name(function: Unary) -> &'static str {
    UNARY.iter().find(|(_, known)| *known == function).map_or("?", |(name, _)| name)
}

fn binary_name(function: Binary) -> &'static str {
    BINARY.iter().find(|(_, known)| *known == function).map_or("?", |(name, _)| name)
}
