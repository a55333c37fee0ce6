//! A simulated card as the driver sees it.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tributary_host_driver::shared::{Event, Mapping, PostedWrites};
use tributary_host_driver::{Counter, Device, DeviceError, DmaMemory};
use tributary_protocol::card::regs::{CONTROL, CONTROL_RESET};

use super::HostStats;
use super::world::{Captured, Place, Work, World, set_up_interrupts};
use crate::link::LinkStats;

/// Slots that pass before somebody looks whether there is anything new.
const SLOTS: u64 = 16;

/// One card of a simulated network. Copies are the same card.
#[derive(Clone)]
pub struct SimDevice {
    world: Arc<Mutex<World>>,
    at: usize,
    vectors: usize,
}

impl SimDevice {
    pub(super) fn new(world: Arc<Mutex<World>>, at: usize, vectors: usize) -> Self {
        Self { world, at, vectors }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the card, if it is there.
    fn with<T>(&self, act: impl FnOnce(&mut Place) -> T) -> Result<T, DeviceError> {
        let mut world = self.world();
        let place = &mut world.places[self.at];
        if !place.present {
            return Err(DeviceError::Gone);
        }
        Ok(act(place))
    }

    /// What cards have done to this host's memory.
    #[must_use]
    pub fn host_stats(&self) -> HostStats {
        self.world().places[self.at].memory.stats()
    }

    /// What the links from this card have done, by the node they go to.
    #[must_use]
    pub fn link_stats(&self) -> Vec<LinkStats> {
        self.world().link_stats(self.at)
    }

    /// Frames of all cards at both ends of their links since the last call; the first call begins to keep them.
    #[must_use]
    pub fn captured(&self) -> Vec<Captured> {
        self.world()
            .captured
            .replace(Vec::new())
            .unwrap_or_default()
    }

    /// Whether the card kept every rule of its buses so far.
    ///
    /// # Errors
    /// The rules that it broke.
    pub fn check(&self) -> anyhow::Result<()> {
        let world = self.world();
        if let Some(broken) = &world.broken {
            anyhow::bail!("the fabric has broken down: {broken}");
        }
        world.places[self.at].node.check()
    }

    /// Requests in flight on the card, if it is a model.
    #[must_use]
    pub fn in_flight(&self) -> Option<usize> {
        let world = self.world();
        let model = world.places[self.at].node.as_model();
        model.map(|model| model.in_flight())
    }

    /// Queue pairs and regions on the card, if it is a model.
    #[must_use]
    pub fn on_card(&self) -> Option<(usize, usize)> {
        let world = self.world();
        let model = world.places[self.at].node.as_model();
        model.map(|model| (model.queue_pairs(), model.regions()))
    }

    /// A counter of the card, if it is a model.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> Option<u64> {
        let world = self.world();
        let model = world.places[self.at].node.as_model();
        model.map(|model| model.counter(counter))
    }

    /// What is under way of bulk transfers, as [`tributary_protocol::card::model::CardModel::bulk_under_way`] says, if the card is a
    /// model.
    #[must_use]
    pub fn bulk_under_way(&self) -> Option<[usize; 4]> {
        let world = self.world();
        let model = world.places[self.at].node.as_model();
        model.map(|model| model.bulk_under_way())
    }

    /// Interrupt vectors of the card.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Bytes of the card's BAR0.
    pub(super) fn bar0(&self) -> u32 {
        self.world().places[self.at].bar0
    }

    /// Memory of another process for the card; false if some of the addresses are taken.
    pub(super) fn map(&self, iova: u64, mapping: Mapping) -> bool {
        self.world().places[self.at].memory.map(iova, mapping)
    }

    pub(super) fn unmap(&self, iova: u64, length: u64) -> bool {
        self.world().places[self.at].memory.unmap(iova, length)
    }

    pub(super) fn unmap_all(&self) {
        self.world().places[self.at].memory.unmap_all();
    }

    /// Whom a vector signals in another process; false if there is no such vector.
    pub(super) fn set_event(&self, vector: u32, event: Event) -> bool {
        let mut world = self.world();
        let events = &mut world.places[self.at].memory.events;
        let place = events.get_mut(vector as usize);
        place.map(|place| *place = Some(event)).is_some()
    }

    /// Pulls the card out: from now on its driver gets errors and its peers hear nothing.
    pub fn remove(&self) {
        self.world().places[self.at].present = false;
    }

    /// Where its driver in another process posts doorbells.
    pub(super) fn set_posted(&self, ring: PostedWrites) {
        self.world().places[self.at].posted = Some(ring);
    }

    /// A driver of another process asks for something: what it posted before comes first.
    pub(super) fn catch_up(&self) {
        let mut world = self.world();
        world.touch();
        world.places[self.at].take_posted();
    }

    /// What a driver that is gone has posted counts no more.
    pub(super) fn forget_posted(&self) {
        if let Some(ring) = &self.world().places[self.at].posted {
            ring.clear();
        }
    }

    /// Lets time pass until a driver can see something new, nothing is under way, or the turn is over or `wanted` by others; what
    /// there is to do then.
    pub(super) fn turn(&self, turn: Duration, wanted: impl Fn() -> bool) -> Work {
        let mut world = self.world();
        let (start, seen) = (Instant::now(), world.written());
        loop {
            let mut over = false;
            for _ in 0..SLOTS {
                world.step();
                over = start.elapsed() > turn;
                if over {
                    break;
                }
            }
            world.skip();
            let work = world.work();
            if over || work != Work::Some || world.written() != seen || wanted() {
                return work;
            }
        }
    }

    /// Tells all drivers in other processes the time.
    pub(super) fn tell_time(&self, ns: NonZeroU64) {
        let world = self.world();
        let rings = world
            .places
            .iter()
            .filter_map(|place| place.posted.as_ref());
        rings.for_each(|ring| ring.tell_time(ns));
    }

    /// Tells all drivers whether time stands still until they wake it; whether it may.
    pub(super) fn sleep(&self, asleep: bool) -> bool {
        let world = self.world();
        let rings = || {
            world
                .places
                .iter()
                .filter_map(|place| place.posted.as_ref())
        };
        rings().for_each(|ring| ring.set_asleep(asleep));
        rings().all(PostedWrites::is_empty) && world.work() == Work::None
    }

    /// Lets so many slots pass.
    pub fn run(&self, slots: u64) {
        let mut world = self.world();
        (0..slots).for_each(|_| world.step());
    }
}

/// As for an offset behind what is mapped of a card.
fn no_register() -> DeviceError {
    std::io::Error::from(std::io::ErrorKind::InvalidInput).into()
}

// SAFETY: memory is zeroed, page-aligned and of its own (`Memory::allocate`), and is kept until it is freed; the world lives as long
// as any of its devices.
unsafe impl Device for SimDevice {
    fn read32(&self, offset: u32) -> Result<u32, DeviceError> {
        self.with(|place| {
            let there = place.has_register(offset);
            there
                .then(|| place.node.read32(offset))
                .ok_or_else(no_register)
        })?
    }

    fn write32(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        self.with(|place| {
            if !place.has_register(offset) {
                return Err(no_register());
            }
            place.node.write32(offset, value);
            let resets = offset == u32::from(CONTROL.offset) && CONTROL_RESET.get(value) != 0;
            if resets {
                set_up_interrupts(&mut *place.node, self.vectors);
            }
            Ok(())
        })?
    }

    fn allocate(&self, length: usize) -> Result<DmaMemory, DeviceError> {
        let memory = self.with(|place| place.memory.allocate(length))?;
        memory.ok_or(DeviceError::Memory(length))
    }

    unsafe fn free(&self, memory: DmaMemory) {
        self.world().places[self.at].memory.free(&memory);
    }

    fn interrupts(&self, vector: u32) -> Result<u64, DeviceError> {
        self.with(|place| {
            let count = place.memory.interrupts.get(vector as usize);
            count.copied().unwrap_or(0)
        })
    }

    fn wait(&self, vector: u32, seen: u64, timeout: Duration) -> Result<u64, DeviceError> {
        let end = u128::from(self.now_ns()) + timeout.as_nanos();
        loop {
            let count = self.interrupts(vector)?;
            if count != seen || u128::from(self.now_ns()) >= end {
                return Ok(count);
            }
            self.world().step();
        }
    }

    fn now_ns(&self) -> u64 {
        self.world().now_ns()
    }

    fn idle(&self) -> Result<(), DeviceError> {
        self.with(|_| ())?;
        self.world().idle();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::Arc;

    use tributary_host_driver::shared::TOLD_EVERY;
    use tributary_host_driver::{
        AddressHandle, Context, EndpointConfig, Options, ReliableEndpoint, VfioUserDevice,
    };

    use super::*;
    use crate::card::{NetworkConfig, network, serve};
    use crate::link::LinkConfig;

    /// Turns of 16 slots until something has happened, and the slot then.
    fn turns(card: &SimDevice, happened: impl Fn(&SimDevice) -> bool) -> (u64, u64) {
        for turns in 1..100_000 {
            card.turn(Duration::from_secs(1), || true);
            if happened(card) {
                return (turns, card.world().slot);
            }
        }
        panic!("it never happened");
    }

    /// A card that has just sent a datagram which is under way for so many slots, or lost, and who holds both cards.
    fn sent(
        delay_slots: u32,
        loss: f64,
    ) -> Result<(SimDevice, (ReliableEndpoint, Context)), Box<dyn Error>> {
        let link = LinkConfig {
            delay_slots,
            reorder_slots: 0,
            loss,
            duplication: 0.0,
        };
        let cards = network(&NetworkConfig {
            nodes: 2,
            link,
            ..NetworkConfig::default()
        })?;
        let open = |node: u32| {
            let options = Options {
                node,
                ..Options::default()
            };
            Context::open(Arc::new(cards[node as usize].clone()), options)
        };
        // The other card answers that it has no such queue pair.
        let other = open(1)?;
        let domain = open(0)?.alloc_pd()?;
        let config = EndpointConfig {
            timeout: 8,
            ..EndpointConfig::default()
        };
        let mut end = ReliableEndpoint::new(&domain, config)?;
        end.send_copy(AddressHandle::new(1, 77)?, b"to nobody")?;
        end.flush()?;
        Ok((cards[0].clone(), (end, other)))
    }

    #[test]
    fn slots_in_which_cards_only_wait_for_a_timeout_pass_at_once() -> Result<(), Box<dyn Error>> {
        let (card, _held) = sent(1, 1.0)?;
        let begun = card.now_ns();
        let timeouts = |card: &SimDevice| card.counter(Counter::Timeouts) == Some(1);
        let (count, _) = turns(&card, timeouts);
        let over = card.now_ns() - begun;
        assert!(count < 20, "{count} turns");
        assert!((4_096 << 8..5_000 << 8).contains(&over), "{over} ns");
        Ok(())
    }

    #[test]
    fn no_slot_is_left_out_while_a_frame_is_under_way() -> Result<(), Box<dyn Error>> {
        let (card, _held) = sent(2_000, 0.0)?;
        let begun = card.world().slot;
        let answered = |card: &SimDevice| card.in_flight() == Some(0);
        let (count, slot) = turns(&card, answered);
        // There and back.
        assert!(slot - begun >= 4_000, "{} slots", slot - begun);
        assert!(count >= 4_000 / 16, "{count} turns");
        Ok(())
    }

    #[test]
    fn a_turn_goes_on_until_a_driver_can_see_something() -> Result<(), Box<dyn Error>> {
        let (card, _held) = sent(2_000, 0.0)?;
        let begun = card.world().slot;
        card.turn(Duration::from_secs(60), || false);
        assert_eq!(card.in_flight(), Some(0));
        let slots = card.world().slot - begun;
        assert!((4_000..4_100).contains(&slots), "{slots} slots");
        Ok(())
    }

    /// A driver whose card had no chance to answer, because the machine did other things, must not give it up.
    #[test]
    fn time_of_drivers_in_other_processes_stands_still_while_the_network_does()
    -> Result<(), Box<dyn Error>> {
        let cards = network(&NetworkConfig::default())?;
        let name = format!("tributary-time-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _served = serve(vec![(cards[0].clone(), path.clone())])?;
        let driver = VfioUserDevice::connect(&path)?;
        let (begun, wall) = (driver.now_ns(), Instant::now());
        while driver.now_ns() - begun < 20_000_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(wall.elapsed() >= Duration::from_millis(16));
        let world = cards[0].world();
        let before = driver.now_ns();
        std::thread::sleep(Duration::from_millis(200));
        let stood = Duration::from_nanos(driver.now_ns() - before);
        drop(world);
        assert!(stood <= TOLD_EVERY, "{stood:?}");
        let before = driver.now_ns();
        while driver.now_ns() - before < 20_000_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}
