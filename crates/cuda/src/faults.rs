//! What a failed driver call means for the user, and contexts that a fault has ended.
//!
//! After some faults (a bad address in a kernel, an uncorrectable memory error, a kernel that ran too
//! long) every later call on the context fails with the same code: nothing on the device can be read
//! or freed, and only a new process helps. Samples that had arrived on the host are kept.
//!
//! No watchdog ends a synchronisation that never ends: the driver offers no way to stop a kernel, so it
//! could do no more than Ctrl-C twice does, and long steps must not be mistaken for it. The command warns
//! where steps stop coming back.

use std::sync::{Arc, OnceLock};

use cudarc::driver::DriverError;
use temblor_backend::{Error, Result};

use crate::ID;

/// A driver's error with its remedy.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) DriverError);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        match remedy(self.code()) {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

impl Fault {
    fn code(&self) -> u32 {
        self.0.0 as u32
    }

    /// Whether the context is of no use any more.
    fn is_lost(&self) -> bool {
        matches!(self.code(), 46 | 214 | 220 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 911 | 999)
    }
}

/// What to do, by the code of `CUresult`.
fn remedy(code: u32) -> Option<&'static str> {
    Some(match code {
        2 => "free memory on the card, or use a smaller grid",
        46 => "another process holds the card exclusively, or it was taken away: see nvidia-smi",
        100 => "no card is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES",
        101 => "there is no device of this number: see temblor devices",
        200 | 209 | 218 | 222 | 300 => {
            "this build holds no machine code for this card: build it with a newer CUDA"
        }
        214 => {
            "the card's memory has an error that it cannot correct: reset the card \
             (nvidia-smi -r) and run again; if it comes back, have the card replaced"
        }
        220 | 911 => "a link of the card or a device beside it failed: see dmesg and nvidia-smi -q",
        700 | 714..=719 => {
            "a kernel went wrong: start again; if it comes back, run the same under \
             compute-sanitizer and report its output"
        }
        702 => {
            "a kernel ran longer than the system allows: use a card without a display, or lift \
             the limit"
        }
        709 => "an earlier fault ended the context: start the process again",
        710 | 721 | 999 => {
            "start the process again; if it comes back, see dmesg for messages of the driver (Xid)"
        }
        _ => return None,
    })
}

/// Whether a fault has ended a context, and which; shared by a backend and its plans.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lost(Arc<OnceLock<String>>);

impl Lost {
    /// Remembers an error after which the context is of no use.
    pub(crate) fn note(&self, error: &Error) {
        if let Error::Driver { call, source, .. } = error
            && let Some(fault) = source.downcast_ref::<Fault>()
            && fault.is_lost()
        {
            let _ = self.0.set(format!("{call}: {fault}"));
        }
    }

    /// Refuses work on a lost context.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(first) = self.0.get() else { return Ok(()) };
        let what = format!(
            "the device was lost to an earlier fault ({first}); plans of this process cannot use \
             it: start the process again"
        );
        Err(Error::Driver {
            backend: ID.into(),
            call: "use of the device".into(),
            source: what.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::*;

    #[test]
    fn a_full_card_or_a_wrong_argument_is_no_lost_device() {
        let lost = |code| Fault(DriverError(code)).is_lost();
        assert!(lost(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE));
        assert!(lost(CUresult::CUDA_ERROR_MISALIGNED_ADDRESS));
        assert!(!lost(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(!lost(CUresult::CUDA_ERROR_INVALID_VALUE));
    }

    #[test]
    fn every_fault_that_ends_a_context_has_a_remedy() {
        use CUresult as E;
        for code in [
            E::CUDA_ERROR_ECC_UNCORRECTABLE,
            E::CUDA_ERROR_NVLINK_UNCORRECTABLE,
            E::CUDA_ERROR_ILLEGAL_ADDRESS,
            E::CUDA_ERROR_LAUNCH_TIMEOUT,
            E::CUDA_ERROR_ASSERT,
            E::CUDA_ERROR_LAUNCH_FAILED,
            E::CUDA_ERROR_EXTERNAL_DEVICE,
            E::CUDA_ERROR_UNKNOWN,
        ] {
            assert!(Fault(DriverError(code)).is_lost() && remedy(code as u32).is_some());
        }
    }
}
