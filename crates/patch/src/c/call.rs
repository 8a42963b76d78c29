//! Calls of functions of the text and the arrays they are given.

use super::ast::{Argument, Base, Formal, Outcome, Scalar, Variable, fault};
use super::expression::assigned;
use super::lex::Token;
use super::parse::Parser;

/// Functions that look usable and are not, with what to write instead.
const OTHER_FUNCTIONS: [(&str, &str); 35] = [
    ("abs", "write fabs, or i < 0 ? -i : i"),
    ("malloc", "write an array of constant size"),
    ("calloc", "write an array of constant size"),
    ("free", "write an array of constant size"),
    ("printf", "return the number as a result instead"),
    ("fprintf", "return the number as a result instead"),
    ("exit", "return a result on every path"),
    ("assert", "remove it"),
    ("memcpy", "write a loop"),
    ("memset", "write a loop"),
    ("exp2", "write pow(2.0, x)"),
    ("log10", "write log(x) / M_LN10"),
    ("log2", "write log(x) / M_LN2"),
    ("log1p", "write log(1.0 + x)"),
    ("expm1", "write exp(x) - 1.0"),
    ("asin", "write atan2(x, sqrt(1.0 - x * x))"),
    ("acos", "write atan2(sqrt(1.0 - x * x), x)"),
    ("asinh", "write log(x + sqrt(x * x + 1.0))"),
    ("acosh", "write log(x + sqrt(x * x - 1.0))"),
    ("atanh", "write 0.5 * log((1.0 + x) / (1.0 - x))"),
    ("max", "write fmax"),
    ("min", "write fmin"),
    ("ceil", "write -floor(-x)"),
    ("round", "write floor(x + 0.5)"),
    ("trunc", "write x < 0.0 ? -floor(-x) : floor(x)"),
    ("fmod", "write x - y * floor(x / y), for positive numbers"),
    ("fma", "write x * y + z"),
    ("copysign", "write y < 0.0 ? -fabs(x) : fabs(x)"),
    ("isnan", "write x != x"),
    ("isfinite", "write x - x == 0.0"),
    ("powf", "write pow"),
    ("fabsf", "write fabs"),
    ("sqrtf", "write sqrt"),
    ("hypot", "write sqrt(x * x + y * y)"),
    ("sizeof", "write the number"),
];

impl Parser {
    /// A call of a function of the text: its place and what it is given.
    pub(super) fn call(&mut self) -> Outcome<(usize, Vec<Argument>)> {
        let line = self.line();
        let name = self.name("a function")?;
        let Some(&place) = self.functions.get(&name) else {
            if self.current.as_ref().is_some_and(|(current, _)| *current == name) {
                return fault(line, format!("{name} calls itself: write a loop"));
            }
            if let Some((_, remedy)) = OTHER_FUNCTIONS.iter().find(|(known, _)| *known == name) {
                return fault(line, format!("{name} is not in the subset: {remedy}"));
            }
            return fault(
                line,
                format!(
                    "{name} is not defined above this line: define it before its first call; of \
                     math.h the subset has fabs sqrt cbrt exp log sin cos tan atan atan2 sinh cosh \
                     tanh floor pow fmin fmax"
                ),
            );
        };
        self.expect("(")?;
        let callee = &self.unit.functions[place];
        let formals: Vec<(Option<Variable>, String)> = callee
            .formals
            .iter()
            .map(|formal| match formal {
                Formal::Variable(variable) => {
                    let variable = callee.variables[*variable].clone();
                    let name = variable.name.clone();
                    (Some(variable), name)
                }
                Formal::Parameters { name, .. } => (None, name.clone()),
            })
            .collect();
        let mut arguments = Vec::new();
        while !self.is(")") {
            let line = self.line();
            let Some((formal, called)) = formals.get(arguments.len()) else {
                return fault(line, format!("{name} takes {} arguments", formals.len()));
            };
            arguments.push(match formal {
                None => {
                    let given = self.name("the parameters")?;
                    if self.parameters.as_deref() != Some(&*given) {
                        return fault(
                            line,
                            format!("{called} of {name} is the parameters: pass P"),
                        );
                    }
                    Argument::Parameters
                }
                Some(variable) if variable.pointer => self.array(variable, &name)?,
                Some(variable) => Argument::Value(assigned(self.conditional()?, variable.ty)?),
            });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        if arguments.len() != formals.len() {
            return fault(
                line,
                format!("{name} takes {} arguments, not {}", formals.len(), arguments.len()),
            );
        }
        Ok((place, arguments))
    }

    /// `a`, `a[i]`, `&a[i]`, `&x`, `a + i` for a pointer.
    fn array(&mut self, formal: &Variable, function: &str) -> Outcome<Argument> {
        let line = self.line();
        let address = self.take("&");
        if !matches!(self.peek(), Token::Name(_)) {
            return fault(
                line,
                format!("{} of {function} is an array: pass an array, a row or &a[i]", formal.name),
            );
        }
        let base = self.base()?;
        let mut indices = self.indices()?;
        let mut offset = None;
        if address {
            offset = indices.pop();
        } else if self.take("+") {
            let by = self.level(6)?;
            if by.ty != Scalar::Int {
                return fault(line, "an offset is a double: write an int known at build");
            }
            offset = Some(by);
        }
        let (name, ty, dims) = self.about(base);
        let name = name.to_owned();
        let rest = dims.get(indices.len()..).unwrap_or_default();
        // A number by its address is an array of one.
        let scalar = address && offset.is_none() && dims.is_empty();
        if (rest.is_empty() && !scalar) || (address && offset.is_none() && !scalar) {
            return fault(
                line,
                format!("{} of {function} is an array: pass an array, a row or &a[i]", formal.name),
            );
        }
        if rest.get(1..).unwrap_or_default() != &formal.dims[1..] {
            return fault(
                line,
                format!(
                    "{name} and {} of {function} differ in dimensions: pass an array of the same \
                     row sizes",
                    formal.name
                ),
            );
        }
        if ty != formal.ty {
            return fault(
                line,
                format!("{name} holds {}, {function} takes {}", ty.name(), formal.ty.name()),
            );
        }
        let constant = match base {
            Base::Local(place) => self.variables[place].constant,
            Base::Global(_) => true,
        };
        if constant && !formal.constant {
            return fault(
                line,
                format!(
                    "{name} is const and {} of {function} is not: add const to {}, or pass a copy",
                    formal.name, formal.name
                ),
            );
        }
        Ok(Argument::Array { base, indices, offset, line })
    }
}
