//! `temblor devices`: what can run here.

use clap::Args;

use crate::backends::{self, Seen};

/// Arguments of `temblor devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists backends, their devices and capabilities.
///
/// # Errors
/// Never.
pub fn run(args: &DevicesArgs) -> anyhow::Result<()> {
    if args.json {
        let list: Vec<_> = backends::all()
            .into_iter()
            .map(|known| {
                let devices: Vec<_> = known.devices.iter().map(device_json).collect();
                let mut entry = serde_json::json!({
                    "backend": known.name,
                    "about": known.about,
                    "devices": devices,
                });
                match &known.backend {
                    Ok(backend) => {
                        entry["device"] = serde_json::json!(backend.device());
                        entry["capabilities"] = serde_json::json!(backend.capabilities());
                    }
                    Err(why) => entry["unusable"] = why.as_str().into(),
                }
                entry
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    for known in backends::all() {
        println!("{}: {}", known.name, known.about);
        if let Err(why) = &known.backend {
            println!("  cannot be used: {why}");
        }
        // With one device the line above has said it.
        if known.backend.is_ok() || known.devices.len() > 1 {
            print_devices(known.name, &known.devices);
        }
        if let Ok(backend) = &known.backend {
            let can = backend.capabilities();
            println!("  equations    {}", words(&can.equations));
            println!("  arithmetic   {}", words(&can.arithmetics));
            println!("  boundaries   {}", words(&can.boundaries));
            println!("  orders       {} to {}, even", can.orders.0, can.orders.1);
            println!("  variants     {}", can.variants.join(", "));
        }
    }
    Ok(())
}

fn device_json(device: &Seen) -> serde_json::Value {
    match device {
        Ok(device) => serde_json::json!(device),
        Err(why) => serde_json::json!({ "unusable": why }),
    }
}

/// Devices with their numbers if there are several.
fn print_devices(name: &str, devices: &[Seen]) {
    let several = devices.len() > 1;
    for (n, device) in devices.iter().enumerate() {
        let label = if several { format!("device {n}") } else { "device".into() };
        let device = match device {
            Ok(device) => device,
            Err(why) => {
                println!("  {label:12} cannot be used: {why}");
                continue;
            }
        };
        let info = &device.info;
        println!("  {label:12} {} ({}), {}", info.name, info.arch, info.driver);
        println!("  memory       {:.1} GiB", info.memory as f64 / f64::from(1 << 30));
        println!("  units        {}", info.units);
        if several {
            let peers: Vec<_> = device.peers.iter().map(ToString::to_string).collect();
            let none = "none: copies between devices go through the host";
            let list = if peers.is_empty() { none.into() } else { peers.join(", ") };
            println!("  P2P with     {list}");
        }
    }
    if several {
        println!("  runs use     device 0, or N with --backend {name}:N");
    }
}

/// Names as run files spell them.
fn words<T: serde::Serialize>(values: &[T]) -> String {
    let name = |value: &T| match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "?".to_owned(),
    };
    values.iter().map(name).collect::<Vec<_>>().join(", ")
}
