//! Coordinates as header fields store them: whole numbers with a scalar.

/// How the coordinates of a survey are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoordinateStorage {
    /// The scalar for all traces, as [`coordinate_scalar`] finds it.
    pub scalar: Option<i16>,
    /// Whether trace header extension 1 of revision 2, with its doubles, is needed.
    pub extended: bool,
}

/// Finds how to store coordinates, m: by the scalars of revision 1 where these are exact or their
/// error is below 1e-5 of the survey's extent, else by the doubles of revision 2.
///
/// A survey of more than 50 m thus stays with revision 1 and its millimetres; an ultrasound scan of
/// 20 mm on a grid of 0.25 mm gets doubles. The result depends on the coordinates alone.
#[must_use]
pub fn coordinate_storage(coordinates: &[f64]) -> CoordinateStorage {
    let Some(scalar) = coordinate_scalar(coordinates) else {
        return CoordinateStorage { scalar: None, extended: true };
    };
    // Values beside the range of depths and lengths alike: the extent bounds each axis's.
    let low = coordinates.iter().copied().fold(f64::INFINITY, f64::min);
    let high = coordinates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let factor = if scalar < 0 {
        f64::from(scalar.unsigned_abs())
    } else {
        1.0 / f64::from(scalar.unsigned_abs().max(1))
    };
    let error =
        coordinates.iter().map(|&v| (v - (v * factor).round() / factor).abs()).fold(0.0, f64::max);
    // 1e-6 of a unit is what the product of a decimal fraction and a power of ten is off by.
    let extended = error > 1e-6 / factor && error > 1e-5 * (high - low);
    CoordinateStorage { scalar: Some(scalar), extended }
}

/// The standard's scalar for coordinates in metres: -1000 (millimetres) where that is exact and
/// fits 32 bits, -10000 where tenths of millimetres are needed, else the finest that fits. None if
/// even metres do not fit.
#[must_use]
pub fn coordinate_scalar(coordinates: &[f64]) -> Option<i16> {
    let fits = |scalar| coordinates.iter().all(|&v| scaled(v, scalar).is_some());
    let exact = |scalar: i16| {
        coordinates.iter().all(|&v| {
            let value = v * f64::from(scalar.unsigned_abs());
            (value - value.round()).abs() <= 1e-6
        })
    };
    if fits(-10000) && !exact(-1000) && exact(-10000) {
        return Some(-10000);
    }
    [-1000, -100, -10, 1].into_iter().find(|&scalar| fits(scalar))
}

/// `metres` in the units of a scalar, rounded, where that fits; the most negative number is left
/// out so that the sign can be changed.
pub(super) fn scaled(metres: f64, scalar: i16) -> Option<i32> {
    let factor = f64::from(scalar.unsigned_abs().max(1));
    let value = if scalar < 0 { metres * factor } else { metres / factor }.round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (value.abs() <= f64::from(i32::MAX)).then_some(value as i32)
}

/// Applies a scalar to a stored number: negative divides, positive multiplies, zero counts as one.
#[must_use]
pub fn apply_scalar(value: f64, scalar: i16) -> f64 {
    match scalar {
        0 => value,
        // Division, not multiplication by 1e-3, so that 12345 mm is the double nearest to 12.345 m.
        s if s < 0 => value / f64::from(s.unsigned_abs()),
        s => value * f64::from(s),
    }
}

/// Delay as whole milliseconds times the standard's scalar: (value, scalar), the scalar 0 for 1.
pub(super) fn delay_ms(delay: f64) -> Option<(i16, i16)> {
    [(1.0, 0), (10.0, -10), (100.0, -100), (1000.0, -1000)].into_iter().find_map(
        |(factor, scalar)| {
            let value = delay * 1e3 * factor;
            let whole = value.round();
            let exact = (value - whole).abs() <= 1e-6 * whole.abs().max(1.0);
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            (exact && whole.abs() <= f64::from(i16::MAX)).then_some((whole as i16, scalar))
        },
    )
}
