//! Balancers that people run are started by a configuration of ours, are asked nothing until a client comes, and leave nothing.

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use sojourn_bed::install;
use sojourn_part::program::{Balancer, Product, Program, Spot};

use crate::skip::skipped;
use crate::support::{get, site, start, until};

fn haproxy(spot: &Spot<'_>, server: std::net::SocketAddr) -> String {
    let address = spot.address;
    format!(
        "global\n  nbthread 1\n  log stdout format raw local0\ndefaults\n  mode http\n  log global\n  option dontlognull\n  \
         log-format %s\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend in\n  bind {address}\n  \
         default_backend all\nbackend all\n  server one {server}\n"
    )
}

fn nginx(spot: &Spot<'_>, server: std::net::SocketAddr) -> String {
    let Spot { address, folder, access_log, user } = spot;
    let (folder, log) = (folder.display(), access_log.display());
    let user = user.map_or(String::new(), |user| format!("user {user};\n"));
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|part| format!("{part}_temp_path \"{folder}/{part}\";\n"))
        .concat();
    format!(
        "{user}daemon off;\npid \"{folder}/nginx.pid\";\nevents {{}}\nhttp {{\n{temporary}log_format to $upstream_addr;\n\
         access_log \"{log}\" to;\nupstream all {{ server {server}; }}\nserver {{ listen {address}; location / {{ proxy_pass \
         http://all; }} }}\n}}\n"
    )
}

#[test]
fn each_passes_requests_on_and_logs_who_served_them() {
    let site = site();
    let Some(origin) = start(&Program::parse("nginx(keep_alive = 0 s)", site.path()).expect("it is one")) else {
        return;
    };
    let server = origin.address();
    let told = server.to_string();
    let cases = [(Product::Haproxy, "one"), (Product::Nginx, told.as_str())];
    for (product, logged) in cases {
        if let Err(missing) = product.installed() {
            skipped(missing);
            continue;
        }
        let write = |spot: &Spot<'_>| match product {
            Product::Haproxy => haproxy(spot, server),
            _ => nginx(spot, server),
        };
        let running = Balancer::new(product).start(write).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(running.access_log(), "", "{product:?}: nothing was asked before the first client");
        let page = get(running.address(), "/");
        assert_eq!(page.body, fs::read(site.path().join("index.html")).expect("it is there"), "{product:?}");
        until("it has logged the request", || running.access_log().trim() == logged);
        let (address, folder) = (running.address(), running.access_log_path());
        running.stop();
        assert!(TcpStream::connect(address).is_err(), "{product:?} is gone");
        assert!(!folder.exists(), "{product:?} left its folder");
    }
}

/// A program that ends and leaves a process of its own behind: that goes too.
#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    if let Err(missing) = Product::Haproxy.installed() {
        skipped(missing);
        return;
    }
    let (site, folder) = (site(), tempfile::tempdir().expect("a folder"));
    let Some(origin) = start(&Program::parse("nginx(keep_alive = 0 s)", site.path()).expect("it is one")) else {
        return;
    };
    // It serves by a process in the background, and ends once the file `end` is there.
    let (program, end) = (folder.path().join("haproxy"), folder.path().join("end"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = -db ] || exec haproxy \"$@\"\nhaproxy \"$@\" &\n\
         while [ ! -e '{}' ]; do sleep 0.05; done\n",
        end.display()
    );
    install(&program, &script).expect("it is written");
    let balancer = Balancer { executable: Some(program), ..Balancer::new(Product::Haproxy) };
    let mut running = balancer.start(|spot| haproxy(spot, origin.address())).unwrap_or_else(|error| panic!("{error}"));
    let address = running.address();
    fs::write(end, "").expect("it is written");
    assert!(running.wait(Duration::from_secs(20)), "the script has ended");
    until("what it left behind has ended too", || TcpStream::connect(address).is_err());
}

#[test]
fn a_configuration_that_the_product_refuses_is_refused_in_its_words() {
    for product in [Product::Haproxy, Product::Nginx] {
        if let Err(missing) = product.installed() {
            skipped(missing);
            continue;
        }
        let error = Balancer::new(product).start(|_| "nonsense;\n".into()).err().expect("it is refused").to_string();
        assert!(error.starts_with(&format!("{} refuses its configuration: ", product.name())), "{error}");
        assert!(error.contains("nonsense"), "{error}");
    }
}

#[test]
fn each_says_its_version() {
    for product in Product::ALL {
        let Ok(executable) = product.installed() else { continue };
        let version = product.version(&executable).unwrap_or_else(|error| panic!("{error}"));
        let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
        assert!(parts.len() >= 2, "{product:?}: {version}");
    }
}
