//! Work on several items side by side.

use std::sync::Mutex;
use std::thread;

use anyhow::Result;

/// Calls `work` for each item, `jobs` at a time, in their order. The first error stops all
/// that has not begun.
pub fn each<T: Sync>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    let state = Mutex::new((items.iter(), Ok(())));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let next = {
                        let mut state = lock(&state);
                        if state.1.is_err() {
                            None
                        } else {
                            state.0.next()
                        }
                    };
                    let Some(item) = next else { return };
                    if let Err(error) = work(item) {
                        lock(&state).1 = Err(error);
                    }
                }
            });
        }
    });
    state.into_inner().expect("no worker panicked").1
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no worker panicked")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::bail;

    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_an_error_comes_back() {
        let sum = AtomicUsize::new(0);
        let items: Vec<usize> = (0..100).collect();
        each(3, &items, |item| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 4950);

        let done = AtomicUsize::new(0);
        let error = each(1, &items, |item| {
            if *item == 5 {
                bail!("five");
            }
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "five");
        assert_eq!(done.into_inner(), 5);
    }
}
