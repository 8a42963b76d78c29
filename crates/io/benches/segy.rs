//! How fast SEG-Y is read and written beside plain reads and writes of the same bytes.
//!
//! `cargo bench -p temblor-io --bench segy` prints GB/s (10^9 bytes of the file per second) from the
//! warm cache and the ratio to a plain read or write in 4 MiB buffers. Rounds alternate and the best
//! of each row counts, so that a disturbance hits all rows alike. Nothing is synced.
//!
//! `benches/peers/segyio.sh` sets `TEMBLOR_SEGYIO` to a command that reads and writes the same file
//! with segyio and prints the seconds of both; it runs in every round.
//!
//! Options after `--`: `--mib N` (1024), `--rounds N` (5), `--folder PATH` (the temporary one), and
//! `--cpu-time` (Linux), which counts the time that the process ran instead of the time that went by:
//! on a machine shared with other work only that can be compared, best in a folder in memory.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use temblor_io::segy::{
    SampleFormat, SegyHeader, SegyOptions, SegyReader, SegyWriter, TraceHeader,
};

const SAMPLES: usize = 2000;
const PLAIN_BYTES: usize = 4 << 20;

type Failure = Box<dyn std::error::Error>;

/// Best seconds of a row so far.
struct Row {
    name: &'static str,
    /// The row that it is compared with.
    beside: &'static str,
    seconds: f64,
}

/// Seconds since some start: those that went by, or those that this process ran.
fn clock(cpu_time: bool) -> Result<f64, Failure> {
    if cpu_time {
        let text = std::fs::read_to_string("/proc/self/schedstat")?;
        let nanoseconds: f64 = text.split_whitespace().next().ok_or("no schedstat")?.parse()?;
        return Ok(nanoseconds * 1e-9);
    }
    static START: OnceLock<Instant> = OnceLock::new();
    Ok(START.get_or_init(Instant::now).elapsed().as_secs_f64())
}

/// A trace of numbers that are of no one exponent; the same for all, so that its making costs
/// nothing.
fn samples() -> Vec<f32> {
    (0..SAMPLES).map(|k| (k as f32 * 0.37).sin() * (k as f32 * -0.01).exp()).collect()
}

fn write(path: &Path, format: SampleFormat, traces: usize) -> Result<(), Failure> {
    let mut header = SegyHeader::new(0.001, SAMPLES);
    header.format = format;
    header.coordinate_scalar = Some(-1000);
    let samples = samples();
    let mut writer = SegyWriter::create(path, &header)?;
    for n in 0..traces {
        let number = i32::try_from(n)?;
        let trace = TraceHeader {
            field_record: 1 + number / 1000,
            trace_in_record: 1 + number % 1000,
            receiver: [12.5 * f64::from(number % 1000), 0.0, 5.0],
            ..TraceHeader::default()
        };
        writer.write_trace(&trace, black_box(&samples))?;
    }
    // Not finished: that would wait for the disk. The rest of the buffer is written all the same.
    drop(writer);
    Ok(())
}

fn read(path: &Path, unmapped: bool) -> Result<(), Failure> {
    let options = SegyOptions { unmapped, ..SegyOptions::default() };
    let reader = SegyReader::open(path, &options)?;
    let (mut traces, mut samples) = (reader.sequence(), Vec::new());
    while let Some(trace) = traces.next_trace()? {
        trace.samples_into(&mut samples);
        black_box(&samples);
    }
    Ok(())
}

fn plain_read(path: &Path) -> Result<(), Failure> {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; PLAIN_BYTES]);
    while file.read(&mut buffer)? > 0 {
        black_box(&buffer);
    }
    Ok(())
}

fn plain_write(path: &Path, bytes: u64) -> Result<(), Failure> {
    let (mut file, buffer) = (File::create(path)?, vec![0x5a; PLAIN_BYTES]);
    let mut left = usize::try_from(bytes)?;
    while left > 0 {
        let count = left.min(PLAIN_BYTES);
        file.write_all(&black_box(&buffer)[..count])?;
        left -= count;
    }
    Ok(())
}

/// Seconds that segyio takes to read and to write.
fn segyio(command: &str, cpu_time: bool, path: &Path, out: &Path) -> Result<[f64; 2], Failure> {
    let mut parts = command.split_whitespace();
    let program = parts.next().ok_or("TEMBLOR_SEGYIO is empty")?;
    let option = cpu_time.then_some("--cpu-time");
    let output = Command::new(program).args(parts).arg(path).arg(out).args(option).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let seconds: Vec<f64> = text.split_whitespace().filter_map(|s| s.parse().ok()).collect();
    Ok([*seconds.first().ok_or("no seconds")?, *seconds.get(1).ok_or("no seconds")?])
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (mut mib, mut rounds, mut folder) = (1024_usize, 5_usize, std::env::temp_dir());
    let mut cpu_time = false;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--mib" => mib = value()?.parse()?,
            "--rounds" => rounds = value()?.parse()?,
            "--folder" => folder = PathBuf::from(value()?),
            "--cpu-time" => cpu_time = true,
            "--bench" => {}
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let timed = |work: &dyn Fn() -> Result<(), Failure>| {
        let start = clock(cpu_time)?;
        work()?;
        Ok::<f64, Failure>(clock(cpu_time)? - start)
    };
    let folder = tempfile::tempdir_in(folder)?;
    let [ieee, ibm, out] = ["ieee.sgy", "ibm.sgy", "out"].map(|name| folder.path().join(name));
    let traces = (mib << 20) / (240 + 4 * SAMPLES);
    write(&ieee, SampleFormat::Ieee, traces)?;
    write(&ibm, SampleFormat::Ibm, traces)?;
    let bytes = std::fs::metadata(&ieee)?.len();
    let peer = std::env::var("TEMBLOR_SEGYIO").ok();
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..rounds {
        let mut note = |name, beside, seconds: f64| match rows.iter_mut().find(|r| r.name == name) {
            Some(row) => row.seconds = row.seconds.min(seconds),
            None => rows.push(Row { name, beside, seconds }),
        };
        note("plain read", "plain read", timed(&|| plain_read(&ieee))?);
        note("read ieee", "plain read", timed(&|| read(&ieee, false))?);
        note("read ibm", "plain read", timed(&|| read(&ibm, false))?);
        note("read ieee, not mapped", "plain read", timed(&|| read(&ieee, true))?);
        note("read ibm, not mapped", "plain read", timed(&|| read(&ibm, true))?);
        // What was written last time is thrown away before the disk has it.
        let mut written = |name, beside, work: &dyn Fn() -> Result<(), Failure>| {
            let _ = std::fs::remove_file(&out);
            let seconds = timed(work)?;
            note(name, beside, seconds);
            Ok::<(), Failure>(())
        };
        written("plain write", "plain write", &|| plain_write(&out, bytes))?;
        written("write ieee", "plain write", &|| write(&out, SampleFormat::Ieee, traces))?;
        written("write ibm", "plain write", &|| write(&out, SampleFormat::Ibm, traces))?;
        if let Some(command) = &peer {
            for (path, names, ours) in [
                (&ieee, ["segyio read ieee", "segyio write ieee"], ["read ieee", "write ieee"]),
                (&ibm, ["segyio read ibm", "segyio write ibm"], ["read ibm", "write ibm"]),
            ] {
                let _ = std::fs::remove_file(&out);
                let seconds = segyio(command, cpu_time, path, &out)?;
                (0..2).for_each(|n| note(names[n], ours[n], seconds[n]));
            }
        }
    }
    println!(
        "{traces} traces of {SAMPLES} samples, {bytes} bytes, best of {rounds} rounds{}",
        if cpu_time { ", time that the process ran" } else { "" }
    );
    for row in &rows {
        let beside = rows.iter().find(|other| other.name == row.beside).map_or(0.0, |r| r.seconds);
        println!(
            "{:<24} {:6.2} GB/s  {:.2} of {}",
            row.name,
            bytes as f64 / row.seconds / 1e9,
            beside / row.seconds,
            row.beside
        );
    }
    Ok(())
}
