//! Who of several workers sends: a lease in shared data that expires.
//!
//! All clocks of a process are one, so an expiry means the same to everybody. A holder may send only while its lease
//! outlasts the call, so two never send at once, whoever dies when.

use snapshot_slots::{CREATE_IF_ABSENT, SharedData, Written};

const FORMAT: u8 = 1;

/// Whether the lease is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// By the caller, up to the time that it gave.
    Mine,
    /// By another, or by nobody for the moment.
    NotMine,
}

/// One candidate's view of a lease.
///
/// Candidates have a rank; the lowest number is preferred. A free lease is taken at once by rank 0, and later by
/// the others, so that the preferred come first. A holder that a better candidate wants to follow lets go when it next
/// renews, and for one term the lease is the better one's alone.
#[derive(Debug)]
pub struct Lease {
    key: &'static str,
    candidate: [u8; 16],
    /// Since when the lease has been free, as this candidate saw it.
    free_since: Option<u64>,
    /// An unreadable value, and since when it has stood there.
    unreadable: Option<(u32, u64)>,
}

/// The value of the key.
#[derive(Clone, Copy)]
struct Value {
    holder: [u8; 16],
    rank: u8,
    /// The best rank that wants to follow; the holder's own where nobody does.
    wanted: u8,
    expires_at: u64,
}

impl Lease {
    /// A candidate for the lease of that key; its sixteen bytes must be no other's.
    #[must_use]
    pub fn new(key: &'static str, candidate: [u8; 16]) -> Lease {
        Lease {
            key,
            candidate,
            free_since: None,
            unreadable: None,
        }
    }

    /// Takes the lease, or renews it, up to `until_nanos`; to be called only while no call is in flight.
    ///
    /// # Errors
    ///
    /// Those of the shared data.
    pub fn hold<D: SharedData>(
        &mut self,
        now_nanos: u64,
        until_nanos: u64,
        wait: Wait,
        data: &mut D,
    ) -> Result<Held, D::Error> {
        let stored = data.get(self.key)?;
        let (value, cas) = match &stored {
            None => (None, CREATE_IF_ABSENT),
            Some((bytes, cas)) => (Value::decode(bytes), *cas),
        };
        if value.is_none() && stored.is_some() {
            let since = match self.unreadable {
                Some((seen, since)) if seen == cas => since,
                _ => now_nanos,
            };
            self.unreadable = Some((cas, since));
            // Whoever wrote that keeps to the same times, as far as can be guessed.
            let patience = until_nanos.saturating_sub(now_nanos).saturating_mul(2);
            if now_nanos.saturating_sub(since) < patience {
                return Ok(Held::NotMine);
            }
        }
        let own = Value {
            holder: self.candidate,
            rank: wait.rank,
            wanted: wait.rank,
            expires_at: until_nanos,
        };
        match value {
            Some(value) if value.holder == self.candidate && value.expires_at > 0 => {
                if value.wanted < wait.rank {
                    self.release(data)?;
                    return Ok(Held::NotMine);
                }
                self.write(&own, cas, data)
            }
            Some(value) if value.expires_at > now_nanos => {
                self.free_since = None;
                if wait.rank < value.rank && wait.rank < value.wanted {
                    let wanted = wait.rank;
                    data.set(self.key, &Value { wanted, ..value }.encode(), cas)?;
                }
                Ok(Held::NotMine)
            }
            _ => {
                let since = *self.free_since.get_or_insert(now_nanos);
                let mut patience = wait.nanos_a_rank.saturating_mul(u64::from(wait.rank));
                let is_wanted = |value: Value| value.wanted < value.rank.min(wait.rank);
                if value.is_some_and(is_wanted) {
                    // Whoever asked for it may look but once in a term.
                    patience = patience.max(until_nanos.saturating_sub(now_nanos));
                }
                if now_nanos.saturating_sub(since) < patience {
                    return Ok(Held::NotMine);
                }
                self.write(&own, cas, data)
            }
        }
    }

    /// Lets go, if it is held.
    ///
    /// # Errors
    ///
    /// Those of the shared data.
    pub fn release<D: SharedData>(&mut self, data: &mut D) -> Result<(), D::Error> {
        if let Some((bytes, cas)) = data.get(self.key)?
            && let Some(value) = Value::decode(&bytes)
            && value.holder == self.candidate
        {
            let free = Value {
                expires_at: 0,
                ..value
            };
            data.set(self.key, &free.encode(), cas)?;
        }
        self.free_since = None;
        Ok(())
    }

    fn write<D: SharedData>(
        &mut self,
        value: &Value,
        cas: u32,
        data: &mut D,
    ) -> Result<Held, D::Error> {
        self.unreadable = None;
        Ok(match data.set(self.key, &value.encode(), cas)? {
            Written::Done => {
                self.free_since = None;
                Held::Mine
            }
            Written::Refused => Held::NotMine,
        })
    }
}

/// How a candidate stands behind others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The candidate's rank; 0 is preferred.
    pub rank: u8,
    /// How long each rank waits behind the one before, when the lease is free.
    pub nanos_a_rank: u64,
}

impl Value {
    fn encode(self) -> Vec<u8> {
        let mut bytes = vec![FORMAT, self.rank, self.wanted];
        bytes.extend(self.holder);
        bytes.extend(self.expires_at.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Value> {
        let (&[FORMAT, rank, wanted], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (holder, rest) = rest.split_first_chunk()?;
        Some(Value {
            holder: *holder,
            rank,
            wanted,
            expires_at: u64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}
