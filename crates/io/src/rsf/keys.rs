//! `key=value` pairs among free text.

use std::collections::BTreeMap;

/// The last value of each key that is used here.
#[derive(Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, String>);

impl Keys {
    /// Reads pairs; quoted values may hold blanks, `#` starts a comment, words without `=` are
    /// passed over.
    pub(crate) fn parse(text: &str) -> Self {
        let mut keys = BTreeMap::new();
        for line in text.lines() {
            let mut rest = line;
            loop {
                rest = rest.trim_start();
                if rest.is_empty() || rest.starts_with('#') {
                    break;
                }
                let word = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
                let (name, tail) = rest.split_at(word);
                let Some(tail) = tail.strip_prefix('=') else {
                    rest = tail;
                    continue;
                };
                let (value, tail) = value(tail);
                if is_used(name) {
                    keys.insert(name.to_owned(), value.to_owned());
                }
                rest = tail;
            }
        }
        Self(keys)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Whether a key is read; headers hold many others.
fn is_used(name: &str) -> bool {
    let numbered = name.strip_suffix(|c: char| c.is_ascii_digit());
    matches!(name, "in" | "data_format" | "esize")
        || matches!(numbered, Some("n" | "o" | "d" | "label" | "unit"))
}

/// A value and what follows it.
fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_keys_override_earlier_ones_among_free_text() {
        let text = "4.2\tsfspike\tmodels:\tuser@host\n\n\tn1=5 o1=0\n\tlabel1=\"Depth z\" # n1=9\n\
                    sfwindow n1=3\n in='data file@' other=1";
        let keys = Keys::parse(text);
        assert_eq!(keys.get("n1"), Some("3"));
        assert_eq!(keys.get("label1"), Some("Depth z"));
        assert_eq!(keys.get("in"), Some("data file@"));
        assert_eq!((keys.get("sfspike"), keys.get("other")), (None, None));
    }
}
