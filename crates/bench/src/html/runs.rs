//! What measured, and how it was asked to.

use std::fmt::Write as _;

use crate::figures::{gib, significant};
use crate::results::{Device, Results, Run};
use crate::tables::html::escape;

pub(super) fn runs(results: &Results) -> String {
    let mut text = String::new();
    for (at, run) in results.runs.iter().enumerate() {
        if results.runs.len() > 1 {
            let _ = writeln!(text, "<h3>Run {}</h3>", at + 1);
        }
        let _ =
            writeln!(text, "<pre tabindex=\"0\"><code>{}</code></pre>\n<dl>", escape(&run.command));
        for (name, value) in facts(run) {
            let (name, value) = (escape(&name), escape(&value));
            let _ = writeln!(text, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        text += "</dl>\n";
    }
    text
}

fn facts(run: &Run) -> Vec<(String, String)> {
    let host = &run.host;
    let mut facts = vec![
        ("Began".to_owned(), run.date.clone()),
        ("Processor".into(), host.processor.clone()),
        ("Threads".into(), host.threads.to_string()),
        ("Memory".into(), format!("{} GiB", gib(host.memory))),
        ("System".into(), host.system.clone()),
    ];
    for device in &run.devices {
        facts.push((format!("Device of {}", device.info.backend), described(device)));
    }
    facts.extend(
        run.program.iter().map(|(name, value)| (format!("temblor's {name}"), value.clone())),
    );
    facts.extend(
        run.peers.iter().map(|peer| (format!("Command of {}", peer.name), peer.command.clone())),
    );
    facts
}

fn described(device: &Device) -> String {
    let info = &device.info;
    let mut text = format!(
        "{}, {}, {} units, {} GiB, driver {}, kernels {}",
        info.name,
        info.arch,
        info.units,
        gib(info.memory),
        info.driver,
        device.kernels
    );
    if let Some(bandwidth) = device.nominal.bandwidth {
        let _ = write!(text, ", nominally {} GB/s", significant(bandwidth / 1e9, 4));
    }
    text
}
