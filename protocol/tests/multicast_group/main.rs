//! The group protocol (MB-8 to MB-13): directed runs, every order of events at small sizes, random deaths, mutations.

mod directed;
mod explore;
mod offload;
mod random;
mod resume;
mod world;
