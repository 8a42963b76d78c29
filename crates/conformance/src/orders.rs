//! Checks over several orders, on variants that have kernels for some of them only.

use std::collections::BTreeSet;

use temblor_backend::{Backend, Error};
use temblor_physics::WaveProblem;

use crate::unsupported::{ONLY_ORDERS, OnlyOrders};
use crate::{CheckError, Outcome};

/// Which orders of a sweep a variant runs, seen against [`ONLY_ORDERS`].
#[derive(Debug)]
pub(crate) struct Orders<'a> {
    variant: &'a str,
    row: Option<&'static OnlyOrders>,
    run: BTreeSet<usize>,
    left_out: BTreeSet<usize>,
    /// Orders that the row leaves out and the variant lists.
    surplus: BTreeSet<usize>,
}

impl<'a> Orders<'a> {
    pub(crate) fn new(backend: &dyn Backend, variant: &'a str) -> Self {
        Self::by(ONLY_ORDERS, backend, variant)
    }

    fn by(table: &'static [OnlyOrders], backend: &dyn Backend, variant: &'a str) -> Self {
        let id = &backend.device().backend;
        let row = table.iter().find(|row| row.backend == id && row.variant == variant);
        let none = BTreeSet::new;
        Self { variant, row, run: none(), left_out: none(), surplus: none() }
    }

    /// Whether the sweep should run `problem`: the variant lists it, or the table says that it
    /// leaves this order out.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it should be listed and is not; other errors as they come.
    pub(crate) fn take(
        &mut self,
        backend: &dyn Backend,
        problem: &WaveProblem,
    ) -> Result<bool, CheckError> {
        // A kernel is chosen by radius; what the weights are is data.
        let order = 2 * problem.operator.radius();
        let listed = backend.variants(problem)?.iter().any(|v| v.name == self.variant);
        let expected = self.row.is_none_or(|row| row.orders.contains(&order));
        if listed && !expected {
            self.surplus.insert(order);
        }
        if expected && !listed {
            let what = format!("variant '{}' for {:?}", self.variant, problem.class());
            return Err(
                Error::Unsupported { backend: backend.device().backend.clone(), what }.into()
            );
        }
        if listed {
            self.run.insert(order)
        } else {
            self.left_out.insert(order)
        };
        Ok(listed)
    }

    /// Says which orders were left out; fails where the table is wrong.
    pub(crate) fn law(&self) -> Option<Outcome> {
        self.row?;
        let list = |orders: &BTreeSet<usize>| {
            let words: Vec<_> = orders.iter().map(ToString::to_string).collect();
            words.join(", ")
        };
        let mut law = format!("orders {} run, {} left out", list(&self.run), list(&self.left_out));
        if !self.surplus.is_empty() {
            law = format!("{law}; it lists {}: mend ONLY_ORDERS", list(&self.surplus));
        }
        Some(Outcome::law(law, self.surplus.is_empty() && !self.run.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use temblor_cpu::ReferenceBackend;
    use temblor_physics::{Arithmetic, Boundaries, Boundary};

    use super::*;
    use crate::setup;

    const ROW: &[OnlyOrders] =
        &[OnlyOrders { backend: "cpu-ref", variant: "loops", orders: &[8], why: "a test" }];

    fn problem(order: usize) -> WaveProblem {
        let zero = Boundaries::uniform(Boundary::Zero);
        setup::problem([9, 7, 12], order, zero, Arithmetic::F32).unwrap()
    }

    #[test]
    fn an_order_that_the_table_leaves_out_and_the_variant_lists_fails() {
        let backend = ReferenceBackend::new();
        let mut orders = Orders::by(ROW, &backend, "loops");
        assert!(orders.take(&backend, &problem(8)).unwrap());
        assert!(orders.law().unwrap().passes());
        assert!(orders.take(&backend, &problem(4)).unwrap());
        assert!(!orders.law().unwrap().passes());
    }

    #[test]
    fn a_variant_without_a_row_must_list_every_order() {
        let backend = ReferenceBackend::new();
        let mut orders = Orders::new(&backend, "loops");
        assert!(orders.take(&backend, &problem(2)).unwrap() && orders.law().is_none());
        let mut unknown = Orders::new(&backend, "no such variant");
        assert!(unknown.take(&backend, &problem(2)).is_err());
    }
}
