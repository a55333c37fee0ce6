//! A lock for what is mostly used by one thread and held for nanoseconds: unlocking is a plain store, where the standard library's
//! has to look for sleepers. Of a single post and poll, locks took two fifths of the time.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, yield_now};
use std::time::Duration;

pub(crate) struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only who holds the lock reaches the value, so it moves between threads and is never shared.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits until nobody holds it.
    #[inline]
    pub fn lock(&self) -> Held<'_, T> {
        if self.held.swap(true, Ordering::Acquire) {
            self.wait();
        }
        Held {
            lock: self,
            value: PhantomData,
        }
    }

    /// Whoever holds it is done soon, or has lost its processor, or posts a long batch.
    #[cold]
    fn wait(&self) {
        for turn in 0u64.. {
            if !self.held.load(Ordering::Relaxed) && !self.held.swap(true, Ordering::Acquire) {
                return;
            }
            match turn {
                0..100 => spin_loop(),
                100..200 => yield_now(),
                _ => sleep(Duration::from_micros(50)),
            }
        }
    }
}

/// The value of a lock, until it is dropped.
pub(crate) struct Held<'a, T> {
    lock: &'a Lock<T>,
    /// As good as that reference: to other threads it goes as one.
    value: PhantomData<&'a mut T>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this is the only holder.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the only holder, and borrowed as a whole.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_it() {
        let lock = Lock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let lock = &lock;
                scope.spawn(move || {
                    for turn in 0..10_000 {
                        let mut held = lock.lock();
                        held.0 += 1;
                        if thread == 0 && turn % 1_000 == 0 {
                            // Long enough for the others to fall asleep.
                            sleep(Duration::from_millis(1));
                        }
                        held.1 += 1;
                        assert_eq!(held.0, held.1);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (40_000, 40_000));
    }

    #[test]
    fn a_panic_lets_go_of_it() {
        let lock = Lock::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = lock.lock();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
