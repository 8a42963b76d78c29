//! Schemes as text, for users without Rust.
//!
//! A header (`scheme`, `halo`, `input`, `output`, `parameter`, `matrix`), then a statement a line;
//! statements indented under `for each direction n` hold for each direction. `#` starts a comment, an
//! open parenthesis goes on to the next line. The grammar stands in `docs/patch-schemes.md`; printing
//! a [`Scheme`] gives this form.

mod expression;
mod lex;

use expression::Parser;
use lex::{Line, Token, lines};

use crate::error::{Error, Result};
use crate::kernel::Output;
use crate::matrix::Generator;
use crate::physics::Parameter;
use crate::ranges::Margin;
use crate::scheme::{Action, Declaration, MatrixSource, OUTPUT, Scheme, Statement, calls_face};

/// Reads and checks a scheme; `file` is its name in messages.
///
/// # Errors
/// [`Error::Scheme`] with the line that cannot be read or breaks a rule.
pub fn parse(file: &str, text: &str) -> Result<Scheme> {
    let scheme = read(file, text)?;
    scheme.check()?;
    Ok(scheme)
}

fn read(file: &str, text: &str) -> Result<Scheme> {
    let lines = lines(file, text)?;
    let block = |name: &str| Declaration { name: name.into(), directional: false };
    let mut scheme = Scheme {
        name: String::new(),
        file: file.into(),
        halo: 0,
        output: Output::Step,
        parameters: Vec::new(),
        matrices: Vec::new(),
        blocks: vec![block(""), block("")],
        statements: Vec::new(),
    };
    let count = lines.iter().position(|line| !is_header(line)).unwrap_or(lines.len());
    for line in &lines[..count] {
        header(&mut scheme, line)?;
    }
    let at = lines.get(count).or(lines.last());
    for (missing, what) in [
        (scheme.name.is_empty(), "`scheme NAME`"),
        (scheme.halo == 0, "`halo 1`"),
        (scheme.blocks[0].name.is_empty(), "`input Q`"),
        (scheme.blocks[OUTPUT].name.is_empty(), "`output step New` or `output rate R`"),
    ] {
        if missing {
            let (line, statement) = at.map_or((1, ""), |line| (line.number, line.text.as_str()));
            return Err(Error::Scheme {
                scheme: file.into(),
                line,
                statement: statement.into(),
                what: format!("the header lacks {what}"),
            });
        }
    }
    body(&mut scheme, &lines[count..])?;
    Ok(scheme)
}

fn is_header(line: &Line) -> bool {
    let names = ["scheme", "halo", "input", "output", "parameter", "matrix"];
    // A block may have such a name: `input = ...` is a statement.
    matches!(line.tokens.as_slice(), [Token::Name(first), second, ..]
        if names.contains(&first.as_str()) && *second != Token::Symbol("="))
        || matches!(line.tokens.as_slice(), [Token::Name(first)] if names.contains(&first.as_str()))
}

fn header(scheme: &mut Scheme, line: &Line) -> Result<()> {
    let once = |taken: bool, what: &str| {
        if taken { Err(line.error(format!("{what} is said a second time"))) } else { Ok(()) }
    };
    match line.tokens.as_slice() {
        [Token::Name(key), Token::Name(name)] if key == "scheme" => {
            once(!scheme.name.is_empty(), "the name")?;
            scheme.name.clone_from(name);
        }
        [Token::Name(key), Token::Number(halo, _)] if key == "halo" => {
            once(scheme.halo != 0, "the halo")?;
            if halo.fract() != 0.0 || !(1.0..=f64::from(crate::scheme::LARGEST_HALO)).contains(halo)
            {
                return Err(line.error(format!(
                    "the halo is 1 to {} voxels wide",
                    crate::scheme::LARGEST_HALO
                )));
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 16")]
            let halo = *halo as u16;
            scheme.halo = halo;
        }
        [Token::Name(key), Token::Name(name)] if key == "input" => {
            once(!scheme.blocks[0].name.is_empty(), "the input")?;
            scheme.blocks[0].name.clone_from(name);
        }
        [Token::Name(key), Token::Name(kind), Token::Name(name)]
            if key == "output" && (kind == "step" || kind == "rate") =>
        {
            once(!scheme.blocks[OUTPUT].name.is_empty(), "the output")?;
            scheme.output = if kind == "step" { Output::Step } else { Output::Rate };
            scheme.blocks[OUTPUT].name.clone_from(name);
        }
        [Token::Name(key), Token::Name(name), Token::Symbol("="), value @ ..]
            if key == "parameter" =>
        {
            let default = signed(value)
                .ok_or_else(|| line.error("a parameter is a number: `parameter sigma = 0.1`"))?;
            scheme.parameters.push(Parameter { name: name.clone(), integer: false, default });
        }
        [Token::Name(key), Token::Name(name), Token::Symbol("="), value @ ..]
            if key == "matrix" =>
        {
            let generator = generator(line, value)?;
            scheme.matrices.push(MatrixSource { name: name.clone(), generator });
        }
        _ => {
            return Err(line.error(
                "the header has `scheme NAME`, `halo 1`, `input Q`, `output step New` or `output rate R`, \
                 `parameter sigma = 0.1`, `matrix D = gauss_lobatto_derivative`",
            ));
        }
    }
    Ok(())
}

fn signed(tokens: &[Token]) -> Option<f64> {
    match tokens {
        [Token::Number(number, _)] => Some(*number),
        [Token::Symbol("-"), Token::Number(number, _)] => Some(-number),
        _ => None,
    }
}

fn generator(line: &Line, tokens: &[Token]) -> Result<Generator> {
    if let [Token::Name(name)] = tokens {
        let known = Generator::NAMED.iter().find(|(known, _)| known == name);
        return known.map(|(_, generator)| generator.clone()).ok_or_else(|| {
            let all: Vec<&str> = Generator::NAMED.iter().map(|(name, _)| *name).collect();
            line.error(format!("there is no matrix {name}; built in are {}", all.join(", ")))
        });
    }
    let bad = || {
        line.error(
            "a matrix has rows of numbers of one length: `matrix D = [[-1, 1], [-1, 1]] from 0`",
        )
    };
    let close = tokens.iter().rposition(|token| *token == Token::Symbol("]")).ok_or_else(bad)?;
    let first = match &tokens[close + 1..] {
        [] => 0.0,
        [Token::Name(from), rest @ ..] if from == "from" => signed(rest).ok_or_else(bad)?,
        _ => return Err(bad()),
    };
    let inner = match &tokens[..=close] {
        [Token::Symbol("["), inner @ .., Token::Symbol("]")] => inner,
        _ => return Err(bad()),
    };
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for row in inner.split(|token| *token == Token::Symbol("[")).skip(1) {
        let close = row.iter().position(|token| *token == Token::Symbol("]")).ok_or_else(bad)?;
        let entries = row[..close].split(|token| *token == Token::Symbol(","));
        rows.push(entries.map(|entry| signed(entry).ok_or_else(bad)).collect::<Result<_>>()?);
    }
    let columns = rows.first().map_or(0, Vec::len);
    let whole = first.fract() == 0.0 && first.abs() < 1024.0;
    if columns == 0 || rows.len() > 1024 || rows.iter().any(|row| row.len() != columns) || !whole {
        return Err(bad());
    }
    #[allow(clippy::cast_possible_truncation, reason = "checked above")]
    let first = first as i16;
    Ok(Generator::Numbers { first, rows })
}

fn body(scheme: &mut Scheme, lines: &[Line]) -> Result<()> {
    // Names first, so that a block used too early is told from one that does not exist.
    let mut inside = None;
    let mut statements: Vec<(&Line, Option<String>)> = Vec::new();
    for line in lines {
        if let [Token::Name(a), Token::Name(b), Token::Name(c), Token::Name(n)] =
            line.tokens.as_slice()
            && (a.as_str(), b.as_str(), c.as_str()) == ("for", "each", "direction")
        {
            if line.indented {
                return Err(line.error("directions do not nest: start this line at the margin"));
            }
            inside = Some(n.clone());
            continue;
        }
        if !line.indented {
            inside = None;
        } else if inside.is_none() {
            return Err(line.error(
                "only statements under `for each direction n` are indented: start this line at the margin",
            ));
        }
        if let [Token::Name(name), Token::Name(_) | Token::Symbol("="), ..] = line.tokens.as_slice()
            && name != "reduce"
            && !scheme.blocks.iter().any(|block| block.name == *name)
        {
            scheme.blocks.push(Declaration { name: name.clone(), directional: inside.is_some() });
        }
        statements.push((line, inside.clone()));
    }
    for (line, direction) in statements {
        let directional = direction.is_some();
        let mut parser = Parser::new(scheme, line, direction);
        let action = action(&mut parser)?;
        parser.end()?;
        scheme.statements.push(Statement { line: line.number, directional, action });
    }
    Ok(())
}

fn action(parser: &mut Parser<'_>) -> Result<Action> {
    if parser.sees("/") {
        return Err(parser.error("a comment starts with #"));
    }
    let name = parser.name("a statement is `A = ...` or `reduce max ...`")?;
    if name == "reduce" {
        if parser.name("only `reduce max` exists")? != "max" {
            return Err(parser.error("only `reduce max` exists"));
        }
        return Ok(Action::Maximum(parser.expression()?));
    }
    let mut faces = false;
    let mut over = None;
    while let Some(word) = parser.word() {
        match word.as_str() {
            "at" if !faces => {
                if parser.name("`at faces`")? != "faces" {
                    return Err(parser.error("only `at faces` exists"));
                }
                faces = true;
            }
            "over" if over.is_none() => over = Some(range(parser)?),
            _ => {
                return Err(
                    parser.error("after a block's name comes `at faces`, `over -1..p+1` or `=`")
                );
            }
        }
    }
    parser.expect("=")?;
    let block = parser.block(&name)?;
    let value = parser.expression()?;
    let faces = faces || calls_face(&value);
    Ok(Action::Assign { block, faces, over, value })
}

fn range(parser: &mut Parser<'_>) -> Result<Margin> {
    let low = parser.integer()?;
    parser.expect("..")?;
    if parser.name("a range ends at p")? != "p" {
        return Err(parser.error("a range is counted from both ends of the patch: `-1..p+1`"));
    }
    let high = if parser.sees("+") || parser.sees("-") { parser.integer()? } else { 0 };
    Ok(Margin { low: i16::from(low), high: i16::from(high) })
}
