//! A switch that is killed and followed by another one while large transfers are under way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::support::inside;

/// Transfers at once, and the least bytes of each.
const TRANSFERS: usize = 8;
const LEAST: u64 = 4_000_000;

#[test]
fn transfers_go_on_while_a_switch_is_killed_and_followed() {
    inside("switch::restart::as_transfers", &[]);
}

#[test]
#[ignore = "runs inside namespaces, for the test above"]
fn as_transfers() {
    let cluster = Cluster::new();
    let _echoes = cluster.servers().map(|(host, name)| cluster.echo(host, name));
    for mode in [Mode::Mac, Mode::Rewrite, Mode::Nat] {
        let halves = cluster.halves(mode);
        transfers_go_on(&cluster, mode);
        drop(halves);
        cluster.nothing_is_left("0");
    }
}

/// Lets transfers come to their end when this is dropped, by a test that fails too.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn transfers_go_on(cluster: &Cluster, mode: Mode) {
    let mut first = killed::switch(cluster, mode);
    let mut held: Vec<Caller> = (0..TRANSFERS).map(|_| cluster.call()).collect();
    let (enough, heard) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; TRANSFERS]);
    let all_have = |bytes: &[u64]| heard.iter().zip(bytes).all(|(heard, least)| heard.load(Ordering::Relaxed) > *least);
    let now_heard = || heard.iter().map(|heard| heard.load(Ordering::Relaxed)).collect::<Vec<_>>();
    held.iter().for_each(|caller| caller.stream.get_ref().set_write_timeout(Some(PATIENCE)).expect("not none"));
    let second = std::thread::scope(|scope| {
        let ends = Ends(&enough);
        for (number, (caller, heard)) in held.iter_mut().zip(&heard).enumerate() {
            let (mut there, enough) = (caller.stream.get_ref().try_clone().expect("a descriptor"), &enough);
            let sends = scope.spawn(move || {
                let (mut sent, mut chunk) = (0, [0; 50_000]);
                while sent < LEAST || !enough.load(Ordering::Relaxed) {
                    fill(&mut chunk, number, sent);
                    there.write_all(&chunk).expect("it is sent");
                    sent += chunk.len() as u64;
                }
                there.shutdown(std::net::Shutdown::Write).expect("it is open");
                sent
            });
            scope.spawn(move || {
                let (mut chunk, mut right, mut count) = ([0; 50_000], [0; 50_000], 0);
                loop {
                    let bytes = caller.stream.read(&mut chunk).expect("it is repeated");
                    if bytes == 0 {
                        break;
                    }
                    fill(&mut right[..bytes], number, count);
                    assert!(chunk[..bytes] == right[..bytes], "{mode}: transfer {number}, after {count} bytes");
                    count += bytes as u64;
                    heard.store(count, Ordering::Relaxed);
                }
                assert_eq!(sends.join().expect("it is sent"), count, "{mode}: transfer {number} is whole");
            });
        }
        until("all are under way", || all_have(&[100_000; TRANSFERS]));
        first.kill();
        // The kernel forwards what is open, without a switch.
        let killed = now_heard();
        until("all go on without a switch", || all_have(&killed));
        let second = killed::switch(cluster, mode);
        let followed = now_heard();
        until("all go on with the next one", || all_have(&followed));
        drop(ends);
        second
    });
    assert_eq!(second.events()[0]["inherited"], TRANSFERS, "{mode}");
    cluster.call().exchange();
    let told = second.stop();
    let told = told.last().expect("it has stopped");
    assert_eq!(
        (&told["connections"], &told["refused"], &told["forgotten"]),
        (&1.into(), &0.into(), &0.into()),
        "{told}"
    );
}

/// What a transfer has from this byte on: no two transfers, and no two places that are mistaken for each other, look alike.
fn fill(chunk: &mut [u8], transfer: usize, from: u64) {
    for (byte, place) in chunk.iter_mut().zip(from..) {
        *byte = ((place * 31 + (place >> 8) * 17 + (place >> 16)) as u8).wrapping_add(transfer as u8 * 29);
    }
}
