//! RSF headers for numbers in the same file.

use std::fmt::Write;

use super::{MARKER, RsfAxis};
use crate::{ByteOrder, Element};

/// What an RSF file to be written holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RsfLayout {
    /// Axes, the fastest first.
    pub axes: Vec<RsfAxis>,
    /// Number format; f2 has no name in RSF.
    pub element: Element,
    /// Byte order: little is written as native, big as XDR.
    pub order: ByteOrder,
    /// Name of the quantity.
    pub label: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
}

/// The bytes before the numbers: header, then the three bytes that end it. The same for the same
/// layout: no dates, hosts or paths. None if RSF has no name for the element.
#[must_use]
pub fn header_bytes(layout: &RsfLayout) -> Option<Vec<u8>> {
    let kind = match layout.element {
        Element::F32 => "float",
        Element::F64 => "double",
        Element::I16 => "short",
        Element::I32 => "int",
        Element::F16 => return None,
    };
    let encoding = match layout.order {
        ByteOrder::Little => "native",
        ByteOrder::Big => "xdr",
    };
    let mut text = String::from("written by temblor\n");
    let mut put = |key: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\t{key}={value}");
    };
    let quoted = |text: &str| format!("\"{}\"", text.replace(['"', '\n', '\r', '\x0c'], " "));
    put("data_format", quoted(&format!("{encoding}_{kind}")));
    put("esize", layout.element.bytes().to_string());
    put("in", quoted("stdin"));
    for (axis, number) in layout.axes.iter().zip(1..) {
        put(&format!("n{number}"), axis.n.to_string());
        let reals = [("o", axis.o), ("d", axis.d)];
        for (key, value) in reals {
            if let Some(value) = value {
                put(&format!("{key}{number}"), value.to_string());
            }
        }
        for (key, text) in [("label", &axis.label), ("unit", &axis.unit)] {
            if let Some(text) = text {
                put(&format!("{key}{number}"), quoted(text));
            }
        }
    }
    for (key, text) in [("label", &layout.label), ("unit", &layout.unit)] {
        if let Some(text) = text {
            put(key, quoted(text));
        }
    }
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&MARKER);
    Some(bytes)
}
