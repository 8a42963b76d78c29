//! Expressions of a scheme.

use super::lex::{Line, Token};
use crate::error::{Error, Result};
use crate::graph::Binary;
use crate::physics::Term;
use crate::scheme::{BINARY, Expression, Scheme, UNARY, call_form};

/// Deepest nesting of brackets, far above what a person writes.
const DEEPEST: usize = 100;

/// Reads the tokens of a line.
pub(super) struct Parser<'a> {
    scheme: &'a Scheme,
    line: &'a Line,
    direction: Option<String>,
    place: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(scheme: &'a Scheme, line: &'a Line, direction: Option<String>) -> Self {
        Self { scheme, line, direction, place: 0, depth: 0 }
    }

    pub(super) fn error(&self, what: impl Into<String>) -> Error {
        self.line.error(what)
    }

    fn peek(&self) -> Option<&'a Token> {
        self.line.tokens.get(self.place)
    }

    pub(super) fn sees(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol)
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let found = self.sees(symbol);
        self.place += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.takes(symbol) {
            return Ok(());
        }
        Err(self.error(format!("{symbol} is missing {}", self.before())))
    }

    fn before(&self) -> String {
        match self.peek() {
            Some(Token::Name(name)) => format!("before {name}"),
            Some(Token::Number(number, _)) => format!("before {number}"),
            Some(Token::Symbol(symbol)) => format!("before {symbol}"),
            None => "at the end".into(),
        }
    }

    /// The next word, if there is one.
    pub(super) fn word(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.peek() else { return None };
        self.place += 1;
        Some(name.clone())
    }

    pub(super) fn name(&mut self, what: &str) -> Result<String> {
        self.word().ok_or_else(|| self.error(what.to_owned()))
    }

    /// An integer with or without a sign, small enough for a shift.
    pub(super) fn integer(&mut self) -> Result<i8> {
        let negative = self.takes("-");
        if !negative {
            self.takes("+");
        }
        let Some(Token::Number(number, true)) = self.peek() else {
            return Err(self.error(format!("an integer is missing {}", self.before())));
        };
        if *number > 64.0 {
            return Err(self.error(format!("{number} voxels are beyond every halo")));
        }
        self.place += 1;
        #[allow(clippy::cast_possible_truncation, reason = "an integer up to 64")]
        let number = *number as i8;
        Ok(if negative { -number } else { number })
    }

    pub(super) fn end(&self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(format!("an operator is missing {}", self.before()))),
        }
    }

    /// A block by name.
    pub(super) fn block(&self, name: &str) -> Result<usize> {
        self.scheme.blocks.iter().position(|block| block.name == name).ok_or_else(|| {
            let known: Vec<&str> =
                self.scheme.blocks.iter().map(|block| block.name.as_str()).collect();
            if name == "dx" {
                return self.error("the width of a voxel is dx(n), n the direction");
            }
            self.error(format!("there is no {name}; blocks are {}", known.join(", ")))
        })
    }

    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("this nests too deep: give a part a name of its own"));
        }
        let first = self.sum()?;
        let value = if self.keyword("if") {
            if !self.keyword("has") {
                return Err(self.error("a choice is `A if has rhs else B`"));
            }
            let name = self.name("a choice is `A if has rhs else B`")?;
            let term = self.term(&name).ok_or_else(|| {
                let all: Vec<&str> = Term::ALL.iter().map(|term| term.name()).collect();
                self.error(format!("{name} is no term; terms are {}", all.join(", ")))
            })?;
            if !self.keyword("else") {
                return Err(self.error("a choice is `A if has rhs else B`"));
            }
            Expression::Has(term, Box::new(first), Box::new(self.expression()?))
        } else {
            first
        };
        self.depth -= 1;
        Ok(value)
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(name)) if name == word);
        self.place += usize::from(found);
        found
    }

    #[allow(clippy::unused_self, reason = "reads as the other questions do")]
    fn term(&self, name: &str) -> Option<Term> {
        Term::ALL.into_iter().find(|term| term.name() == name)
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut value = self.product()?;
        loop {
            let function = if self.takes("+") {
                Binary::Add
            } else if self.takes("-") {
                Binary::Subtract
            } else {
                return Ok(value);
            };
            value = Expression::Binary(function, Box::new(value), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression> {
        let mut value = self.signed()?;
        loop {
            let function = if self.takes("*") {
                Binary::Multiply
            } else if self.takes("/") {
                Binary::Divide
            } else {
                return Ok(value);
            };
            value = Expression::Binary(function, Box::new(value), Box::new(self.signed()?));
        }
    }

    fn signed(&mut self) -> Result<Expression> {
        let mut negative = false;
        while self.takes("-") {
            negative = !negative;
        }
        let value = self.atom()?;
        Ok(if negative { -value } else { value })
    }

    fn atom(&mut self) -> Result<Expression> {
        if self.takes("(") {
            let value = self.expression()?;
            self.expect(")")?;
            return Ok(value);
        }
        if let Some(Token::Number(number, _)) = self.peek() {
            self.place += 1;
            return Ok(Expression::Number(*number));
        }
        let Some(name) = self.word() else {
            let power = if self.sees("*") { ", and a power is pow(x, 2)" } else { "" };
            return Err(self.error(format!("a value is missing {}{power}", self.before())));
        };
        if self.takes("(") {
            return self.call(&name);
        }
        if self.takes("[") {
            let shift = self.integer()?;
            self.expect("]")?;
            return Ok(Expression::Block(self.block(&name)?, shift));
        }
        if name == "dt" {
            return Ok(Expression::TimeStep);
        }
        if let Some(place) = self.scheme.parameters.iter().position(|known| known.name == name) {
            return Ok(Expression::Parameter(place));
        }
        Ok(Expression::Block(self.block(&name)?, 0))
    }

    /// A call whose opening bracket is read.
    fn call(&mut self, name: &str) -> Result<Expression> {
        match name {
            "dx" => {
                self.direction("dx(n)")?;
                self.expect(")")?;
                return Ok(Expression::Spacing);
            }
            "apply" => {
                let form = "apply(D, A, n)";
                let matrix = self.name(form)?;
                let known = &self.scheme.matrices;
                let place =
                    known.iter().position(|known| known.name == matrix).ok_or_else(|| {
                        self.error(format!("there is no matrix {matrix}: declare it in the header"))
                    })?;
                self.expect(",")?;
                let block = self.name(form)?;
                let block = self.block(&block)?;
                self.expect(",")?;
                self.direction(form)?;
                self.expect(")")?;
                return Ok(Expression::Apply(place, block));
            }
            "sum" | "maximum" => {
                let block = self.name("sum(C) takes the name of a block")?;
                let block = self.block(&block)?;
                self.expect(")")?;
                return Ok(if name == "sum" {
                    Expression::Sum(block)
                } else {
                    Expression::Largest(block)
                });
            }
            "rhs" => {
                let form = "rhs is called as rhs(Q, D), D a block of `for each direction`";
                let q = self.expression()?;
                self.expect(",")?;
                let block = self.name(form)?;
                let block = self.block(&block)?;
                self.expect(")")?;
                return Ok(Expression::Call(Term::Rhs, vec![q, Expression::Each(block)]));
            }
            _ => {}
        }
        if let Some(term) = self.term(name) {
            return self.term_call(term);
        }
        let unary = UNARY.iter().find(|(known, _)| *known == name).map(|(_, function)| *function);
        let binary = BINARY.iter().find(|(known, _)| *known == name).map(|(_, function)| *function);
        let widths = matches!(name, "evolved" | "complete");
        // Before its arguments are read: a direction among them means nothing to an unknown name.
        if unary.is_none() && binary.is_none() && !widths {
            return Err(self.no_function(name));
        }
        let mut arguments = vec![self.expression()?];
        while self.takes(",") {
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        let mut boxed = arguments.into_iter().map(Box::new);
        let value = match (name, unary, binary, boxed.next(), boxed.next()) {
            ("evolved", _, _, Some(a), None) => Expression::Evolved(a),
            ("complete", _, _, Some(a), None) => Expression::Complete(a),
            (_, Some(function), _, Some(a), None) => Expression::Unary(function, a),
            (_, _, Some(function), Some(a), Some(b)) => Expression::Binary(function, a, b),
            _ => return Err(self.error(format!("{name} has another number of arguments"))),
        };
        if boxed.next().is_some() {
            return Err(self.error(format!("{name} has another number of arguments")));
        }
        Ok(value)
    }

    fn no_function(&self, name: &str) -> Error {
        let terms = Term::ALL.iter().filter(|term| call_form(**term).is_some());
        let mut all: Vec<&str> = terms.map(|term| term.name()).collect();
        all.extend(["evolved", "complete", "sum", "maximum", "apply", "dx"]);
        all.extend(UNARY.iter().map(|(name, _)| *name));
        all.extend(BINARY.iter().map(|(name, _)| *name));
        self.error(format!("there is no function {name}; there are {}", all.join(", ")))
    }

    fn term_call(&mut self, term: Term) -> Result<Expression> {
        let form = call_form(term).ok_or_else(|| {
            self.error(format!("{} is for drivers, not for schemes", term.name()))
        })?;
        let mut arguments = Vec::new();
        loop {
            if term.directional() && self.direction.is_some() && self.at_direction() {
                self.place += 1;
                break;
            }
            arguments.push(self.expression()?);
            if !self.takes(",") {
                if term.directional() {
                    let hint = if self.direction.is_some() {
                        format!("{} is called as {form}: its direction is missing", term.name())
                    } else {
                        format!(
                            "{} needs a direction: call it inside `for each direction`",
                            term.name()
                        )
                    };
                    return Err(self.error(hint));
                }
                break;
            }
            if term.directional() && self.direction.is_none() {
                return Err(self.error(format!(
                    "{} needs a direction: call it inside `for each direction`",
                    term.name()
                )));
            }
        }
        if !self.takes(")") {
            return Err(self.error(format!("{} is called as {form}", term.name())));
        }
        Ok(Expression::Call(term, arguments))
    }

    fn at_direction(&self) -> bool {
        let next = self.line.tokens.get(self.place + 1);
        matches!((self.peek(), next), (Some(Token::Name(name)), Some(Token::Symbol(")")))
            if Some(name) == self.direction.as_ref())
    }

    fn direction(&mut self, form: &str) -> Result<()> {
        let Some(own) = self.direction.clone() else {
            return Err(
                self.error(format!("{form} needs a direction: use it inside `for each direction`"))
            );
        };
        if self.word().as_ref() == Some(&own) {
            return Ok(());
        }
        Err(self.error(format!("the direction here is {own}: {form}")))
    }
}
