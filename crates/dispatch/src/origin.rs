//! A place: of a client, of its resolver or of a backend.

use core::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Where a request comes from or where a backend is, as far as the face can tell. Each part stands for itself: a DNS
/// server may see only an address, a simulator may know only the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Number of the region in the description of the system.
    pub region: Option<u16>,
    /// The address of the client, of its resolver or of the backend, for policies that judge nearness by address.
    pub address: Option<Ipv4Addr>,
    /// Where on Earth it is, for policies that judge nearness by geography.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

/// A place on Earth, to a hundredth of a degree (1.1 km).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Degrees north, times 100.
    latitude: i16,
    /// Degrees east, times 100.
    longitude: i16,
}

/// Mean radius of the Earth (km).
const EARTH_KM: f64 = 6371.0;

impl Location {
    /// The place at so many degrees north and east; none where there is no such place.
    pub fn new(latitude: f64, longitude: f64) -> Option<Location> {
        let is_on_earth = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        let hundredths = |degrees: f64| (degrees * 100.0).round() as i16;
        is_on_earth.then(|| Location { latitude: hundredths(latitude), longitude: hundredths(longitude) })
    }

    /// The great-circle distance (km).
    pub fn distance_km(self, other: Location) -> f64 {
        let [one, other] = [self.direction(), other.direction()];
        let chord = one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        2.0 * (chord / 2.0).min(1.0).asin() * EARTH_KM
    }

    /// The unit vector from the centre of the Earth.
    pub(crate) fn direction(self) -> [f64; 3] {
        let [latitude, longitude] = [self.latitude, self.longitude].map(|hundredths| f64::from(hundredths) / 100.0);
        let ((north, out), (east, front)) = (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
        [out * front, out * east, north]
    }
}
