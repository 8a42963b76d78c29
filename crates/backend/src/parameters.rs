//! Numbers that a variant can be tuned by; none of them changes a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Values of parameters by name.
pub type Parameters = BTreeMap<String, u32>;

/// A number that a variant can be tuned by. Values change the order of work alone: results are bit
/// for bit the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name, as in tuning tables.
    pub name: String,
    /// One line on what it sets, with its unit.
    pub about: String,
    /// Values worth trying, ascending; others are refused.
    pub values: Vec<u32>,
    /// The one taken where none is asked for.
    pub default: u32,
}

/// Checks what was asked for against what there is, and completes it by defaults.
///
/// # Errors
/// [`Error::Unsupported`] for a name or a value that does not exist, with those that do.
pub fn resolve(
    backend: &str,
    variant: &str,
    known: &[Parameter],
    asked: &Parameters,
) -> Result<Parameters> {
    let refuse = |what: String| Err(Error::Unsupported { backend: backend.into(), what });
    for (name, value) in asked {
        match known.iter().find(|parameter| parameter.name == *name) {
            None => {
                let names: Vec<_> = known.iter().map(|p| p.name.as_str()).collect();
                let there = if names.is_empty() { "none".into() } else { names.join(", ") };
                return refuse(format!(
                    "parameter '{name}' of variant '{variant}' (there are: {there})"
                ));
            }
            Some(parameter) if !parameter.values.contains(value) => {
                let values = &parameter.values;
                return refuse(format!("{name} = {value} of variant '{variant}' (of {values:?})"));
            }
            Some(_) => {}
        }
    }
    let value = |p: &Parameter| asked.get(&p.name).copied().unwrap_or(p.default);
    Ok(known.iter().map(|p| (p.name.clone(), value(p))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Parameter> {
        let about = "rows per tile".into();
        vec![Parameter { name: "rows".into(), about, values: vec![8, 16], default: 16 }]
    }

    #[test]
    fn defaults_complete_what_was_asked_for() {
        let resolved = |asked: &[(&str, u32)]| {
            let asked = asked.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
            resolve("b", "v", &known(), &asked).map(|all| all["rows"]).map_err(|e| e.to_string())
        };
        assert_eq!(resolved(&[]), Ok(16));
        assert_eq!(resolved(&[("rows", 8)]), Ok(8));
        assert!(resolved(&[("rows", 9)]).unwrap_err().contains("[8, 16]"));
        assert!(resolved(&[("row", 8)]).unwrap_err().contains("there are: rows"));
    }
}
