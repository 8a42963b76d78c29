//! Reduced storage: wavefields rest in memory as 16-bit codes and are stepped in FP32.

mod codecs;
mod halves;
mod tiles;

#[cfg(test)]
mod codec_tests;
