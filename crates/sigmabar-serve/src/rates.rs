//! How often one may ask: a bucket for each address, filled at a steady pace, of which every request takes a drop.

use crate::refusal::{Outcome, Refusal};
use crate::token::Access;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Requests a second without a right token, and at once: a monitor, or somebody who opens the first page.
const STRANGERS: (f64, f64) = (10.0, 100.0);
/// Wrong tokens a second, and at once.
const GUESSES: (f64, f64) = (1.0, 60.0);
/// Whoever only looks has this share of what workers have.
const READERS: f64 = 0.1;
/// Buckets that are kept; full ones are forgotten first.
const MOST_BUCKETS: usize = 10_000;

/// Who asks, from one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Writer,
    Reader,
    Stranger,
    /// Somebody with a wrong token.
    Guesser,
}

impl From<Option<Access>> for Who {
    fn from(access: Option<Access>) -> Self {
        match access {
            Some(Access::Write) => Self::Writer,
            Some(Access::Read) => Self::Reader,
            None => Self::Stranger,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    drops: f64,
    at: Instant,
}

/// The buckets of all addresses. Strangers and guessers have their own, so that nobody with a right token is locked out by them.
#[derive(Debug)]
pub(crate) struct Rates {
    rate: f64,
    buckets: Mutex<HashMap<(Who, IpAddr), Bucket>>,
}

impl Rates {
    /// So many requests a second from one address with the token of workers.
    pub fn new(rate: u32) -> Self {
        Self { rate: f64::from(rate.max(1)), buckets: Mutex::default() }
    }

    /// Drops a second, and the most of a bucket.
    fn pace(&self, who: Who) -> (f64, f64) {
        let steady = |rate: f64| (rate, (2.0 * rate).max(1.0));
        match who {
            Who::Writer => steady(self.rate),
            Who::Reader => steady(READERS * self.rate),
            Who::Stranger => STRANGERS,
            Who::Guesser => GUESSES,
        }
    }

    /// Takes a drop; refused with the seconds after which there is one again.
    pub fn take(&self, address: IpAddr, who: Who) -> Outcome<()> {
        self.take_at(address, who, Instant::now())
    }

    fn take_at(&self, address: IpAddr, who: Who, now: Instant) -> Outcome<()> {
        let (rate, most) = self.pace(who);
        let filled = |bucket: &Bucket, (rate, most): (f64, f64)| (bucket.drops + rate * (now - bucket.at).as_secs_f64()).min(most);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS {
            buckets.retain(|(who, _), bucket| filled(bucket, self.pace(*who)) < self.pace(*who).1);
            // Still so many: a flood from everywhere, which no bucket of one address stops.
            if buckets.len() >= MOST_BUCKETS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry((who, network(address))).or_insert(Bucket { drops: most, at: now });
        *bucket = Bucket { drops: filled(bucket, (rate, most)), at: now };
        if bucket.drops >= 1.0 {
            bucket.drops -= 1.0;
            return Ok(());
        }
        let wait = ((1.0 - bucket.drops) / rate).ceil().max(1.0) as u64;
        Err(Refusal::too_many(wait, words(who, rate)))
    }
}

fn words(who: Who, rate: f64) -> String {
    let more = "wait as long as Retry-After says";
    match who {
        Who::Writer => {
            format!("more than {rate} requests a second come from this address: {more}, or start the server with a larger --rate")
        }
        Who::Reader => {
            format!(
                "more than {rate} requests a second come from this address with a token that only looks: {more}, or start the server with a larger --rate"
            )
        }
        Who::Stranger => format!("more than {rate} requests a second come from this address without a token: {more}"),
        Who::Guesser => format!("too many wrong tokens come from this address: {more}"),
    }
}

/// Somebody who has one address of version 6 has all of its network.
fn network(address: IpAddr) -> IpAddr {
    // An IPv4 address that comes as one of IPv6 is that address.
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        four => four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn taken(rates: &Rates, who: Who, now: Instant, tries: usize) -> usize {
        (0..tries).filter(|_| rates.take_at(HERE, who, now).is_ok()).count()
    }

    #[test]
    fn a_bucket_holds_two_seconds_and_fills_at_its_pace() {
        let (rates, now) = (Rates::new(100), Instant::now());
        assert_eq!(taken(&rates, Who::Writer, now, 500), 200);
        assert_eq!(taken(&rates, Who::Writer, now + Duration::from_millis(500), 500), 50);
        assert_eq!(taken(&rates, Who::Reader, now, 500), 20, "whoever looks has a tenth, and a bucket of their own");
        assert_eq!(taken(&rates, Who::Stranger, now, 500), 100);
        assert_eq!(taken(&rates, Who::Guesser, now, 500), 60);
        let refused = rates.take_at(HERE, Who::Guesser, now).unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.retry_after), (429, 1));
    }

    #[test]
    fn two_hundred_workers_behind_one_address_are_not_hindered() {
        // 2700 pairs of ask and tell a second for a minute, in steps of ten milliseconds.
        let (rates, begun) = (Rates::new(crate::server::Limits::default().rate), Instant::now());
        for step in 0..6000 {
            assert_eq!(taken(&rates, Who::Writer, begun + Duration::from_millis(10 * step), 54), 54);
        }
    }

    #[test]
    fn addresses_do_not_share_and_a_network_does() {
        let (rates, now) = (Rates::new(1), Instant::now());
        let take = |address: &str| rates.take_at(address.parse().unwrap(), Who::Writer, now).is_ok();
        assert_eq!(["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2"].map(take), [true, true, false, true]);
        assert_eq!(["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map(take), [true, true, false, true]);
        assert_eq!(["::ffff:10.0.0.3", "::ffff:10.0.0.3", "10.0.0.3", "::ffff:10.0.0.4", "::1"].map(take), [true, true, false, true, true]);
        for i in 0..3 * MOST_BUCKETS as u32 {
            drop(rates.take_at(std::net::Ipv4Addr::from_bits(i).into(), Who::Stranger, now));
        }
        assert!(rates.buckets.lock().unwrap().len() <= MOST_BUCKETS);
    }
}
