//! What all targets share: the bytes as a file, and a count of the memory that reading it takes.
//!
//! A target calls [`with_file`]; a panic or more memory than the file's size allows is a crash to
//! libFuzzer. `.ci/lanes/fuzz` builds the targets with coverage counters and runs them.

pub mod readers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Counts live bytes; libFuzzer's own memory is C++'s and not among them.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps alloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps dealloc's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes that reading may take whatever the file's size: text headers as strings, messages.
const CONSTANT: usize = 256 << 10;
/// Bytes per byte of the file: samples of one byte as doubles, and the file itself.
const PER_BYTE: usize = 12;

/// Writes the bytes to a file of the extension, calls `read` with its path, and checks that it took
/// memory in proportion to the file at most.
///
/// # Panics
/// If more memory was live than [`PER_BYTE`] times the size and a constant.
pub fn with_file(data: &[u8], extension: &str, read: impl FnOnce(&Path)) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let base = std::env::temp_dir();
        let folder = base.join(format!("temblor-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for one file");
        folder
    });
    let path = folder.join(format!("input.{extension}"));
    std::fs::write(&path, data).expect("room for one file");
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    read(&path);
    let taken = PEAK.load(Relaxed).saturating_sub(before);
    let allowed = PER_BYTE * data.len() + CONSTANT;
    assert!(taken <= allowed, "{taken} bytes of memory for a file of {}", data.len());
}
