//! A clean stop on Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Code;

/// The flag that Ctrl-C, SIGTERM and SIGHUP set; the second one ends the process at once. `message`
/// is said on the first one.
#[must_use]
pub fn on_ctrl_c(message: &'static str) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let set = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Code::Interrupted as u8));
        }
        eprintln!("{message}");
    });
    if let Err(error) = set {
        tracing::warn!("Ctrl-C will not stop cleanly: {error}");
    }
    stop
}
