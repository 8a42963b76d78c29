//! What profilers count: traffic with memory and caches, as in the stencil paper's Table V.
//!
//! The row is run again, for a few steps, in a process of its own under `ncu` (NVIDIA) or `perf stat`
//! (Linux on the host). Where neither can be used the row says why. ncu's text is its documented
//! comma-separated form, one line per kernel and metric; perf's is that of `-x,`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::results::Counters;

/// Metrics of ncu: DRAM, L2 and L1 traffic, hit rates, time; sectors that L2 gave to and took from
/// multiprocessors.
const METRICS: [&str; 8] = [
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sectors_srcunit_tex.sum",
];

/// Bytes of a sector of the second-level cache.
const SECTOR: f64 = 32.0;

/// Bytes of a line that a miss of the last cache fetches.
const LINE: f64 = 64.0;

/// Kernels that make steps: the upload of a large field alone has more launches than are profiled.
const STEPPING: &str = "regex:acoustic|inject|record|images";

/// Launches that are profiled; each is repeated for every group of metrics.
const LAUNCHES: &str = "32";

/// Steps of the profiled run, and of the shorter one that perf's counts are the difference to.
pub const STEPS: (u32, u32) = (12, 2);

/// Events of perf.
const EVENTS: &str = "LLC-load-misses,LLC-loads,L1-dcache-loads,L1-dcache-load-misses";

/// An entry that says why there are no counters.
#[must_use]
pub fn none(why: &str) -> Vec<Counters> {
    vec![blank("", &format!("n/a: {why}"))]
}

fn blank(kernel: &str, tool: &str) -> Counters {
    Counters {
        kernel: kernel.into(),
        tool: tool.into(),
        milliseconds: None,
        dram_read: None,
        dram_written: None,
        l2_read: None,
        l2_to_sm: None,
        l1_read: None,
        l2_hit: None,
        l1_hit: None,
    }
}

/// A program of the search path.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Counters of a CUDA row; `child` gives the arguments of `program` that run it for some steps.
#[must_use]
pub fn by_ncu(program: &Path, child: &dyn Fn(u32) -> Vec<String>) -> Vec<Counters> {
    let Some(ncu) = found("ncu") else { return none("ncu is not installed") };
    let metrics = METRICS.join(",");
    let mut command = Command::new(ncu);
    command.args(["--csv", "--print-units", "base", "--launch-count", LAUNCHES]);
    command.args(["--kernel-name", STEPPING]);
    command.args(["--metrics", &metrics]).arg(program).args(child(STEPS.1));
    match run(&mut command) {
        Ok(text) => match parse_ncu(&text) {
            counters if counters.is_empty() => none(&format!("ncu said: {}", last_word(&text))),
            counters => counters,
        },
        Err(why) => none(&format!("ncu: {why}")),
    }
}

/// Counters of a row on the host.
#[must_use]
pub fn by_perf(program: &Path, child: &dyn Fn(u32) -> Vec<String>) -> Vec<Counters> {
    let Some(perf) = found("perf") else { return none("perf is not installed") };
    let counted = |steps: u32| {
        let mut command = Command::new(&perf);
        command.args(["stat", "-x,", "-e", EVENTS, "--"]).arg(program).args(child(steps));
        run(&mut command).map(|text| parse_perf(&text))
    };
    let (long, short) = match (counted(STEPS.0), counted(STEPS.1)) {
        (Ok(long), Ok(short)) => (long, short),
        (Err(why), _) | (_, Err(why)) => return none(&format!("perf: {why}")),
    };
    let steps = f64::from(STEPS.0 - STEPS.1);
    let per_step = |event: &str| {
        let value = |counts: &[(String, f64)]| counts.iter().find(|c| c.0 == event).map(|c| c.1);
        Some((value(&long)? - value(&short)?) / steps).filter(|&count| count > 0.0)
    };
    let hit = |misses: &str, all: &str| Some(1.0 - per_step(misses)? / per_step(all)?);
    let counters = Counters {
        dram_read: per_step("LLC-load-misses").map(|misses| LINE * misses),
        l1_hit: hit("L1-dcache-load-misses", "L1-dcache-loads"),
        ..blank("step", "perf stat, loads on demand without those fetched ahead")
    };
    if counters.dram_read.is_none() && counters.l1_hit.is_none() {
        return none(
            "perf counts no cache events here (a virtual machine, or perf_event_paranoid)",
        );
    }
    vec![counters]
}

/// Standard output and error of a command, or why it failed.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = text(&output.stdout) + &text(&output.stderr);
    if output.status.success() { Ok(all) } else { Err(last_word(&all)) }
}

/// The last line that says something.
fn last_word(text: &str) -> String {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned()
}

/// A metric, its sum over launches, and their number.
type Sum = (String, f64, u32);

/// Counters by kernel, means over launches, from ncu's comma-separated text.
#[must_use]
pub fn parse_ncu(text: &str) -> Vec<Counters> {
    let mut lines = text.lines().map(fields);
    let Some(header) = lines.find(|fields| fields.iter().any(|field| field == "Metric Name"))
    else {
        return Vec::new();
    };
    let column = |name: &str| header.iter().position(|field| field == name);
    let (Some(kernel), Some(metric), Some(unit), Some(value)) = (
        column("Kernel Name"),
        column("Metric Name"),
        column("Metric Unit"),
        column("Metric Value"),
    ) else {
        return Vec::new();
    };
    let mut sums: Vec<(String, Vec<Sum>)> = Vec::new();
    for fields in lines.filter(|fields| fields.len() == header.len()) {
        // Thousands are separated by commas in some locales.
        let Ok(number) = fields[value].replace(',', "").parse::<f64>() else { continue };
        let number = number * scale(&fields[unit]);
        let name = short_name(&fields[kernel]);
        let place = sums.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            sums.push((name, Vec::new()));
            sums.len() - 1
        });
        let metrics = &mut sums[place].1;
        match metrics.iter_mut().find(|(known, ..)| *known == fields[metric]) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + number, *count + 1),
            None => metrics.push((fields[metric].clone(), number, 1)),
        }
    }
    sums.into_iter()
        .map(|(kernel, metrics)| {
            let mean = |name: &str| {
                let (_, sum, count) = metrics.iter().find(|(known, ..)| known == name)?;
                Some(sum / f64::from(*count))
            };
            Counters {
                milliseconds: mean(METRICS[0]).map(|seconds| 1e3 * seconds),
                dram_read: mean(METRICS[1]),
                dram_written: mean(METRICS[2]),
                l2_read: mean(METRICS[3]).map(|sectors| SECTOR * sectors),
                l2_to_sm: mean(METRICS[7]).map(|sectors| SECTOR * sectors),
                l2_hit: mean(METRICS[4]),
                l1_read: mean(METRICS[5]),
                l1_hit: mean(METRICS[6]),
                ..blank(&kernel, "ncu")
            }
        })
        .collect()
}

/// A kernel's name without its arguments.
fn short_name(name: &str) -> String {
    name.split('(').next().unwrap_or(name).trim().to_owned()
}

/// What a unit of ncu's is in bytes, seconds or parts of one.
fn scale(unit: &str) -> f64 {
    match unit {
        "%" => 0.01,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        _ => 1.0,
    }
}

/// Fields of a line with commas, some in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                field.push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

/// Counts by event from the text of `perf stat -x,`: value, unit, event, ...
#[must_use]
pub fn parse_perf(text: &str) -> Vec<(String, f64)> {
    let counted = |line: &str| {
        let mut fields = line.split(',');
        let value: f64 = fields.next()?.trim().parse().ok()?;
        let event = fields.nth(1)?.trim();
        // Events may carry a suffix such as `:u`, where the kernel may not be counted.
        let event = event.split(':').next()?;
        EVENTS.split(',').find(|known| *known == event).map(|known| (known.to_owned(), value))
    };
    text.lines().filter_map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by hand after the columns that the manual of Nsight Compute's command line shows for
    /// `--csv`; the figures are made up.
    const NCU: &str = r#"==PROF== Connected to process 4711 (/bin/temblor)
==PROF== Profiling "acoustic_iso_tma" - 0: 0%....50%....100% - 2 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","6,000,000"
"0","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","nsecond","2000000"
"0","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","lts__t_sectors_op_read.sum","sector","1000"
"0","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","lts__t_sector_hit_rate.pct","%","40.5"
"0","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","lts__t_sectors_srcunit_tex.sum","sector","1500"
"1","4711","temblor","127.0.0.1","acoustic_iso_tma(Step, Fields)","1","7","(512, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Mbyte","8"
"2","4711","temblor","127.0.0.1","layers_cpml","1","7","(64, 1, 1)","(9, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","5"
"#;

    #[test]
    fn ncus_lines_become_means_by_kernel_in_bytes_and_milliseconds() {
        let [tma, layers] = &parse_ncu(NCU)[..] else { panic!("{:?}", parse_ncu(NCU)) };
        assert_eq!(
            (tma.kernel.as_str(), layers.kernel.as_str()),
            ("acoustic_iso_tma", "layers_cpml")
        );
        let near = |value: Option<f64>, wanted: f64| {
            assert!((value.unwrap() / wanted - 1.0).abs() < 1e-12, "{value:?} {wanted}");
        };
        near(tma.dram_read, 7e6);
        near(tma.milliseconds, 2.0);
        near(tma.l2_read, 32_000.0);
        near(tma.l2_to_sm, 48_000.0);
        near(tma.l2_hit, 0.405);
        near(layers.dram_written, 5.0);
        assert_eq!((tma.l1_read, layers.dram_read), (None, None));
    }

    #[test]
    fn text_without_a_table_has_no_counters() {
        assert!(parse_ncu("==ERROR== ERR_NVGPUCTRPERM - no permission\n").is_empty());
        assert!(none("ncu is not installed")[0].tool.contains("n/a: ncu is not installed"));
    }

    #[test]
    fn perfs_lines_become_counts_and_what_is_not_supported_is_left_out() {
        let text = "123,,LLC-load-misses:u,1000,100.00,,\n<not supported>,,LLC-loads,0,0.00,,\n\
                    7.5,msec,task-clock,7,100,,\n";
        assert_eq!(parse_perf(text), [("LLC-load-misses".to_owned(), 123.0)]);
    }

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(fields(r#"a,"b, c","d ""e""",f"#), ["a", "b, c", r#"d "e""#, "f"]);
    }
}
