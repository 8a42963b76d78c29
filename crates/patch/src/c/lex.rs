//! Words of the C text, each with its line; comments dropped, constant macros put in place.

use std::collections::HashMap;

use super::ast::{Outcome, fault};

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    Real(f64),
    Sign(&'static str),
    End,
}

impl Token {
    /// As it reads in messages.
    pub(super) fn show(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Int(number) => format!("`{number}`"),
            Self::Real(number) => format!("`{number:?}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end of the text".into(),
        }
    }
}

/// A word and its line.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) line: u32,
}

/// Signs, longer ones first.
const SIGNS: [&str; 42] = [
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "(", ")", "[", "]", "{", "}", ",", ";", ":", "?",
    "=", "+", "-", "*", "/", "%", "<", ">", "!", "&",
];

/// Signs of one character that the longer table leaves out.
const MORE: [&str; 4] = ["|", "^", "~", "."];

/// Constants of `math.h` by name.
const MATHEMATICS: [(&str, f64); 13] = [
    ("M_PI", std::f64::consts::PI),
    ("M_PI_2", std::f64::consts::FRAC_PI_2),
    ("M_PI_4", std::f64::consts::FRAC_PI_4),
    ("M_E", std::f64::consts::E),
    ("M_SQRT2", std::f64::consts::SQRT_2),
    ("M_SQRT1_2", std::f64::consts::FRAC_1_SQRT_2),
    ("M_1_PI", std::f64::consts::FRAC_1_PI),
    ("M_2_PI", std::f64::consts::FRAC_2_PI),
    ("M_2_SQRTPI", std::f64::consts::FRAC_2_SQRT_PI),
    ("M_LN2", std::f64::consts::LN_2),
    ("M_LN10", std::f64::consts::LN_10),
    ("M_LOG2E", std::f64::consts::LOG2_E),
    ("M_LOG10E", std::f64::consts::LOG10_E),
];

/// All words of a text; the last is [`Token::End`].
pub(super) fn words(text: &str) -> Outcome<Vec<Word>> {
    // Editors on Windows put a byte order mark first.
    let text = blank_comments(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let mut macros: HashMap<String, Vec<Word>> = HashMap::new();
    for (name, number) in MATHEMATICS {
        macros.insert(name.into(), vec![Word { token: Token::Real(number), line: 0 }]);
    }
    let mut all = Vec::new();
    let mut lines = text.lines().zip(1u32..);
    let mut last = 1;
    while let Some((row, line)) = lines.next() {
        last = line;
        let mut row = row.trim().to_owned();
        while row.ends_with('\\') {
            row.pop();
            if let Some((more, line)) = lines.next() {
                last = line;
                row.push_str(more.trim());
            }
        }
        if let Some(directive) = row.strip_prefix('#') {
            direct(directive.trim(), line, &mut macros)?;
            continue;
        }
        split(&row, line, &macros, &mut all)?;
    }
    all.push(Word { token: Token::End, line: last });
    Ok(all)
}

/// The text with comments turned into blanks, lines kept.
fn blank_comments(text: &str) -> Outcome<String> {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    let mut line = 1u32;
    while let Some(place) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        let (before, comment) = rest.split_at(place);
        clean.push_str(before);
        clean.push(' ');
        line += newlines(before);
        let length = if comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else if let Some(end) = comment.find("*/") {
            end + 2
        } else {
            return fault(line, "a comment without its end: write `*/`");
        };
        let (inside, after) = comment.split_at(length);
        clean.extend(inside.chars().filter(|&c| c == '\n'));
        line += newlines(inside);
        rest = after;
    }
    clean.push_str(rest);
    Ok(clean)
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

/// A line of the preprocessor.
fn direct(directive: &str, line: u32, macros: &mut HashMap<String, Vec<Word>>) -> Outcome<()> {
    if directive.is_empty() || directive.starts_with("include") {
        return Ok(());
    }
    let Some(definition) = directive.strip_prefix("define") else {
        let word = directive.split_whitespace().next().unwrap_or_default();
        return fault(
            line,
            format!(
                "#{word} is not in the subset: write one text for every target; of the \
                 preprocessor only #include and #define of a number are known"
            ),
        );
    };
    let definition = definition.trim();
    let end = definition
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(definition.len());
    let (name, body) = definition.split_at(end);
    if body.starts_with('(') {
        return fault(
            line,
            format!("the macro {name} takes arguments: write a static inline function"),
        );
    }
    let mut value = Vec::new();
    split(body, line, macros, &mut value)?;
    let numeric = |word: &Word| match &word.token {
        Token::Int(_) | Token::Real(_) => true,
        Token::Sign(sign) => ["(", ")", "+", "-", "*", "/"].contains(sign),
        _ => false,
    };
    if value.is_empty() || !value.iter().all(numeric) {
        return fault(
            line,
            format!(
                "the macro {name} is not a number: write `#define {name} 1.0`, an enum, a static \
                 const or a static inline function"
            ),
        );
    }
    macros.insert(name.into(), value);
    Ok(())
}

/// Appends the words of a line.
fn split(
    row: &str,
    line: u32,
    macros: &HashMap<String, Vec<Word>>,
    all: &mut Vec<Word>,
) -> Outcome<()> {
    let mut rest = row.trim_start();
    while let Some(first) = rest.chars().next() {
        let second = rest[first.len_utf8()..].chars().next().unwrap_or(' ');
        let length;
        if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
            length = number_length(rest);
            all.push(Word { token: number(&rest[..length], line)?, line });
        } else if first.is_ascii_alphabetic() || first == '_' {
            length =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let name = &rest[..length];
            match macros.get(name) {
                Some(value) => {
                    all.extend(value.iter().map(|word| Word { token: word.token.clone(), line }));
                }
                None => all.push(Word { token: Token::Name(name.into()), line }),
            }
        } else if let Some(sign) = SIGNS.iter().chain(&MORE).find(|sign| rest.starts_with(**sign)) {
            length = sign.len();
            all.push(Word { token: Token::Sign(sign), line });
        } else if first == '"' || first == '\'' {
            return fault(line, "strings and characters are not in the subset: remove them");
        } else {
            let what = format!("the character `{first}` is not C: write it in ASCII");
            return fault(line, what);
        }
        rest = rest[length..].trim_start();
    }
    Ok(())
}

/// Length of the number at the start of a text.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    text.find(|c: char| {
        let exponent =
            if hexadecimal { matches!(before, 'p' | 'P') } else { matches!(before, 'e' | 'E') };
        let part = c.is_ascii_alphanumeric() || c == '.' || (exponent && (c == '+' || c == '-'));
        before = c;
        !part
    })
    .unwrap_or(text.len())
}

fn number(word: &str, line: u32) -> Outcome<Token> {
    let lower = word.to_ascii_lowercase();
    let wrong = || fault(line, format!("`{word}` is no number"));
    if let Some(digits) = lower.strip_prefix("0x") {
        if digits.contains(['.', 'p']) {
            return hexadecimal(digits).map_or_else(wrong, |number| Ok(Token::Real(number)));
        }
        return i64::from_str_radix(digits, 16).map_or_else(|_| wrong(), |n| Ok(Token::Int(n)));
    }
    if lower.contains(['.', 'e']) {
        if lower.ends_with(['f', 'l']) {
            return fault(
                line,
                format!("`{word}` is not a double: drop its suffix, all reals are double"),
            );
        }
        let Ok(number) = lower.parse::<f64>() else { return wrong() };
        if number.is_infinite() {
            return fault(line, format!("`{word}` is beyond a double: write a smaller number"));
        }
        return Ok(Token::Real(number));
    }
    if lower.ends_with(['u', 'l']) {
        return fault(line, format!("`{word}` is not an int: drop its suffix"));
    }
    if lower.len() > 1 && lower.starts_with('0') {
        return fault(line, format!("`{word}` is octal in C: write it in decimal"));
    }
    lower.parse().map_or_else(|_| wrong(), |number| Ok(Token::Int(number)))
}

/// A hexadecimal real after its `0x`, such as `1.8p3`; `None` if it is none or not exact.
fn hexadecimal(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    if bits >> 53 != 0 {
        return None;
    }
    let exponent = exponent.parse::<i32>().ok()? - 4 * i32::try_from(fraction.len()).ok()?;
    #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let mut number = bits as f64;
    // In two factors, as 2^exponent alone may be out of range where the number is not.
    number *= 2f64.powi(exponent / 2);
    Some(number * 2f64.powi(exponent - exponent / 2))
}
