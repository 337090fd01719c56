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
        let place = match self.places.get(member as usize) {
            Some(place) if place.position != ABSENT => *place,
            _ => self.append(member),
        };
        self.shift(member, place, load);
    }

    /// Removes a member, if it is one.
    pub(crate) fn remove(&mut self, member: u32) {
        let Some(&place) = self.places.get(member as usize).filter(|place| place.position != ABSENT) else { return };
        self.shift(member, place, ABSENT);
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

    fn append(&mut self, member: u32) -> Place {
        if self.places.len() <= member as usize {
            self.places.resize(member as usize + 1, Place { position: ABSENT, level: 0 });
        }
        let position = self.order.len() as u32;
        self.order.push(member);
        let level = self.new_level(ABSENT, position);
        let place = Place { position, level };
        self.places[member as usize] = place;
        place
    }

    #[inline]
    fn shift(&mut self, member: u32, place: Place, load: u32) {
        let before = self.levels[place.level as usize].load;
        self.visits += 1;
        if load > before {
            self.raise(member, place, load);
        } else if load < before {
            self.lower(member, place, load);
        }
    }

    /// Each level that is passed fills the gap on its low side with its last member, which moves the gap up.
    fn raise(&mut self, member: u32, Place { position, level: own }: Place, load: u32) {
        let level = &mut self.levels[own as usize];
        level.end -= 1;
        let (mut gap, emptied) = (level.end, level.start == level.end);
        self.fill(position, gap);
        while let Some(&neighbour) = self.order.get(gap as usize + 1) {
            let next = self.places[neighbour as usize].level;
            let level = &mut self.levels[next as usize];
            if level.load > load {
                break;
            }
            level.start -= 1;
            if level.load == load {
                return self.join(member, gap, next, emptied.then_some(own));
            }
            level.end -= 1;
            let last = level.end;
            self.fill(gap, last);
            gap = last;
            self.visits += 1;
        }
        self.join_none(member, gap, load, emptied.then_some(own));
    }

    /// The same the other way.
    fn lower(&mut self, member: u32, Place { position, level: own }: Place, load: u32) {
        let level = &mut self.levels[own as usize];
        let mut gap = level.start;
        level.start += 1;
        let emptied = level.start == level.end;
        self.fill(position, gap);
        while gap > 0 {
            let next = self.places[self.order[gap as usize - 1] as usize].level;
            let level = &mut self.levels[next as usize];
            if level.load < load {
                break;
            }
            level.end += 1;
            if level.load == load {
                return self.join(member, gap, next, emptied.then_some(own));
            }
            let first = level.start;
            level.start += 1;
            self.fill(gap, first);
            gap = first;
            self.visits += 1;
        }
        self.join_none(member, gap, load, emptied.then_some(own));
    }

    /// The member at `from` moves to `gap`.
    #[inline]
    fn fill(&mut self, gap: u32, from: u32) {
        let moved = self.order[from as usize];
        self.order[gap as usize] = moved;
        self.places[moved as usize].position = gap;
    }

    /// The gap is its place, in a level that there is.
    #[inline]
    fn join(&mut self, member: u32, gap: u32, level: u32, emptied: Option<u32>) {
        self.order[gap as usize] = member;
        self.places[member as usize] = Place { position: gap, level };
        if let Some(emptied) = emptied {
            self.free.push(emptied);
        }
    }

    /// The gap is its place, in a level of its own.
    #[inline]
    fn join_none(&mut self, member: u32, gap: u32, load: u32, emptied: Option<u32>) {
        let level = match emptied {
            Some(level) => {
                self.levels[level as usize] = Level { load, start: gap, end: gap + 1 };
                level
            }
            None => self.new_level(load, gap),
        };
        self.join(member, gap, level, None);
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
}
