//! Descriptions of fields for bulk tensor copies.
#![expect(unsafe_code, reason = "the driver reads the arrays of a description")]

use std::ffi::c_void;

use cudarc::driver::sys;
use temblor_backend::Result;

use super::Argument;
use crate::layout::Layout;
use crate::sys::failed;

/// A description of a field for bulk tensor copies, passed to kernels by value.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorMap(sys::CUtensorMap);

impl Argument for TensorMap {}

/// What a field consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    U16,
}

/// Describes a field at `base` (its first element, halo included) for copies of `boxed` (y, z).
pub(crate) fn tensor_map(
    base: u64,
    layout: &Layout,
    boxed: [u32; 2],
    element: Element,
) -> Result<TensorMap> {
    let all = [layout.planes, layout.rows, layout.pitch];
    tensor_map_until(base, layout, all, boxed, element)
}

/// The same of a field's first elements along (x, y, z) only: what lies beyond reads as zero and is not
/// written.
pub(crate) fn tensor_map_until(
    base: u64,
    layout: &Layout,
    end: [usize; 3],
    boxed: [u32; 2],
    element: Element,
) -> Result<TensorMap> {
    use sys::CUtensorMapDataType as Type;
    let (kind, bytes) = match element {
        Element::F32 => (Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4),
        Element::U16 => (Type::CU_TENSOR_MAP_DATA_TYPE_UINT16, 2),
    };
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    let dims = [end[2] as u64, end[1] as u64, end[0] as u64];
    let strides = [bytes * layout.stride_y() as u64, bytes * layout.stride_x() as u64];
    let box_dims = [boxed[1], boxed[0], 1];
    let steps = [1_u32; 3];
    // SAFETY: all pointers are to live arrays of the rank's length; the address is only recorded.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            kind,
            3,
            base as *mut c_void,
            dims.as_ptr(),
            strides.as_ptr(),
            box_dims.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            // Promotion to 128 or 256 B fetches lines that halos need 16 B of: on an H200 it cost
            // 1 to 3 % (128 B) and 9 % (256 B).
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    status.result().map_err(failed("cuTensorMapEncodeTiled"))?;
    Ok(TensorMap(map))
}
