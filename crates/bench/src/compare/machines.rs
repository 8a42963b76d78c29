//! How machines and programs of two files differ: said, not refused.

use std::collections::BTreeSet;

use crate::results::{Results, Run};

/// A sentence for each thing that differs.
pub(super) fn differences(old: &Results, new: &Results) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |what: &str, of: &dyn Fn(&Run) -> Vec<String>| {
        let all =
            |results: &Results| -> BTreeSet<String> { results.runs.iter().flat_map(of).collect() };
        let (was, is) = (all(old), all(new));
        if was != is {
            let list = |set: &BTreeSet<String>| {
                if set.is_empty() {
                    return "none".to_owned();
                }
                set.iter().cloned().collect::<Vec<_>>().join(", ")
            };
            said.push(format!("{what}: {} -> {}", list(&was), list(&is)));
        }
    };
    say("processor", &|run| vec![run.host.processor.clone()]);
    say("threads", &|run| vec![run.host.threads.to_string()]);
    say("system", &|run| vec![run.host.system.clone()]);
    // A backend that only one file has shows in the rows.
    let (was, is) = (backends(old), backends(new));
    let shared: BTreeSet<_> = was.intersection(&is).cloned().collect();
    for backend in &shared {
        let of = |field: fn(&crate::results::Device) -> &String| {
            move |run: &Run| -> Vec<String> {
                let devices = run.devices.iter().filter(|d| d.info.backend == *backend);
                devices.map(|device| field(device).clone()).collect()
            }
        };
        say(&format!("device of {backend}"), &of(|d| &d.info.name));
        say(&format!("architecture of {backend}"), &of(|d| &d.info.arch));
        say(&format!("driver of {backend}"), &of(|d| &d.info.driver));
        say(&format!("kernels of {backend}"), &of(|d| &d.kernels));
    }
    let names: BTreeSet<String> = [old, new]
        .iter()
        .flat_map(|results| &results.runs)
        .flat_map(|run| run.program.iter().map(|(name, _)| name.clone()))
        .collect();
    for name in names {
        say(&format!("program's {name}"), &|run| {
            run.program.iter().filter(|(n, _)| *n == name).map(|(_, v)| v.clone()).collect()
        });
    }
    for (which, results) in [("old", old), ("new", new)] {
        if results.runs.iter().any(|run| !run.complete) {
            said.push(format!("the {which} file was stopped before all rows were measured"));
        }
    }
    said
}

fn backends(results: &Results) -> BTreeSet<String> {
    let devices = results.runs.iter().flat_map(|run| &run.devices);
    devices.map(|device| device.info.backend.clone()).collect()
}
