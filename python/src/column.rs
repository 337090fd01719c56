//! Columns of doubles in Python's memory, read where they are.
//!
//! The stable ABI of CPython 3.10 has no buffers. So an array says where its numbers are by `__array_interface__`, NumPy's
//! array interface, version 3; and an `array.array`, which there is without NumPy, by `buffer_info`. A [`Column`] holds its
//! array, so that the memory stays. The interpreter's lock does not keep others from writing into it meanwhile: so it is read
//! as atomics, which give an old or a new number, and what reads a column twice must look whether it was the same.

#![allow(unsafe_code, reason = "memory of another language is known by its address alone")]

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error;

/// Doubles, as their bits, in an array of Python's.
pub(crate) struct Column {
    /// Whose memory it is.
    _array: Py<PyAny>,
    first: *const AtomicU64,
    count: usize,
}

// Safety: any thread may let go of the array, and its memory is only read, as atomics.
unsafe impl Send for Column {}
// Safety: as above.
unsafe impl Sync for Column {}

impl AsRef<[AtomicU64]> for Column {
    fn as_ref(&self) -> &[AtomicU64] {
        if self.count == 0 {
            return &[];
        }
        // Safety: the array said that so many doubles begin there, one after another, and they are aligned as such. It is held as
        // long as this is, and an array that is held elsewhere cannot be made longer in place.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl Column {
    /// A copy of its numbers.
    ///
    /// # Errors
    /// For the first that is missing or infinite.
    pub(crate) fn finite(&self) -> PyResult<Vec<f64>> {
        let mut numbers = Vec::with_capacity(self.count);
        for (at, bits) in self.as_ref().iter().enumerate() {
            let number = f64::from_bits(bits.load(Ordering::Relaxed));
            if !number.is_finite() {
                // As Python writes it.
                let shown = number.to_string().to_lowercase();
                return Err(error::input(format!("number {at} is {shown}: leave out what is missing or infinite")));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }
}

/// What `__array_interface__` says.
#[derive(FromPyObject)]
struct Interface {
    #[pyo3(item)]
    typestr: String,
    #[pyo3(item)]
    shape: Vec<usize>,
    /// Its address, and whether it is only to be read.
    #[pyo3(item)]
    data: (usize, bool),
    /// None where the numbers stand one after another.
    #[pyo3(item)]
    strides: Option<Vec<isize>>,
}

/// Doubles in the order of bytes of this machine.
const DOUBLES: &str = if cfg!(target_endian = "little") { "<f8" } else { ">f8" };

impl<'a, 'py> FromPyObject<'a, 'py> for Column {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Column> {
        let wrong = |what: &str| error::input(format!("a column is an array of doubles in one piece: this one {what}"));
        let (address, count) = match object.getattr_opt("__array_interface__")? {
            Some(interface) => {
                let Interface { typestr, shape, data, strides } = interface.extract()?;
                let [count] = shape[..] else { return Err(wrong("has not one dimension")) };
                if typestr != DOUBLES {
                    return Err(wrong(&format!("has numbers of the type {typestr}")));
                }
                if strides.is_some_and(|strides| strides != [size_of::<f64>() as isize]) {
                    return Err(wrong("has gaps between its numbers"));
                }
                (data.0, count)
            }
            None => {
                if object.getattr("typecode")?.extract::<String>()? != "d" {
                    return Err(wrong("has other numbers"));
                }
                object.call_method0("buffer_info")?.extract::<(usize, usize)>()?
            }
        };
        if count > 0 && (address == 0 || !address.is_multiple_of(align_of::<AtomicU64>())) {
            return Err(wrong("is not aligned"));
        }
        Ok(Column { _array: object.to_owned().unbind(), first: address as *const AtomicU64, count })
    }
}
