//! The small blocks between the large ones of the card, as Verilog: what goes in comes out, field by field and in the order that
//! each block's header promises.

mod ack_merge;
mod bulk;
mod bulk_inbox;
mod bulk_looks;
mod bulk_scan;
mod bulk_wants;
mod contexts;
mod notify;
mod ports;
mod read_mux;
mod reads;
mod reduce;
mod reserve_merge;
mod rings;
mod rx_gate;
mod send_merge;
mod send_queue;
mod send_room;
mod serve;
mod tx_first;
mod tx_guard;
