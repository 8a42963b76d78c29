//! `tune`: what it measures is what later runs take, until it is stale or overridden.

use crate::support::{Folder, SMALL, replaced};

#[test]
fn later_runs_take_what_tune_measured_until_it_is_stale() {
    let folder = Folder::with(SMALL);
    let check = || folder.temblor(&["check", "run.toml", "--backend", "cpu-ref"]);
    assert!(check().says(0, &[]).stdout.contains("cpu-ref prefers loops"));
    let tuned = folder.temblor(&["tune", "run.toml", "--backend", "cpu-ref"]).says(0, &[]).stdout;
    assert!(tuned.contains("loops is the fastest"), "{tuned}");
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
