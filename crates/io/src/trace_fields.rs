//! Fields of the 240 bytes before a trace, in SEG-Y and in SU.
//!
//! They agree up to byte 180; behind it SEG-Y revision 1 has fields of its own and SU has floats of
//! its own.

use crate::segy::{Field, FieldType, TRACE_FIELDS, TRACE_HEADER_BYTES};

/// Last byte of the fields that SEG-Y and SU share, counted from 1.
pub const LAST_COMMON_BYTE: usize = 180;

const fn field(name: &'static str, byte: usize, kind: FieldType, about: &'static str) -> Field {
    Field { name, byte, kind, about }
}

/// Bytes 181 to 212 of SU, from `segy.h` of CWP/SU.
pub const SU_FIELDS: [Field; 9] = [
    field("d1", 181, FieldType::F32, "distance of samples"),
    field("f1", 185, FieldType::F32, "place of the first sample"),
    field("d2", 189, FieldType::F32, "distance of traces"),
    field("f2", 193, FieldType::F32, "place of the first trace"),
    field("ungpow", 197, FieldType::F32, "negative of the power of a range compression"),
    field("unscale", 201, FieldType::F32, "reciprocal of a scaling factor"),
    field("ntr", 205, FieldType::I32, "number of traces"),
    field("mark", 209, FieldType::I16, "mark"),
    field("shortpad", 211, FieldType::I16, "alignment padding"),
];

/// Fields of SU or SEG-Y trace headers.
pub fn fields(su: bool) -> impl Iterator<Item = &'static Field> {
    let last = if su { LAST_COMMON_BYTE } else { TRACE_HEADER_BYTES };
    let common = TRACE_FIELDS.iter().filter(move |field| field.byte <= last);
    common.chain(if su { &SU_FIELDS[..] } else { &[] })
}

/// The field of that name, or `byteN:K`, which starts at byte N and has the type K: u1, i2, u2, i4,
/// u4, i8, f4, f8 or ibm.
#[must_use]
pub fn find(name: &str, su: bool) -> Option<Field> {
    fields(su).find(|field| field.name == name).copied().or_else(|| {
        let (byte, kind) = name.strip_prefix("byte")?.split_once(':')?;
        let kind = FieldType::from_name(kind)?;
        let byte = byte.parse::<usize>().ok().filter(|&byte| byte >= 1)?;
        let last = byte.checked_add(kind.bytes() - 1)?;
        (last <= TRACE_HEADER_BYTES).then(|| field("", byte, kind, ""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn su_fields_follow_one_another_without_gaps_or_overlaps() {
        let mut next = 1;
        for field in fields(true) {
            assert_eq!(field.byte, next, "{}", field.name);
            next += field.kind.bytes();
        }
        assert_eq!(next, 213);
    }

    #[test]
    fn fields_are_found_by_name_and_by_byte() {
        assert_eq!(find("fldr", true).unwrap().byte, 9);
        assert_eq!(find("d2", true).unwrap().byte, 189);
        assert!(find("d2", false).is_none() && find("iline", true).is_none());
        assert_eq!(find("byte239:u2", false).unwrap().kind, FieldType::U16);
        assert!(find("byte240:u2", false).is_none() && find("byte0:i2", false).is_none());
    }
}
