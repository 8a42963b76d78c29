//! What the assembler reported for the embedded kernels.

use temblor_cuda::{BLOBS, RESOURCES};
use temblor_kernel_build::resources::Resources;

/// Kernels tuned for a device, which must not spill, and the registers that their threads may take
/// for their blocks to fit on a multiprocessor.
const TUNED: &[(&str, u32)] = &[
    ("acoustic_iso_int16_u16_z96", 128),
    ("acoustic_iso_int16_u16_z128", 128),
    ("acoustic_iso_int16_u16_z160", 128),
    ("acoustic_iso_int16_z160", 128),
    ("acoustic_iso_int16_u16_z160_r3", 128),
    ("acoustic_iso_int16_u16_z160_r2", 128),
    ("acoustic_iso_wide_z128", 128),
    ("acoustic_iso_wide_z160", 128),
    ("acoustic_iso_wide_z192", 128),
    ("acoustic_iso_wide_z224", 128),
    ("acoustic_iso_wide_z256", 128),
    ("acoustic_iso_wide_z128_r3", 128),
    ("acoustic_iso_wide_z160_r3", 128),
    ("acoustic_iso_wide_z192_r3", 128),
    ("acoustic_iso_wide_z224_r3", 128),
    ("acoustic_iso_wide_z256_r3", 128),
    ("acoustic_iso_wide_z128_r2", 128),
    ("acoustic_iso_wide_z256_r2", 128),
    ("acoustic_iso_tma", 128),
    ("acoustic_iso_tma_r3", 128),
    ("acoustic_iso_tma_r2", 128),
    ("acoustic_iso_fused2", 128),
    ("acoustic_iso_fused2_r3", 128),
    ("acoustic_iso_fused2_r2", 128),
    ("acoustic_iso_cpml", 168),
    ("acoustic_iso_minimod", 128),
    ("acoustic_iso_cpml_order8", 128),
    ("acoustic_iso_int16_cpml", 168),
    ("acoustic_iso_int16_u16_cpml", 168),
    ("acoustic_iso_int16_increment_cpml", 168),
    ("acoustic_iso_int16_increment_u16_cpml", 168),
    ("acoustic_iso_int16_minimod", 128),
    ("acoustic_iso_int16_u16_minimod", 128),
    ("acoustic_iso_int16_increment_minimod", 128),
    ("acoustic_iso_int16_increment_u16_minimod", 128),
    ("acoustic_iso_minimod_r4", 128),
    ("acoustic_iso_ozaki_mma_1x1_y16z32", 168),
    ("acoustic_iso_ozaki_mma_1x2_y16z32", 168),
    ("acoustic_iso_ozaki_mma_2x2_y16z32", 168),
    ("acoustic_iso_ozaki_mma_2x3_y16z32", 168),
    ("acoustic_iso_ozaki_mma_2x3_t1_y16z32", 168),
    ("acoustic_iso_ozaki_mma_3x3_y16z32", 255),
    ("acoustic_iso_ozaki_dp4a_1x1_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_1x2_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_2x2_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_t1_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_3x3_y16z64", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_y8z64", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_y16z32", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_y32z32", 128),
    ("acoustic_iso_ozaki_dp4a_2x3_y32z64", 128),
    // Not tuned, but its sums must stay in registers too.
    ("acoustic_iso_ozaki_plain", 64),
    ("acoustic_iso_limbs_plain", 64),
];

/// Beginnings of the names of kernels by family, and the bytes of a thread that any of them may keep in local
/// memory. Forms of the increments that keep none were slower on the card.
const FAMILIES: [(&str, u32); 8] = [
    ("acoustic_iso_wide_", 0),
    ("acoustic_iso_tma", 0),
    ("acoustic_iso_fused2", 0),
    ("acoustic_iso_ozaki_", 0),
    ("acoustic_iso_limbs_", 0),
    ("acoustic_iso_int16_z", 0),
    ("acoustic_iso_int16_u16_", 0),
    ("acoustic_iso_int16_increment_", 16),
];

fn resources() -> Vec<Resources> {
    serde_json::from_str(RESOURCES).expect("the build wrote it")
}

#[test]
fn tuned_kernels_do_not_spill_on_sm90() {
    let all = resources();
    if BLOBS.is_empty() {
        assert!(all.is_empty(), "a build without kernels has no resources");
        return;
    }
    for &(name, most) in TUNED {
        let kernel = all.iter().find(|r| r.kernel == name && r.arch == "sm_90a");
        let kernel = kernel.unwrap_or_else(|| panic!("{name} is not in the log"));
        assert_eq!((kernel.spill_stores, kernel.spill_loads), (0, 0), "{name}");
        assert!(kernel.registers <= most, "{name}: {} registers", kernel.registers);
    }
    for (family, most) in FAMILIES {
        let of = |r: &&Resources| r.kernel.starts_with(family) && r.arch == "sm_90a";
        assert!(all.iter().any(|r| of(&r)), "no kernel {family} is in the log");
        for kernel in all.iter().filter(of) {
            let spills = kernel.spill_stores.max(kernel.spill_loads);
            assert!(spills <= most, "{}: {spills} bytes", kernel.kernel);
        }
    }
}

#[test]
fn every_order_has_its_kernels() {
    let all = resources();
    if BLOBS.is_empty() {
        return;
    }
    for radius in 1..=8 {
        for family in ["baseline", "shared", "cpml", "minimod"] {
            let name = format!("acoustic_iso_{family}_r{radius}");
            assert!(all.iter().any(|r| r.kernel == name), "{name} is not in the log");
        }
    }
}

#[test]
fn every_tuning_table_names_variants_that_exist() {
    // Names as `temblor_cuda::CudaBackend` lists them, which needs a card.
    let known = include_str!("../src/variants.rs");
    for (name, text) in temblor_cuda::TUNING {
        let table = temblor_backend::tuning::TuningTable::from_toml(text).expect("a table");
        assert!(!table.devices.is_empty() && !table.entries.is_empty(), "{name}");
        for entry in table.entries {
            assert!(known.contains(&format!("\"{}\"", entry.variant)), "{name}: {entry:?}");
            assert!(entry.gpts > 0.0, "{name}: {entry:?}");
        }
    }
}
