//! The schedule ring of the card (MB-16): its programme, one behaviour at a time, and every order of events.

mod directed;
mod explore;
mod programme;
mod world;
