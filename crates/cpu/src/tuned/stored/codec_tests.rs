//! Codecs against their definitions, the `half` crate, and each other on every instruction set.

#![allow(clippy::cast_possible_truncation, reason = "values are rounded to f32 on purpose")]

use half::{bf16, f16};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use temblor_physics::WavefieldStorage as Storage;

use super::codecs::Codec;
use super::noise::Noise;
use super::tiles::{NOT_FINITE, TILE, ZERO};
use crate::denormals::FlushDenormals;
use crate::tuned::kernels::Isa;

/// What a row is stored as, and what is read back.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    codes: Vec<u16>,
    exponents: Vec<i8>,
    values: Vec<f32>,
}

fn stored_by(codec: &Codec, values: &[f32]) -> Row {
    let mut codes = vec![0xaaaa; values.len() * codec.words()];
    let mut exponents = vec![99; codec.exponents(values.len())];
    codec.encode(values, &mut codes, &mut exponents);
    let mut back = vec![7.0; values.len()];
    codec.decode(&codes, &exponents, &mut back);
    Row { codes, exponents, values: back }
}

/// The same, rounded stochastically.
fn stored_noisily(codec: &Codec, values: &[f32], noise: Noise) -> Row {
    let mut codes = vec![0xaaaa; values.len() * codec.words()];
    let mut exponents = vec![99; codec.exponents(values.len())];
    codec.encode_noisy(values, &mut codes, &mut exponents, noise);
    let mut back = vec![7.0; values.len()];
    codec.decode(&codes, &exponents, &mut back);
    Row { codes, exponents, values: back }
}

fn stored(storage: Storage, values: &[f32]) -> Row {
    stored_by(&Codec::new(storage, Isa::available()[0]), values)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Rows of tiles whose sizes differ by many orders of magnitude, within a tile too.
fn rows() -> Vec<Vec<f32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut rows = Vec::new();
    for length in [16, 32, 48, 96, 208] {
        for spread in [0.0, 3.0, 20.0] {
            let mut row = Vec::new();
            while row.len() < length {
                let size = rng.random_range(-60.0..60.0_f32);
                let nodes = TILE.min(length - row.len());
                row.extend((0..nodes).map(|_| {
                    let v: f32 = rng.random_range(-1.0..1.0);
                    v * (size - rng.random_range(0.0..=spread)).exp2()
                }));
            }
            rows.push(row);
        }
    }
    rows
}

/// Values at the edges of everything: halves between two codes, the largest numbers, denormals, and
/// what is no number.
fn edges() -> Vec<f32> {
    let mut values = vec![0.0, -0.0, 1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
    for exponent in [-130, -126, -121, -120, -25, -24, -14, -1, 0, 15, 16, 125, 126, 127] {
        let base = 2.0_f64.powi(exponent);
        for bits in [8, 9, 11, 12, 13, 15, 16, 17, 24] {
            let half = 0.5_f64.powi(bits);
            for factor in [1.0 + half, 1.0 - half, 2.0 - half, 1.0 + 3.0 * half, 1.5 + half] {
                values.push((base * factor) as f32);
            }
        }
    }
    let negative: Vec<_> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

/// Half the distance of codes where `value` lies, `bound` = 2^e of its tile.
fn largest_error(storage: Storage, value: f64, bound: f64) -> f64 {
    let size = value.abs();
    match storage {
        Storage::Int16 => bound * 2.0_f64.powi(-16),
        Storage::Fp16Scaled => (size * 2.0_f64.powi(-11)).max(bound * 2.0_f64.powi(-40)),
        Storage::Fp16 => (size * 2.0_f64.powi(-11)).max(2.0_f64.powi(-25)),
        Storage::Bf16 => size * 2.0_f64.powi(-8),
        Storage::Bf16Pair => size * 2.0_f64.powi(-17),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_stay_below_half_a_code() {
    for storage in
        [Storage::Int16, Storage::Fp16Scaled, Storage::Fp16, Storage::Bf16, Storage::Bf16Pair]
    {
        for row in rows() {
            let back = stored(storage, &row).values;
            for (tile, back) in row.chunks(TILE).zip(back.chunks(TILE)) {
                let most = tile.iter().fold(0.0_f64, |m, v| m.max(f64::from(v.abs())));
                if storage == Storage::Fp16 && most >= 65520.0 {
                    continue;
                }
                // The least power of two above all values, or the next where they round up to it.
                let unit =
                    if storage == Storage::Int16 { 0.5_f64.powi(16) } else { 0.5_f64.powi(12) };
                let bound = (most / (1.0 - unit)).log2().floor().exp2() * 2.0;
                for (&v, &b) in tile.iter().zip(back) {
                    let error = (f64::from(v) - f64::from(b)).abs();
                    let allowed = largest_error(storage, f64::from(v), bound);
                    assert!(error <= allowed, "{storage:?} {v} {b}: {error} > {allowed}");
                }
            }
        }
    }
}

#[test]
fn the_exponent_of_an_int16_tile_is_the_least_that_holds_it() {
    for row in rows() {
        let Row { codes, exponents, .. } = stored(Storage::Int16, &row);
        for (tile, &e) in exponents.iter().enumerate() {
            let codes = &codes[tile * TILE..(tile * TILE + TILE).min(row.len())];
            let most = codes.iter().map(|&c| c.cast_signed().unsigned_abs()).max().unwrap();
            assert!((16384..=32767).contains(&most), "{most} at {e}");
            // One less would not hold the largest value.
            let values = &row[tile * TILE..(tile * TILE + TILE).min(row.len())];
            let peak = values.iter().fold(0.0_f64, |m, v| m.max(f64::from(v.abs())));
            assert!(peak * 2.0_f64.powi(16 - i32::from(e)) >= 32767.5, "{peak} at {e}");
        }
    }
}

#[test]
fn integers_are_rounded_to_nearest_even() {
    // 2^e = 1: codes are 2^-15 apart.
    let code = 2.0_f32.powi(-15);
    let mut row = [0.0; 16];
    row[..6].copy_from_slice(&[0.75, 0.5 * code, 1.5 * code, 2.5 * code, -2.5 * code, -1.5 * code]);
    let Row { codes, exponents, .. } = stored(Storage::Int16, &row);
    assert_eq!(exponents, [0]);
    let signed: Vec<_> = codes[..6].iter().map(|c| c.cast_signed()).collect();
    assert_eq!(signed, [24576, 0, 2, 2, -2, -2]);
}

#[test]
fn what_is_stored_is_stored_again_by_the_same_codes() {
    for storage in Storage::ALL {
        let mut all = rows();
        let mut row = edges();
        row.retain(|v| v.is_finite());
        row.resize(row.len().next_multiple_of(16), 0.0);
        all.push(row);
        for row in all {
            let first = stored(storage, &row);
            let second = stored(storage, &first.values);
            assert_eq!(bits(&first.values), bits(&second.values), "{storage:?}");
            // Where the second half of a pair is half a unit of the first, another pair has the
            // same value.
            if storage != Storage::Bf16Pair {
                assert_eq!(first.codes, second.codes, "{storage:?}");
                assert_eq!(first.exponents, second.exponents, "{storage:?}");
            }
        }
    }
}

#[test]
fn all_instruction_sets_give_the_same_bits_also_while_denormals_are_flushed() {
    let mut all = rows();
    let edges = edges();
    // Each edge alone in a tile, where it sets the exponent, and all together.
    for &value in &edges {
        let mut row = vec![0.0; 48];
        (row[5], row[40]) = (value, 0.3 * value);
        all.push(row);
    }
    let mut row = edges;
    row.resize(row.len().next_multiple_of(16), 0.0);
    all.push(row);
    for storage in Storage::ALL {
        let portable = Codec::new(storage, Isa::Portable);
        for isa in Isa::available() {
            let codec = Codec::new(storage, isa);
            for row in &all {
                let plain = stored_by(&portable, row);
                let here = stored_by(&codec, row);
                assert_eq!(here.codes, plain.codes, "{storage:?} {isa:?}");
                assert_eq!(here.exponents, plain.exponents, "{storage:?} {isa:?}");
                assert_eq!(bits(&here.values), bits(&plain.values), "{storage:?} {isa:?}");
                let [plain, here] =
                    [&portable, &codec].map(|c| stored_noisily(c, row, Noise::new(9, 4)));
                assert_eq!(here.codes, plain.codes, "{storage:?} {isa:?}, with noise");
                assert_eq!(here.exponents, plain.exponents, "{storage:?} {isa:?}, with noise");
                let _flush = FlushDenormals::new();
                let (plain, here) = (stored_by(&portable, row), stored_by(&codec, row));
                assert_eq!(here.codes, plain.codes, "{storage:?} {isa:?}, flushed");
                assert_eq!(bits(&here.values), bits(&plain.values), "{storage:?} {isa:?}, flushed");
            }
        }
    }
}

#[test]
fn halves_are_those_of_an_independent_program() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut values = edges();
    values.extend((0..20_000).map(|_| f32::from_bits(rng.random())));
    values.extend((0..20_000).map(|_| rng.random_range(-1.0..1.0_f32) * 2.0_f32.powi(-13)));
    values.resize(values.len().next_multiple_of(16), 0.0);
    for isa in Isa::available() {
        let row = stored_by(&Codec::new(Storage::Fp16, isa), &values);
        let brains = stored_by(&Codec::new(Storage::Bf16, isa), &values);
        for (n, &v) in values.iter().enumerate() {
            if v.is_nan() {
                assert!(row.values[n].is_nan() && brains.values[n].is_nan(), "{isa:?}");
            } else {
                assert_eq!(row.codes[n], f16::from_f32(v).to_bits(), "{isa:?} {v:e}");
                assert_eq!(brains.codes[n], bf16::from_f32(v).to_bits(), "{isa:?} {v:e}");
            }
        }
        // Back, from every code there is.
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        let mut back = vec![0.0; codes.len()];
        for (storage, single) in [
            (Storage::Fp16, f16::to_f32 as fn(f16) -> f32),
            (Storage::Bf16, |v: f16| bf16::from_bits(v.to_bits()).to_f32()),
        ] {
            Codec::new(storage, isa).decode(&codes, &[], &mut back);
            for (&code, &v) in codes.iter().zip(&back) {
                let expected = single(f16::from_bits(code));
                let same = v.to_bits() == expected.to_bits() || v.is_nan() && expected.is_nan();
                assert!(same, "{isa:?} {storage:?} {code:#x}: {v} {expected}");
            }
        }
    }
}

#[test]
fn a_tile_with_a_value_that_is_not_finite_reads_as_not_finite() {
    for storage in Storage::ALL {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let mut row = vec![1.0; 96];
            row[40] = bad;
            let back = stored(storage, &row);
            // The largest single is beyond a half, a bf16 and the exponents of tiles.
            if storage != Storage::F32 || !bad.is_finite() {
                assert!(!back.values[40].is_finite(), "{storage:?} {bad}: {}", back.values[40]);
            }
            if !back.exponents.is_empty() {
                assert_eq!(back.exponents[1], NOT_FINITE);
                assert!(back.values[32..64].iter().all(|v| v.is_nan()), "{storage:?} {bad}");
            }
            // Other tiles keep their values.
            for n in (0..32).chain(64..96) {
                assert_eq!(back.values[n].to_bits(), 1.0_f32.to_bits(), "{storage:?} {bad}");
            }
        }
    }
}

#[test]
fn a_tile_that_underflows_becomes_zero_and_never_nan() {
    for storage in [Storage::Int16, Storage::Fp16Scaled] {
        for size in [0.0, 1e-45, 1e-40, f32::MIN_POSITIVE, 0.99 * 2.0_f32.powi(-120)] {
            for flush in [false, true] {
                let _flush = flush.then(FlushDenormals::new);
                let mut row = vec![0.0; 48];
                (row[3], row[41]) = (size, -size);
                let back = stored(storage, &row);
                assert_eq!(back.exponents, [ZERO; 2], "{storage:?} {size:e}");
                assert!(back.codes.iter().all(|&c| c & 0x7fff == 0), "{storage:?} {size:e}");
                assert!(back.values.iter().all(|v| v.abs().to_bits() == 0), "{storage:?} {size:e}");
            }
        }
        // The least that is kept.
        let mut row = vec![0.0; 16];
        row[7] = 2.0_f32.powi(-120);
        assert_eq!(bits(&stored(storage, &row).values), bits(&row), "{storage:?}");
    }
}

#[test]
fn a_front_that_grows_by_thousands_keeps_its_values() {
    // Each tile 2^10 times its neighbour, as where a front runs into silence.
    for storage in [Storage::Int16, Storage::Fp16Scaled] {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let row: Vec<f32> = (0..256)
            .map(|n: i32| rng.random_range(0.5..1.0_f32) * 2.0_f32.powi(40 - 10 * (n / 32)))
            .collect();
        let back = stored(storage, &row);
        for (n, (v, b)) in row.iter().zip(&back.values).enumerate() {
            // No tile knows of its neighbours: 2^-15 of each tile's own size, halves 2^-11.
            let unit =
                if storage == Storage::Int16 { 2.0_f32.powi(-15) } else { 2.0_f32.powi(-11) };
            assert!((v - b).abs() <= unit * v.abs(), "{storage:?} {n}: {v} {b}");
        }
        let exponents: Vec<_> = back.exponents.iter().map(|&e| i32::from(e)).collect();
        assert!(exponents.windows(2).all(|e| e[0] - e[1] == 10), "{exponents:?}");
    }
}

#[test]
fn a_two_byte_speed_is_within_half_a_step_of_its_range() {
    let (least, largest, dt) = (1500.0_f64, 4500.0_f64, 1e-3_f64);
    let step = (largest - least) / 65535.0;
    let speeds = [(least * dt) as f32, (step * dt) as f32];
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let mut expected = vec![0.0; codes.len()];
    Codec::new(Storage::F32, Isa::Portable).decode_speed(&codes, speeds, &mut expected);
    for isa in Isa::available() {
        let mut c2 = vec![0.0; codes.len()];
        Codec::new(Storage::F32, isa).decode_speed(&codes, speeds, &mut c2);
        assert_eq!(bits(&c2), bits(&expected), "{isa:?}");
    }
    for (code, c2) in codes.iter().zip(&expected) {
        let speed = least + f64::from(*code) * step;
        let error = f64::from(*c2).sqrt() / dt - speed;
        // Three roundings of singles below 2^-24 each.
        assert!(error.abs() <= 4.0 * 2.0_f64.powi(-24) * speed, "{code}: {error}");
    }
}

#[test]
fn stochastic_rounding_takes_a_neighbour_and_is_right_on_average() {
    let codec = Codec::new(Storage::Int16, Isa::available()[0]);
    // Below 1 codes are 2^-15 apart.
    let unit = 0.5_f32.powi(15);
    for fraction in [0.0_f32, 0.1, 0.5, 0.75] {
        let value = 0.625 + fraction * unit;
        let row = vec![value; 64];
        let (mut sum, mut count) = (0.0, 0.0);
        for step in 0..500 {
            for v in stored_noisily(&codec, &row, Noise::new(step, 17)).values {
                let error = f64::from(v) - f64::from(value);
                assert!(error.abs() < f64::from(unit), "{value} {v}");
                sum += error;
                count += 1.0;
            }
        }
        // Five standard deviations of a mean of so many roundings, and the noise's own grid.
        let spread = f64::from(fraction * (1.0 - fraction)).sqrt() / f64::sqrt(count);
        let mean = sum / count / f64::from(unit);
        assert!(mean.abs() <= 5.0 * spread + 1e-3, "{fraction}: {mean}");
    }
}

/// Their noise would be a part of the value itself, which makes a field that rests grow over many steps.
#[test]
fn formats_with_an_exponent_per_value_are_rounded_to_nearest_in_steps_too() {
    for storage in [Storage::Bf16, Storage::Bf16Pair, Storage::Fp16, Storage::Fp16Scaled] {
        let codec = Codec::new(storage, Isa::available()[0]);
        let row: Vec<f32> = (0..64_u8).map(|n| 0.7 + f32::from(n) / 977.0).collect();
        let nearest = stored_by(&codec, &row);
        for step in 0..20 {
            assert_eq!(stored_noisily(&codec, &row, Noise::new(step, 3)).codes, nearest.codes);
        }
    }
}

#[test]
fn noise_leaves_zero_alone_and_takes_nothing_beyond_the_largest_code() {
    let codec = Codec::new(Storage::Int16, Isa::available()[0]);
    let most = f32::from_bits(1.0_f32.to_bits() - 1);
    let mut row = vec![0.0; 64];
    (row[3], row[4], row[40], row[41]) = (most, -most, 32767.4 / 32768.0, -32767.4 / 32768.0);
    for step in 0..300 {
        let back = stored_noisily(&codec, &row, Noise::new(step, 2)).values;
        for (v, b) in row.iter().zip(back) {
            assert!(if *v == 0.0 { b == 0.0 } else { (v - b).abs() < 0.01 }, "{v} {b}");
        }
    }
}

#[test]
fn noise_differs_from_node_to_node_row_to_row_and_step_to_step() {
    let draws = |step, row| (0..64).map(move |node| Noise::new(step, row).unit(node));
    let all: Vec<_> =
        (0..8).flat_map(|step| (0..8).flat_map(move |row| draws(step, row))).collect();
    let mean = all.iter().map(|&u| f64::from(u)).sum::<f64>() / all.len() as f64;
    // Uniform: a standard deviation of 12^-1/2; five of the mean's.
    let spread = (12.0 * all.len() as f64).sqrt().recip();
    assert!(mean.abs() < 5.0 * spread, "{mean}");
    for lag in [1, 64, 512] {
        let products = all.iter().zip(&all[lag..]).map(|(a, b)| f64::from(a * b));
        let correlation = products.sum::<f64>() / all.len() as f64 * 12.0;
        assert!(correlation.abs() < 5.0 / (all.len() as f64).sqrt(), "{lag}: {correlation}");
    }
    assert!(all.iter().all(|u| (-0.5..0.5).contains(u)));
}
