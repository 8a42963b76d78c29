//! Where fields stand in the trace headers of a file that does not follow the standard.

use std::path::PathBuf;

use super::TRACE_HEADER_BYTES;
use super::field::{Field, FieldType};
use super::fields::TRACE_FIELDS;
use crate::{Error, Result};

/// Places of trace header fields: the standard's, but for those that were moved.
///
/// ```
/// use temblor_io::segy::HeaderMap;
/// // Inlines in bytes 9-12, crosslines in 13-16, x of the CDP as IEEE single in 73-76.
/// let map: HeaderMap = "iline=9,xline=13,cdpx=73:f4".parse()?;
/// assert_eq!(map.field("iline").unwrap().byte, 9);
/// assert_eq!(map.field("sx").unwrap().byte, 73);
/// # Ok::<(), temblor_io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderMap {
    moved: Vec<Field>,
}

impl HeaderMap {
    /// The standard's places.
    #[must_use]
    pub fn standard() -> Self {
        Self::default()
    }

    /// Moves a field to another byte, counted from 1, with another type if one is given.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no field of that name or it would not be within the header.
    pub fn with(mut self, name: &str, byte: usize, kind: Option<FieldType>) -> Result<Self> {
        let refused = |what: &str, got: String, remedy: String| Error::Invalid {
            path: PathBuf::from(format!("header field {name}")),
            what: what.to_owned(),
            got,
            remedy,
        };
        let Some(standard) = Field::named(name) else {
            let known = TRACE_FIELDS.map(|field| field.name).join(", ");
            return Err(refused("the name", "not known".into(), format!("known are {known}")));
        };
        let kind = kind.unwrap_or(standard.kind);
        if byte == 0 || byte > TRACE_HEADER_BYTES + 1 - kind.bytes() {
            let last = TRACE_HEADER_BYTES + 1 - kind.bytes();
            let remedy = format!("type {} begins at byte 1 to {last}", kind.name());
            return Err(refused("the byte", byte.to_string(), remedy));
        }
        self.moved.retain(|field| field.name != standard.name);
        self.moved.push(Field { byte, kind, ..standard });
        Ok(self)
    }

    /// Where a field stands; `None` if there is none of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field> {
        Some(self.place(Field::named(name)?))
    }

    /// Where a field of the standard stands.
    pub(super) fn place(&self, standard: Field) -> Field {
        let moved = self.moved.iter().find(|field| field.name == standard.name);
        moved.copied().unwrap_or(standard)
    }

    /// Whether a field was moved.
    #[must_use]
    pub fn moves(&self, name: &str) -> bool {
        self.moved.iter().any(|field| field.name == name)
    }
}

impl std::str::FromStr for HeaderMap {
    type Err = Error;

    /// Reads `name=byte[:type]`, several separated by commas; types are those of
    /// [`FieldType::from_name`].
    fn from_str(text: &str) -> Result<Self> {
        let mut map = Self::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let refused = || Error::Invalid {
                path: PathBuf::from("header fields"),
                what: "an entry".into(),
                got: format!("`{item}`"),
                remedy: "write name=byte or name=byte:type with a type of u1, i2, u2, i4, u4, i8, \
                         f4, f8, ibm, such as iline=9 or cdpx=73:f4"
                    .into(),
            };
            let (name, place) = item.split_once('=').ok_or_else(refused)?;
            let (byte, kind) = match place.split_once(':') {
                Some((byte, kind)) => {
                    (byte, Some(FieldType::from_name(kind.trim()).ok_or_else(refused)?))
                }
                None => (place, None),
            };
            map = map.with(name.trim(), byte.trim().parse().map_err(|_| refused())?, kind)?;
        }
        Ok(map)
    }
}
