//! What Python is told of an error: one tree of exceptions, defined beside this in `sojourn/_errors.py`.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// What the input lacks, in one line: `sojourn.InputError`.
pub(crate) fn input(message: impl ToString) -> PyErr {
    of("InputError", &message.to_string())
}

/// What went wrong while running: `sojourn.RunError`.
pub(crate) fn run(message: impl ToString) -> PyErr {
    of("RunError", &message.to_string())
}

/// What a policy of the user's own did wrong: `sojourn.PolicyError`, with what it raised as its cause.
pub(crate) fn policy(message: &str, cause: Option<PyErr>) -> PyErr {
    let error = of("PolicyError", message);
    Python::attach(|py| error.set_cause(py, cause));
    error
}

fn of(class: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let made = py.import("sojourn._errors").and_then(|errors| errors.getattr(class)?.call1((message,)));
        match made {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}

/// What a thread said that stopped for a broken invariant.
pub(crate) fn panicked(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let said = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    run(format!("a fault of Sojourn itself, please report it: {}", said.unwrap_or("no words")))
}

/// The words of an exception, without its trace.
pub(crate) fn words(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    let name = value.get_type().qualname().unwrap_or_else(|_| PyString::new(py, "error"));
    match value.str() {
        Ok(text) if !text.to_string_lossy().is_empty() => format!("{name}: {text}"),
        _ => name.to_string(),
    }
}

/// Where the outermost of the code that raised an exception stood, `FILE:LINE`: of a policy its own line, whatever it had called.
pub(crate) fn place(py: Python<'_>, error: &PyErr) -> Option<String> {
    let trace = error.traceback(py)?;
    let read = || -> PyResult<String> {
        let file: String = trace.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract()?;
        let line: u32 = trace.getattr("tb_lineno")?.extract()?;
        Ok(format!("{file}:{line}"))
    };
    read().ok()
}
