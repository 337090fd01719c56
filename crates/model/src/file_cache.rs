//! Memory that caches files: those read last, as many as fit.

use lru::LruCache;

/// The files in a host's memory; the least recently used goes first.
#[derive(Clone, Debug)]
pub struct FileCache {
    size: u64,
    used: u64,
    /// Bytes of each file.
    files: LruCache<u32, u64>,
}

impl FileCache {
    /// An empty one of `size` bytes.
    pub fn new(size: u64) -> FileCache {
        FileCache { size, used: 0, files: LruCache::unbounded() }
    }

    /// Whether a file is there, which is a use of it.
    pub fn has(&mut self, file: u32) -> bool {
        self.files.get(&file).is_some()
    }

    /// A file of so many bytes went through. One larger than the memory is not kept.
    pub fn keep(&mut self, file: u32, bytes: u64) {
        if bytes > self.size {
            return;
        }
        self.used += bytes;
        self.used -= self.files.put(file, bytes).unwrap_or(0);
        while self.used > self.size {
            let (_, gone) = self.files.pop_lru().expect("what is used is of files");
            self.used -= gone;
        }
    }

    /// Nothing is left.
    pub fn clear(&mut self) {
        self.files.clear();
        self.used = 0;
    }
}
