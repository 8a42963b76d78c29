//! The examples check without a warning and run to what they promise.

use std::path::Path;

use rstest::rstest;

use crate::support::Folder;

/// A copy of an example's folder beside that of the model that it may share.
fn copy_of(names: &[&str]) -> Folder {
    let folder = Folder::with("");
    for name in names {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        let to = folder.path(name);
        std::fs::create_dir(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let file = entry.file_name();
            // Not what someone's own run of the example left there.
            if [".toml", "vp.npy"].iter().any(|end| file.to_string_lossy().ends_with(end)) {
                std::fs::copy(entry.path(), to.join(file)).unwrap();
            }
        }
    }
    folder
}

#[rstest]
#[case(&["overthrust"], "overthrust/shot.toml")]
#[case(&["overthrust"], "overthrust/shot-3d.toml")]
#[case(&["point-source"], "point-source/shot.toml")]
#[case(&["free-surface"], "free-surface/shot.toml")]
#[case(&["survey", "overthrust"], "survey/survey.toml")]
fn an_example_checks_without_a_warning(#[case] folders: &[&str], #[case] run_file: &str) {
    let folder = copy_of(folders);
    let done = folder.temblor(&["check", run_file]).says(0, &[]);
    assert!(!done.stdout.contains("warning"), "{}", done.stdout);
}

#[test]
fn the_overthrust_shot_gives_its_gather_report_and_picture() {
    let folder = copy_of(&["overthrust"]);
    folder.temblor(&["run", "overthrust/shot.toml"]).says(0, &[]);
    // 401 receivers, floor(4 / 0.004) + 1 samples.
    assert_eq!(folder.read("overthrust/shot.sgy").len(), 3600 + 401 * (240 + 4 * 1001));
    assert!(folder.read("overthrust/shot.png").starts_with(b"\x89PNG"));
    let report: serde_json::Value =
        serde_json::from_slice(&folder.read("overthrust/shot.json")).unwrap();
    assert_eq!(report["resolution"]["vmax_m_per_s"], 6000.0);
}

#[test]
fn the_survey_gives_all_its_shots_in_one_file() {
    let folder = copy_of(&["survey", "overthrust"]);
    folder.temblor(&["run", "survey/survey.toml"]).says(0, &[]);
    // 5 shots, 81 receivers, 501 samples.
    assert_eq!(folder.read("survey/survey.sgy").len(), 3600 + 5 * 81 * (240 + 4 * 501));
}
