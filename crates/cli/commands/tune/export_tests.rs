use temblor_backend::tuning::Candidate;

use super::*;

const TABLE: &str = r#"# Why this table is as it is.
devices = ["a card"]
measured = "by hand"

[[entry]]
order = 8
dimensions = 3
faces = "zero"
points_from = 0
variant = "tma" # as it was
gpts = 205.2 # 256^3; wide: 192.5

[[entry]]
order = 8
dimensions = 3
# Two to the 24th.
faces = "cpml"
points_from = 16_777_216
variant = "wide" # kept
gpts = 197.2 # 800^3; tma: 188.7
"#;

fn device() -> DeviceInfo {
    DeviceInfo {
        backend: "cuda".into(),
        name: "a card".into(),
        arch: "x".into(),
        memory: 1,
        driver: "1".into(),
        units: 1,
    }
}

fn measured(faces: Faces, shape_class: [u32; 3], variant: &str) -> Measurement {
    let candidate = |variant: &str, gpts| Candidate {
        variant: variant.into(),
        parameters: [].into(),
        gpts: Some(gpts),
        spread: Some(0.01),
        why: None,
    };
    Measurement {
        backend: "cuda".into(),
        device: "a card".into(),
        driver: "1".into(),
        kernels: "k".into(),
        order: 8,
        shape_class,
        faces,
        variant: variant.into(),
        parameters: [("planes".to_owned(), 4)].into(),
        gpts: 211.5,
        candidates: vec![candidate(variant, 211.5), candidate("shared", 150.0)],
    }
}

fn cache(entries: Vec<Measurement>) -> TuneCache {
    TuneCache { entries }
}

#[test]
fn a_row_is_changed_in_place_and_comments_stay() {
    let cache = cache(vec![measured(Faces::Cpml, [8, 8, 8], "tma")]);
    let merged = merge(TABLE, &device(), "k", &cache).unwrap();
    let expected =
        TABLE.replace("\"wide\" # kept", "\"tma\" # kept\nparameters = { planes = 4 }").replace(
            "197.2 # 800^3; tma: 188.7",
            "211.5 # order 8, cpml, 256-511 x 256-511 x 256-511 nodes, driver 1; shared: 150",
        );
    assert_eq!(merged.text, expected);
    let again = merge(&merged.text, &device(), "k", &cache).unwrap();
    assert_eq!(again.text, merged.text, "merging twice changes nothing");
}

#[test]
fn a_new_class_is_a_new_row_behind_the_others() {
    let entries = vec![measured(Faces::Walls, [9, 0, 7], "shared")];
    let merged = merge(TABLE, &device(), "k", &cache(entries)).unwrap();
    assert!(merged.text.starts_with(TABLE), "{}", merged.text);
    let table = TuningTable::from_toml(&merged.text).unwrap();
    let row = table.entries.last().unwrap();
    assert_eq!((row.dimensions, row.points_from), (2, 1 << 16));
    assert_eq!((row.variant.as_str(), row.parameters["planes"]), ("shared", 4));
}

#[test]
fn a_table_for_another_device_is_refused_with_both_names() {
    let other = DeviceInfo { name: "another card".into(), ..device() };
    let entries = vec![measured(Faces::Cpml, [8, 8, 8], "tma")];
    let error = merge(TABLE, &other, "k", &cache(entries)).unwrap_err();
    assert!(error.contains("a card") && error.contains("another card"), "{error}");
}

#[test]
fn entries_of_other_devices_and_stale_ones_are_left_out() {
    let good = measured(Faces::Cpml, [8, 8, 8], "tma");
    let other = Measurement { device: "another card".into(), ..good.clone() };
    let stale = Measurement { driver: "0".into(), ..good.clone() };
    let all = vec![other.clone(), stale.clone(), good];
    let merged = merge(TABLE, &device(), "k", &cache(all)).unwrap();
    assert_eq!(merged.said.len(), 3, "{:?}", merged.said);
    assert_eq!(merged.said.iter().filter(|line| line.starts_with("left out")).count(), 2);
    let error = merge(TABLE, &device(), "k", &cache(vec![other, stale])).unwrap_err();
    assert!(error.contains("run `temblor tune RUN_FILE` first"), "{error}");
}

#[test]
fn a_new_file_is_a_table() {
    let entries = vec![measured(Faces::Cpml, [8, 8, 8], "tma")];
    let merged = merge(&new_table(&device()), &device(), "k", &cache(entries)).unwrap();
    let table = TuningTable::from_toml(&merged.text).unwrap();
    assert_eq!((table.devices[0].as_str(), table.entries.len()), ("a card", 1));
}
