//! Device and pinned host memory with an owner.
//!
//! Plain `cuMemAlloc`, not the stream-ordered pool: what a plan allocates is what it says it does.
#![expect(unsafe_code, reason = "raw allocations are wrapped here at birth")]

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, result, sys};
use temblor_backend::{Error, Result};

use crate::sys::{CopyBatch, failed};

/// Device memory holding f32 or 4-byte integers; zero at birth.
#[derive(Debug)]
pub(crate) struct Buffer {
    context: Arc<CudaContext>,
    address: sys::CUdeviceptr,
    elements: usize,
}

impl Buffer {
    /// Allocates elements of 4 bytes, set to zero in the order of `stream`.
    pub(crate) fn zeros(stream: &CudaStream, elements: usize) -> Result<Self> {
        let context = stream.context().clone();
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        // SAFETY: a context is current; the size is not zero.
        let address =
            unsafe { result::malloc_sync(4 * elements.max(1)) }.map_err(failed("cuMemAlloc"))?;
        let buffer = Self { context, address, elements };
        buffer.clear(stream)?;
        Ok(buffer)
    }

    /// Allocates and fills; waits for the copy.
    pub(crate) fn of<T: Word>(stream: &CudaStream, values: &[T]) -> Result<Self> {
        let buffer = Self::zeros(stream, size_of_val(values) / 4)?;
        buffer.fill(stream, values)?;
        stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(buffer)
    }

    /// Address of the first element.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Number of 4-byte elements.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// Sets all elements to zero.
    pub(crate) fn clear(&self, stream: &CudaStream) -> Result<()> {
        self.set_bytes(stream, 0)
    }

    /// Sets all bytes to a value.
    pub(crate) fn set_bytes(&self, stream: &CudaStream, value: u8) -> Result<()> {
        let bytes = 4 * self.elements.max(1);
        // SAFETY: the range is this allocation.
        unsafe { result::memset_d8_async(self.address, value, bytes, stream.cu_stream()) }
            .map_err(failed("cuMemsetD8Async"))
    }

    /// Queues a copy from the host to the start of the buffer; pageable memory is read before this
    /// returns, pinned memory must stay as it is until the stream gets there.
    pub(crate) fn fill<T: Word>(&self, stream: &CudaStream, values: &[T]) -> Result<()> {
        self.fill_at(stream, 0, values)
    }

    /// As [`Buffer::fill`], from element `first` on.
    pub(crate) fn fill_at<T: Word>(
        &self,
        stream: &CudaStream,
        first: usize,
        values: &[T],
    ) -> Result<()> {
        let end = 4 * first + size_of_val(values);
        assert!(end <= 4 * self.elements, "a copy past the end of a buffer");
        if values.is_empty() {
            return Ok(());
        }
        let to = self.address + 4 * first as u64;
        // SAFETY: the destination range lies in this allocation, as asserted.
        unsafe { result::memcpy_htod_async(to, values, stream.cu_stream()) }
            .map_err(failed("cuMemcpyHtoDAsync"))
    }

    /// Queues a copy of `values` doubles from an address of the host to the start of the buffer.
    ///
    /// # Safety
    /// So many values lie at `from` in page-locked memory and stay as they are until the stream gets
    /// there.
    pub(crate) unsafe fn fill_from(
        &self,
        stream: &CudaStream,
        from: usize,
        values: usize,
    ) -> Result<()> {
        let from = std::ptr::with_exposed_provenance(from);
        assert!(2 * values <= self.elements, "a copy past the end of a buffer");
        // SAFETY: the destination range lies in this allocation, as asserted; the source as promised.
        unsafe { sys::cuMemcpyHtoDAsync_v2(self.address, from, 8 * values, stream.cu_stream()) }
            .result()
            .map_err(failed("cuMemcpyHtoDAsync"))
    }

    /// Queues a copy of rows of doubles on the host to the buffer, there `pitch` values apart, the first
    /// at double `first`.
    ///
    /// # Safety
    /// As [`Buffer::fill_from`], for all rows.
    pub(crate) unsafe fn fill_rows(
        &self,
        stream: &CudaStream,
        (first, pitch): (usize, usize),
        rows: &HostRows,
    ) -> Result<()> {
        let mut copy = rows.copy(self, (first, pitch));
        copy.srcMemoryType = sys::CUmemorytype::CU_MEMORYTYPE_HOST;
        copy.srcHost = std::ptr::with_exposed_provenance(rows.start);
        copy.srcPitch = 8 * rows.step;
        copy.dstMemoryType = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = self.address + 8 * first as u64;
        copy.dstPitch = 8 * pitch;
        // SAFETY: the destination rows lie in this allocation, as `copy` asserts; the source as promised.
        unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, stream.cu_stream()) }
            .result()
            .map_err(failed("cuMemcpy2DAsync"))
    }

    /// Queues the copy back: see [`Buffer::fill_rows`]. What lies between the rows stays as it is.
    ///
    /// # Safety
    /// The rows have room in page-locked memory that nobody else uses until the stream gets there.
    pub(crate) unsafe fn read_rows(
        &self,
        stream: &CudaStream,
        (first, pitch): (usize, usize),
        rows: &HostRows,
    ) -> Result<()> {
        let mut copy = rows.copy(self, (first, pitch));
        copy.srcMemoryType = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = self.address + 8 * first as u64;
        copy.srcPitch = 8 * pitch;
        copy.dstMemoryType = sys::CUmemorytype::CU_MEMORYTYPE_HOST;
        copy.dstHost = std::ptr::with_exposed_provenance_mut(rows.start);
        copy.dstPitch = 8 * rows.step;
        if rows.step == rows.len && pitch == rows.len {
            // Without gaps on either side: one row.
            (copy.WidthInBytes, copy.Height) = (8 * rows.len * rows.count, 1);
            (copy.srcPitch, copy.dstPitch) = (copy.WidthInBytes, copy.WidthInBytes);
        }
        // SAFETY: the source rows lie in this allocation, as `copy` asserts; the target as promised.
        unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, stream.cu_stream()) }
            .result()
            .map_err(failed("cuMemcpy2DAsync"))
    }

    /// Queues a copy of `count` elements of another buffer, from `from_first` on, to `first` on.
    pub(crate) fn copy(
        &self,
        stream: &CudaStream,
        first: usize,
        from: &Self,
        from_first: usize,
        count: usize,
    ) -> Result<()> {
        assert!(first + count <= self.elements, "a copy past the end of a buffer");
        assert!(from_first + count <= from.elements, "a copy from past the end of a buffer");
        if count == 0 {
            return Ok(());
        }
        let (to, at) = (self.address + 4 * first as u64, from.address + 4 * from_first as u64);
        // SAFETY: both ranges lie in their allocations, as asserted, and both are of one context.
        unsafe { result::memcpy_dtod_async(to, at, 4 * count, stream.cu_stream()) }
            .map_err(failed("cuMemcpyDtoDAsync"))
    }

    /// Queues a copy of elements from `first` to the host; complete once the stream is.
    pub(crate) fn read<T: Word>(
        &self,
        stream: &CudaStream,
        first: usize,
        to: &mut [T],
    ) -> Result<()> {
        let end = 4 * first + size_of_val(to);
        assert!(end <= 4 * self.elements, "a copy past the end of a buffer");
        if to.is_empty() {
            return Ok(());
        }
        let from = self.address + 4 * first as u64;
        // SAFETY: the source range lies in this allocation, as asserted.
        unsafe { result::memcpy_dtoh_async(to, from, stream.cu_stream()) }
            .map_err(failed("cuMemcpyDtoHAsync"))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `zeros`, freed once; cuMemFree waits for work that uses it.
            // A failure here means the device is lost, and its memory with it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Rows of doubles at equal distances in page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostRows {
    /// Address of the first.
    pub(crate) start: usize,
    /// Values from one to the next.
    pub(crate) step: usize,
    /// Values of a row.
    pub(crate) len: usize,
    /// Rows.
    pub(crate) count: usize,
}

impl HostRows {
    /// A copy without its ends, of rows that the buffer has `pitch` doubles apart from `first` on.
    fn copy(&self, buffer: &Buffer, (first, pitch): (usize, usize)) -> sys::CUDA_MEMCPY2D {
        assert!(self.count > 0 && self.step >= self.len && pitch >= self.len, "rows overlap");
        let end = first + pitch * (self.count - 1) + self.len;
        assert!(2 * end <= buffer.elements, "a copy past the end of a buffer");
        sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: std::ptr::null(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: 0,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: std::ptr::null_mut(),
            dstPitch: 0,
            WidthInBytes: 8 * self.len,
            Height: self.count,
        }
    }
}

/// What may be copied to and from a buffer: 4- or 8-byte numbers without padding.
pub(crate) trait Word: Copy {}
impl Word for f32 {}
impl Word for f64 {}
impl Word for i32 {}
impl Word for u32 {}
impl Word for i64 {}
impl Word for u64 {}

/// Page-locked host memory, so that copies overlap kernels.
#[derive(Debug)]
pub(crate) struct Pinned {
    context: Arc<CudaContext>,
    address: *mut f32,
    elements: usize,
}

// SAFETY: the memory is owned by this value alone and has no thread affinity.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Allocates f32 elements, set to zero.
    pub(crate) fn zeros(context: &Arc<CudaContext>, elements: usize) -> Result<Self> {
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        let bytes = 4 * elements.max(1);
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: a context is current. Not write-combined, since the host reads it.
        let address = unsafe { result::malloc_host(bytes, flags) }
            .map_err(failed("cuMemHostAlloc"))?
            .cast::<f32>();
        // SAFETY: the allocation holds `bytes` bytes; all-zero bits are valid f32.
        unsafe { address.cast::<u8>().write_bytes(0, bytes) };
        Ok(Self { context: context.clone(), address, elements })
    }

    /// Whether the device reaches the memory under the address that the host uses, as it does wherever
    /// addresses are unified.
    pub(crate) fn reachable(&self) -> bool {
        same_address(self.address.cast())
    }

    /// The memory.
    pub(crate) fn slice(&self) -> &[f32] {
        // SAFETY: allocated with this many elements and initialised; shared borrow of self.
        unsafe { std::slice::from_raw_parts(self.address, self.elements) }
    }

    /// The memory as pairs of elements; one element more is not seen.
    pub(crate) fn doubles(&self) -> &[f64] {
        // SAFETY: pages are aligned for f64, half as many fit, any bits are a number.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.elements / 2) }
    }

    /// As [`Pinned::doubles`], to write.
    pub(crate) fn doubles_mut(&mut self) -> &mut [f64] {
        // SAFETY: as in `doubles`; unique borrow of self.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast(), self.elements / 2) }
    }

    /// The memory, to write.
    pub(crate) fn slice_mut(&mut self) -> &mut [f32] {
        // SAFETY: allocated with this many elements and initialised; unique borrow of self.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.elements) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `zeros`, freed once; owners wait for copies before they drop it.
            let _ = unsafe { result::free_host(self.address.cast()) };
        }
    }
}

/// Memory of the caller, page-locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct Registered<'a> {
    context: Arc<CudaContext>,
    memory: &'a mut [f64],
}

impl<'a> Registered<'a> {
    /// Locks the memory; pages are locked as a whole, and each once.
    pub(crate) fn new(context: &Arc<CudaContext>, memory: &'a mut [f64]) -> Result<Self> {
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        if !memory.is_empty() {
            let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
            let (start, bytes) = (memory.as_mut_ptr().cast(), size_of_val(memory));
            // SAFETY: the memory is borrowed until `drop` unlocks it, so it outlives the lock.
            let done = unsafe { sys::cuMemHostRegister_v2(start, bytes, flags) };
            if done == sys::CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED {
                return Err(Error::Invalid {
                    what: format!("memory of {bytes} bytes that shares pages with locked memory"),
                    remedy:
                        "lock one array that holds all, or arrays without common pages of 4 KiB"
                            .into(),
                });
            }
            done.result().map_err(failed("cuMemHostRegister"))?;
        }
        Ok(Self { context: context.clone(), memory })
    }

    /// Whether the device reaches the memory under the address that the host uses.
    pub(crate) fn reachable(&self) -> bool {
        !self.memory.is_empty() && same_address(self.memory.as_ptr().cast_mut().cast())
    }

    /// The memory.
    pub(crate) fn doubles(&self) -> &[f64] {
        self.memory
    }

    /// The memory, to write.
    pub(crate) fn doubles_mut(&mut self) -> &mut [f64] {
        self.memory
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if !self.memory.is_empty() && self.context.bind_to_thread().is_ok() {
            // SAFETY: locked by `new`, unlocked once; calls that use it have waited for their copies.
            let _ = unsafe { sys::cuMemHostUnregister(self.memory.as_mut_ptr().cast()) };
        }
    }
}

/// Whether the device sees page-locked memory where the host does.
fn same_address(start: *mut std::ffi::c_void) -> bool {
    let mut there = 0;
    // SAFETY: only looked up; the context that locked the memory is current.
    let done = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut there, start, 0) };
    done.result().is_ok() && there == start as u64
}

/// Queues a copy of so many bytes between each pair of addresses, to the device or back, by one call.
///
/// # Safety
/// One side of each pair lies on the device, the other in page-locked memory; both hold so many bytes that
/// nobody else uses until the stream gets there.
pub(crate) unsafe fn copy_each(
    call: CopyBatch,
    stream: &CudaStream,
    [from, to]: [&mut [u64]; 2],
    bytes: usize,
    to_device: bool,
) -> Result<()> {
    assert_eq!(to.len(), from.len(), "a copy has two ends");
    let mut sizes = vec![bytes; to.len()];
    let host =
        sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, id: 0 };
    let device = sys::CUmemLocation {
        type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: i32::try_from(stream.context().ordinal()).unwrap_or(0),
    };
    let order = sys::CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    let mut attributes = sys::CUmemcpyAttributes {
        srcAccessOrder: order,
        srcLocHint: if to_device { host } else { device },
        dstLocHint: if to_device { device } else { host },
        flags: sys::CUmemcpyFlags::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE as u32,
    };
    let mut from_first = 0;
    // SAFETY: three arrays of one length; the attributes are those of all copies from the first on.
    unsafe {
        call(
            to.as_mut_ptr(),
            from.as_mut_ptr(),
            sizes.as_mut_ptr(),
            to.len(),
            &raw mut attributes,
            &raw mut from_first,
            1,
            stream.cu_stream(),
        )
    }
    .result()
    .map_err(failed("cuMemcpyBatchAsync"))
}

/// Copies values by stores that leave the caches alone where whole lines of memory are written, if the
/// processor has such; [`fence_past`] before others are told of them.
pub(crate) fn store_past(to: &mut [f64], from: &[f64]) {
    assert_eq!(to.len(), from.len(), "a copy has two ends");
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_pd, _mm_stream_pd};
        // A line is 64 bytes.
        let head = ((8 - to.as_ptr() as usize / 8 % 8) % 8).min(to.len());
        let lines = (to.len() - head) / 8 * 8;
        to[..head].copy_from_slice(&from[..head]);
        let whole = to[head..head + lines].chunks_exact_mut(2);
        for (to, from) in whole.zip(from[head..].chunks_exact(2)) {
            // SAFETY: two values, anywhere.
            let pair = unsafe { _mm_loadu_pd(from.as_ptr()) };
            // SAFETY: two values from an even number of values after a boundary of 64 bytes on.
            unsafe { _mm_stream_pd(to.as_mut_ptr(), pair) };
        }
        to[head + lines..].copy_from_slice(&from[head + lines..]);
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Other threads see the stores of [`store_past`] before what follows.
pub(crate) fn fence_past() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all of these processors have it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Bytes free on the device.
pub(crate) fn free_bytes(context: &CudaContext) -> Result<u64> {
    context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    let (free, _) = context.mem_get_info().map_err(failed("cuMemGetInfo"))?;
    Ok(free as u64)
}

/// An event that other streams or the host can wait for.
pub(crate) fn record_event(stream: &CudaStream) -> Result<CudaEvent> {
    stream.record_event(None).map_err(failed("cuEventRecord"))
}
