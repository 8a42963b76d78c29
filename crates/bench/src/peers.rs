//! Other programs on the same problem in the same minutes.
//!
//! A peer is a command of the shell. It is given `--size N --boundary KIND` and prints, as its last
//! line, `NAME VERSION N DEVICE GPTS`, where DEVICE is a number of threads or the words of a device.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::results::{BoundaryName, Peer};

/// Wall time between two looks at a peer that runs.
const LOOK: Duration = Duration::from_millis(20);

/// What a peer said.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Name and version.
    pub name: String,
    /// Device.
    pub device: String,
    /// Gpts/s.
    pub gpts: f64,
}

/// Runs a peer once on a cube of `n` nodes per axis, `boundary` on all faces.
///
/// # Errors
/// Why it has no rate: it cannot be run, it failed (with its last words), its last line is no rate, it
/// took longer than `timeout`, s, or `stop` said so.
pub fn call(
    command: &str,
    n: usize,
    boundary: BoundaryName,
    timeout: Option<f64>,
    stop: &dyn Fn() -> bool,
) -> Result<Said, String> {
    let line = format!("{command} --size {n} --boundary {}", boundary.name());
    let mut child = Command::new("sh")
        .args(["-c", &line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`sh` cannot be run: {error}"))?;
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read before an error is still the peer's text.
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let said = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let complained = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        let late = timeout.is_some_and(|limit| start.elapsed().as_secs_f64() > limit);
        if late || stop() {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            let limit = timeout.unwrap_or_default();
            return Err(if late { format!("ran out of its {limit} s") } else { "stopped".into() });
        }
        std::thread::sleep(LOOK);
    };
    let said = said.join().unwrap_or_default();
    let complained = complained.join().unwrap_or_default();
    let last = |text: &str| text.lines().last().unwrap_or_default().trim().to_owned();
    if !status.success() {
        return Err(format!("{status}: {}", last(&complained)));
    }
    parse(&last(&said))
}

/// The rate in a peer's last line.
///
/// # Errors
/// If it is none.
pub fn parse(line: &str) -> Result<Said, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let refused = || {
        format!(
            "its last line is `{line}`, which should be NAME VERSION SIZE THREADS-OR-DEVICE GPTS"
        )
    };
    let [name, version, _, device @ .., gpts] = &words[..] else { return Err(refused()) };
    let gpts: f64 = gpts.parse().map_err(|_| refused())?;
    if device.is_empty() || !(gpts.is_finite() && gpts > 0.0) {
        return Err(refused());
    }
    let device = match device {
        [threads] if threads.parse::<u32>().is_ok() => format!("{threads} threads"),
        words => words.join(" "),
    };
    Ok(Said { name: format!("{name} {version}"), device, gpts })
}

/// Adds what a peer said to those so far.
pub fn add(peers: &mut Vec<Peer>, command: &str, n: usize, boundary: BoundaryName, said: Said) {
    let same = |peer: &&mut Peer| {
        peer.command == command
            && peer.shape == [n; 3]
            && peer.boundary == boundary
            && peer.name == said.name
            && peer.device == said.device
    };
    match peers.iter_mut().find(same) {
        Some(peer) => peer.gpts.push(said.gpts),
        None => peers.push(Peer {
            name: said.name,
            device: said.device,
            shape: [n; 3],
            boundary,
            gpts: vec![said.gpts],
            command: command.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(command: &str) -> Result<Said, String> {
        super::call(command, 64, BoundaryName::Zero, Some(20.0), &|| false)
    }

    #[test]
    fn a_peers_last_line_is_its_rate() {
        // `echo` puts size and boundary at the end: the shell's own words come before.
        let said = call("f() { echo warming up; echo devito 4.8.20 $2 2 0.125; }; f").unwrap();
        let wanted = Said { name: "devito 4.8.20".into(), device: "2 threads".into(), gpts: 0.125 };
        assert_eq!(said, wanted);
        let said = parse("deepwave 0.0.21 256 NVIDIA H200 31.5").unwrap();
        assert_eq!(said.device, "NVIDIA H200");
    }

    #[test]
    fn a_peer_that_fails_says_why() {
        let failed = call("f() { echo no compiler >&2; exit 3; }; f").unwrap_err();
        assert!(failed.contains("no compiler") && failed.contains('3'), "{failed}");
        for line in ["", "devito 4.8 256 0.1", "devito 4.8 256 2 fast", "devito 4.8 256 2 0"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_peer_that_takes_too_long_is_ended() {
        let zero = BoundaryName::Zero;
        // `exec` so that the shell is not left with a child.
        let late = super::call("exec sleep 60 #", 64, zero, Some(0.1), &|| false).unwrap_err();
        assert!(late.contains("0.1 s"), "{late}");
        assert_eq!(super::call("exec sleep 60 #", 64, zero, None, &|| true), Err("stopped".into()));
    }

    #[test]
    fn calls_of_one_peer_are_samples() {
        let mut peers = Vec::new();
        for gpts in [1.0, 2.0] {
            let said = Said { name: "a 1".into(), device: "2 threads".into(), gpts };
            add(&mut peers, "run", 64, BoundaryName::Zero, said.clone());
            add(&mut peers, "run", 65, BoundaryName::Zero, said);
        }
        assert_eq!(peers.len(), 2);
        assert_eq!(peers[0].gpts.len(), 2);
    }
}
