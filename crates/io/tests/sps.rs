//! SPS: both column layouts, units, relations, and records that are wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use rstest::rstest;
use std::path::Path;
use temblor_io::sps::{SpsFile, is_sps, parse};

/// Text at given columns, counted from 1, of an 80-column record.
fn record(fields: &[(usize, &str)]) -> String {
    let mut line = vec![b' '; 80];
    for &(column, text) in fields {
        line[column - 1..column - 1 + text.len()].copy_from_slice(text.as_bytes());
    }
    String::from_utf8(line).unwrap() + "\n"
}

/// Columns of SPS revision 2.1, 2006: line 2-11, point 12-21, index 24, depth 31-34, easting 47-55,
/// northing 56-65, elevation 66-71.
fn point_2(kind: &str, line: &str, point: &str, depth: &str, map: [&str; 3]) -> String {
    record(&[
        (1, kind),
        (2, line),
        (12, point),
        (24, "1"),
        (31, depth),
        (47, map[0]),
        (56, map[1]),
        (66, map[2]),
    ])
}

fn survey_2() -> String {
    let mut text = String::from("H00 SPS format version num.     SPS 2.1\n");
    text += "H20 Description of grid units    Metres\n";
    text +=
        &point_2("S", "   1001.00", "    101.00", " 5.0", [" 500010.5", " 4000020.0", " 120.5"]);
    for n in 1..=4 {
        let x = format!("{:9.1}", 500_000.0 + 25.0 * f64::from(n));
        let point = format!("{:10.2}", f64::from(n));
        text += &point_2("R", "      2.00", &point, "", [&x, " 4000000.0", " 118.0"]);
    }
    // Channels 1 to 4 by 1 on receivers 1 to 4.
    text += &record(&[
        (1, "X"),
        (8, "      77"),
        (16, "1"),
        (18, "   1001.00"),
        (28, "    101.00"),
        (38, "1"),
        (39, "    1"),
        (44, "    4"),
        (49, "1"),
        (50, "      2.00"),
        (60, "      1.00"),
        (70, "      4.00"),
        (80, "1"),
    ]);
    text
}

fn read(text: &str) -> SpsFile {
    assert!(is_sps(text), "{text}");
    parse(text, Path::new("a.sps")).unwrap()
}

#[track_caller]
fn same(got: [f64; 3], wanted: [f64; 3]) {
    assert_eq!(got.map(f64::to_bits), wanted.map(f64::to_bits), "{got:?}");
}

#[test]
fn revision_2_1_points_are_read_by_columns() {
    let file = read(&survey_2());
    assert!(file.revision_2);
    assert_eq!((file.sources.len(), file.receivers.len(), file.relations.len()), (1, 4, 1));
    // z is the depth below the datum: 200 - 120.5 + 5.
    same(file.sources[0].position(200.0), [500_010.5, 4_000_020.0, 84.5]);
    same(file.receivers[3].position(0.0), [500_100.0, 4_000_000.0, -118.0]);
}

#[test]
fn without_a_header_the_columns_decide_the_revision() {
    let text = survey_2();
    let bare: String = text.lines().skip(2).map(|line| line.to_owned() + "\n").collect();
    assert_eq!(read(&bare).sources, read(&text).sources);
    // Revision 0: line 2-17, point 18-25, index 26, depth 33-36.
    let old = record(&[
        (1, "S"),
        (2, "            1001"),
        (18, "     101"),
        (26, "1"),
        (33, " 5.0"),
        (47, " 500010.5"),
        (56, " 4000020.0"),
        (66, " 120.5"),
    ]);
    let file = read(&old);
    assert!(!file.revision_2);
    same(file.sources[0].position(0.0), [500_010.5, 4_000_020.0, -115.5]);
    assert_eq!(file.sources[0].name, ("1001".into(), 10_100, 1));
}

#[test]
fn relations_name_the_receivers_of_a_shot() {
    let file = read(&survey_2());
    let shots = file.relate(&file.sources, &file.receivers, Path::new("a.xps")).unwrap();
    assert_eq!(shots, [(77, 0, vec![0, 1, 2, 3])]);
}

#[test]
fn feet_become_metres_and_both_factors_are_shown_where_they_disagree() {
    let text = survey_2().replace("   Metres", "   American Feet;");
    let file = read(&text);
    assert!((file.sources[0].map[0] - 500_010.5 * 0.3048).abs() < 1e-6);
    let text = text.replacen("H20 ", "H201Factor to metre             1.0\nH20 ", 1);
    let file = read(&text);
    assert!((file.sources[0].map[0] - 500_010.5).abs() < 1e-9);
    let warning = file.warnings.join(" ");
    assert!(warning.contains("0.3048") && warning.contains("factor of 1"), "{warning}");
}

#[rstest]
#[case::easting("4000020.0", "4000o20.0", "line 3", "columns 56 to 65")]
#[case::point("    101.00", "    10l.00", "line 3", "columns 12 to 21")]
#[case::kind("\nR", "\nQ", "line 4", "no S, R, X")]
fn records_that_cannot_be_read_are_named_by_line_and_column(
    #[case] from: &str,
    #[case] to: &str,
    #[case] place: &str,
    #[case] says: &str,
) {
    let text = survey_2().replacen(from, to, 1);
    let error = parse(&text, Path::new("a.sps")).unwrap_err().to_string();
    assert!(error.contains(place) && error.contains(says), "{error}");
}

#[rstest]
#[case::missing("      4.001", "      5.001", "no receiver line 2 point 5")]
#[case::count("    1    4", "    1    3", "channels 1 to 3 by 1 do not match receivers 1 to 4")]
fn relations_that_do_not_fit_are_refused(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    let text = survey_2();
    assert!(text.contains(from), "{text}");
    let text = text.replacen(from, to, 1).replace("   1.00      5.00", "   2.00      5.00");
    let file = read(&text);
    let error = file.relate(&file.sources, &file.receivers, Path::new("a.xps")).unwrap_err();
    assert!(error.to_string().contains(says), "{error}");
}
