//! Where addresses are: in which region, and where on Earth.
//!
//! The regions of the configuration name ranges of addresses, countries and continents. An address is in the region with the
//! longest range that has it; else in the first one that names its country, and else its continent, by a table in MaxMind's
//! format (GeoLite2, GeoIP2 and what others make in it). The table is in memory, and a look at it costs about a microsecond, so
//! it is looked at only for policies that read places.

use std::net::IpAddr;
use std::path::Path;

use maxminddb::Reader;
use serde::Deserialize;
use sojourn_dispatch::{Location, Origin};
use sojourn_stats::input;

use sojourn_part::settings::dns::Region;

/// Where addresses are.
pub(crate) struct Places {
    regions: Vec<Region>,
    table: Option<Reader<Vec<u8>>>,
}

/// What a table says of an address; whatever else it says is passed over.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Found<'a> {
    #[serde(borrow)]
    continent: Continent<'a>,
    #[serde(borrow)]
    country: Country<'a>,
    location: Coordinates,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Continent<'a> {
    code: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Country<'a> {
    iso_code: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Coordinates {
    latitude: Option<f64>,
    longitude: Option<f64>,
}

impl Places {
    /// The places of these regions, and of the table in a file.
    ///
    /// # Errors
    /// In one line, where the file cannot be read or is no such table.
    pub(crate) fn new(regions: &[Region], table: Option<&Path>) -> Result<Places, String> {
        let open = |path: &Path| {
            let wrong = |why: String| {
                format!("{}: {why}; it is a table in MaxMind's format, as GeoLite2-City.mmdb", path.display())
            };
            let bytes = input::bytes(path).map_err(|error| wrong(error.to_string()))?;
            Reader::from_source(bytes).map_err(|error| wrong(error.to_string()))
        };
        Ok(Places { regions: regions.to_vec(), table: table.map(open).transpose()? })
    }

    /// Where an address is.
    pub(crate) fn origin(&self, address: IpAddr) -> Origin {
        let plain = match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        };
        let ranges = self.regions.iter().enumerate().flat_map(|(number, region)| {
            let within = region.addresses.iter().filter(|range| range.contains(address));
            within.map(move |range| (range.bits, number))
        });
        // Of equally long ranges the first is meant.
        let by_range = ranges.max_by_key(|(length, number)| (*length, usize::MAX - number)).map(|(_, number)| number);
        let (mut by_table, mut location) = (None, None);
        let lookup = self.table.as_ref().and_then(|table| table.lookup(address).ok());
        // A table that is damaged where this address stands knows nothing of it.
        if let Some(found) = lookup.as_ref().and_then(|found| found.decode::<Found<'_>>().ok().flatten()) {
            let has = |codes: &[String], code: Option<&str>| code.is_some_and(|code| codes.iter().any(|of| of == code));
            let regions = || self.regions.iter();
            let by_country = regions().position(|region| has(&region.countries, found.country.iso_code));
            by_table =
                by_country.or_else(|| regions().position(|region| has(&region.continents, found.continent.code)));
            let Coordinates { latitude, longitude } = found.location;
            location = latitude.zip(longitude).and_then(|(latitude, longitude)| Location::new(latitude, longitude));
        }
        Origin { region: by_range.or(by_table).map(|number| number as u16), address: plain, location }
    }

    /// The number of a region.
    pub(crate) fn number(&self, region: &str) -> Option<u16> {
        self.regions.iter().position(|known| known.name == region).map(|number| number as u16)
    }

    /// The name of a region.
    pub(crate) fn region(&self, number: u16) -> &str {
        self.regions.get(usize::from(number)).map_or("?", |region| &region.name)
    }
}
