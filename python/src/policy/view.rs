//! What a class's `choose` is called with.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use sojourn_dispatch::{Ask, Signals};
use sojourn_stats::Stream;

use super::sheet::{Count, Real, Sheet};
use crate::error;

/// One request to place, and what is known of the servers. It is valid while `choose` runs, and is then used again.
///
/// Servers are numbers from 0 on. What a server is asked about must be in the policy's `requires`.
#[pyclass(module = "sojourn")]
pub(crate) struct View {
    sheet: Sheet,
    /// While `choose` runs.
    stream: Option<Stream>,
}

impl View {
    pub(crate) fn new(signals: Signals) -> View {
        View { sheet: Sheet::of_signals(signals), stream: None }
    }

    /// Before a choice.
    pub(crate) fn begin(&mut self, ask: &Ask<'_>, stream: &Stream) {
        self.sheet.fill(ask);
        self.stream = Some(stream.clone());
    }

    /// After it: where the random numbers go on.
    pub(crate) fn end(&mut self) -> Option<Stream> {
        self.stream.take()
    }

    fn count(&self, row: Count, name: &str, server: isize) -> PyResult<i64> {
        let at = usize::try_from(server).ok().and_then(|server| self.sheet.count(row, server));
        at.ok_or_else(|| self.missing(name, server, self.sheet.has_count(row)))
    }

    fn number(&self, row: Real, name: &str, server: isize) -> PyResult<f64> {
        let at = usize::try_from(server).ok().and_then(|server| self.sheet.real(row, server));
        at.ok_or_else(|| self.missing(name, server, self.sheet.has_real(row)))
    }

    fn missing(&self, name: &str, server: isize, is_read: bool) -> PyErr {
        match is_read {
            true => PyIndexError::new_err(format!("there is no server {server}: they are 0 to {}", self.sheet.servers)),
            false => {
                error::policy(&format!("`{name}` is not known here: the policy's `requires` does not name it"), None)
            }
        }
    }

    fn draw(&mut self) -> PyResult<&mut Stream> {
        self.stream.as_mut().ok_or_else(|| error::policy("random numbers can be drawn while `choose` runs only", None))
    }
}

#[pymethods]
impl View {
    /// The servers that may be chosen, in ascending order.
    #[getter]
    fn candidates(&self) -> Vec<i64> {
        self.sheet.candidates.clone()
    }

    /// How many servers there are, those that may not be chosen too.
    #[getter]
    fn servers(&self) -> usize {
        self.sheet.servers
    }

    /// The time (s).
    #[getter]
    fn now(&self) -> f64 {
        self.sheet.now_s
    }

    /// The key of the client's address. Needs "address".
    #[getter]
    fn client(&self) -> u64 {
        self.sheet.request[0] as u64
    }

    /// The key of the path. Needs "path".
    #[getter]
    fn key(&self) -> u64 {
        self.sheet.request[1] as u64
    }

    /// The number of the request's class.
    #[getter]
    fn request_class(&self) -> i64 {
        self.sheet.request[2]
    }

    /// The number of the object asked for. Needs "object".
    #[getter]
    fn object(&self) -> i64 {
        self.sheet.request[3]
    }

    /// Bytes of the reply. Needs "size".
    #[getter]
    fn size(&self) -> Option<i64> {
        Some(self.sheet.request[4]).filter(|size| *size >= 0)
    }

    /// What policies compare: requests in flight, or what the last poll said. Needs "in-flight" or "reports".
    fn load(&self, server: isize) -> PyResult<i64> {
        self.count(Count::Load, "load", server)
    }

    /// Requests forwarded and not yet ended. Needs "in-flight".
    fn in_flight(&self, server: isize) -> PyResult<i64> {
        self.count(Count::InFlight, "in_flight", server)
    }

    /// Complete replies so far. Needs "in-flight".
    fn completed(&self, server: isize) -> PyResult<i64> {
        self.count(Count::Completed, "completed", server)
    }

    /// Requests without a whole reply so far. Needs "in-flight".
    fn failed(&self, server: isize) -> PyResult<i64> {
        self.count(Count::Failed, "failed", server)
    }

    /// Its weight.
    fn weight(&self, server: isize) -> PyResult<f64> {
        self.number(Real::Weight, "weight", server)
    }

    /// Mean time to the first byte (s) in the policy's `window`; nan before there is one. Needs "first-byte".
    fn round_trip(&self, server: isize) -> PyResult<f64> {
        self.number(Real::RoundTrip, "round_trip", server)
    }

    /// Busy share of its processor as reported, raised by choices since; nan before. Needs "utilization".
    fn cpu(&self, server: isize) -> PyResult<f64> {
        self.number(Real::Cpu, "cpu", server)
    }

    /// Requests per second that it could take in addition; nan before its first report. Needs "room".
    fn room(&self, server: isize) -> PyResult<f64> {
        self.number(Real::Room, "room", server)
    }

    /// Requests per second that it can take in all; nan before its first report. Needs "room".
    fn capacity(&self, server: isize) -> PyResult<f64> {
        self.number(Real::Capacity, "capacity", server)
    }

    /// Requests that it had when it last reported; nan before. Needs "reports".
    fn reported(&self, server: isize) -> PyResult<f64> {
        self.number(Real::Reported, "reported", server)
    }

    /// How old its last report is (s); nan before. Needs "reports".
    fn report_age(&self, server: isize) -> PyResult<f64> {
        self.number(Real::ReportAge, "report_age", server)
    }

    /// A random number from 0 up to 1, of this dispatcher's own stream.
    fn uniform(&mut self) -> PyResult<f64> {
        Ok(self.draw()?.uniform())
    }

    /// A random number from 0 to `bound` - 1.
    fn below(&mut self, bound: isize) -> PyResult<usize> {
        match usize::try_from(bound).ok().filter(|bound| *bound > 0) {
            Some(bound) => Ok(self.draw()?.below(bound)),
            None => Err(error::policy(&format!("below({bound}): a choice among nothing"), None)),
        }
    }
}
