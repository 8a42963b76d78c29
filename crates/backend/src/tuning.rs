//! Tuning tables: which variant is fastest for a class of problems on a device.
//!
//! A table is TOML with one `[[entry]]` per class of problems: `device`, `order`, `shape_class`
//! (powers of two along x, y, z), `layers` (whether any face has one) and `variant`. Whoever asks
//! for a variant by name overrides it.

use serde::{Deserialize, Serialize};
use temblor_physics::{BoundaryKind, Operator, ProblemClass};

use crate::{Error, Result};

/// A measured choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningEntry {
    /// Device name or architecture token that it was measured on.
    pub device: String,
    /// Order of the direct operator.
    pub order: usize,
    /// Per axis, the power of two at or below the number of nodes.
    pub shape_class: [u32; 3],
    /// Whether any face has an absorbing layer.
    pub layers: bool,
    /// The fastest variant.
    pub variant: String,
}

/// Measured choices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningTable {
    /// Entries, first match wins.
    #[serde(default, rename = "entry")]
    pub entries: Vec<TuningEntry>,
}

impl TuningTable {
    /// Reads a table from TOML.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the parser's message.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| Error::Invalid {
            what: format!("tuning table: {e}"),
            remedy: "mend the table or delete it".into(),
        })
    }

    /// The variant measured to be the fastest for this class on this device.
    #[must_use]
    pub fn lookup(&self, device: &str, class: &ProblemClass) -> Option<&str> {
        let Operator::Direct { order } = class.operator else { return None };
        let layers = class
            .boundaries
            .iter()
            .any(|kind| matches!(kind, BoundaryKind::Cpml | BoundaryKind::Minimod));
        self.entries
            .iter()
            .find(|e| {
                e.device == device
                    && e.order == order
                    && e.shape_class == class.shape_class
                    && e.layers == layers
            })
            .map(|e| e.variant.as_str())
    }
}
