//! The binary file header.

use super::field::{Field, Value, put, turn, word};
use super::fields::BINARY_FIELDS;
use super::{BINARY_BYTES, TEXT_BYTES, WordOrder};

/// The 400 bytes after the text header, with the byte order of their file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryHeader {
    /// The bytes.
    pub bytes: [u8; BINARY_BYTES],
    /// Their order.
    pub order: WordOrder,
}

impl BinaryHeader {
    /// A header of zeros.
    #[must_use]
    pub fn zeros(order: WordOrder) -> Self {
        Self { bytes: [0; BINARY_BYTES], order }
    }

    /// The field of a name, see [`super::BINARY_FIELDS`].
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Value> {
        let field = BINARY_FIELDS.into_iter().find(|field| field.name == name)?;
        Some(within(field).read(self.order, &self.bytes))
    }

    /// Sets the field of a name; `None` if there is none or the value does not fit it.
    pub fn set_named(&mut self, name: &str, value: Value) -> Option<()> {
        let field = BINARY_FIELDS.into_iter().find(|field| field.name == name)?;
        within(field).write(self.order, &mut self.bytes, value)
    }

    /// The unsigned 16-bit field at a byte of the file, 3201 to 3599.
    ///
    /// # Panics
    /// If the byte is not within the header.
    #[must_use]
    pub fn u16(&self, byte: usize) -> u16 {
        u16::from_be_bytes(word(self.order, &self.bytes, byte - TEXT_BYTES - 1))
    }

    pub(super) fn u32(&self, byte: usize) -> u32 {
        u32::from_be_bytes(word(self.order, &self.bytes, byte - TEXT_BYTES - 1))
    }

    pub(super) fn u64(&self, byte: usize) -> u64 {
        u64::from_be_bytes(word(self.order, &self.bytes, byte - TEXT_BYTES - 1))
    }

    pub(super) fn f64(&self, byte: usize) -> f64 {
        f64::from_bits(self.u64(byte))
    }

    /// Sets the word at a byte of the file, given most significant byte first.
    pub(super) fn put<const N: usize>(&mut self, byte: usize, big: [u8; N]) {
        put(self.order, &mut self.bytes, byte - TEXT_BYTES - 1, big);
    }

    /// Revision as stored: bytes 3501 and 3502. Some files have them exchanged.
    #[must_use]
    pub fn revision(&self) -> (u8, u8) {
        match [self.bytes[300], self.bytes[301]] {
            [0, major @ 1..=2] => (major, 0),
            [major, minor] => (major, minor),
        }
    }

    /// The same header in another byte order: its fields are turned one by one, the rest stays.
    #[must_use]
    pub fn in_order(&self, order: WordOrder) -> Self {
        let mut turned = Self { order, ..*self };
        let fields = BINARY_FIELDS.map(within);
        turn(&fields, self.order, order, &mut turned.bytes);
        turned
    }
}

/// A field counted from the header's first byte rather than the file's.
fn within(field: Field) -> Field {
    Field { byte: field.byte - TEXT_BYTES, ..field }
}
