//! Servers that own files and read each other's: the most requests per second that they can sustain.
//!
//! Andresen, Yang, Holmedahl, Ibarra, SWEB: towards a scalable World Wide Web server on multicomputers, IPPS 1996, section
//! 3.3. The formula is damaged in the text that is left; it is the reading in which its three weights add up to 1, all terms
//! are seconds, and the printed example comes out. A rotation brings a request to the owner of its file with a chance of 1/p,
//! and a redirection always. A server does one thing at a time: what it prepares and what it reads overlap with nothing.

/// Servers that share their files, and what a request takes there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileNodes {
    /// Servers, p.
    pub servers: u32,
    /// Mean size of what is asked for, F (bytes).
    pub size_mean: f64,
    /// Rate at which a server reads its own files, b1 (bytes/s).
    pub local_rate: f64,
    /// Rate at which a server reads those of others, b2 (bytes/s).
    pub remote_rate: f64,
    /// Time to prepare a request, A (s).
    pub preparation_s: f64,
    /// Time to redirect one, O (s).
    pub redirection_s: f64,
}

impl FileNodes {
    /// Mean time (s) that a request takes of a server, H, where a share `redirected` of all is redirected:
    /// (1/p + d) F/b1 + (1 - 1/p - d) F/b2 + A + d (A + O).
    pub fn processing_mean_s(&self, redirected: f64) -> f64 {
        let FileNodes { size_mean, local_rate, remote_rate, preparation_s, redirection_s, .. } = *self;
        let local = 1.0 / f64::from(self.servers) + redirected;
        local * size_mean / local_rate
            + (1.0 - local) * size_mean / remote_rate
            + preparation_s
            + redirected * (preparation_s + redirection_s)
    }

    /// Most requests per second that all servers together sustain, p / H.
    pub fn throughput_max(&self, redirected: f64) -> f64 {
        f64::from(self.servers) / self.processing_mean_s(redirected)
    }

    /// The largest share that can be redirected: all that do not come to the owner of their file.
    pub fn redirected_most(&self) -> f64 {
        1.0 - 1.0 / f64::from(self.servers)
    }
}
