//! `conformance`: the matrix from the binary, on screen and in files.

use temblor::conformance::{Family, checks};

use crate::support::{Folder, SMALL};

#[test]
fn the_matrix_has_a_row_for_every_check_asked_for() {
    let folder = Folder::with(SMALL);
    let args = ["conformance", "--backend", "cpu", "--check", "refused", "--json", "m.json"];
    let done = folder.temblor(&args).says(0, &[]);
    let wanted: Vec<_> = checks()
        .iter()
        .filter(|check| check.family != Family::Physics && check.name.contains("refused"))
        .map(|check| check.name)
        .collect();
    assert!(wanted.len() > 5, "{wanted:?}");
    let matrix: serde_json::Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    assert_eq!(matrix["complete"], true);
    let rows = matrix["rows"].as_array().unwrap();
    for name in wanted {
        for variant in ["wavefront2", "blocked"] {
            let row = rows.iter().find(|r| r["check"] == name && r["variant"] == variant);
            assert_eq!(row.unwrap()["ending"], "pass", "{name} {variant}");
            assert!(done.stdout.contains(&format!("pass cpu/{variant} {name}")), "{}", done.stdout);
        }
    }
}

#[test]
fn what_is_unsupported_is_told_with_its_reason_and_does_not_fail() {
    let folder = Folder::with(SMALL);
    let args = ["conformance", "--backend", "cpu", "--check", "oracle in 2d", "--markdown", "m.md"];
    let done = folder.temblor(&args).says(0, &[]);
    assert!(done.stdout.contains("n/a  cpu/wavefront2 agrees_with_the_oracle_in_2d"));
    let text = String::from_utf8(folder.read("m.md")).unwrap();
    assert!(text.contains("| agrees with the oracle in 2d | n/a | pass |"), "{text}");
    assert!(text.contains("- n/a, `cpu/wavefront2`: its tiles lie along y"), "{text}");
}

#[test]
fn a_name_that_nothing_has_is_refused() {
    let folder = Folder::with(SMALL);
    folder.temblor(&["conformance", "--check", "magic"]).says(2, &["magic", "--family"]);
    folder.temblor(&["conformance", "--backend", "abacus"]).says(3, &["abacus", "cpu-ref"]);
    folder.temblor(&["conformance", "--variant", "magic"]).says(3, &["magic", "blocked"]);
}
