//! The thread that moves packets: out of the devices of the hosts, through the network of links, into the devices again.
//!
//! It is thin on purpose: it reads what is there with the instant at which it read it, lets the [`Network`] do what is due,
//! and sleeps until the next instant or packet. The network is behind a lock, which others take for a moment to cut a way
//! or to read counts. The price: a packet's clock starts when it is read, some tens of microseconds after it was sent.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use sojourn_stats::{Span, Time};

use crate::clock;
use crate::network::Network;
use crate::run_queue::RunQueue;
use crate::topology::Topology;
use crate::tun::{MTU, Tun};

/// Packets of one host that are read before another's and before the clock is looked at again.
const BATCH: usize = 32;

/// Packet buffers that are kept for the next packets.
const SPARE: usize = 4096;

const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// A thread that moves packets, until this is dropped.
#[derive(Debug)]
pub(crate) struct Forwarder {
    network: Arc<Mutex<Network<Vec<u8>>>>,
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    /// How long that thread has waited for a core; none where the kernel does not count it.
    run_queue: Option<RunQueue>,
}

/// What the thread has.
struct Mover {
    network: Arc<Mutex<Network<Vec<u8>>>>,
    /// One per host; none where the host is on a segment.
    devices: Vec<Option<Tun>>,
    /// Which host packets for an address go to: for those of a segment its router.
    hosts: HashMap<u32, usize>,
    epoll: Epoll,
    timer: TimerFd,
    /// What the timer is set to.
    alarm: Time,
    _stop: Arc<EventFd>,
    spare: Vec<Vec<u8>>,
}

impl Forwarder {
    /// Moves packets among the hosts of `topology`, which have these devices, over `network`.
    pub(crate) fn start(
        network: Network<Vec<u8>>,
        topology: &Topology,
        devices: Vec<Option<Tun>>,
    ) -> io::Result<Forwarder> {
        let network = Arc::new(Mutex::new(network));
        let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        let readable = |data| EpollEvent::new(EpollFlags::EPOLLIN, data);
        // Edge-triggered, because it is set anew and never read: else it would wake the thread until the next packet.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        epoll.add(&*stop, readable(STOP))?;
        for (index, device) in devices.iter().enumerate() {
            if let Some(device) = device {
                epoll.add(device, readable(index as u64))?;
            }
        }
        let by_host = topology.hosts.iter().enumerate().map(|(index, host)| {
            let at = topology.segment_of(index).map_or(index, |segment| segment.router);
            (host.address.to_bits(), at)
        });
        let services = topology
            .segments
            .iter()
            .flat_map(|segment| segment.services.iter().map(|service| (service.to_bits(), segment.router)));
        let hosts = by_host.chain(services).collect();
        let mover = Mover {
            network: Arc::clone(&network),
            devices,
            hosts,
            epoll,
            timer,
            alarm: Time::NEVER,
            _stop: Arc::clone(&stop),
            spare: Vec::new(),
        };
        let (tells, told) = channel();
        let moves = move || {
            // It is waited for.
            let _ = tells.send(RunQueue::of_this_thread());
            mover.run();
        };
        let thread = std::thread::Builder::new().name("links".into()).spawn(moves)?;
        let run_queue = told.recv().map_err(io::Error::other)?;
        Ok(Forwarder { network, stop, thread: Some(thread), run_queue })
    }

    /// How long the thread has waited for a core.
    pub(crate) fn waited(&self) -> Option<Span> {
        self.run_queue.as_ref()?.waited()
    }

    /// The network, to look at it or to cut a way.
    pub(crate) fn network(&self) -> MutexGuard<'_, Network<Vec<u8>>> {
        self.network.lock().expect("the thread that moves packets does not panic")
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        // The counter of the event is far from full: it is written once.
        let _ = self.stop.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Mover {
    fn run(mut self) {
        let mut ready = [EpollEvent::empty(); 64];
        loop {
            let count = match self.epoll.wait(&mut ready, EpollTimeout::NONE) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => unreachable!("waiting for open devices: {error}"),
            };
            let network = Arc::clone(&self.network);
            let mut network = network.lock().expect("those who look at the network do not panic");
            for event in &ready[..count] {
                match event.data() {
                    STOP => return,
                    TIMER => self.alarm = Time::NEVER,
                    host => self.receive(host as usize, &mut network),
                }
            }
            self.advance(&mut network);
        }
    }

    fn receive(&mut self, from: usize, network: &mut Network<Vec<u8>>) {
        for _ in 0..BATCH {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(MTU, 0);
            // A device whose host is being taken down has no packets.
            let device = self.devices[from].as_ref().expect("only devices are waited for");
            let Ok(Some(bytes)) = device.receive(&mut packet) else {
                self.keep(packet);
                return;
            };
            packet.truncate(bytes);
            match destination(&packet).and_then(|address| self.hosts.get(&address)) {
                Some(&to) => network.enter(clock::since_boot(), from, to, bytes as u32, packet),
                // Multicast, and addresses that no host has.
                None => self.keep(packet),
            }
        }
    }

    fn advance(&mut self, network: &mut Network<Vec<u8>>) {
        let Mover { devices, spare, .. } = self;
        network.advance(clock::since_boot(), |_, to, packet| {
            // What the kernel does not take is lost, as at a full network card.
            let _ = devices[to].as_ref().expect("routes lead to hosts with devices").send(&packet);
            if spare.len() < SPARE {
                spare.push(packet);
            }
        });
        let next = network.next_at().unwrap_or(Time::NEVER);
        if next < self.alarm {
            self.alarm = next;
            let at = TimeSpec::new((next.0 / 1_000_000_000) as i64, (next.0 % 1_000_000_000) as i64);
            // It is set anew before it is read: setting it clears what it counted.
            let set = self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME);
            set.expect("a timer takes any instant");
        }
    }

    fn keep(&mut self, packet: Vec<u8>) {
        if self.spare.len() < SPARE {
            self.spare.push(packet);
        }
    }
}

/// Where an IPv4 packet goes (RFC 791).
fn destination(packet: &[u8]) -> Option<u32> {
    let is_ipv4 = packet.first()? >> 4 == 4;
    let address = packet.get(16..20).filter(|_| is_ipv4)?;
    Some(u32::from_be_bytes(address.try_into().ok()?))
}
