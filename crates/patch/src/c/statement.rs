//! Statements and the declarations inside functions.

use std::collections::HashMap;

use super::ast::{
    Act, Base, Expr, Initial, Kind, Op, Outcome, Place, Scalar, Statement, Variable, fault,
};
use super::expression::{assigned, combine, convert};
use super::lex::Token;
use super::parse::Parser;

/// `op=` and its operator.
const COMPOUND: [(&str, Op); 10] = [
    ("+=", Op::Add),
    ("-=", Op::Subtract),
    ("*=", Op::Multiply),
    ("/=", Op::Divide),
    ("%=", Op::Remainder),
    ("<<=", Op::Left),
    (">>=", Op::Right),
    ("&=", Op::BitAnd),
    ("|=", Op::BitOr),
    ("^=", Op::BitXor),
];

impl Parser {
    /// `{ ... }`
    pub(super) fn block(&mut self) -> Outcome<Vec<Statement>> {
        self.expect("{")?;
        self.scopes.push(HashMap::new());
        let mut all = Vec::new();
        while !self.take("}") {
            if self.peek() == &Token::End {
                return fault(self.line(), "the text ends inside a function: write `}`");
            }
            self.statement(&mut all)?;
        }
        self.scopes.pop();
        Ok(all)
    }

    /// A statement under `if` or a loop, as a block.
    fn body(&mut self) -> Outcome<Vec<Statement>> {
        if self.is("{") {
            return self.block();
        }
        self.scopes.push(HashMap::new());
        let mut all = Vec::new();
        self.statement(&mut all)?;
        self.scopes.pop();
        Ok(all)
    }

    fn statement(&mut self, all: &mut Vec<Statement>) -> Outcome<()> {
        self.nested(|parser| parser.any_statement(all))
    }

    fn any_statement(&mut self, all: &mut Vec<Statement>) -> Outcome<()> {
        let line = self.line();
        if self.take(";") {
            return Ok(());
        }
        if self.is("{") {
            let act = Act::Block(self.block()?);
            all.push(Statement { act, line });
            return Ok(());
        }
        if self.is_type() {
            self.declaration(all)?;
            return self.expect(";");
        }
        let word = match self.peek() {
            Token::Name(name) => name.clone(),
            _ => String::new(),
        };
        let act = match &*word {
            "enum" => {
                self.enumeration()?;
                return self.expect(";");
            }
            "if" => {
                self.next();
                self.expect("(")?;
                let condition = self.conditional()?;
                self.expect(")")?;
                let then = self.body()?;
                let other = if self.take_word("else") { self.body()? } else { Vec::new() };
                Act::If(condition, then, other)
            }
            "for" => self.counted()?,
            "while" => {
                self.next();
                self.expect("(")?;
                let condition = Some(self.conditional()?);
                self.expect(")")?;
                let body = self.looped()?;
                Act::Loop { initial: vec![], condition, step: vec![], body, first: true }
            }
            "do" => {
                self.next();
                let body = self.looped()?;
                if !self.take_word("while") {
                    return fault(self.line(), "`while` is missing after the body of `do`");
                }
                self.expect("(")?;
                let condition = Some(self.conditional()?);
                self.expect(")")?;
                self.expect(";")?;
                Act::Loop { initial: vec![], condition, step: vec![], body, first: false }
            }
            "break" | "continue" => {
                self.next();
                self.expect(";")?;
                if self.loops == 0 {
                    return fault(line, format!("`{word}` outside a loop: remove it"));
                }
                if word == "break" { Act::Break } else { Act::Continue }
            }
            "return" => self.returned()?,
            "goto" => return fault(line, "goto is not in the subset: write a loop or an if"),
            "switch" => {
                return fault(line, "switch is not in the subset: write if and else if");
            }
            "typedef" => return fault(line, "a typedef inside a function: write double or int"),
            _ => {
                self.simple(all)?;
                return self.expect(";");
            }
        };
        all.push(Statement { act, line });
        Ok(())
    }

    /// The body of a loop.
    fn looped(&mut self) -> Outcome<Vec<Statement>> {
        self.loops += 1;
        let body = self.body();
        self.loops -= 1;
        body
    }

    fn counted(&mut self) -> Outcome<Act> {
        self.next();
        self.expect("(")?;
        self.scopes.push(HashMap::new());
        let mut initial = Vec::new();
        if self.is_type() {
            self.declaration(&mut initial)?;
        } else if !self.is(";") {
            self.simple(&mut initial)?;
        }
        self.expect(";")?;
        let condition = if self.is(";") { None } else { Some(self.conditional()?) };
        self.expect(";")?;
        let mut step = Vec::new();
        if !self.is(")") {
            self.simple(&mut step)?;
        }
        self.expect(")")?;
        let body = self.looped()?;
        self.scopes.pop();
        Ok(Act::Loop { initial, condition, step, body, first: true })
    }

    fn returned(&mut self) -> Outcome<Act> {
        let line = self.line();
        self.next();
        let (name, result) = self.current.clone().expect("statements are inside functions");
        let act = match result {
            None if self.is(";") => Act::Return(None),
            None => return fault(line, format!("{name} is void: write `return;`")),
            Some(_) if self.is(";") => {
                return fault(line, format!("{name} returns a value: write `return value;`"));
            }
            Some(ty) => Act::Return(Some(assigned(self.conditional()?, ty)?)),
        };
        self.expect(";")?;
        Ok(act)
    }

    /// Assignments and calls, with commas between.
    fn simple(&mut self, all: &mut Vec<Statement>) -> Outcome<()> {
        loop {
            let line = self.line();
            if self.is("++") || self.is("--") {
                let op = if self.next() == Token::Sign("++") { Op::Add } else { Op::Subtract };
                let place = self.written()?;
                all.push(self.step(place, op, line)?);
            } else if matches!(self.ahead(1), Token::Sign("(")) && !self.is("*") && !self.is("(") {
                let (function, arguments) = self.call()?;
                all.push(Statement { act: Act::Call(function, arguments), line });
            } else {
                self.assignment(all)?;
            }
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    /// `a = b = value`, `a += value`, `a++`.
    fn assignment(&mut self, all: &mut Vec<Statement>) -> Outcome<()> {
        let line = self.line();
        let place = self.written()?;
        if self.is("++") || self.is("--") {
            let op = if self.next() == Token::Sign("++") { Op::Add } else { Op::Subtract };
            all.push(self.step(place, op, line)?);
            return Ok(());
        }
        let ty = self.about(place.base).1;
        if let Some((_, op)) = COMPOUND.iter().find(|(sign, _)| self.is(sign)) {
            self.next();
            let value = self.conditional()?;
            let old = Expr { kind: Kind::Load(place.clone()), ty, line };
            let value = convert(combine(*op, old, value, line)?, ty);
            all.push(Statement { act: Act::Assign(place, value), line });
            return Ok(());
        }
        if !self.take("=") {
            return fault(
                line,
                format!("{} where `=` is expected: the value is not used", self.peek().show()),
            );
        }
        if self.chained() {
            let next = all.len();
            self.assignment(all)?;
            // The innermost assignment came first; its place holds the value.
            let Some(Statement { act: Act::Assign(from, _), .. }) = all.last() else {
                return fault(line, "an assignment of an assignment: write two statements");
            };
            debug_assert!(all.len() > next, "the inner assignment is a statement");
            let from = from.clone();
            let inner = self.about(from.base).1;
            let value = convert(Expr { kind: Kind::Load(from), ty: inner, line }, ty);
            all.push(Statement { act: Act::Assign(place, value), line });
            return Ok(());
        }
        let value = assigned(self.conditional()?, ty)?;
        all.push(Statement { act: Act::Assign(place, value), line });
        Ok(())
    }

    /// Whether an assignment follows: a place, then `=`.
    fn chained(&self) -> bool {
        if !matches!(self.peek(), Token::Name(_)) {
            return false;
        }
        let (mut at, mut depth) = (1, 0);
        loop {
            match self.ahead(at) {
                Token::Sign("[") => depth += 1,
                Token::Sign("]") => depth -= 1,
                Token::Sign("=") if depth == 0 => return true,
                Token::End | Token::Sign(";") => return false,
                _ if depth == 0 => return false,
                _ => {}
            }
            at += 1;
        }
    }

    fn step(&self, place: Place, op: Op, line: u32) -> Outcome<Statement> {
        let ty = self.about(place.base).1;
        let old = Expr { kind: Kind::Load(place.clone()), ty, line };
        let one = Expr { kind: Kind::Int(1), ty: Scalar::Int, line };
        let value = convert(combine(op, old, one, line)?, ty);
        Ok(Statement { act: Act::Assign(place, value), line })
    }

    /// A place that may be written.
    fn written(&mut self) -> Outcome<Place> {
        let line = self.line();
        if let Token::Name(name) = self.peek()
            && self.parameters.as_deref() == Some(&**name)
        {
            return fault(line, "the parameters cannot be written: copy the member to a variable");
        }
        let place = self.place()?;
        let constant = match place.base {
            Base::Local(place) => self.variables[place].constant,
            Base::Global(_) => true,
        };
        let writes = match self.peek() {
            Token::Sign(sign) => {
                matches!(*sign, "=" | "++" | "--") || COMPOUND.iter().any(|(op, _)| op == sign)
            }
            _ => false,
        };
        if constant && writes {
            let name = self.about(place.base).0;
            return fault(
                line,
                format!("{name} is const: drop its const or write another variable"),
            );
        }
        Ok(place)
    }

    fn declaration(&mut self, all: &mut Vec<Statement>) -> Outcome<()> {
        let line = self.line();
        let (mut constant, mut fixed) = (false, false);
        loop {
            if self.take_word("const") {
                constant = true;
            } else if self.take_word("static") {
                fixed = true;
            } else if !self.take_word("register") {
                break;
            }
        }
        let ty = self.scalar("a declaration")?;
        constant |= self.take_word("const");
        if fixed && !constant {
            return fault(line, "a static variable keeps data between calls: drop static");
        }
        loop {
            let line = self.line();
            if self.is("*") {
                return fault(line, "pointers are parameters of functions only: write an index");
            }
            let name = self.name("a variable")?;
            if self.is("(") {
                let what =
                    format!("the function {name} inside a function: a `}}` is missing above");
                return fault(line, what);
            }
            let dims = self.dimensions(false)?;
            let variable = Variable {
                name: name.clone(),
                ty,
                dims: dims.clone(),
                pointer: false,
                constant,
                line,
            };
            let initial = if !self.take("=") {
                if constant {
                    return fault(line, format!("{name} is const without a value: write `= ...`"));
                }
                Initial::Nothing
            } else if dims.is_empty() {
                Initial::Scalar(assigned(self.conditional()?, ty)?)
            } else {
                let list = self.list(&dims)?;
                let one = |(at, value)| Ok((at, assigned(value, ty)?));
                Initial::List(list.into_iter().map(one).collect::<Outcome<_>>()?)
            };
            let place = self.declare(variable)?;
            all.push(Statement { act: Act::Declare(place, initial), line });
            if !self.take(",") {
                return Ok(());
            }
        }
    }

    /// `{ ... }` of an array: elements with their places.
    pub(super) fn list(&mut self, dims: &[usize]) -> Outcome<Vec<(usize, Expr)>> {
        let mut all = Vec::new();
        self.row(dims, 0, &mut all)?;
        Ok(all)
    }

    fn row(&mut self, dims: &[usize], start: usize, all: &mut Vec<(usize, Expr)>) -> Outcome<()> {
        let inner: usize = dims[1..].iter().product();
        let size = dims[0] * inner;
        self.expect("{")?;
        // Place of the next number within this array.
        let mut next = 0;
        while !self.is("}") {
            let line = self.line();
            if self.take("[") {
                let index = self.constant_int("the index of an initialiser")?;
                self.expect("]")?;
                self.expect("=")?;
                next = match usize::try_from(index) {
                    Ok(index) if index < dims[0] => index * inner,
                    _ => {
                        return fault(line, format!("the index {index} is outside 0..{}", dims[0]));
                    }
                };
            }
            if next >= size {
                return fault(line, format!("more than {size} values: make the array larger"));
            }
            if self.is("{") {
                if dims.len() == 1 || next % inner != 0 {
                    return fault(line, "braces around a number: remove them");
                }
                self.row(&dims[1..], start + next, all)?;
                next += inner;
            } else {
                all.push((start + next, self.conditional()?));
                next += 1;
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")
    }
}
