//! The 240 bytes before each trace as they are, of SEG-Y and SU alike.

use super::field::{Field, Value, put, turn, word};
use super::fields::TRACE_FIELDS;
use super::{HeaderMap, TRACE_HEADER_BYTES, TraceHeader, WordOrder};

/// Trace header bytes with the byte order of their file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawTraceHeader {
    /// The bytes.
    pub bytes: [u8; TRACE_HEADER_BYTES],
    /// Their order.
    pub order: WordOrder,
}

impl RawTraceHeader {
    /// A header of zeros.
    #[must_use]
    pub fn zeros(order: impl Into<WordOrder>) -> Self {
        Self { bytes: [0; TRACE_HEADER_BYTES], order: order.into() }
    }

    /// A header from bytes; `None` unless there are 240.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], order: impl Into<WordOrder>) -> Option<Self> {
        Some(Self { bytes: bytes.try_into().ok()?, order: order.into() })
    }

    /// The 32-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn i32(&self, byte: usize) -> i32 {
        i32::from_be_bytes(word(self.order, &self.bytes, byte - 1))
    }

    /// The 16-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn i16(&self, byte: usize) -> i16 {
        i16::from_be_bytes(word(self.order, &self.bytes, byte - 1))
    }

    /// Sets the 32-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn set_i32(&mut self, byte: usize, value: i32) {
        put(self.order, &mut self.bytes, byte - 1, value.to_be_bytes());
    }

    /// Sets the 16-bit field that starts at a byte, counted from 1.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn set_i16(&mut self, byte: usize, value: i16) {
        put(self.order, &mut self.bytes, byte - 1, value.to_be_bytes());
    }

    /// Value of a field.
    ///
    /// # Panics
    /// If the field is not within the header.
    #[must_use]
    pub fn get(&self, field: &Field) -> Value {
        field.read(self.order, &self.bytes)
    }

    /// Value of the standard's field of a name, see [`super::TRACE_FIELDS`].
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Value> {
        Some(self.get(&Field::named(name)?))
    }

    /// Sets a field; `None`, with nothing changed, if the value does not fit it.
    ///
    /// # Panics
    /// If the field is not within the header.
    pub fn set(&mut self, field: &Field, value: Value) -> Option<()> {
        field.write(self.order, &mut self.bytes, value)
    }

    /// Samples of this trace as its header says; 0 means as in the file header.
    #[must_use]
    pub fn samples(&self) -> u16 {
        self.i16(115).cast_unsigned()
    }

    /// Sample interval of this trace as its header says, us; 0 means as in the file header.
    #[must_use]
    pub fn interval_us(&self) -> u16 {
        self.i16(117).cast_unsigned()
    }

    /// The same header in another byte order: the standard's fields are turned one by one, bytes
    /// 233 to 240 stay.
    #[must_use]
    pub fn in_order(&self, order: impl Into<WordOrder>) -> Self {
        let order = order.into();
        let mut turned = Self { order, ..*self };
        turn(&TRACE_FIELDS, self.order, order, &mut turned.bytes);
        turned
    }

    /// The fields with their scalars applied, m and s, where the standard puts them.
    #[must_use]
    pub fn decode(&self) -> TraceHeader {
        TraceHeader::from_raw(self, None, &HeaderMap::standard())
    }
}
