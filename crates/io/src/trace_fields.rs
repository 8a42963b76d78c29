//! Fields of the 240 bytes before a trace, by our names and by those of Seismic Un*x.
//!
//! SEG-Y and SU agree up to byte 180; behind it SEG-Y revision 1 has its own fields and SU has
//! floats of its own.

use crate::segy::RawTraceHeader;

/// How a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// IEEE single precision.
    F32,
}

/// A field of a trace header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Our name.
    pub name: &'static str,
    /// Name in SU; empty if it has none.
    pub su: &'static str,
    /// First byte, counted from 1 as in the standard.
    pub byte: usize,
    /// How it is stored.
    pub kind: Kind,
}

const fn field(name: &'static str, su: &'static str, byte: usize, kind: Kind) -> Field {
    Field { name, su, byte, kind }
}

/// Bytes 1 to 180, in both formats.
pub const COMMON: &[Field] = &[
    field("trace_in_line", "tracl", 1, Kind::I32),
    field("trace_in_file", "tracr", 5, Kind::I32),
    field("field_record", "fldr", 9, Kind::I32),
    field("trace_in_record", "tracf", 13, Kind::I32),
    field("source_point", "ep", 17, Kind::I32),
    field("ensemble", "cdp", 21, Kind::I32),
    field("trace_in_ensemble", "cdpt", 25, Kind::I32),
    field("trace_type", "trid", 29, Kind::I16),
    field("summed_vertically", "nvs", 31, Kind::I16),
    field("summed_horizontally", "nhs", 33, Kind::I16),
    field("data_use", "duse", 35, Kind::I16),
    field("offset", "offset", 37, Kind::I32),
    field("receiver_elevation", "gelev", 41, Kind::I32),
    field("source_surface_elevation", "selev", 45, Kind::I32),
    field("source_depth", "sdepth", 49, Kind::I32),
    field("receiver_datum_elevation", "gdel", 53, Kind::I32),
    field("source_datum_elevation", "sdel", 57, Kind::I32),
    field("source_water_depth", "swdep", 61, Kind::I32),
    field("receiver_water_depth", "gwdep", 65, Kind::I32),
    field("elevation_scalar", "scalel", 69, Kind::I16),
    field("coordinate_scalar", "scalco", 71, Kind::I16),
    field("source_x", "sx", 73, Kind::I32),
    field("source_y", "sy", 77, Kind::I32),
    field("receiver_x", "gx", 81, Kind::I32),
    field("receiver_y", "gy", 85, Kind::I32),
    field("coordinate_unit", "counit", 89, Kind::I16),
    field("weathering_velocity", "wevel", 91, Kind::I16),
    field("subweathering_velocity", "swevel", 93, Kind::I16),
    field("source_uphole_time", "sut", 95, Kind::I16),
    field("receiver_uphole_time", "gut", 97, Kind::I16),
    field("source_static", "sstat", 99, Kind::I16),
    field("receiver_static", "gstat", 101, Kind::I16),
    field("total_static", "tstat", 103, Kind::I16),
    field("lag_a", "laga", 105, Kind::I16),
    field("lag_b", "lagb", 107, Kind::I16),
    field("delay", "delrt", 109, Kind::I16),
    field("mute_start", "muts", 111, Kind::I16),
    field("mute_end", "mute", 113, Kind::I16),
    field("samples", "ns", 115, Kind::U16),
    field("interval", "dt", 117, Kind::U16),
    field("gain_type", "gain", 119, Kind::I16),
    field("gain_constant", "igc", 121, Kind::I16),
    field("initial_gain", "igi", 123, Kind::I16),
    field("correlated", "corr", 125, Kind::I16),
    field("sweep_start_frequency", "sfs", 127, Kind::I16),
    field("sweep_end_frequency", "sfe", 129, Kind::I16),
    field("sweep_length", "slen", 131, Kind::I16),
    field("sweep_type", "styp", 133, Kind::I16),
    field("sweep_taper_start", "stas", 135, Kind::I16),
    field("sweep_taper_end", "stae", 137, Kind::I16),
    field("taper_type", "tatyp", 139, Kind::I16),
    field("alias_filter_frequency", "afilf", 141, Kind::I16),
    field("alias_filter_slope", "afils", 143, Kind::I16),
    field("notch_filter_frequency", "nofilf", 145, Kind::I16),
    field("notch_filter_slope", "nofils", 147, Kind::I16),
    field("low_cut_frequency", "lcf", 149, Kind::I16),
    field("high_cut_frequency", "hcf", 151, Kind::I16),
    field("low_cut_slope", "lcs", 153, Kind::I16),
    field("high_cut_slope", "hcs", 155, Kind::I16),
    field("year", "year", 157, Kind::I16),
    field("day_of_year", "day", 159, Kind::I16),
    field("hour", "hour", 161, Kind::I16),
    field("minute", "minute", 163, Kind::I16),
    field("second", "sec", 165, Kind::I16),
    field("time_basis", "timbas", 167, Kind::I16),
    field("trace_weighting", "trwf", 169, Kind::I16),
    field("group_at_roll_switch", "grnors", 171, Kind::I16),
    field("group_of_first_trace", "grnofr", 173, Kind::I16),
    field("group_of_last_trace", "grnlof", 175, Kind::I16),
    field("gap_size", "gaps", 177, Kind::I16),
    field("overtravel", "otrav", 179, Kind::I16),
];

/// Bytes 181 to 240 of SEG-Y revision 1.
pub const SEGY: &[Field] = &[
    field("ensemble_x", "", 181, Kind::I32),
    field("ensemble_y", "", 185, Kind::I32),
    field("inline", "", 189, Kind::I32),
    field("crossline", "", 193, Kind::I32),
    field("shotpoint", "", 197, Kind::I32),
    field("shotpoint_scalar", "", 201, Kind::I16),
    field("value_unit", "", 203, Kind::I16),
    field("transduction_mantissa", "", 205, Kind::I32),
    field("transduction_exponent", "", 209, Kind::I16),
    field("transduction_unit", "", 211, Kind::I16),
    field("device", "", 213, Kind::I16),
    field("time_scalar", "", 215, Kind::I16),
    field("source_type", "", 217, Kind::I16),
    field("source_unit", "", 231, Kind::I16),
];

/// Bytes 181 to 240 of SU.
pub const SU: &[Field] = &[
    field("sample_spacing", "d1", 181, Kind::F32),
    field("first_sample", "f1", 185, Kind::F32),
    field("trace_spacing", "d2", 189, Kind::F32),
    field("first_trace", "f2", 193, Kind::F32),
    field("unscaling_power", "ungpow", 197, Kind::F32),
    field("unscaling_factor", "unscale", 201, Kind::F32),
    field("traces", "ntr", 205, Kind::I32),
    field("mark", "mark", 209, Kind::I16),
    field("shortpad", "shortpad", 211, Kind::I16),
];

impl Field {
    /// Bytes of the field.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        match self.kind {
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::F32 => 4,
        }
    }

    /// Its value in a header; every kind is exact in a double.
    #[must_use]
    pub fn value(&self, header: &RawTraceHeader) -> f64 {
        match self.kind {
            Kind::I16 => header.i16(self.byte).into(),
            Kind::U16 => header.i16(self.byte).cast_unsigned().into(),
            Kind::I32 => header.i32(self.byte).into(),
            Kind::F32 => f32::from_bits(header.i32(self.byte).cast_unsigned()).into(),
        }
    }
}

/// Fields of a file: the common ones and those of SU or SEG-Y.
pub fn fields(su: bool) -> impl Iterator<Item = &'static Field> {
    COMMON.iter().chain(if su { SU } else { SEGY })
}

/// The field of that name, ours or SU's, or `byteN:K` with a first byte N and K one of i2, u2, i4
/// and f4.
#[must_use]
pub fn find(name: &str, su: bool) -> Option<Field> {
    let named = fields(su).find(|f| f.name == name || (!f.su.is_empty() && f.su == name)).copied();
    named.or_else(|| {
        let (byte, kind) = name.strip_prefix("byte")?.split_once(':')?;
        let kind = match kind {
            "i2" => Kind::I16,
            "u2" => Kind::U16,
            "i4" => Kind::I32,
            "f4" => Kind::F32,
            _ => return None,
        };
        let byte = byte.parse::<usize>().ok().filter(|&byte| byte >= 1)?;
        let found = field("", "", byte, kind);
        (byte.checked_add(found.bytes())? <= 241).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_one_another_without_gaps_or_overlaps() {
        let mut next = 1;
        for field in COMMON.iter().chain(SU) {
            assert_eq!(field.byte, next, "{}", field.name);
            next += field.bytes();
        }
        assert_eq!(next, 213);
        assert!(SEGY.windows(2).all(|w| w[0].byte + w[0].bytes() <= w[1].byte));
    }

    #[test]
    fn fields_are_found_by_either_name_and_by_byte() {
        assert_eq!(find("fldr", true).unwrap().byte, 9);
        assert_eq!(find("field_record", false).unwrap().byte, 9);
        assert_eq!(find("d2", true).unwrap().byte, 189);
        assert!(find("d2", false).is_none());
        assert_eq!(find("byte239:u2", false).unwrap().kind, Kind::U16);
        assert!(find("byte240:u2", false).is_none() && find("byte0:i2", false).is_none());
    }
}
