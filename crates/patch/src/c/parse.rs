//! Declarations at file level and functions: the words of a text become a [`Unit`].

use std::collections::HashMap;

use super::ast::{Enumeration, Formal, Function, Number, Outcome, Scalar, Unit, Variable, fault};
use super::constant;
use super::expression::is_mathematics;
use super::lex::{Token, Word, words};

/// Types that look usable and are not, with what to write instead.
const OTHER_TYPES: [(&str, &str); 12] = [
    ("float", "write double"),
    ("long", "write int or double"),
    ("short", "write int"),
    ("unsigned", "write int"),
    ("signed", "write int"),
    ("char", "write int"),
    ("size_t", "write int"),
    ("bool", "write int"),
    ("_Bool", "write int"),
    ("int32_t", "write int"),
    ("int64_t", "write int"),
    ("complex", "write two doubles"),
];

/// Levels of parentheses and blocks in each other, so that no text exhausts the stack.
const MOST_LEVELS: usize = 200;

/// Terms of one sum, factors of one product.
pub(super) const MOST_TERMS: usize = 10_000;

/// What to write instead of a type that is not in the subset.
pub(super) fn other_type(name: &str) -> Option<&'static str> {
    OTHER_TYPES.iter().find(|(other, _)| *other == name).map(|(_, remedy)| *remedy)
}

/// What reads a text.
pub(super) struct Parser {
    words: Vec<Word>,
    at: usize,
    pub(super) unit: Unit,
    pub(super) enumerators: HashMap<String, i64>,
    pub(super) globals: HashMap<String, usize>,
    pub(super) functions: HashMap<String, usize>,
    /// Variables of the function being read.
    pub(super) variables: Vec<Variable>,
    /// Names in force, innermost last.
    pub(super) scopes: Vec<HashMap<String, usize>>,
    /// Name of the pointer to the parameters.
    pub(super) parameters: Option<String>,
    /// The function being read: its name and result.
    pub(super) current: Option<(String, Option<Scalar>)>,
    /// Loops around the statement being read.
    pub(super) loops: usize,
    /// Parentheses, conditions and blocks around it.
    depth: usize,
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Outcome<Unit> {
    let mut parser = Parser {
        words: words(text)?,
        at: 0,
        unit: Unit::default(),
        enumerators: HashMap::new(),
        globals: HashMap::new(),
        functions: HashMap::new(),
        variables: Vec::new(),
        scopes: Vec::new(),
        parameters: None,
        current: None,
        loops: 0,
        depth: 0,
    };
    while parser.peek() != &Token::End {
        parser.external()?;
    }
    Ok(parser.unit)
}

impl Parser {
    /// Goes one level into something nested, with `read` for what is inside.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth == MOST_LEVELS {
            return fault(
                self.line(),
                format!("more than {MOST_LEVELS} levels: give parts names of their own"),
            );
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn peek(&self) -> &Token {
        &self.words[self.at].token
    }

    pub(super) fn ahead(&self, by: usize) -> &Token {
        &self.words[(self.at + by).min(self.words.len() - 1)].token
    }

    pub(super) fn line(&self) -> u32 {
        self.words[self.at].line
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.words[self.at].token.clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        token
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if found == word)
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> Outcome<()> {
        if self.take(sign) {
            return Ok(());
        }
        // A sign that is missing is missed where the word before it ends.
        let line = self.words[self.at.saturating_sub(1)].line;
        fault(line, format!("`{sign}` is missing before {}", self.peek().show()))
    }

    pub(super) fn name(&mut self, of: &str) -> Outcome<String> {
        let line = self.line();
        match self.next() {
            Token::Name(name) => Ok(name),
            other => fault(line, format!("a name of {of} is missing before {}", other.show())),
        }
    }

    /// A declaration outside functions.
    fn external(&mut self) -> Outcome<()> {
        if self.take(";") {
            return Ok(());
        }
        if self.is_word("enum") {
            self.enumeration()?;
            return self.expect(";");
        }
        if self.is_word("typedef") {
            return self.structure();
        }
        let line = self.line();
        if self.is_word("struct") || self.is_word("union") {
            return fault(
                line,
                "the only structure is `typedef struct { ... } parameters;`: write that, or arrays",
            );
        }
        let mut constant = false;
        loop {
            if self.take_word("const") {
                constant = true;
            } else if !(self.take_word("static") || self.take_word("inline")) {
                break;
            }
        }
        if self.take_word("parameters") {
            return self.defaults(line);
        }
        let result =
            if self.take_word("void") { None } else { Some(self.scalar("a declaration")?) };
        constant |= self.take_word("const");
        if self.is("*") {
            return fault(
                line,
                "pointers are parameters of functions only: use an array or a result",
            );
        }
        if matches!(self.ahead(1), Token::Sign("(")) {
            return self.function(result, line);
        }
        match result {
            Some(ty) if constant => self.globals(ty),
            Some(_) => fault(
                line,
                "a variable outside functions that is not const: write `static const`, or make it \
                 a member of the parameters",
            ),
            None => fault(line, "a variable cannot be void: write double or int"),
        }
    }

    /// `int` or `double`, with what to write for other types.
    pub(super) fn scalar(&mut self, of: &str) -> Outcome<Scalar> {
        let line = self.line();
        match self.next() {
            Token::Name(name) if name == "int" => Ok(Scalar::Int),
            Token::Name(name) if name == "double" => Ok(Scalar::Double),
            Token::Name(name) => match other_type(&name) {
                Some(remedy) => {
                    fault(line, format!("the type {name} is not in the subset: {remedy}"))
                }
                None => fault(
                    line,
                    format!("`{name}` is no type of the subset for {of}: write double or int"),
                ),
            },
            other => fault(line, format!("{} where {of} is expected", other.show())),
        }
    }

    /// Whether a declaration begins here.
    pub(super) fn is_type(&self) -> bool {
        match self.peek() {
            Token::Name(name) => {
                ["int", "double", "const", "static", "void", "struct", "register", "volatile"]
                    .contains(&name.as_str())
                    || other_type(name).is_some()
            }
            _ => false,
        }
    }

    pub(super) fn enumeration(&mut self) -> Outcome<()> {
        let line = self.line();
        self.next();
        let name = if self.is("{") { String::new() } else { self.name("an enumeration")? };
        self.expect("{")?;
        let mut constants = Vec::new();
        let mut value = 0;
        while !self.is("}") {
            let line = self.line();
            let constant = self.name("an enumerator")?;
            if self.take("=") {
                value = self.constant_int("the value of an enumerator")?;
            }
            if self.enumerators.insert(constant.clone(), value).is_some() {
                return fault(line, format!("{constant} is defined twice: rename one"));
            }
            constants.push((constant, value, line));
            value += 1;
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        self.unit.enumerations.push(Enumeration { name, constants, line });
        Ok(())
    }

    pub(super) fn member(&self, name: &str) -> Option<usize> {
        self.unit.members.iter().position(|member| member.name == name)
    }

    /// `[a][b]...` after a name; `open` lets the first be empty, which gives 0.
    pub(super) fn dimensions(&mut self, open: bool) -> Outcome<Vec<usize>> {
        let mut dims = Vec::new();
        while self.is("[") {
            let line = self.line();
            self.next();
            while self.take_word("static") || self.take_word("const") || self.take_word("restrict")
            {
            }
            if self.take("]") {
                if !(open && dims.is_empty()) {
                    return fault(line, "an array without a size: write it between [ and ]");
                }
                dims.push(0);
                continue;
            }
            let size = self.constant_int("the size of an array")?;
            match usize::try_from(size) {
                Ok(size @ 1..=1_000_000) => dims.push(size),
                _ => return fault(line, format!("{size} is no size of an array: write 1 or more")),
            }
            self.expect("]")?;
        }
        if dims.len() > 3 {
            return fault(self.line(), "arrays have at most three dimensions: flatten this one");
        }
        if dims.iter().product::<usize>() > 1_000_000 {
            return fault(
                self.line(),
                "the array holds more than a million numbers: make it smaller",
            );
        }
        Ok(dims)
    }

    /// An integer known when the text is read.
    pub(super) fn constant_int(&mut self, of: &str) -> Outcome<i64> {
        let value = self.conditional()?;
        match constant::number(&self.unit, &value, value.ty) {
            Ok(Number::Int(number)) => Ok(number),
            _ => fault(
                value.line,
                format!("{of} is not a constant integer: write a number, an enumerator or a macro"),
            ),
        }
    }

    fn function(&mut self, result: Option<Scalar>, line: u32) -> Outcome<()> {
        let name = self.name("a function")?;
        self.expect("(")?;
        self.variables = Vec::new();
        self.scopes = vec![HashMap::new()];
        self.parameters = None;
        let mut formals = Vec::new();
        if !(self.is_word("void") && matches!(self.ahead(1), Token::Sign(")"))) {
            while !self.is(")") {
                formals.push(self.formal(&name)?);
                if !self.take(",") {
                    break;
                }
            }
        } else {
            self.next();
        }
        self.expect(")")?;
        if self.take(";") {
            // A prototype says nothing that the definition does not.
            return Ok(());
        }
        if is_mathematics(&name) {
            return fault(line, format!("{name} is a function of math.h: rename yours"));
        }
        if self.functions.contains_key(&name) {
            return fault(line, format!("the function {name} is defined twice: rename one"));
        }
        if !self.is("{") {
            return self.expect("{");
        }
        self.current = Some((name.clone(), result));
        self.loops = 0;
        let body = self.block()?;
        self.current = None;
        let variables = std::mem::take(&mut self.variables);
        self.functions.insert(name.clone(), self.unit.functions.len());
        self.unit.functions.push(Function { name, result, formals, variables, body, line });
        Ok(())
    }

    fn formal(&mut self, function: &str) -> Outcome<Formal> {
        let line = self.line();
        let mut constant = self.take_word("const");
        if self.take_word("parameters") {
            self.take_word("const");
            self.take("*");
            while self.take_word("const") || self.take_word("restrict") {}
            let name = if matches!(self.peek(), Token::Name(_)) {
                self.name("a parameter")?
            } else {
                "P".into()
            };
            self.parameters = Some(name.clone());
            return Ok(Formal::Parameters { name, line });
        }
        if self.is_word("void") {
            return fault(line, format!("{function} takes a void pointer: write double or int"));
        }
        let ty = self.scalar("a parameter")?;
        constant |= self.take_word("const");
        let mut pointer = self.take("*");
        if self.is("*") {
            return fault(line, "a pointer to pointers: write `const double a[3][5]`");
        }
        if self.is("(") {
            if matches!(self.ahead(4), Token::Sign("[")) {
                return fault(line, "a pointer to rows: write `const double a[3][5]`");
            }
            return fault(
                line,
                format!("{function} takes a function: call it by its name instead"),
            );
        }
        while self.take_word("const") || self.take_word("restrict") {}
        let name = match self.peek() {
            Token::Name(_) => self.name("a parameter")?,
            _ => String::new(),
        };
        let mut dims = self.dimensions(true)?;
        if pointer && !dims.is_empty() {
            return fault(
                line,
                format!("{name} is an array of pointers: write `double {name}[3][5]`"),
            );
        }
        if pointer {
            dims = vec![0];
        }
        pointer = !dims.is_empty();
        let variable = Variable { name, ty, dims, pointer, constant, line };
        Ok(Formal::Variable(self.declare(variable)?))
    }

    /// Makes a variable known in the innermost scope.
    pub(super) fn declare(&mut self, variable: Variable) -> Outcome<usize> {
        let place = self.variables.len();
        let scope = self.scopes.last_mut().expect("a function opens a scope");
        if !variable.name.is_empty() && scope.insert(variable.name.clone(), place).is_some() {
            return fault(
                variable.line,
                format!("{} is declared twice: rename one", variable.name),
            );
        }
        self.variables.push(variable);
        Ok(place)
    }
}
