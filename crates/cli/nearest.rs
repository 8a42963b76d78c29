//! What someone who mistyped a name may have meant, and what a parser's message means to a user.

use std::path::Path;

use crate::exit::Failure;

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swapped = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swapped)
            };
        }
    }
    rows[a.len()][b.len()]
}

/// The name that is nearest, if one is near.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = word.chars().count().div_ceil(3).max(1);
    let lower = word.to_lowercase();
    let away = |name: &str| distance(&lower, &name.to_lowercase());
    names
        .into_iter()
        .map(|name| (away(name), name))
        .filter(|(away, _)| *away <= near)
        .min()
        .map(|(_, name)| name)
}

/// A file that the parser of TOML refuses.
#[must_use]
pub fn unparsed(path: &Path, error: &toml::de::Error) -> Failure {
    let message = plain_words(error.to_string().trim_end());
    Failure::input(format!("{}: {}", path.display(), with_hint(&message)))
}

/// A message of the parser without the names of Rust's types.
fn plain_words(message: &str) -> String {
    message
        .replace("expected u16", "expected a whole number from 0 to 65535")
        .replace("expected usize", "expected a whole number, 0 or more")
        .replace("expected u64", "expected a whole number, 0 or more")
        .replace("expected u8", "expected a whole number from 0 to 255")
        .replace("expected f64", "expected a number")
}

/// `; did you mean x?`, or what there is.
#[must_use]
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let all: Vec<_> = names.into_iter().collect();
            if all.is_empty() {
                "there is none".into()
            } else {
                format!("there is {}", all.join(", "))
            }
        }
    }
}

/// A parser's message on an unknown key, with the nearest that it expected.
fn with_hint(message: &str) -> String {
    let mut parts = message.split('`');
    let (Some(before), Some(word)) = (parts.next(), parts.next()) else {
        return message.to_owned();
    };
    if !before.contains("unknown field") && !before.contains("unknown variant") {
        return message.to_owned();
    }
    // What is expected stands between backticks too: `a`, `b`, `c`.
    let known: Vec<&str> = parts.skip(1).step_by(2).collect();
    match nearest(word, known) {
        Some(name) => format!("{message}\ndid you mean `{name}`?"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        let names = ["density", "momentum_x", "energy", "courant"];
        assert_eq!(nearest("densty", names), Some("density"));
        assert_eq!(nearest("enegry", names), Some("energy"));
        assert_eq!(nearest("Courant", names), Some("courant"));
        assert_eq!(nearest("pressure", names), None);
        assert_eq!(distance("ca", "abc"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let message = "unknown field `coruant`, expected one of `end`, `courant`, `dt`";
        assert!(with_hint(message).ends_with("did you mean `courant`?"));
        assert_eq!(with_hint("missing field `end`"), "missing field `end`");
    }
}
