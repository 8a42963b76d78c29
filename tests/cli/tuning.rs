//! `tune`: what it measures is what later runs take, until it is stale or overridden.

use crate::support::{Folder, SMALL, replaced};

#[test]
fn later_runs_take_what_tune_measured_until_it_is_stale() {
    let folder = Folder::with(SMALL);
    let check = || folder.temblor(&["check", "run.toml", "--backend", "cpu-ref"]);
    assert!(check().says(0, &[]).stdout.contains("cpu-ref prefers loops"));
    let tune = ["tune", "run.toml", "--backend", "cpu-ref", "--budget", "1s"];
    let tuned = folder.temblor(&tune).says(0, &[]).stdout;
    assert!(tuned.contains("loops is taken"), "{tuned}");
    assert!(check().says(0, &[]).stdout.contains("measured here by `temblor tune`"));
    let asked = &["check", "run.toml", "--backend", "cpu-ref", "--variant", "loops"];
    assert!(folder.temblor(asked).says(0, &[]).stdout.contains("asked for by --variant"));

    let file = folder.path("cache/temblor/tune.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, replaced(&text, "variant = \"loops\"", "variant = \"gone\"")).unwrap();
    let gone = check().says(0, &["gone", "does not solve this problem"]).stdout;
    assert!(gone.contains("cpu-ref prefers loops"), "{gone}");
    std::fs::write(&file, replaced(&text, "kernels = \"", "kernels = \"old ")).unwrap();
    let stale = check().says(0, &["other kernels", "run `temblor tune` again"]).stdout;
    assert!(stale.contains("cpu-ref prefers loops"), "{stale}");
    std::fs::write(&file, "not a cache").unwrap();
    check().says(0, &["tune.toml", "going on without it"]);
}

#[test]
fn what_was_measured_is_shown_and_exported_and_run() {
    let traces = "traces = \"shot.npy\"";
    let folder = Folder::small(traces, &format!("{traces}\nreport = \"report.json\""));
    folder.temblor(&["tune", "--show"]).says(2, &["`temblor tune RUN_FILE`"]);
    let export = ["tune", "--backend", "cpu", "--export", "table.toml"];
    folder.temblor(&export).says(2, &["table.toml", "run `temblor tune RUN_FILE` first"]);
    folder.temblor(&["tune", "run.toml", "--backend", "cpu", "--budget", "1s"]).says(0, &[]);
    let shown = folder.temblor(&["tune", "--show"]).says(0, &[]).stdout;
    assert!(shown.contains("in use") && shown.contains("* blocked"), "{shown}");
    folder.temblor(&export).says(0, &[]);
    let table = String::from_utf8(folder.read("table.toml")).unwrap();
    assert!(
        table.contains("points_from = 2048") && table.contains("variant = \"blocked\""),
        "{table}"
    );
    let other = ["tune", "--backend", "cpu", "--export", "other.toml"];
    folder.write("other.toml", b"devices = [\"a card\"]\nmeasured = \"by hand\"\n");
    folder.temblor(&other).says(2, &["a card", "this device is"]);

    folder.temblor(&["run", "run.toml", "--backend", "cpu"]).says(0, &["measured here by"]);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("report.json")).unwrap();
    assert!(report["parameters"].is_object(), "{report}");
    assert!(report["variant_why"].as_str().unwrap().starts_with("measured here"), "{report}");
}

#[test]
fn a_parameter_that_the_variant_lacks_is_said_and_ignored() {
    let folder = Folder::with(SMALL);
    folder.temblor(&["tune", "run.toml", "--backend", "cpu-ref", "--budget", "1s"]).says(0, &[]);
    let file = folder.path("cache/temblor/tune.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let with = "variant = \"loops\"\nparameters = { legs = 4 }";
    std::fs::write(&file, replaced(&text, "variant = \"loops\"", with)).unwrap();
    let done = folder.temblor(&["check", "run.toml", "--backend", "cpu-ref"]);
    let done = done.says(0, &["is ignored", "'legs'"]);
    assert!(done.stdout.contains("cpu-ref prefers loops"), "{}", done.stdout);
}

#[test]
fn a_budget_is_a_time() {
    let folder = Folder::with(SMALL);
    folder.temblor(&["tune", "run.toml", "--budget", "soon"]).says(2, &["such as 90s or 5m"]);
    folder.temblor(&["tune"]).says(2, &["RUN_FILE"]);
}
