//! Schemes that come with the package.

use crate::error::{Error, Result};
use crate::scheme::Scheme;
use crate::text::parse;

/// Names and texts of the shipped schemes.
pub const SCHEMES: [(&str, &str); 4] = [
    ("rusanov", include_str!("../schemes/rusanov.scheme")),
    ("fd4", include_str!("../schemes/fd4.scheme")),
    ("godunov", include_str!("../schemes/godunov.scheme")),
    ("dg", include_str!("../schemes/dg.scheme")),
];

impl Scheme {
    /// The scheme that ships under a name.
    ///
    /// # Errors
    /// [`Error::Mismatch`] with the names that there are.
    pub fn shipped(name: &str) -> Result<Self> {
        match SCHEMES.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => parse(&format!("{name}.scheme"), text),
            None => {
                let names: Vec<&str> = SCHEMES.iter().map(|(name, _)| *name).collect();
                Err(Error::Mismatch(format!(
                    "no scheme called {name} ships: there are {}; a file of your own is given by its \
                     path",
                    names.join(", ")
                )))
            }
        }
    }
}
