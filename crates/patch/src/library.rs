//! Physics that ship with the package, as C texts.

use crate::error::{Error, Result};
use crate::physics::Physics;

/// Name and text of each.
const SHIPPED: [(&str, &str); 6] = [
    ("euler", include_str!("../../../csrc/physics/euler.c")),
    ("acoustics", include_str!("../../../csrc/physics/acoustics.c")),
    ("elastics", include_str!("../../../csrc/physics/elastics.c")),
    ("shallow_water", include_str!("../../../csrc/physics/shallow_water.c")),
    ("advection", include_str!("../../../csrc/physics/advection.c")),
    ("ccz4", include_str!("../../../csrc/physics/ccz4.c")),
];

/// Names and C texts of the physics that ship.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &SHIPPED
}

impl Physics {
    /// The physics that ships under a name.
    ///
    /// # Errors
    /// [`Error::Mismatch`] with the names that there are.
    pub fn shipped(name: &str) -> Result<Self> {
        match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_c(&format!("{name}.c"), text),
            None => {
                let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
                Err(Error::Mismatch(format!(
                    "no physics called {name} ships: there are {}; a file of your own is given by \
                     its path",
                    names.join(", ")
                )))
            }
        }
    }
}
