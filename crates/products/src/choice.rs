//! A product's own log of its choices: a line for each request, in the order in which they ended, as the configurations that are
//! written here have it.
//!
//! A line has the status of the reply, an instant in seconds since 1970, how long the request took, and who served it. HAProxy
//! and nginx log the instant of the end, Envoy that of the beginning. Durations are as exact as the product's, to 1 ms.

use sojourn_part::program::Product;

/// HAProxy's `log-format` (manual, section 8.2.6): `%s` is the server.
pub(crate) const OF_HAPROXY: &str = "%ST %[date(0,us)] %Ta %s";
/// nginx's `log_format`, where a map gives the variable the server's name.
pub(crate) const OF_NGINX: &str = "$status $msec $request_time $sojourn_backend";
/// Envoy's format string.
pub(crate) const OF_ENVOY: &str = "%RESPONSE_CODE% %START_TIME(%s.%6f)% %DURATION% %UPSTREAM_METADATA(sojourn:name)%";

/// A choice as a product has logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The server that served the request; none where none did.
    pub server: Option<&'a str>,
    /// The status of the reply; 0 where there was none.
    pub status: u16,
    /// When the request had ended, in microseconds since 1970 by the product's clock.
    pub ended_us: u64,
    /// How long it took at the product and behind it, in milliseconds.
    pub took_ms: u64,
}

impl Choice<'_> {
    /// The first line of [`Choice::row`]s.
    pub const COLUMNS: &'static str = "ended_unix_s,took_s,status,server";

    /// Reads a line of the log of `product`; none where it is no such line.
    pub fn read(product: Product, line: &str) -> Option<Choice<'_>> {
        let mut words = line.split(' ');
        let mut next = || words.next();
        let status = next()?.parse::<i32>().ok()?.max(0).try_into().ok()?;
        let (instant, took, server) = (next()?, next()?, next());
        let scaled =
            |text: &str, scale: f64| text.parse::<f64>().ok().filter(|x| *x >= 0.0).map(|x| (x * scale).round() as u64);
        let (ended_us, took_ms) = match product {
            Product::Haproxy => (instant.parse().ok()?, took.parse().ok()?),
            Product::Nginx => (scaled(instant, 1e6)?, scaled(took, 1e3)?),
            Product::Envoy => {
                let took_ms: u64 = took.parse().ok()?;
                (scaled(instant, 1e6)? + 1_000 * took_ms, took_ms)
            }
        };
        let server = server.filter(|server| !matches!(*server, "" | "-" | "<NOSRV>"));
        Some(Choice { server, status, ended_us, took_ms })
    }

    /// As a row of a CSV file.
    pub fn row(&self) -> String {
        let Choice { server, status, ended_us, took_ms } = self;
        let (second, us) = (ended_us / 1_000_000, ended_us % 1_000_000);
        format!("{second}.{us:06},{}.{:03},{status},{}", took_ms / 1000, took_ms % 1000, server.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_each_product_say_the_same() {
        let read = |product, line| Choice::read(product, line).map(|choice| choice.row());
        let row = Some("1795821677.527000,0.005,200,server-1".to_owned());
        assert_eq!(read(Product::Haproxy, "200 1795821677527000 5 server-1"), row);
        assert_eq!(read(Product::Nginx, "200 1795821677.527 0.005 server-1"), row);
        assert_eq!(read(Product::Envoy, "200 1795821677.522000 5 server-1"), row);
        // No server served it, or no reply was sent.
        let none = Choice { server: None, status: 503, ended_us: 1_000_000, took_ms: 0 };
        assert_eq!(Choice::read(Product::Haproxy, "503 1000000 0 <NOSRV>"), Some(none));
        assert_eq!(Choice::read(Product::Nginx, "503 1.000 0.000 "), Some(none));
        assert_eq!(Choice::read(Product::Envoy, "503 1.000000 0 -"), Some(none));
        assert_eq!(Choice::read(Product::Haproxy, "-1 1000000 0 a").map(|choice| choice.status), Some(0));
        for wrong in ["", "[NOTICE] (1) : New worker", "200 x 5 a", "200 1795821677527000"] {
            assert_eq!(Choice::read(Product::Haproxy, wrong), None, "{wrong}");
        }
    }
}
