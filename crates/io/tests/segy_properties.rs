//! What holds for any headers and samples: they come back bit for bit, in every format and order.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use std::path::Path;
use temblor_io::segy::{
    EXTENSION_FIELDS, Field, FieldType, RawTraceHeader, SampleFormat, SegyHeader, SegyOptions,
    SegyReader, SegyWriter, TRACE_FIELDS, TextEncoding, TraceHeader, Value, WordOrder,
    coordinate_storage, f64_to_ibm, ibm_to_f64,
};

const SAMPLES: usize = 9;

fn order() -> impl Strategy<Value = WordOrder> {
    prop::sample::select(WordOrder::ALL.to_vec())
}

/// Formats that the order has.
fn dialect() -> impl Strategy<Value = (SampleFormat, WordOrder)> {
    (prop::sample::select(SampleFormat::ALL.to_vec()), order())
        .prop_filter("odd words have no pairs", |(format, order)| {
            *order != WordOrder::Pairwise || format.bytes() % 2 == 0
        })
}

fn header(format: SampleFormat, order: WordOrder) -> SegyHeader {
    let mut header = SegyHeader::new(0.004, SAMPLES);
    (header.format, header.order) = (format, order);
    header
}

/// A raw header of any bytes but the count of samples and the format of coordinates.
fn raw(order: WordOrder, bytes: &[u8]) -> RawTraceHeader {
    let mut raw = RawTraceHeader::from_bytes(bytes, order).unwrap();
    raw.set_i16(115, 9);
    raw.set_i16(117, 4000);
    raw
}

fn open(path: &Path) -> SegyReader {
    SegyReader::open(path, &SegyOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn stored_samples_and_raw_headers_come_back_bit_for_bit(
        (format, order) in dialect(),
        headers in prop::collection::vec(prop::collection::vec(any::<u8>(), 240), 1..5),
        samples in prop::collection::vec(any::<u8>(), SAMPLES * 8 * 5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sgy");
        let mut writer = SegyWriter::create(&path, &header(format, order)).unwrap();
        let length = SAMPLES * format.bytes();
        let parts: Vec<&[u8]> = samples.chunks(length).collect();
        for (bytes, part) in headers.iter().zip(&parts) {
            writer.write_stored(&raw(order, bytes), &[], part).unwrap();
        }
        writer.finish().unwrap();
        // The order is the constant's of revision 2, else the format code's, whatever trace headers
        // hold.
        let reader = open(&path);
        prop_assert_eq!((reader.format(), reader.order()), (format, order));
        prop_assert_eq!(reader.traces(), headers.len() as u64);
        for (n, (bytes, part)) in (0..).zip(headers.iter().zip(&parts)) {
            prop_assert_eq!(reader.header(n).unwrap(), raw(order, bytes));
            prop_assert_eq!(&reader.sample_bytes_of(n).unwrap(), part);
        }
    }

    #[test]
    fn values_that_a_format_holds_come_back_equal(
        (format, order) in dialect(),
        words in prop::collection::vec(any::<u64>(), SAMPLES),
    ) {
        // Any value of the format itself, as a double.
        let bits = u32::try_from(8 * format.bytes()).unwrap();
        let signed = |w: u64| w.cast_signed() >> (64 - bits);
        let values: Vec<f64> = words.iter().map(|&w| match format {
            SampleFormat::Ieee => f32::from_bits((w >> 32) as u32).into(),
            SampleFormat::F64 => f64::from_bits(w),
            // Normalised, as what is written is.
            SampleFormat::Ibm => ibm_to_f64(f64_to_ibm(ibm_to_f64((w >> 32) as u32)).0),
            SampleFormat::U8 | SampleFormat::U16 | SampleFormat::U24 | SampleFormat::U32 =>
                (w >> (64 - bits)) as f64,
            // 53 bits are exact.
            SampleFormat::U64 => (w >> 11 << 11) as f64,
            SampleFormat::I64 => (signed(w) >> 11 << 11) as f64,
            _ => signed(w) as f64,
        }).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sgy");
        let mut writer = SegyWriter::create(&path, &header(format, order)).unwrap();
        writer.write_trace_f64(&TraceHeader::default(), &values).unwrap();
        let nan = format == SampleFormat::Ibm && values.iter().any(|v| v.is_nan());
        prop_assert!(writer.losses().is_empty() || nan, "{:?}", writer.losses());
        writer.finish().unwrap();
        let read = open(&path).samples_f64_of(0).unwrap();
        let singles = open(&path).samples_of(0).unwrap();
        for ((a, b), single) in values.iter().zip(&read).zip(&singles) {
            // Conversions between singles and doubles may quiet a NaN.
            prop_assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{a:e} {b:e}");
            // Singles are the doubles rounded once; from 64-bit integers too, as these have 53 bits.
            #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
            let rounded = *a as f32;
            prop_assert!(rounded.to_bits() == single.to_bits() || a.is_nan(), "{a:e} {single:e}");
        }
    }

    #[test]
    fn headers_turned_into_another_order_keep_all_values(
        bytes in prop::collection::vec(any::<u8>(), 240),
        from in order(),
        to in order(),
    ) {
        let raw = RawTraceHeader::from_bytes(&bytes, from).unwrap();
        let turned = raw.in_order(to);
        for field in TRACE_FIELDS {
            prop_assert_eq!(raw.get(&field), turned.get(&field), "{}", field.name);
        }
        prop_assert_eq!(turned.in_order(from), raw);
    }

    #[test]
    fn fields_hold_what_fits_and_refuse_the_rest(
        field in prop::sample::select(TRACE_FIELDS.iter().chain(&EXTENSION_FIELDS).copied().collect::<Vec<_>>()),
        value in prop_oneof![any::<i16>().prop_map(i64::from), any::<i64>()],
        order in order(),
    ) {
        let mut header = [0xa5; 240];
        let range = match field.kind {
            FieldType::I16 => i64::from(i16::MIN)..=i64::from(i16::MAX),
            FieldType::U16 => 0..=i64::from(u16::MAX),
            FieldType::I32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
            FieldType::U32 => 0..=i64::from(u32::MAX),
            _ => i64::MIN..=i64::MAX,
        };
        let written = field.write(order, &mut header, Value::Int(value));
        prop_assert_eq!(written.is_some(), range.contains(&value));
        if written.is_some() {
            let read = field.read(order, &header);
            prop_assert_eq!(read.to_f64().to_bits(), (value as f64).to_bits(), "{}", field.name);
            // Nothing beside the field has changed.
            let within = field.byte - 1..field.byte - 1 + field.kind.bytes();
            prop_assert!((0..240).all(|at| within.contains(&at) || header[at] == 0xa5));
        } else {
            prop_assert_eq!(header, [0xa5; 240]);
        }
    }

    #[test]
    fn doubles_of_extension_1_keep_coordinates_bit_for_bit(
        source in prop::array::uniform3(-1e7..1e7_f64),
        receiver in prop::array::uniform3(-1e-2..1e-2_f64),
        order in order(),
        ascii in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sgy");
        let mut file = SegyHeader::new(2.5e-9, SAMPLES);
        (file.trace_extensions, file.order) = (1, order);
        file.encoding = if ascii { TextEncoding::Ascii } else { TextEncoding::Ebcdic };
        let header = TraceHeader { source, receiver, ..TraceHeader::default() };
        let mut writer = SegyWriter::create(&path, &file).unwrap();
        writer.write_trace(&header, &[0.25; SAMPLES]).unwrap();
        writer.finish().unwrap();
        let reader = open(&path);
        prop_assert_eq!((reader.revision(), reader.text_encoding()), ((2, 1), file.encoding));
        prop_assert_eq!(reader.sample_interval().to_bits(), 2.5e-9_f64.to_bits());
        let read = reader.trace_header(0).unwrap();
        let bits = |header: &TraceHeader| {
            let all = [header.source, header.receiver].concat();
            all.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        prop_assert_eq!(bits(&read), bits(&header));
        let offset = header.offset_or_distance();
        prop_assert_eq!(read.offset.unwrap().to_bits(), offset.to_bits());
    }

    #[test]
    fn coordinates_are_stored_to_1e_5_of_the_extent(
        coordinates in prop::collection::vec(prop_oneof![-1e7..1e7_f64, -1.0..1.0_f64], 2..9),
    ) {
        let storage = coordinate_storage(&coordinates);
        let low = coordinates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = coordinates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let Some(scalar) = storage.scalar else { return Err(TestCaseError::fail("no scalar")) };
        let factor = f64::from(scalar.unsigned_abs());
        let error = coordinates.iter().map(|v| (v - (v * factor).round() / factor).abs());
        let worst = error.fold(0.0, f64::max);
        prop_assert!(storage.extended || worst <= 1e-5 * (high - low) + 1e-6 / factor);
    }

    #[test]
    fn conversion_keeps_every_header_byte(
        (format, order) in dialect(),
        binary in prop::collection::vec(any::<u8>(), 60),
        bytes in prop::collection::vec(any::<u8>(), 240),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a.sgy", "b.sgy"].map(|name| folder.path().join(name));
        let mut file = header(format, order);
        file.text = vec!["kept".into()];
        file.extended_text = vec![vec!["((SEG: Anything ver 1))".into()]];
        let mut writer = SegyWriter::create(&first, &file).unwrap();
        writer.write_stored(&raw(order, &bytes), &[], &vec![0; SAMPLES * format.bytes()]).unwrap();
        writer.finish().unwrap();
        // Bytes 3301 to 3360 are unassigned; they are kept too.
        let mut all = std::fs::read(&first).unwrap();
        all[3300..3360].copy_from_slice(&binary);
        std::fs::write(&first, &all).unwrap();
        let reader = open(&first);
        let like = SegyHeader::like(&reader).unwrap();
        let mut writer = SegyWriter::create(&second, &like).unwrap();
        let mut traces = reader.sequence();
        while let Some(trace) = traces.next_trace().unwrap() {
            writer.write_stored(&trace.header(), trace.extensions(), trace.sample_bytes()).unwrap();
        }
        writer.finish().unwrap();
        prop_assert_eq!(std::fs::read(&second).unwrap(), all);
    }
}

#[test]
fn field_names_are_found() {
    assert_eq!(Field::named("sx").unwrap().byte, 73);
    assert_eq!(Field::extended("sx").unwrap().byte, 97);
    assert!(Field::named("nothing").is_none());
}
