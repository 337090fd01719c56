//! Attempts of clients: what they do when a reply does not come, as the flags say.

use sojourn_model::system::{Backoff, Budget, Hedge, Retries, Rules};
use sojourn_stats::Span;

use super::flag::{invalid, span};
use super::{LoadSettings, Order};
use crate::error::LoadError;
use crate::{Attempts, Stop};

impl Order {
    /// What clients do when a reply does not come, where they do more than give the request up after `--timeout`.
    pub(super) fn attempts(&self) -> Result<Option<Attempts>, LoadError> {
        let LoadSettings { retries, backoff, retry_budget, hedge, deadline, patience, .. } = &self.settings;
        if retry_budget.is_some() && retries.is_none() && hedge.is_none() {
            return Err(invalid("--retry-budget: it limits --retries and --hedge, and none is given"));
        }
        if retries.is_none() && hedge.is_none() && deadline.is_none() {
            return Ok(None);
        }
        if patience.is_some() {
            return Err(invalid("--patience: clients that ask more than once have a --deadline in its place"));
        }
        let read = |flag: &str, text: &Option<String>| {
            let text = text.as_deref().map(|text| span(flag, text).map(|span| (span, text))).transpose()?;
            match text {
                Some((Span::ZERO, _)) => Err(invalid(format!("{flag}: longer than 0, e.g. `{flag} '2 s'`"))),
                read => Ok(read.map(|(span, _)| span)),
            }
        };
        let (timeout, deadline) =
            (read("--timeout", &Some(self.settings.timeout.clone()))?, read("--deadline", deadline)?);
        // The default of one attempt is no reason to wait for longer than in all.
        let is_usual = self.settings.timeout == LoadSettings::TIMEOUT;
        if let (Some(timeout), Some(deadline), false) = (timeout, deadline, is_usual)
            && deadline < timeout
        {
            return Err(invalid(format!("--deadline: the time in all is not shorter than --timeout, {timeout}")));
        }
        let words = |flag: &'static str| move |right: String| invalid(format!("{flag}: {right}"));
        let backoff = backoff.as_deref().map(Backoff::parse).transpose().map_err(words("--backoff"))?;
        let budget = retry_budget.as_deref().map(Budget::parse).transpose().map_err(words("--retry-budget"))?;
        let hedge = hedge.as_deref().map(Hedge::parse).transpose().map_err(words("--hedge"))?;
        let longest = [timeout, deadline].into_iter().flatten().min();
        if let (Some(Hedge::After(after)), Some(longest)) = (hedge, longest)
            && after >= longest
        {
            return Err(invalid(format!("--hedge: no attempt is under way so long: it is given up after {longest}")));
        }
        if let (Some(hedge), Some(planned)) = (hedge, self.planned()?)
            && hedge.replies_needed() > planned
        {
            let (needed, asked) = (hedge.replies_needed(), self.settings.hedge.as_deref().unwrap_or_default());
            return Err(invalid(format!(
                "--hedge: {asked} is known after {needed} replies, and this run has {planned} requests: give a time, or run \
                 longer"
            )));
        }
        let retries = match retries {
            Some(0) => return Err(invalid("--retries 0: at least 1; leave it out for none")),
            Some(at_most) => Some(Retries { at_most: *at_most, backoff, budget }),
            // A hedge takes from the budget too.
            None => budget.map(|budget| Retries { at_most: 0, backoff: None, budget: Some(budget) }),
        };
        let rules = Rules { timeout, deadline, retries, hedge, ..Rules::default() };
        Ok(Some(Attempts::new(&rules, self.seed())))
    }

    /// How many requests there will be, as far as that is known before.
    fn planned(&self) -> Result<Option<u64>, LoadError> {
        match self.stop(span("--warm-up", &self.settings.warm_up)?)? {
            Stop::Requests(requests) => Ok(Some(requests)),
            Stop::After(end) => Ok(self.rate()?.map(|rate| (rate * end.as_secs_f64()) as u64)),
        }
    }
}
