//! The Python package's half in Rust: the laboratory's calls, as the module `sojourn._sojourn`.
//!
//! It has no logic of its own: what people see (names, docstrings, frames, plots) is Python beside it, and what is computed is
//! the crates'. Long calls run on a thread of their own ([`attend`]), without the interpreter's lock, and end when Python is
//! interrupted. Policies that are written in Python are [`policy`]. The price: a call that takes long costs a thread.

mod answers;
mod attend;
mod column;
mod error;
mod experiment;
mod frame;
mod plan;
mod policy;
mod queue;
mod series;
mod sweep;

use pyo3::prelude::*;

/// What `import sojourn` wraps.
#[pymodule(gil_used = false)]
mod _sojourn {
    #[pymodule_export]
    use crate::answers::Answers;
    #[pymodule_export]
    use crate::experiment::{Experiment, toml_of_json};
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::policy::View;
    #[pymodule_export]
    use crate::queue::queue;
    #[pymodule_export]
    use crate::series::{describe_files, describe_numbers, fgn, fit_files, fit_numbers, hurst};
    #[pymodule_export]
    use crate::sweep::Sweep;
    use pyo3::prelude::*;

    /// The version of the crates behind it.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
