//! Expressions: precedence, types and conversions as in C99.

use super::ast::{Base, Expr, Kind, Op, Outcome, Place, Scalar, fault};
use super::lex::Token;
use super::parse::{MOST_TERMS, Parser, other_type};
use crate::graph::{Binary, Unary};

/// Binary operators by level, the loosest first; a swapped one exchanges its operands.
const LEVELS: [&[(&str, Op, bool)]; 8] = [
    &[("|", Op::BitOr, false)],
    &[("^", Op::BitXor, false)],
    &[("&", Op::BitAnd, false)],
    &[("==", Op::Equal, false), ("!=", Op::NotEqual, false)],
    &[
        ("<", Op::Less, false),
        ("<=", Op::LessEqual, false),
        (">", Op::Less, true),
        (">=", Op::LessEqual, true),
    ],
    &[("<<", Op::Left, false), (">>", Op::Right, false)],
    &[("+", Op::Add, false), ("-", Op::Subtract, false)],
    &[("*", Op::Multiply, false), ("/", Op::Divide, false), ("%", Op::Remainder, false)],
];

/// Functions of `math.h` of one number.
const UNARY: [(&str, Unary); 13] = [
    ("fabs", Unary::Absolute),
    ("sqrt", Unary::SquareRoot),
    ("cbrt", Unary::CubeRoot),
    ("exp", Unary::Exponential),
    ("log", Unary::Logarithm),
    ("sin", Unary::Sine),
    ("cos", Unary::Cosine),
    ("tan", Unary::Tangent),
    ("atan", Unary::ArcTangent),
    ("sinh", Unary::HyperbolicSine),
    ("cosh", Unary::HyperbolicCosine),
    ("tanh", Unary::HyperbolicTangent),
    ("floor", Unary::Floor),
];

/// Functions of `math.h` of two numbers.
const BINARY: [(&str, Binary); 4] = [
    ("pow", Binary::Power),
    ("fmin", Binary::Minimum),
    ("fmax", Binary::Maximum),
    ("atan2", Binary::ArcTangent2),
];

/// Whether a name is a function of `math.h` that the subset knows.
pub(super) fn is_mathematics(name: &str) -> bool {
    UNARY.iter().any(|(known, _)| *known == name) || BINARY.iter().any(|(known, _)| *known == name)
}

/// An operand as type `ty`.
pub(super) fn convert(expr: Expr, ty: Scalar) -> Expr {
    if expr.ty == ty {
        return expr;
    }
    let line = expr.line;
    Expr { kind: Kind::Convert(Box::new(expr)), ty, line }
}

/// An operand as type `ty`, where no cast says so: literals must not lose their fraction on the way,
/// as 0.5 does that becomes an `int`, and 1 / 2 that becomes a `double`.
pub(super) fn assigned(expr: Expr, ty: Scalar) -> Outcome<Expr> {
    match (&expr.kind, ty) {
        (Kind::Real(number), Scalar::Int) if number.fract() != 0.0 => {
            let what = format!("{number:?} becomes the int {:.0}", number.trunc());
            return fault(expr.line, format!("{what}: write double, or (int)"));
        }
        (Kind::Binary(Op::Divide, sides), Scalar::Double) => {
            if let [Kind::Int(over), Kind::Int(under)] = [&sides[0].kind, &sides[1].kind]
                && over.checked_rem(*under).is_some_and(|rest| rest != 0)
            {
                let what = format!("{over} / {under} of integers is {} in C", over / under);
                return fault(expr.line, format!("{what}: write {over}.0 / {under}.0"));
            }
        }
        _ => {}
    }
    Ok(convert(expr, ty))
}

/// `a op b` with the conversions of C.
pub(super) fn combine(op: Op, a: Expr, b: Expr, line: u32) -> Outcome<Expr> {
    let ty =
        if a.ty == Scalar::Double || b.ty == Scalar::Double { Scalar::Double } else { Scalar::Int };
    if op.integral() && ty == Scalar::Double {
        let remedy = "this operator takes integers: convert with (int) what is known at build";
        return fault(
            line,
            match op {
                Op::Remainder => "`%` takes integers: write a - b * floor(a / b)",
                Op::BitXor => "`^` takes integers and is no power: write pow(x, 2)",
                _ => remedy,
            },
        );
    }
    let kind = Kind::Binary(op, Box::new([assigned(a, ty)?, assigned(b, ty)?]));
    let ty = if op.compares() { Scalar::Int } else { ty };
    Ok(Expr { kind, ty, line })
}

impl Parser {
    /// An expression without commas and assignments.
    pub(super) fn conditional(&mut self) -> Outcome<Expr> {
        self.nested(Self::choice)
    }

    fn choice(&mut self) -> Outcome<Expr> {
        let condition = self.either()?;
        let line = self.line();
        if !self.take("?") {
            return Ok(condition);
        }
        let a = self.conditional()?;
        self.expect(":")?;
        let b = self.conditional()?;
        let ty = if a.ty == b.ty { a.ty } else { Scalar::Double };
        let parts = [condition, convert(a, ty), convert(b, ty)];
        Ok(Expr { kind: Kind::Choose(Box::new(parts)), ty, line })
    }

    fn either(&mut self) -> Outcome<Expr> {
        let mut left = self.both()?;
        let mut terms = 0;
        while self.is("||") {
            let line = self.line();
            self.next();
            let sides = Box::new([left, self.both()?]);
            terms += 100;
            self.count(terms)?;
            left = Expr { kind: Kind::Or(sides), ty: Scalar::Int, line };
        }
        Ok(left)
    }

    fn both(&mut self) -> Outcome<Expr> {
        let mut left = self.level(0)?;
        let mut terms = 0;
        while self.is("&&") {
            let line = self.line();
            self.next();
            let sides = Box::new([left, self.level(0)?]);
            terms += 100;
            self.count(terms)?;
            left = Expr { kind: Kind::And(sides), ty: Scalar::Int, line };
        }
        Ok(left)
    }

    pub(super) fn level(&mut self, level: usize) -> Outcome<Expr> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.level(level + 1)?;
        let mut terms = 0;
        while let Some(&(_, op, swapped)) = LEVELS[level].iter().find(|(sign, ..)| self.is(sign)) {
            let line = self.line();
            self.next();
            let right = self.level(level + 1)?;
            terms += 1;
            self.count(terms)?;
            let (a, b) = if swapped { (right, left) } else { (left, right) };
            left = combine(op, a, b, line)?;
        }
        Ok(left)
    }

    /// Refuses chains of operators that are too long.
    fn count(&self, terms: usize) -> Outcome<()> {
        if terms <= MOST_TERMS {
            return Ok(());
        }
        fault(self.line(), "the expression is too long: give parts names of their own")
    }

    fn unary(&mut self) -> Outcome<Expr> {
        self.nested(Self::signed)
    }

    fn signed(&mut self) -> Outcome<Expr> {
        let line = self.line();
        if self.take("-") {
            let a = self.unary()?;
            let ty = a.ty;
            let kind = match a.kind {
                Kind::Int(number) => Kind::Int(-number),
                Kind::Real(number) => Kind::Real(-number),
                _ => Kind::Negate(Box::new(a)),
            };
            return Ok(Expr { kind, ty, line });
        }
        if self.take("+") {
            return self.unary();
        }
        if self.take("!") {
            let a = self.unary()?;
            return Ok(Expr { kind: Kind::Not(Box::new(a)), ty: Scalar::Int, line });
        }
        if self.take("~") {
            let a = self.unary()?;
            if a.ty == Scalar::Double {
                return fault(line, "`~` takes an integer: use an int");
            }
            return Ok(Expr { kind: Kind::Complement(Box::new(a)), ty: Scalar::Int, line });
        }
        if self.is("++") || self.is("--") {
            return fault(line, "`++` and `--` inside an expression: write a statement of its own");
        }
        if self.is("&") {
            return fault(line, "an address outside the arguments of a call: write the element");
        }
        if self.is("*") {
            let place = self.place()?;
            return self.load(place);
        }
        let cast = matches!(self.ahead(1), Token::Name(name) if name == "int" || name == "double")
            && matches!(self.ahead(2), Token::Sign(")"));
        if self.is("(") && cast {
            self.next();
            let ty = self.scalar("a conversion")?;
            self.expect(")")?;
            return Ok(convert(self.unary()?, ty));
        }
        self.primary()
    }

    fn primary(&mut self) -> Outcome<Expr> {
        let line = self.line();
        match self.peek().clone() {
            Token::Int(number) => {
                self.next();
                if i32::try_from(number).is_err() {
                    return fault(line, format!("{number} does not fit an int: write {number}.0"));
                }
                Ok(Expr { kind: Kind::Int(number), ty: Scalar::Int, line })
            }
            Token::Real(number) => {
                self.next();
                Ok(Expr { kind: Kind::Real(number), ty: Scalar::Double, line })
            }
            Token::Sign("(") => {
                // `(*out)[i]` and `(*out)` are places in parentheses.
                if matches!(self.ahead(1), Token::Sign("*")) {
                    let place = self.place()?;
                    return self.load(place);
                }
                self.next();
                let inner = self.conditional()?;
                if self.is("=") {
                    return fault(line, "an assignment inside an expression: write it before");
                }
                self.expect(")")?;
                Ok(inner)
            }
            Token::Name(name) => {
                if matches!(self.ahead(1), Token::Sign("(")) {
                    return self.called(&name);
                }
                if self.parameters.as_deref() == Some(&*name) {
                    return self.parameter();
                }
                if self.find(&name).is_none()
                    && let Some(&number) = self.enumerators.get(&name)
                {
                    self.next();
                    return Ok(Expr { kind: Kind::Int(number), ty: Scalar::Int, line });
                }
                let place = self.place()?;
                self.load(place)
            }
            other => fault(line, format!("{} where a value is expected", other.show())),
        }
    }

    /// `P->name`.
    fn parameter(&mut self) -> Outcome<Expr> {
        let line = self.line();
        let pointer = self.name("the parameters")?;
        if !self.take("->") {
            return fault(line, format!("{pointer} points to parameters: write {pointer}->name"));
        }
        let name = self.name("a member")?;
        match self.member(&name) {
            Some(place) => {
                let ty = self.unit.members[place].ty;
                Ok(Expr { kind: Kind::Member(place), ty, line })
            }
            None => {
                let known: Vec<&str> =
                    self.unit.members.iter().map(|member| &*member.name).collect();
                fault(line, format!("parameters has no member {name}: it has {}", known.join(", ")))
            }
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Base> {
        let local = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        match local {
            Some(&place) => Some(Base::Local(place)),
            None => self.globals.get(name).map(|&place| Base::Global(place)),
        }
    }

    /// Name, type and sizes of a variable.
    pub(super) fn about(&self, base: Base) -> (&str, Scalar, &[usize]) {
        match base {
            Base::Local(place) => {
                let variable = &self.variables[place];
                (&variable.name, variable.ty, &variable.dims)
            }
            Base::Global(place) => {
                let global = &self.unit.globals[place];
                (&global.name, global.ty, &global.dims)
            }
        }
    }

    pub(super) fn base(&mut self) -> Outcome<Base> {
        let line = self.line();
        let name = self.name("a variable")?;
        match self.find(&name) {
            Some(base) => Ok(base),
            None if let Some(remedy) = other_type(&name) => {
                fault(line, format!("the type {name} is not in the subset: {remedy}"))
            }
            None if self.is("(") => fault(line, format!("{name} cannot be called here")),
            None => fault(line, format!("{name} is not declared: declare it before this line")),
        }
    }

    /// `[i][j]...`
    pub(super) fn indices(&mut self) -> Outcome<Vec<Expr>> {
        let mut indices = Vec::new();
        while self.take("[") {
            let index = self.conditional()?;
            if index.ty != Scalar::Int {
                return fault(index.line, "an index is a double: write an int known at build");
            }
            self.expect("]")?;
            indices.push(index);
        }
        Ok(indices)
    }

    /// A number in memory: `x`, `a[i][j]`, `*p`, `(*p)`.
    pub(super) fn place(&mut self) -> Outcome<Place> {
        let line = self.line();
        if self.is("(") || self.is("*") {
            let parenthesis = self.take("(");
            if !self.take("*") {
                return fault(line, "an assignment starts with a name: drop the parentheses");
            }
            if !matches!(self.peek(), Token::Name(_)) {
                let what =
                    "`*` before what is no name: write Q[1] for *(Q + 1), pow(x, 2) for a power";
                return fault(line, what);
            }
            let base = self.base()?;
            let indices = self.indices()?;
            if parenthesis {
                self.expect(")")?;
            }
            let (name, _, dims) = self.about(base);
            if dims.len() != indices.len() + 1 {
                return fault(
                    line,
                    format!("`*{name}` is no number: write {name} with its indices"),
                );
            }
            let mut indices = indices;
            indices.push(Expr { kind: Kind::Int(0), ty: Scalar::Int, line });
            return Ok(Place { base, indices, line });
        }
        let base = self.base()?;
        let indices = self.indices()?;
        let (name, _, dims) = self.about(base);
        if dims.len() != indices.len() {
            let (name, want, got) = (name.to_owned(), dims.len(), indices.len());
            return fault(
                line,
                format!("{name} has {want} dimensions and {got} indices: write a number of it"),
            );
        }
        Ok(Place { base, indices, line })
    }

    fn load(&self, place: Place) -> Outcome<Expr> {
        let (_, ty, _) = self.about(place.base);
        let line = place.line;
        Ok(Expr { kind: Kind::Load(place), ty, line })
    }

    /// A call that gives a value.
    fn called(&mut self, name: &str) -> Outcome<Expr> {
        let line = self.line();
        if let Some(&(_, function)) = UNARY.iter().find(|(known, _)| *known == name) {
            let [a] = self.numbers(name)?;
            return Ok(Expr {
                kind: Kind::Function(function, Box::new(a)),
                ty: Scalar::Double,
                line,
            });
        }
        if let Some(&(_, function)) = BINARY.iter().find(|(known, _)| *known == name) {
            let sides = Box::new(self.numbers(name)?);
            return Ok(Expr { kind: Kind::Function2(function, sides), ty: Scalar::Double, line });
        }
        let (function, arguments) = self.call()?;
        match self.unit.functions[function].result {
            Some(ty) => Ok(Expr { kind: Kind::Call(function, arguments), ty, line }),
            None => fault(line, format!("{name} is void: call it in a statement of its own")),
        }
    }

    /// Arguments of a function of `math.h`.
    fn numbers<const N: usize>(&mut self, name: &str) -> Outcome<[Expr; N]> {
        let line = self.line();
        self.next();
        self.expect("(")?;
        let mut all = Vec::new();
        while !self.is(")") {
            all.push(assigned(self.conditional()?, Scalar::Double)?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        let got = all.len();
        match <[Expr; N]>::try_from(all) {
            Ok(all) => Ok(all),
            Err(_) => fault(line, format!("{name} takes {N} arguments, not {got}")),
        }
    }
}
