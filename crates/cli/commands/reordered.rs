//! A volume on disk with its axes put in another order.

use ndarray::Array3;
use temblor_io::{Real, Volume};

/// A volume with its axes put in order.
pub(super) struct Reordered<'a> {
    volume: &'a Volume,
    /// Which of x, y, z each axis of the volume is.
    axes: [usize; 3],
}

impl<'a> Reordered<'a> {
    pub(super) fn new(volume: &'a Volume, axes: [usize; 3]) -> Self {
        Self { volume, axes }
    }

    /// The volume's axis that is x, y, z.
    fn places(&self) -> [usize; 3] {
        let mut places = [0; 3];
        for (place, &axis) in self.axes.iter().enumerate() {
            places[axis] = place;
        }
        places
    }

    /// What belongs to the volume's axes, along x, y, z.
    pub(super) fn along<T: Copy>(&self, values: [T; 3]) -> [T; 3] {
        self.places().map(|place| values[place])
    }

    pub(super) fn shape(&self) -> [usize; 3] {
        self.along(self.volume.shape())
    }

    pub(super) fn region<R: Real>(
        &self,
        start: [usize; 3],
        shape: [usize; 3],
    ) -> temblor_io::Result<Array3<R>> {
        let region = self
            .volume
            .read_region_as(self.axes.map(|axis| start[axis]), self.axes.map(|axis| shape[axis]))?;
        Ok(region.permuted_axes(self.places()))
    }
}

/// Reads `zyx` or `zx` as which of x, y, z each axis is, slowest first.
pub(super) fn parse_axes(text: &str) -> Result<[usize; 3], String> {
    let text = if text.len() == 2 { format!("{}y{}", &text[..1], &text[1..]) } else { text.into() };
    let axes: Option<Vec<usize>> = text.chars().map(|c| "xyz".find(c)).collect();
    let axes = axes.and_then(|axes| <[usize; 3]>::try_from(axes).ok());
    axes.filter(|axes| (0..3).all(|a| axes.contains(&a)))
        .ok_or_else(|| "give the file's axes from slowest to fastest, such as zyx".to_owned())
}
