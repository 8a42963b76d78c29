use super::*;

fn all() -> Vec<Wavelet> {
    let mut all = vec![
        Wavelet::ricker(8.0),
        Wavelet::Ormsby { corners_hz: [2.0, 5.0, 20.0, 30.0], t0: None, scale: 1.0 },
    ];
    for order in 1..=LARGEST_DERIVATIVE {
        all.push(Wavelet::GaussianDerivative { order, peak_hz: 8.0, t0: None, scale: 1.0 });
    }
    let values = Wavelet::ricker(8.0).sampled(4e-3, 100);
    all.push(Wavelet::Samples { dt: 4e-3, values, scale: 1.0 });
    all
}

/// Amplitude spectrum at `hz` by a sum over 2 kHz samples.
fn spectrum(wavelet: &Wavelet, hz: f64) -> f64 {
    let dt = 5e-4;
    let series = wavelet.sampled(dt, 6000);
    let (mut re, mut im) = (0.0, 0.0);
    for (n, value) in series.iter().enumerate() {
        let angle = 2.0 * PI * hz * n as f64 * dt;
        re += value * angle.cos() * dt;
        im += value * angle.sin() * dt;
    }
    f64::hypot(re, im)
}

#[test]
fn every_wavelet_starts_below_a_millionth_of_its_peak_and_peaks_at_one() {
    for wavelet in all() {
        let series = wavelet.sampled(1e-4, 20_000);
        let largest = series.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!((largest - 1.0).abs() < 2e-4, "{wavelet:?} peaks at {largest}");
        assert!(series[0].abs() < 1e-6, "{wavelet:?} starts at {}", series[0]);
        let after = series.iter().enumerate().filter(|(n, _)| *n as f64 * 1e-4 > wavelet.end());
        let late = after.fold(0.0_f64, |m, (_, v)| m.max(v.abs()));
        assert!(late < 1e-6, "{wavelet:?} has {late} after its end");
    }
}

#[test]
fn every_spectrum_peaks_at_peak_hz_and_falls_by_40_db_at_max_hz() {
    for wavelet in all() {
        let peak = spectrum(&wavelet, wavelet.peak_hz());
        // An Ormsby is flat to the ripple of its window; the others have a single peak.
        for factor in [0.98, 1.02] {
            let beside = spectrum(&wavelet, factor * wavelet.peak_hz());
            assert!(beside < peak * 1.001, "{wavelet:?} is larger at {factor} peak_hz");
        }
        let edge = 20.0 * (spectrum(&wavelet, wavelet.max_hz()) / peak).log10();
        let exact = !matches!(wavelet, Wavelet::Ormsby { .. });
        assert!(edge < -39.5 && (!exact || edge > -40.5), "{wavelet:?}: {edge} dB at max_hz");
        for factor in [1.1, 1.5, 2.0] {
            let beyond = spectrum(&wavelet, factor * wavelet.max_hz());
            assert!(beyond < 0.01 * peak, "{wavelet:?}: {factor} max_hz");
        }
    }
}

#[test]
fn an_ormsby_is_flat_between_its_inner_corners() {
    let wavelet = Wavelet::Ormsby { corners_hz: [2.0, 6.0, 20.0, 30.0], t0: None, scale: 1.0 };
    let middle = spectrum(&wavelet, wavelet.peak_hz());
    for hz in [8.0, 10.0, 16.0, 18.0] {
        let ratio = spectrum(&wavelet, hz) / middle;
        assert!((ratio - 1.0).abs() < 0.01, "{hz} Hz: {ratio}");
    }
}

#[test]
fn the_second_gaussian_derivative_is_the_ricker() {
    let ricker = Wavelet::Ricker { peak_hz: 12.0, t0: Some(0.11), scale: 3.0 };
    let gauss = Wavelet::GaussianDerivative { order: 2, peak_hz: 12.0, t0: Some(0.11), scale: 3.0 };
    for n in 0..100 {
        let t = 2e-3 * f64::from(n);
        assert!((ricker.amplitude(t) - gauss.amplitude(t)).abs() < 1e-13, "t = {t}");
    }
}

#[test]
fn samples_are_met_exactly_and_between_them_to_1e_4() {
    let ricker = Wavelet::ricker(8.0);
    let (dt, count) = (4e-3, 100);
    let samples = Wavelet::Samples { dt, values: ricker.sampled(dt, count), scale: 2.0 };
    for n in 0..count {
        let t = n as f64 * dt;
        assert!((samples.amplitude(t) - 2.0 * ricker.amplitude(t)).abs() < 1e-13);
    }
    // 12.5 steps per period at 20 Hz: far inside the interpolator's band.
    for n in 0..1000 {
        let t = 0.37 * dt * f64::from(n);
        if t < dt * (count - 1) as f64 {
            let error = (samples.amplitude(t) - 2.0 * ricker.amplitude(t)).abs();
            assert!(error < 1e-4, "t = {t}: {error}");
        }
    }
    assert!(samples.amplitude(-1.0).abs() < 1e-300 && samples.amplitude(9.0).abs() < 1e-300);
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let bad = [
        (Wavelet::ricker(-8.0), "peak_hz is -8"),
        (Wavelet::ricker(f64::NAN), "peak_hz is NaN"),
        (Wavelet::Ricker { peak_hz: 8.0, t0: Some(f64::INFINITY), scale: 1.0 }, "t0 is inf"),
        (Wavelet::Ormsby { corners_hz: [5.0, 2.0, 20.0, 30.0], t0: None, scale: 1.0 }, "f1 < f2"),
        (Wavelet::Ormsby { corners_hz: [1.0, 2.0, 30.0, 30.0], t0: None, scale: 1.0 }, "f3 < f4"),
        (
            Wavelet::GaussianDerivative { order: 0, peak_hz: 8.0, t0: None, scale: 1.0 },
            "order is 0",
        ),
        (Wavelet::Samples { dt: 0.0, values: vec![1.0], scale: 1.0 }, "dt is 0"),
        (Wavelet::Samples { dt: 1e-3, values: vec![], scale: 1.0 }, "values is empty"),
        (Wavelet::Samples { dt: 1e-3, values: vec![0.0, f64::NAN], scale: 1.0 }, "value 1"),
    ];
    for (wavelet, expected) in bad {
        let message = wavelet.check().unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    for wavelet in all() {
        wavelet.check().unwrap();
    }
}
