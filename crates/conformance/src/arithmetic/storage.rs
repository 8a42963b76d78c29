//! Half the distance of stored values: what rounding to nearest may change a value by.

use ndarray::{Array3, Axis as Dimension};
use temblor_physics::{Arithmetic, WavefieldStorage};

/// Nodes along z that share an exponent.
pub(super) const TILE: usize = 32;

/// The power of two at or below a magnitude; that of the smallest normal f32 for less.
fn power_below(magnitude: f64) -> f64 {
    magnitude.max(f64::from(f32::MIN_POSITIVE)).log2().floor().exp2()
}

/// The power 2^e over which a tile's codes are 15 bits and sign: the least e with
/// `largest 2^(15 - e) < 32767.5`, not below -120.
fn code_power(largest: f64) -> f64 {
    let mut power = (2.0 * power_below(largest)).max((-120.0_f64).exp2());
    if largest / power * 32768.0 >= 32767.5 {
        power *= 2.0;
    }
    power
}

/// Most that an upload of f64 changes each value by: it is rounded to FP32, and that to what is stored.
pub(super) fn of(arithmetic: Arithmetic, values: &Array3<f64>) -> Array3<f64> {
    let wavefields = match arithmetic {
        Arithmetic::Stored(storage) => storage.wavefields,
        _ => WavefieldStorage::F32,
    };
    half_steps(wavefields, values) + half_steps(WavefieldStorage::F32, values)
}

/// Most that rounding to nearest changes each value by, for values known to `1e-5` of the largest
/// of their tile.
pub(super) fn half_steps(storage: WavefieldStorage, values: &Array3<f64>) -> Array3<f64> {
    let mut steps = values.mapv(|v| v.abs() * (1.0 + 1e-5));
    for mut row in steps.lanes_mut(Dimension(2)) {
        for mut tile in row.axis_chunks_iter_mut(Dimension(0), TILE) {
            let largest = tile.fold(0.0_f64, |m, v| m.max(*v));
            tile.mapv_inplace(|v| half_step(storage, v, largest));
        }
    }
    steps
}

fn half_step(storage: WavefieldStorage, magnitude: f64, largest: f64) -> f64 {
    let power = power_below(magnitude);
    match storage {
        WavefieldStorage::Int16 | WavefieldStorage::Int16Increment => {
            code_power(largest) * (-16.0_f64).exp2()
        }
        WavefieldStorage::Bf16 => power * (-8.0_f64).exp2(),
        // The rest is at most 2^-8 of the power and has 8 bits of its own.
        WavefieldStorage::Bf16Pair => power * (-17.0_f64).exp2(),
        // Denormal halves are 2^-24 apart.
        WavefieldStorage::Fp16 => power.max((-14.0_f64).exp2()) * (-11.0_f64).exp2(),
        // The largest is scaled to 2^14 or above, so that denormals are 2^-29 of its power apart.
        WavefieldStorage::Fp16Scaled => {
            power.max(power_below(largest) * (-28.0_f64).exp2()) * (-11.0_f64).exp2()
        }
        _ => power * (-24.0_f64).exp2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(storage: WavefieldStorage, values: &[f64]) -> Vec<f64> {
        let field = Array3::from_shape_vec([1, 1, values.len()], values.to_vec()).unwrap();
        half_steps(storage, &field).into_iter().collect()
    }

    #[test]
    fn codes_of_a_tile_are_as_far_apart_as_its_largest_value_says() {
        let mut values = vec![0.01; 64];
        (values[5], values[40]) = (0.9, 0.4);
        let steps = of(WavefieldStorage::Int16, &values);
        assert!(steps[..32].iter().all(|s| s.to_bits() == (-16.0_f64).exp2().to_bits()));
        assert!(steps[32..].iter().all(|s| s.to_bits() == (-17.0_f64).exp2().to_bits()));
        // 32767.5 / 32768 rounds to a code beyond 16 bits.
        assert_eq!(code_power(0.999_99).to_bits(), 2.0_f64.to_bits());
        assert_eq!(code_power(0.999_98).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn halves_and_upper_halves_have_11_and_8_bits() {
        assert_eq!(of(WavefieldStorage::Fp16, &[1.5])[0].to_bits(), (-11.0_f64).exp2().to_bits());
        assert_eq!(of(WavefieldStorage::Bf16, &[1.5])[0].to_bits(), (-8.0_f64).exp2().to_bits());
        assert_eq!(of(WavefieldStorage::Fp16, &[1e-9])[0].to_bits(), (-25.0_f64).exp2().to_bits());
    }
}
