//! A TUN device: what the kernel sends to it is read as IP packets, and what is written to it the kernel receives.
//!
//! It belongs to the network namespace of the thread that opens it. The kernel cuts what is sent into packets of at most
//! the MTU and computes their checksums before they are read, so a link only moves bytes. The price: one system call per
//! packet and direction.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;

/// The device from which TUN devices are made.
pub(crate) const DEVICE: &str = "/dev/net/tun";

/// The largest packet (bytes), as on an Ethernet.
pub(crate) const MTU: usize = 1500;

/// A TUN device; reading and writing it does not block.
#[derive(Debug)]
pub struct Tun(File);

/// Whether this process may open the device at all.
pub(crate) fn check() -> io::Result<()> {
    open().map(drop)
}

impl Tun {
    /// A device of this name in the network namespace of the calling thread; one that was kept ([`Tun::persist`]) is taken
    /// over.
    ///
    /// # Errors
    /// When this process may not, or another one has the device.
    pub fn open(name: &str) -> io::Result<Tun> {
        let file = open()?;
        request::attach(file.as_raw_fd(), name)?;
        Ok(Tun(file))
    }

    /// From now on the device stays when this is dropped, until it is deleted (`ip link del`).
    ///
    /// # Errors
    /// When the system refuses.
    pub fn persist(&self) -> io::Result<()> {
        request::persist(self.0.as_raw_fd())
    }

    /// Reads one packet; none when no packet is there.
    ///
    /// # Errors
    /// When the device is gone or down.
    pub fn receive(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match (&self.0).read(packet) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// When it is no packet of IP, or the device is gone or down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write(packet).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(DEVICE)
}

mod request {
    //! The request that names a device (linux/if_tun.h), which no safe wrapper of the workspace has.
    #![allow(
        unsafe_code,
        reason = "a system call that nix does not wrap: it reads one structure, and keeps no pointer"
    )]

    use std::io;
    use std::os::fd::RawFd;

    use nix::libc::{IFF_NO_PI, IFF_TUN, IFNAMSIZ, TUNSETIFF, TUNSETPERSIST};

    /// `struct ifreq`, of which the kernel reads the name and the flags.
    #[repr(C)]
    struct Request {
        name: [u8; IFNAMSIZ],
        flags: i16,
        rest: [u8; 22],
    }

    nix::ioctl_write_ptr_bad!(set_interface, TUNSETIFF, Request);
    nix::ioctl_write_int_bad!(set_persistence, TUNSETPERSIST);

    pub(super) fn attach(file: RawFd, name: &str) -> io::Result<()> {
        let mut request = Request { name: [0; IFNAMSIZ], flags: (IFF_TUN | IFF_NO_PI) as i16, rest: [0; 22] };
        assert!(name.len() < IFNAMSIZ, "a device name is short");
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: the structure is as large as the kernel's, lives until the call returns, and is only read.
        unsafe { set_interface(file, &request) }?;
        Ok(())
    }

    pub(super) fn persist(file: RawFd) -> io::Result<()> {
        // SAFETY: the argument is a number.
        unsafe { set_persistence(file, 1) }?;
        Ok(())
    }
}
