//! Lines of a scheme and their tokens.

use crate::error::{Error, Result};

/// A word of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name or keyword.
    Name(String),
    /// A number and whether it is a plain integer.
    Number(f64, bool),
    /// An operator or bracket.
    Symbol(&'static str),
}

/// A statement, over as many lines as its brackets stay open.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) file: String,
    /// Number of the first line, from 1.
    pub(super) number: u32,
    pub(super) indented: bool,
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
}

impl Line {
    pub(super) fn error(&self, what: impl Into<String>) -> Error {
        Error::Scheme {
            scheme: self.file.clone(),
            line: self.number,
            statement: self.text.clone(),
            what: what.into(),
        }
    }
}

/// Most tokens of a statement, which bounds how deep its expression nests.
const LONGEST: usize = 1000;

const SYMBOLS: [&str; 11] = ["..", "(", ")", "[", "]", ",", "=", "+", "-", "*", "/"];

/// Splits a text.
///
/// # Errors
/// [`Error::Scheme`] for a character that means nothing and for brackets that do not close.
pub(super) fn lines(file: &str, text: &str) -> Result<Vec<Line>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all: Vec<Line> = Vec::new();
    let mut open = 0usize;
    for (number, raw) in (1u32..).zip(text.lines()) {
        let content = raw.split('#').next().unwrap_or_default();
        if content.trim().is_empty() {
            continue;
        }
        if open == 0 {
            all.push(Line {
                file: file.into(),
                number,
                indented: content.starts_with([' ', '\t']),
                text: String::new(),
                tokens: Vec::new(),
            });
        }
        let Some(line) = all.last_mut() else { continue };
        if !line.text.is_empty() {
            line.text.push(' ');
        }
        line.text.push_str(content.trim());
        let here = Line { number, text: content.trim().into(), ..line.clone() };
        for token in tokens(content, &here)? {
            match token {
                Token::Symbol("(" | "[") => open += 1,
                Token::Symbol(")" | "]") => {
                    open = open
                        .checked_sub(1)
                        .ok_or_else(|| here.error("a bracket closes that was not opened"))?;
                }
                _ => {}
            }
            line.tokens.push(token);
            if line.tokens.len() > LONGEST {
                return Err(here.error("this statement is too long: give a part a name of its own"));
            }
        }
    }
    match all.last() {
        Some(last) if open > 0 => Err(last.error("a bracket is not closed")),
        _ => Ok(all),
    }
}

fn tokens(text: &str, line: &Line) -> Result<Vec<Token>> {
    let mut rest = text.trim();
    // `for each direction n:` reads as well with a colon.
    if rest.starts_with("for ") {
        rest = rest.trim_end_matches(':').trim_end();
    }
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end = if first.is_ascii_alphabetic() || first == '_' {
            let end =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].into()));
            end
        } else if first.is_ascii_digit() || first == '.' && !rest.starts_with("..") {
            let end = number_end(rest);
            let number: f64 = rest[..end]
                .parse()
                .map_err(|_| line.error(format!("{} is no number", &rest[..end])))?;
            if !number.is_finite() {
                return Err(line.error(format!("{} is too large", &rest[..end])));
            }
            tokens.push(Token::Number(number, rest[..end].bytes().all(|b| b.is_ascii_digit())));
            end
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            symbol.len()
        } else {
            let remedy = match first {
                '^' => ": write pow(x, 2)",
                ';' => ": a statement ends with its line",
                _ => "",
            };
            return Err(line.error(format!("the character {first} has no meaning here{remedy}")));
        };
        rest = rest[end..].trim_start();
    }
    Ok(tokens)
}

/// Where a number ends: digits, a point that is not the first of two, an exponent.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) {
        end += 1;
    }
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end += 1;
        while digit(end) {
            end += 1;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
        }
    }
    end
}
