//! The reducing switch: arithmetic of one lane.

mod flt_add;
mod flt_align;
mod flt_lead;
mod flt_normalise;
mod flt_round;
mod flt_sum;
mod lane;
mod lane_choose;
mod lane_compare;

pub use flt_add::RedFltAdd;
pub use flt_align::RedFltAlign;
pub use flt_lead::RedFltLead;
pub use flt_normalise::RedFltNormalise;
pub use flt_round::RedFltRound;
pub use flt_sum::RedFltSum;
pub use lane::RedLane;
pub use lane_choose::RedLaneChoose;
pub use lane_compare::RedCompare;
