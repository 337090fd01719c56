//! Policies by name.
//!
//! A [`Catalogue`] starts with the built-in policies; a program adds its own ([`Catalogue::add`]) and hands it to the
//! simulator, to a gateway or to replay, where texts such as `my-policy(d = 3)` then mean them too. It is cheap to
//! clone, so that everything that reads names can have one. The price is one indirect call per policy made.

mod text;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use sojourn_stats::{Law, nearest, suggestion};

use crate::policies::{ALSO_CALLED, Entry, POLICIES, PRODUCTS};
use crate::{DispatchError, Policy};
pub use text::Params;

/// Makes a policy of the parameters that its text gives.
type Factory = dyn Fn(&mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> + Send + Sync;

/// Policies by name.
#[derive(Clone)]
pub struct Catalogue {
    entries: Arc<Vec<Named>>,
}

#[derive(Clone)]
struct Named {
    name: Cow<'static, str>,
    summary: Cow<'static, str>,
    factory: Arc<Factory>,
}

impl Default for Catalogue {
    /// The built-in policies.
    fn default() -> Catalogue {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
            let entry = |one: &Entry| Named {
                name: one.name.into(),
                summary: one.summary.into(),
                factory: Arc::new(one.build),
            };
            let products = PRODUCTS.iter().map(|product| &product.entry);
            Catalogue { entries: Arc::new(POLICIES.iter().chain(products).map(entry).collect()) }
        });
        CATALOGUE.clone()
    }
}

impl Catalogue {
    /// Adds a policy of your own: its name in texts, what it does in one line, and how it is made. `build` takes every
    /// parameter that it knows; what is left over is refused.
    ///
    /// # Errors
    /// When the name is taken, or is not made of letters, digits, `-` and `_`.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        build: impl Fn(&mut Params<'_>) -> Result<Box<dyn Policy>, DispatchError> + Send + Sync + 'static,
    ) -> Result<(), DispatchError> {
        let name = name.into();
        let wrong = |why: &str| Err(DispatchError::Policy(format!("policy `{name}`: {why}")));
        if name.is_empty() || !name.chars().all(|sign| sign.is_alphanumeric() || "-_".contains(sign)) {
            return wrong("a name is made of letters, digits, `-` and `_`");
        }
        if self.entry(&name).is_some() {
            return wrong("the catalogue has a policy of this name already; choose another");
        }
        let entry = Named { name, summary: summary.into(), factory: Arc::new(build) };
        Arc::make_mut(&mut self.entries).push(entry);
        Ok(())
    }

    /// Makes the policy that `text` describes, such as `least-connections` or `round-trip(window = 1 s)`.
    ///
    /// # Errors
    /// [`DispatchError::UnknownPolicy`] on a name that no policy has (the message offers the nearest one), and
    /// [`DispatchError::Policy`] on a parameter that the policy does not take, or a bad value.
    pub fn build(&self, text: &str) -> Result<Box<dyn Policy>, DispatchError> {
        let build = |text: &str| self.build(text);
        let (name, mut params) = text::parse(text, &build)?;
        let entry = self.entry(name).ok_or_else(|| self.unknown(name, text))?;
        let policy = (entry.factory)(&mut params)?;
        params.finish()?;
        Ok(policy)
    }

    /// Whether `text` describes a policy.
    ///
    /// # Errors
    /// As [`Catalogue::build`].
    pub fn check(&self, text: &str) -> Result<(), DispatchError> {
        self.build(text).map(drop)
    }

    /// Whether a policy has the name with which `text` begins, whatever its parameters.
    pub fn knows(&self, text: &str) -> bool {
        self.entry(text.split('(').next().unwrap_or_default().trim()).is_some()
    }

    /// Names and one-line summaries, the built-in policies first.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|entry| (&*entry.name, &*entry.summary))
    }

    fn entry(&self, name: &str) -> Option<&Named> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn unknown(&self, name: &str, text: &str) -> DispatchError {
        let names = || self.names().map(|(name, _)| name);
        // Of some others draw so many, and join the shortest of these: `JSQ(2)`, `jsq2`.
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let inside = text.trim().strip_prefix(name).map(|rest| rest.trim().trim_matches(['(', ')']));
        let inside = inside.and_then(|inside| inside.rsplit('=').next()).map(str::trim).filter(|of| !of.is_empty());
        let drawn = inside.unwrap_or(&name[word.len()..]).parse::<u32>().ok();
        if let (true, Some(drawn)) = (DRAWING.contains(&word.to_lowercase().as_str()), drawn) {
            let meant = format!("did you mean `power-of-d(d = {drawn})`?");
            return DispatchError::UnknownPolicy(format!("unknown policy `{name}`; {meant}"));
        }
        if let Some(what) = of_requests(name) {
            let lists = "`sojourn policies` lists what chooses a server";
            return DispatchError::UnknownPolicy(format!("unknown policy `{name}`; {what}; {lists}"));
        }
        let called =
            ALSO_CALLED.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, meant)| meant.to_string());
        let hint = match called.or_else(|| nearest(name, names()).map(|meant| format!("`{meant}`"))) {
            Some(meant) => format!("did you mean {meant}?"),
            None => suggestion(name, names()),
        };
        DispatchError::UnknownPolicy(format!("unknown policy `{name}`; {hint}"))
    }
}

/// What a name is that says how requests come or how much they ask for, and not which server gets them; none of any other.
fn of_requests(name: &str) -> Option<&'static str> {
    match name.to_lowercase().as_str() {
        "poisson" => Some("a Poisson process is one of arrivals: `arrivals = \"exponential(rate = 100 /s)\"`"),
        "batches" | "fgn" | "on-off" => Some("this is a process of arrivals: it stands in `arrivals`"),
        law if Law::is_name(law) => Some("this is a law, as `arrivals` or `demand` have one"),
        _ => None,
    }
}

/// What others call the policy that joins the shortest of so many drawn ones.
const DRAWING: [&str; 8] = ["jsq", "sq", "p", "po", "pod", "pow", "power-of-", "power-of-two"];

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names().map(|(name, _)| name)).finish()
    }
}
