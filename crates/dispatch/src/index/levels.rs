//! Members sorted by load in one array, with a level per distinct load.
//!
//! A load that moves by one swaps its member with the end of its level and shifts one boundary: O(1), whatever the
//! number of members (the bucket order of Batagelj and Zaversnik's k-core algorithm, 2003). A jump costs one swap per
//! level passed. Only occupied levels exist, so that a backend that reports four thousand million requests costs
//! nothing. The price against a heap is two words per member more; the gain is that all ties lie side by side.

const ABSENT: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Levels {
    order: Vec<u32>,
    places: Vec<Place>,
    levels: Vec<Level>,
    free: Vec<u32>,
    visits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    position: u32,
    level: u32,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    load: u32,
    start: u32,
    end: u32,
}

impl Levels {
    /// The smallest load and the members that have it.
    #[inline]
    pub(crate) fn least(&self) -> Option<(u32, &[u32])> {
        let first = *self.order.first()?;
        let level = self.levels[self.places[first as usize].level as usize];
        Some((level.load, &self.order[..level.end as usize]))
    }

    /// Sets a member's load, and makes it one if it is not.
    #[inline]
    pub(crate) fn set(&mut self, member: u32, load: u32) {
        let load = load.min(ABSENT - 1); // the last value is the way in and out
        match self.places.get(member as usize) {
            Some(place) if place.position != ABSENT => {}
            _ => self.append(member),
        }
        self.shift(member, load);
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        if self.places.get(member as usize).is_none_or(|place| place.position == ABSENT) {
            return;
        }
        self.shift(member, ABSENT);
        self.order.pop();
        self.free.push(self.places[member as usize].level);
        self.places[member as usize].position = ABSENT;
    }

    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<u32>() * (self.order.capacity() + self.free.capacity())
            + size_of::<Place>() * self.places.capacity()
            + size_of::<Level>() * self.levels.capacity()
    }

    fn append(&mut self, member: u32) {
        if self.places.len() <= member as usize {
            self.places.resize(member as usize + 1, Place { position: ABSENT, level: 0 });
        }
        let position = self.order.len() as u32;
        self.order.push(member);
        let level = self.new_level(ABSENT, position);
        self.places[member as usize] = Place { position, level };
    }

    #[inline]
    fn shift(&mut self, member: u32, load: u32) {
        let before = self.levels[self.places[member as usize].level as usize].load;
        self.visits += 1;
        if load > before {
            self.raise(member, load);
        } else if load < before {
            self.lower(member, load);
        }
    }

    fn raise(&mut self, member: u32, load: u32) {
        let Place { position, level: own } = self.places[member as usize];
        let Level { start, end, .. } = self.levels[own as usize];
        let mut at = end - 1;
        self.swap(position, at);
        self.levels[own as usize].end = at;
        let emptied = (start == at).then_some(own);
        while let Some(&neighbour) = self.order.get(at as usize + 1) {
            let next = self.places[neighbour as usize].level;
            let level = &mut self.levels[next as usize];
            if level.load > load {
                break;
            }
            level.start -= 1;
            if level.load == load {
                return self.settle(member, next, emptied);
            }
            level.end -= 1;
            let last = level.end;
            self.swap(at, last);
            at = last;
            self.visits += 1;
        }
        self.settle_alone(member, load, at, emptied);
    }

    fn lower(&mut self, member: u32, load: u32) {
        let Place { position, level: own } = self.places[member as usize];
        let Level { start, end, .. } = self.levels[own as usize];
        let mut at = start;
        self.swap(position, at);
        self.levels[own as usize].start = at + 1;
        let emptied = (at + 1 == end).then_some(own);
        while at > 0 {
            let next = self.places[self.order[at as usize - 1] as usize].level;
            let level = &mut self.levels[next as usize];
            if level.load < load {
                break;
            }
            level.end += 1;
            if level.load == load {
                return self.settle(member, next, emptied);
            }
            let first = level.start;
            level.start += 1;
            self.swap(at, first);
            at = first;
            self.visits += 1;
        }
        self.settle_alone(member, load, at, emptied);
    }

    #[inline]
    fn settle(&mut self, member: u32, level: u32, emptied: Option<u32>) {
        self.places[member as usize].level = level;
        self.free.extend(emptied);
    }

    #[inline]
    fn settle_alone(&mut self, member: u32, load: u32, at: u32, emptied: Option<u32>) {
        let level = match emptied {
            Some(level) => {
                self.levels[level as usize] = Level { load, start: at, end: at + 1 };
                level
            }
            None => self.new_level(load, at),
        };
        self.places[member as usize].level = level;
    }

    fn new_level(&mut self, load: u32, at: u32) -> u32 {
        let level = Level { load, start: at, end: at + 1 };
        if let Some(free) = self.free.pop() {
            self.levels[free as usize] = level;
            return free;
        }
        self.levels.push(level);
        self.levels.len() as u32 - 1
    }

    #[inline]
    fn swap(&mut self, a: u32, b: u32) {
        let (first, second) = (self.order[a as usize], self.order[b as usize]);
        self.order[a as usize] = second;
        self.order[b as usize] = first;
        self.places[second as usize].position = a;
        self.places[first as usize].position = b;
    }
}
