//! Memory of the process: how much it may still take, and large aligned arrays.
//!
//! The limit is the smallest of the machine's memory and those of the control groups (cgroup v1 and
//! v2) that hold the process, at every level of their hierarchy. Page cache that a group can drop
//! at once (`inactive_file`) does not count as used.

#![allow(unsafe_code, reason = "owner of raw allocations: zero pages come lazily from the system")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fs::read_to_string;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

/// Alignment of [`AlignedVec`], bytes: a cache line and the widest vector.
pub const ALIGNMENT: usize = 64;

const PAGE: usize = 4096;

/// Memory that this process may use at most, bytes: the machine's or its control group's.
#[must_use]
pub fn memory_limit() -> u64 {
    let total = meminfo("MemTotal:").unwrap_or(u64::MAX);
    groups().iter().filter_map(|group| group.limit).fold(total, u64::min)
}

/// Memory that this process can still take, bytes; `u64::MAX` where the system does not say.
#[must_use]
pub fn available_memory() -> u64 {
    let free = meminfo("MemAvailable:").unwrap_or(u64::MAX);
    groups()
        .iter()
        .filter_map(|group| Some(group.limit?.saturating_sub(group.used)))
        .fold(free, u64::min)
}

/// A line of `/proc/meminfo`, bytes.
fn meminfo(name: &str) -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// One control group above the process.
struct Group {
    limit: Option<u64>,
    used: u64,
}

fn groups() -> Vec<Group> {
    let Ok(text) = read_to_string("/proc/self/cgroup") else { return Vec::new() };
    groups_of(&text, Path::new("/sys/fs/cgroup"))
}

/// Groups named in the text of `/proc/self/cgroup`, with files below `root`.
fn groups_of(text: &str, root: &Path) -> Vec<Group> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            for top in [root.to_path_buf(), root.join("unified")] {
                climb(&top, path, ["memory.max", "memory.current"], &mut found);
            }
        } else if controllers.split(',').any(|name| name == "memory") {
            let names = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            climb(&root.join("memory"), path, names, &mut found);
        }
    }
    found
}

/// Reads the group at `top/path` and all above it. Inside a container the path may not exist; then
/// the top is the container's own group.
fn climb(top: &Path, path: &str, [limit, used]: [&str; 2], found: &mut Vec<Group>) {
    let mut folder: PathBuf = top.join(path);
    loop {
        let number = |name: &str| {
            read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse::<u64>().ok())
        };
        if let Some(current) = number(used) {
            let droppable = read_to_string(folder.join("memory.stat"))
                .ok()
                .and_then(|text| {
                    ["total_inactive_file ", "inactive_file "].iter().find_map(|name| {
                        text.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok())
                    })
                })
                .unwrap_or(0);
            found.push(Group { limit: number(limit), used: current.saturating_sub(droppable) });
        }
        if folder == top || !folder.pop() {
            return;
        }
    }
}

/// A fixed array of zeroed `f32`, aligned to [`ALIGNMENT`].
///
/// Zeroed pages come from the system when they are first touched, which [`AlignedVec::zeroed`]
/// does in parallel: an allocator that clears over-aligned memory itself would do so on one core.
#[derive(Debug)]
pub struct AlignedVec {
    base: *mut u8,
    layout: Layout,
    data: *mut f32,
    len: usize,
}

// SAFETY: the allocation is owned by this value alone, as in a `Vec<f32>`.
unsafe impl Send for AlignedVec {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedVec {}

impl AlignedVec {
    /// Bytes that an array of `len` values takes from the system.
    #[must_use]
    pub const fn bytes(len: usize) -> u64 {
        if len == 0 { 0 } else { (len * size_of::<f32>() + ALIGNMENT) as u64 }
    }

    /// `len` zeros.
    ///
    /// # Panics
    /// If `len` values do not fit the address space. An allocation that the system refuses aborts
    /// as for a `Vec`: ask [`available_memory`] first.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let mut array = Self::untouched(len);
        touch(&mut array);
        array
    }

    /// As [`AlignedVec::zeroed`], but pages come where and when the caller first touches them: with
    /// several memories per machine, next to the thread that does.
    pub(crate) fn untouched(len: usize) -> Self {
        if len == 0 {
            let data = std::ptr::NonNull::<f32>::dangling().as_ptr();
            let layout = Layout::new::<()>();
            return Self { base: std::ptr::null_mut(), layout, data, len };
        }
        // Asking for no more than the natural alignment keeps the system's own zero pages.
        let layout = Layout::array::<f32>(len + ALIGNMENT / size_of::<f32>())
            .expect("an array of f32 fits the address space");
        // SAFETY: the layout's size is not zero.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        let shift = base.align_offset(ALIGNMENT);
        // SAFETY: the shift is below ALIGNMENT, by which the allocation is longer than the data.
        let start = unsafe { base.add(shift) };
        let array = Self { base, layout, data: start.cast(), len };
        ask_for_large_pages(&array);
        array
    }

    /// The first value's address. Unlike a slice's it stays usable beside shared borrows of this
    /// value, as long as those do not read the same values.
    #[must_use]
    pub const fn pointer(&mut self) -> *mut f32 {
        self.data
    }
}

/// Touches every page of zeroed memory, in parallel: zeroed pages come from the system when they are first
/// touched, one by one.
pub(crate) fn touch<T: Default + Send>(zeros: &mut [T]) {
    let step = PAGE / size_of::<T>();
    if zeros.len() < 64 * step {
        return;
    }
    zeros.par_chunks_mut(256 * step).for_each(|chunk| {
        for page in chunk.chunks_mut(step) {
            // A plain store of zero to zeroed memory may be dropped by the compiler.
            std::hint::black_box(page)[0] = T::default();
        }
    });
}

/// Asks the system to back an array with large pages, before its pages are touched.
///
/// Planes of a wavefield lie hundreds of small pages apart, and a virtual machine walks two page
/// tables: order 8 at 256^3 runs 10 to 15 % faster (two cores of a Xeon of the Sapphire Rapids
/// family under KVM, `benches/compare.rs`). A refusal is no error.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(array: &AlignedVec) {
    use std::ffi::{c_int, c_void};

    // The one call that the standard library lacks; it links the C library in any case.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    const LARGE_PAGE: usize = 2 << 20;

    let bytes = array.layout.size();
    if bytes < 2 * LARGE_PAGE {
        return;
    }
    let skip = array.base.align_offset(LARGE_PAGE);
    let whole = bytes.saturating_sub(skip) / LARGE_PAGE * LARGE_PAGE;
    let start = array.base.wrapping_add(skip);
    // SAFETY: the range lies in this array's own allocation; the advice changes no contents.
    let _refused = unsafe { madvise(start.cast(), whole, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: &AlignedVec) {}

impl Drop for AlignedVec {
    fn drop(&mut self) {
        if !self.base.is_null() {
            // SAFETY: base and layout are those of the allocation in `zeroed`.
            unsafe { dealloc(self.base, self.layout) };
        }
    }
}

impl Deref for AlignedVec {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: data points to len initialised values that live as long as self.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: data points to len initialised values, borrowed exclusively through self.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_zero_and_start_on_a_cache_line() {
        for len in [0, 1, 17, 1 << 20] {
            let array = AlignedVec::zeroed(len);
            assert_eq!(array.len(), len);
            assert!(array.iter().all(|v| v.to_bits() == 0));
            if len > 0 {
                assert_eq!(array.as_ptr().addr() % ALIGNMENT, 0);
            }
        }
    }

    #[test]
    fn the_tightest_group_on_the_way_up_is_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(folder.path().join("a/memory.max"), "1000\n").unwrap();
        std::fs::write(folder.path().join("a/memory.current"), "300\n").unwrap();
        std::fs::write(folder.path().join("a/memory.stat"), "anon 9\ninactive_file 100\n").unwrap();
        std::fs::write(deep.join("memory.max"), "max\n").unwrap();
        std::fs::write(deep.join("memory.current"), "50\n").unwrap();
        let groups = groups_of("0::/a/b\n", folder.path());
        let limits: Vec<_> = groups.iter().map(|g| (g.limit, g.used)).collect();
        assert_eq!(limits, [(None, 50), (Some(1000), 200)]);
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("memory/job");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("memory.limit_in_bytes"), "5000\n").unwrap();
        std::fs::write(deep.join("memory.usage_in_bytes"), "1000\n").unwrap();
        let groups = groups_of("4:cpu,memory:/job\n1:pids:/x\n", folder.path());
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].limit, groups[0].used), (Some(5000), 1000));
    }

    #[test]
    fn no_more_is_available_than_the_limit() {
        assert!(available_memory() <= memory_limit());
        assert!(available_memory() > 0);
    }
}
