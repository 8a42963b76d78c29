//! `temblor devices`: what can run here.

use clap::Args;

use crate::backends;

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
            .map(|(name, about, backend)| match backend {
                Ok(backend) => serde_json::json!({
                    "backend": name,
                    "about": about,
                    "device": backend.device(),
                    "capabilities": backend.capabilities(),
                }),
                Err(why) => serde_json::json!({ "backend": name, "about": about, "unusable": why }),
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    for (name, about, backend) in backends::all() {
        println!("{name}: {about}");
        match backend {
            Ok(backend) => {
                let (device, can) = (backend.device(), backend.capabilities());
                let gib = device.memory as f64 / f64::from(1 << 30);
                println!("  device       {} ({}), {}", device.name, device.arch, device.driver);
                println!("  memory       {gib:.1} GiB");
                println!("  units        {}", device.units);
                println!("  equations    {}", words(&can.equations));
                println!("  arithmetic   {}", words(&can.arithmetics));
                println!("  boundaries   {}", words(&can.boundaries));
                println!("  orders       {} to {}, even", can.orders.0, can.orders.1);
                println!("  variants     {}", can.variants.join(", "));
            }
            Err(why) => println!("  cannot be used: {why}"),
        }
    }
    Ok(())
}

/// Names as run files spell them.
fn words<T: serde::Serialize>(values: &[T]) -> String {
    let name = |value: &T| match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "?".to_owned(),
    };
    values.iter().map(name).collect::<Vec<_>>().join(", ")
}
