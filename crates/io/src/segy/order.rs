//! Order of the bytes in a file's numbers.

use crate::ByteOrder;

/// Order of the bytes of every number of a SEG-Y or SU file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WordOrder {
    /// Most significant byte first: the standard's order until revision 2, and the usual one.
    #[default]
    Big,
    /// Least significant byte first.
    Little,
    /// Big endian with the bytes of each pair exchanged, as 16-bit machines copied tapes: 0x01020304
    /// is stored as 02 01 04 03.
    Pairwise,
}

impl WordOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Big, Self::Little, Self::Pairwise];

    /// A word's bytes, most significant first. Its own inverse.
    #[inline]
    #[must_use]
    pub const fn to_big<const N: usize>(self, mut word: [u8; N]) -> [u8; N] {
        match self {
            Self::Big => {}
            Self::Little => {
                let mut i = 0;
                while i < N / 2 {
                    (word[i], word[N - 1 - i]) = (word[N - 1 - i], word[i]);
                    i += 1;
                }
            }
            Self::Pairwise => {
                let mut i = 0;
                while i + 1 < N {
                    (word[i], word[i + 1]) = (word[i + 1], word[i]);
                    i += 2;
                }
            }
        }
        word
    }

    /// The order's name, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Big => "big endian",
            Self::Little => "little endian",
            Self::Pairwise => "pairwise swapped",
        }
    }
}

impl From<ByteOrder> for WordOrder {
    fn from(order: ByteOrder) -> Self {
        match order {
            ByteOrder::Big => Self::Big,
            ByteOrder::Little => Self::Little,
        }
    }
}

impl std::fmt::Display for WordOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_of_revision_2_reads_the_same_in_every_order() {
        // SEG-Y revision 2, bytes 3297-3300: 16909060 as stored in the three orders.
        let stored = [(WordOrder::Big, [1, 2, 3, 4]), (WordOrder::Little, [4, 3, 2, 1])];
        for (order, bytes) in stored.into_iter().chain([(WordOrder::Pairwise, [2, 1, 4, 3])]) {
            assert_eq!(u32::from_be_bytes(order.to_big(bytes)), 16_909_060, "{order}");
            assert_eq!(order.to_big(16_909_060_u32.to_be_bytes()), bytes, "{order}");
        }
    }
}
