//! Sites that report to a DNS: their load, the rates of its clients, and the round trips that it orders.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::time::Duration;

use sojourn_part::now;
use sojourn_report::{Echoes, Heard, Key, Load, Metric, Metrics, Outcome, Sender};
use sojourn_stats::{Span, Time};

use crate::Result;

pub(crate) const SITES: usize = 64;
pub(crate) const CLIENTS: usize = 100_000;
pub(crate) const KEY: &[u8] = b"a key of benchmarks";
/// When the sites began, by their own clocks (ns since 1970).
const EPOCH: u64 = 1_700_000_000_000_000_000;

/// Sites that report a load with room, and the round trips to clients that they are asked for.
pub(crate) struct Sites {
    senders: Vec<(UdpSocket, Sender)>,
    start: Time,
    /// When to hear orders, and when to report.
    next: [Time; 2],
    pub(crate) orders: usize,
}

impl Sites {
    pub(crate) fn report_to(to: Option<SocketAddr>) -> Result<Sites> {
        let to = to.ok_or("it takes no reports")?;
        let mut senders = Vec::new();
        for n in 0..SITES {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            senders.push((socket, Sender::new(Key::new(KEY), &format!("s{n}"), EPOCH, 1)?));
        }
        let start = now();
        let mut sites = Sites { senders, start, next: [start; 2], orders: 0 };
        // The first datagram is answered by a challenge, the second is believed.
        for _ in 0..10 {
            sites.next = [now(); 2];
            sites.look()?;
            std::thread::park_timeout(Duration::from_millis(100));
        }
        Ok(sites)
    }

    /// Tells the rates of clients, each of these sites of those that ask it: from then on they are known. Gives how many.
    pub(crate) fn tell_rates(&mut self, sites: Range<usize>) -> Result<usize> {
        let all: Vec<(String, f64)> = (0..CLIENTS).map(|n| (client(n).to_string(), 0.01)).collect();
        let mut told = 0;
        for (number, part) in all.chunks(CLIENTS.div_ceil(SITES)).enumerate().filter(|(n, _)| sites.contains(n)) {
            told += part.len();
            let measured = EPOCH + (now() - self.start).0;
            for datagram in self.senders[number].1.rates(0, measured, part.to_vec()) {
                self.senders[number].0.send(&datagram)?;
                // They shall all be heard, and what is ordered obeyed: three round trips of each.
                std::thread::park_timeout(Duration::from_millis(2));
                self.next[0] = now();
                self.look()?;
            }
        }
        Ok(told)
    }

    /// Obeys until what was ordered for clients that are new is done, at most a minute.
    pub(crate) fn settle(&mut self) -> Result<()> {
        for _ in 0..600 {
            let before = self.orders;
            std::thread::park_timeout(Duration::from_millis(100));
            self.look()?;
            if self.orders - before < 10 {
                break;
            }
        }
        Ok(())
    }

    /// Reports every four seconds, and obeys orders soon.
    pub(crate) fn look(&mut self) -> Result<()> {
        let now = now();
        if now < self.next[0] {
            return Ok(());
        }
        self.next[0] = now + Span(100_000_000);
        let is_due = now >= self.next[1];
        if is_due {
            self.next[1] = now + Span(4_000_000_000);
        }
        let measured = EPOCH + (now - self.start).0;
        let mut buffer = [0; 2048];
        for (number, (socket, sender)) in self.senders.iter_mut().enumerate() {
            while let Ok(length) = socket.recv(&mut buffer) {
                if let Heard::Order { order, client } = sender.hear(0, &buffer[..length]) {
                    self.orders += 1;
                    let mean = Span((5 + 37 * number as u64 % 97) * 1_000_000);
                    let echoes = Echoes { order, client, outcome: Outcome::Icmp, mean, answers: 3 };
                    let datagram = sender.echoes(0, measured, echoes);
                    socket.send(&datagram)?;
                }
            }
            if is_due {
                let mut metrics = Metrics::default();
                for (metric, value) in
                    [(Metric::Cpu, 0.1), (Metric::Capacity, 1e9), (Metric::Room, 9e8), (Metric::Completed, 0.0)]
                {
                    metrics.set(metric, value);
                }
                let (every, heartbeat) = (Span(1_000_000_000), Span(4_000_000_000));
                let datagram = sender.load(0, measured, Load { every, heartbeat, metrics, ..Load::default() });
                socket.send(&datagram)?;
            }
        }
        Ok(())
    }
}

/// Clients that follow are far from each other.
pub(crate) fn client(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + (number * 40_503 % (1 << 24)) as u32)
}
