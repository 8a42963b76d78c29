//! Names, places and types of the standard's header fields.
//!
//! Names are those of Seismic Unix where it has the field. Bytes are counted from 1 as the standard
//! does: within the trace header, its extension 1, or (binary header) the file.

use super::field::FieldType::{F64, I16, I32, I64, U8, U16, U32};
use super::field::{Field, FieldType};

const fn field(name: &'static str, byte: usize, kind: FieldType, about: &'static str) -> Field {
    Field { name, byte, kind, about }
}

/// The trace header, 240 bytes (revisions 0 and 1).
pub const TRACE_FIELDS: [Field; 90] = [
    field("tracl", 1, I32, "trace number within the line"),
    field("tracr", 5, I32, "trace number within the file"),
    field("fldr", 9, I32, "field record, the shot's number"),
    field("tracf", 13, I32, "trace number within the field record"),
    field("ep", 17, I32, "energy source point"),
    field("cdp", 21, I32, "ensemble (CDP) number"),
    field("cdpt", 25, I32, "trace number within the ensemble"),
    field("trid", 29, I16, "kind of trace: 1 seismic data, 2 dead"),
    field("nvs", 31, I16, "traces summed vertically"),
    field("nhs", 33, I16, "traces summed horizontally"),
    field("duse", 35, I16, "data use: 1 production, 2 test"),
    field("offset", 37, I32, "distance from source to receiver"),
    field("gelev", 41, I32, "elevation of the receiver group (scalel)"),
    field("selev", 45, I32, "elevation of the surface at the source (scalel)"),
    field("sdepth", 49, I32, "depth of the source below the surface (scalel)"),
    field("gdel", 53, I32, "datum elevation at the receiver group (scalel)"),
    field("sdel", 57, I32, "datum elevation at the source (scalel)"),
    field("swdep", 61, I32, "water depth at the source (scalel)"),
    field("gwdep", 65, I32, "water depth at the receiver group (scalel)"),
    field("scalel", 69, I16, "scalar of elevations and depths"),
    field("scalco", 71, I16, "scalar of coordinates"),
    field("sx", 73, I32, "source x (scalco)"),
    field("sy", 77, I32, "source y (scalco)"),
    field("gx", 81, I32, "receiver group x (scalco)"),
    field("gy", 85, I32, "receiver group y (scalco)"),
    field(
        "counit",
        89,
        I16,
        "coordinate units: 1 length, 2 seconds of arc, 3 degrees, 4 degrees minutes seconds",
    ),
    field("wevel", 91, I16, "weathering velocity"),
    field("swevel", 93, I16, "subweathering velocity"),
    field("sut", 95, I16, "uphole time at the source, ms"),
    field("gut", 97, I16, "uphole time at the group, ms"),
    field("sstat", 99, I16, "source static correction, ms"),
    field("gstat", 101, I16, "group static correction, ms"),
    field("tstat", 103, I16, "total static applied, ms"),
    field("laga", 105, I16, "lag time A, ms"),
    field("lagb", 107, I16, "lag time B, ms"),
    field("delrt", 109, I16, "delay recording time, ms (scalt)"),
    field("muts", 111, I16, "mute time, start, ms"),
    field("mute", 113, I16, "mute time, end, ms"),
    field("ns", 115, U16, "samples in this trace"),
    field("dt", 117, U16, "sample interval, us"),
    field("gain", 119, I16, "gain type of the instruments"),
    field("igc", 121, I16, "instrument gain constant, dB"),
    field("igi", 123, I16, "instrument initial gain, dB"),
    field("corr", 125, I16, "correlated: 1 no, 2 yes"),
    field("sfs", 127, I16, "sweep frequency at start, Hz"),
    field("sfe", 129, I16, "sweep frequency at end, Hz"),
    field("slen", 131, I16, "sweep length, ms"),
    field("styp", 133, I16, "sweep type"),
    field("stas", 135, I16, "sweep taper at start, ms"),
    field("stae", 137, I16, "sweep taper at end, ms"),
    field("tatyp", 139, I16, "taper type"),
    field("afilf", 141, I16, "alias filter frequency, Hz"),
    field("afils", 143, I16, "alias filter slope, dB/octave"),
    field("nofilf", 145, I16, "notch filter frequency, Hz"),
    field("nofils", 147, I16, "notch filter slope, dB/octave"),
    field("lcf", 149, I16, "low-cut frequency, Hz"),
    field("hcf", 151, I16, "high-cut frequency, Hz"),
    field("lcs", 153, I16, "low-cut slope, dB/octave"),
    field("hcs", 155, I16, "high-cut slope, dB/octave"),
    field("year", 157, I16, "year"),
    field("day", 159, I16, "day of the year"),
    field("hour", 161, I16, "hour"),
    field("minute", 163, I16, "minute"),
    field("sec", 165, I16, "second"),
    field("timbas", 167, I16, "time basis"),
    field("trwf", 169, I16, "trace weighting factor, 2^-N V"),
    field("grnors", 171, I16, "group number of roll switch position one"),
    field("grnofr", 173, I16, "group number of the first trace of the field record"),
    field("grnlof", 175, I16, "group number of the last trace of the field record"),
    field("gaps", 177, I16, "gap size, groups dropped"),
    field("otrav", 179, I16, "over travel of the taper: 1 down, 2 up"),
    field("cdpx", 181, I32, "ensemble (CDP) x (scalco; revision 1)"),
    field("cdpy", 185, I32, "ensemble (CDP) y (scalco; revision 1)"),
    field("iline", 189, I32, "inline number (revision 1)"),
    field("xline", 193, I32, "crossline number (revision 1)"),
    field("sp", 197, I32, "shotpoint number (scalsp; revision 1)"),
    field("scalsp", 201, I16, "scalar of the shotpoint number (revision 1)"),
    field("trunit", 203, I16, "unit of the samples (revision 1)"),
    field("tdcm", 205, I32, "transduction constant, mantissa (revision 1)"),
    field("tdcp", 209, I16, "transduction constant, power of ten (revision 1)"),
    field("tdunit", 211, I16, "transduction unit (revision 1)"),
    field("triden", 213, I16, "device or trace identifier (revision 1)"),
    field("scalt", 215, I16, "scalar of times (revision 1)"),
    field("styid", 217, I16, "source type and orientation (revision 1)"),
    field("sedv", 219, I16, "source energy direction, vertical (revision 1)"),
    field("sedx", 221, I16, "source energy direction, crossline (revision 1)"),
    field("sedi", 223, I16, "source energy direction, inline (revision 1)"),
    field("smm", 225, I32, "source measurement, mantissa (revision 1)"),
    field("smp", 229, I16, "source measurement, power of ten (revision 1)"),
    field("smunit", 231, I16, "source measurement unit (revision 1)"),
];

/// Trace header extension 1, 240 bytes (revision 2): what is not zero overrides the trace header.
pub const EXTENSION_FIELDS: [Field; 25] = [
    field("tracl", 1, I64, "trace number within the line"),
    field("tracr", 9, I64, "trace number within the file"),
    field("fldr", 17, I64, "field record"),
    field("cdp", 25, I64, "ensemble number"),
    field("gelev", 33, F64, "elevation of the receiver group"),
    field("gdepth", 41, F64, "depth of the receiver group below the surface"),
    field("selev", 49, F64, "elevation of the surface at the source"),
    field("sdepth", 57, F64, "depth of the source below the surface"),
    field("gdel", 65, F64, "datum elevation at the receiver group"),
    field("sdel", 73, F64, "datum elevation at the source"),
    field("swdep", 81, F64, "water depth at the source"),
    field("gwdep", 89, F64, "water depth at the receiver group"),
    field("sx", 97, F64, "source x"),
    field("sy", 105, F64, "source y"),
    field("gx", 113, F64, "receiver group x"),
    field("gy", 121, F64, "receiver group y"),
    field("offset", 129, F64, "distance from source to receiver"),
    field("ns", 137, U32, "samples in this trace"),
    field("nanosec", 141, I32, "nanoseconds to add to the second"),
    field("dt", 145, F64, "sample interval, us"),
    field("cable", 153, I32, "number of the cable or recording device"),
    field("blocks", 157, U16, "trace header extensions of this trace"),
    field("last", 159, I16, "last trace flag"),
    field("cdpx", 161, F64, "ensemble x"),
    field("cdpy", 169, F64, "ensemble y"),
];

/// The binary file header, bytes 3201 to 3600.
pub const BINARY_FIELDS: [Field; 45] = [
    field("job", 3201, I32, "job number"),
    field("line", 3205, I32, "line number"),
    field("reel", 3209, I32, "reel number"),
    field("ntrpr", 3213, U16, "data traces per ensemble"),
    field("nart", 3215, U16, "auxiliary traces per ensemble"),
    field("hdt", 3217, U16, "sample interval, us"),
    field("dto", 3219, U16, "sample interval of the field recording, us"),
    field("hns", 3221, U16, "samples per trace"),
    field("nso", 3223, U16, "samples per trace of the field recording"),
    field("format", 3225, U16, "sample format code"),
    field("fold", 3227, I16, "ensemble fold"),
    field("tsort", 3229, I16, "trace sorting: 1 as recorded, 2 CDP, 4 stacked"),
    field("vscode", 3231, I16, "vertical sum"),
    field("hsfs", 3233, I16, "sweep frequency at start, Hz"),
    field("hsfe", 3235, I16, "sweep frequency at end, Hz"),
    field("hslen", 3237, I16, "sweep length, ms"),
    field("hstyp", 3239, I16, "sweep type"),
    field("schn", 3241, I16, "trace number of the sweep channel"),
    field("hstas", 3243, I16, "sweep taper at start, ms"),
    field("hstae", 3245, I16, "sweep taper at end, ms"),
    field("htatyp", 3247, I16, "taper type"),
    field("hcorr", 3249, I16, "correlated: 1 no, 2 yes"),
    field("bgrcv", 3251, I16, "binary gain recovered: 1 yes, 2 no"),
    field("rcvm", 3253, I16, "amplitude recovery: 1 none"),
    field("mfeet", 3255, I16, "measurement system: 1 metres, 2 feet"),
    field("polyt", 3257, I16, "impulse polarity"),
    field("vpol", 3259, I16, "vibratory polarity"),
    field("xntrpr", 3261, U32, "extended data traces per ensemble (revision 2)"),
    field("xnart", 3265, U32, "extended auxiliary traces per ensemble (revision 2)"),
    field("xhns", 3269, U32, "extended samples per trace (revision 2)"),
    field("xhdt", 3273, F64, "extended sample interval, us (revision 2)"),
    field("xdto", 3281, F64, "extended sample interval of the field recording, us (revision 2)"),
    field("xnso", 3289, U32, "extended samples per trace of the field recording (revision 2)"),
    field("xfold", 3293, I32, "extended ensemble fold (revision 2)"),
    field("order", 3297, U32, "16909060, from which the byte order follows (revision 2)"),
    field("revmajor", 3501, U8, "major revision"),
    field("revminor", 3502, U8, "minor revision"),
    field("fixed", 3503, I16, "1 if all traces have the same length and interval (revision 1)"),
    field("next", 3505, I16, "extended text headers, -1 if not known (revision 1)"),
    field("nhext", 3507, U16, "trace header extensions (revision 2.1; 32 bits in 2.0)"),
    field("survey", 3509, U16, "survey type (revision 2.1)"),
    field("timebase", 3511, I16, "time basis (revision 2)"),
    field("ntraces", 3513, I64, "traces in the file (revision 2)"),
    field("first", 3521, I64, "byte offset of the first trace (revision 2)"),
    field(
        "trailers",
        3529,
        I32,
        "data trailer records after the last trace, -1 if not known (revision 2)",
    ),
];

/// The field of a name, at compile time; a wrong name does not compile.
pub(super) const fn known(fields: &[Field], name: &str) -> Field {
    let mut n = 0;
    while n < fields.len() {
        let (a, b) = (fields[n].name.as_bytes(), name.as_bytes());
        let mut at = 0;
        while at < a.len() && at < b.len() && a[at] == b[at] {
            at += 1;
        }
        if at == a.len() && at == b.len() {
            return fields[n];
        }
        n += 1;
    }
    panic!("no such field")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap_and_names_are_unique() {
        for fields in [&TRACE_FIELDS[..], &EXTENSION_FIELDS, &BINARY_FIELDS] {
            for pair in fields.windows(2) {
                assert!(pair[0].byte + pair[0].kind.bytes() <= pair[1].byte, "{}", pair[1].name);
            }
            for (n, field) in fields.iter().enumerate() {
                assert!(fields[..n].iter().all(|other| other.name != field.name), "{}", field.name);
            }
        }
    }

    #[test]
    fn the_trace_header_is_covered_up_to_byte_232() {
        // Revision 1 leaves bytes 233 to 240 unassigned and nothing before them.
        let covered: usize = TRACE_FIELDS.iter().map(|field| field.kind.bytes()).sum();
        assert_eq!(covered, 232);
    }
}
