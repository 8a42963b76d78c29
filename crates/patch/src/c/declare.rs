//! The parameters, their defaults and the constants of the file.

use super::ast::{Global, Member, Number, Outcome, Scalar, fault};
use super::constant;
use super::parse::Parser;

impl Parser {
    /// `typedef struct { ... } parameters;`
    pub(super) fn structure(&mut self) -> Outcome<()> {
        let line = self.line();
        self.next();
        let only = "the only typedef is `typedef struct { ... } parameters;`";
        if !self.take_word("struct") {
            return fault(line, format!("{only}: write double or int"));
        }
        if !self.is("{") {
            self.name("a structure")?;
        }
        self.expect("{")?;
        while !self.take("}") {
            self.take_word("const");
            let ty = self.scalar("a member")?;
            loop {
                let line = self.line();
                if self.is("*") {
                    return fault(line, "a member is a number: parameters hold no pointers");
                }
                let name = self.name("a member")?;
                if self.is("[") {
                    return fault(
                        line,
                        format!("the member {name} is an array: write a member per number"),
                    );
                }
                if self.unit.members.iter().any(|member| member.name == name) {
                    return fault(line, format!("two members are called {name}: rename one"));
                }
                self.unit.members.push(Member { name, ty });
                if !self.take(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        let name = self.name("the structure")?;
        if name != "parameters" {
            return fault(line, format!("{only}: call {name} `parameters`"));
        }
        self.unit.defaults = self
            .unit
            .members
            .iter()
            .map(|member| match member.ty {
                Scalar::Int => Number::Int(0),
                Scalar::Double => Number::Real(0.0),
            })
            .collect();
        self.expect(";")
    }

    /// `static const parameters defaults = { ... };`, after the type.
    pub(super) fn defaults(&mut self, line: u32) -> Outcome<()> {
        let name = self.name("the defaults")?;
        if name != "defaults" {
            return fault(
                line,
                format!("the parameters reach a function as `const parameters *P`: remove {name}"),
            );
        }
        self.expect("=")?;
        self.expect("{")?;
        let mut next = 0;
        while !self.is("}") {
            let line = self.line();
            if self.take(".") {
                let member = self.name("a member")?;
                next = match self.member(&member) {
                    Some(place) => place,
                    None => return fault(line, format!("parameters has no member {member}")),
                };
                self.expect("=")?;
            }
            let Some(member) = self.unit.members.get(next) else {
                return fault(line, "more defaults than members: remove the last");
            };
            let ty = member.ty;
            let value = self.conditional()?;
            self.unit.defaults[next] = constant::number(&self.unit, &value, ty)?;
            next += 1;
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        self.expect(";")
    }

    /// `static const` numbers and tables, after the type.
    pub(super) fn globals(&mut self, ty: Scalar) -> Outcome<()> {
        loop {
            let line = self.line();
            let name = self.name("a constant")?;
            let dims = self.dimensions(false)?;
            if !self.take("=") {
                return fault(line, format!("the constant {name} has no value: write `= ...`"));
            }
            let size = dims.iter().product();
            let mut values =
                vec![if ty == Scalar::Int { Number::Int(0) } else { Number::Real(0.0) }; size];
            if dims.is_empty() {
                let value = self.conditional()?;
                values[0] = constant::number(&self.unit, &value, ty)?;
            } else {
                for (place, value) in self.list(&dims)? {
                    values[place] = constant::number(&self.unit, &value, ty)?;
                }
            }
            if self.globals.insert(name.clone(), self.unit.globals.len()).is_some() {
                return fault(line, format!("{name} is defined twice: rename one"));
            }
            self.unit.globals.push(Global { name, ty, dims, values });
            if !self.take(",") {
                return self.expect(";");
            }
        }
    }
}
