//! Argument structs of `csrc/include`, given to Rust without being retyped.
//!
//! The headers keep to a small grammar so that no libclang is needed: `typedef struct { ... } Name;`
//! with members `type name;` or `type name[count];`, types `int32_t`, `int64_t`, `uint64_t`,
//! `float` and pointers (an address, `u64`), comments `/* ... */` before a member or struct. All
//! are 4 or 8 bytes, so C and `repr(C)` lay them out alike.

use std::fmt::Write;

use crate::Result;

/// Translates a header; the result is included by the vendor crate.
///
/// # Errors
/// If the header leaves the grammar; the message quotes the text.
pub fn translate(header: &str) -> Result<String> {
    let mut rust = String::new();
    let text: String = header
        .lines()
        .filter(|l| !l.trim_start().starts_with('#'))
        .map(|l| format!("{l}\n"))
        .collect();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("typedef struct {") {
        let (body, tail) = after.split_once('}').ok_or("a struct is not closed")?;
        let (name, tail) = tail.split_once(';').ok_or("a struct has no name")?;
        let doc = last_comment(before).unwrap_or("Argument struct.");
        let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(rust, "/// {doc}\n#[repr(C)]\n#[derive(Debug, Clone, Copy, Default)]\n");
        let _ = writeln!(rust, "pub(crate) struct {} {{", name.trim());
        members(body, &mut rust)?;
        rust.push_str("}\n\n");
        rest = tail;
    }
    Ok(rust)
}

fn last_comment(text: &str) -> Option<&str> {
    let start = text.rfind("/*")?;
    let end = text[start..].find("*/")? + start;
    text[end + 2..].trim().is_empty().then(|| text[start + 2..end].trim())
}

fn members(body: &str, rust: &mut String) -> Result<()> {
    let mut rest = body.trim();
    while !rest.is_empty() {
        let mut doc = "As in the C header.";
        if let Some(comment) = rest.strip_prefix("/*") {
            let (text, after) = comment.split_once("*/").ok_or("a comment is not closed")?;
            (doc, rest) = (text.trim(), after.trim());
        }
        let (declaration, after) =
            rest.split_once(';').ok_or_else(|| format!("'{rest}' is no member"))?;
        let declaration = declaration.trim();
        rest = after.trim();
        let doc: Vec<&str> = doc.split_whitespace().collect();
        let doc = doc.join(" ");
        let (kind, name) = declaration
            .rsplit_once([' ', '\n'])
            .ok_or_else(|| format!("'{declaration}' is no member"))?;
        let kind = if kind.contains('*') || name.contains('*') {
            "u64"
        } else {
            match kind.trim() {
                "int32_t" => "i32",
                "int64_t" => "i64",
                "uint64_t" => "u64",
                "float" => "f32",
                other => return Err(format!("type '{other}' of '{name}' is not in the grammar")),
            }
        };
        let name = name.trim_start_matches('*');
        let _ = match name.split_once('[') {
            Some((name, count)) => {
                let count = count.trim_end_matches(']').replace("][", ";");
                let mut kind = kind.to_owned();
                for length in count.rsplit(';') {
                    kind = format!("[{kind}; {length}]");
                }
                writeln!(rust, "    /// {doc}\n    pub(crate) {name}: {kind},")
            }
            None => writeln!(rust, "    /// {doc}\n    pub(crate) {name}: {kind},"),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_order_type_and_shape() {
        let header = "/* A box. */\ntypedef struct {\n  /* Nodes. */\n  int32_t nodes[3];\n  \
                      float w[3][9];\n  /* An address; may be 0. */\n  const float* q;\n} Box;\n";
        let rust = translate(header).unwrap();
        assert!(rust.contains("/// A box.\n#[repr(C)]"));
        assert!(rust.contains("/// Nodes.\n    pub(crate) nodes: [i32; 3],"));
        assert!(rust.contains("pub(crate) w: [[f32; 9]; 3],"));
        assert!(rust.contains("/// An address; may be 0.\n    pub(crate) q: u64,"));
        assert_eq!(rust.matches("pub(crate) ").count(), 4);
        assert!(rust.find("nodes").unwrap() < rust.find("q: u64").unwrap());
    }

    #[test]
    fn a_type_outside_the_grammar_is_refused() {
        assert!(translate("typedef struct { double x; } S;").unwrap_err().contains("double"));
    }
}
