//! WebStone file lists: `/file500.html 350` means a file of 500 bytes asked for with weight 350.

/// A WebStone file list.
#[derive(Clone, Debug)]
pub struct FileList {}

impl FileList {
    /// Mean and variance of the size of a request (bytes, bytes^2).
    pub fn moments(&self) -> (f64, f64) {
        (0.0, 0.0)
    }
}
