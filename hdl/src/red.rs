//! The reducing switch: arithmetic of one lane.

mod flt_add;
mod flt_align;
mod flt_control;
mod flt_lead;
mod flt_normalise;
mod flt_round;
mod flt_sum;
mod half_add;
mod half_align;
mod half_compare;
mod lane;
mod lane_choose;
mod lane_compare;
mod lane_pick;

pub use flt_add::RedFltAdd;
pub use flt_align::RedFltAlign;
pub use flt_control::RedFltControl;
pub use flt_lead::RedFltLead;
pub use flt_normalise::RedFltNormalise;
pub use flt_round::RedFltRound;
pub use flt_sum::RedFltSum;
pub use half_add::RedHalfAdd;
pub use half_align::RedHalfAlign;
pub use half_compare::RedHalfCompare;
pub use lane::RedLane;
pub use lane_choose::RedLaneChoose;
pub use lane_compare::RedCompare;
pub use lane_pick::RedLanePick;
