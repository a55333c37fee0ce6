//! What the control engine is doing, and for what.

use crate::prelude::*;

/// What the engine is doing. Yosys gives up to 31 states a register each; of more it keeps the code.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    Clear,
    Idle,
    Peer,
    Window,
    Settle,
    Act,
    Close,
    Drain,
    Completion,
    Alloc,
    AllocWait,
    Hold,
    Init,
    InitDrain,
    Open,
    Message,
    Fetch,
    View,
    Raise,
    Relate,
    Prepare,
    Bytes,
    Bitmap,
    Limits,
    Pass,
    Lift,
    Start,
    Aim,
    Range,
    Holes,
    SweepEnd,
}

/// What the engine was asked for.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Op {
    Connect,
    Poll,
    Abort,
    Finish,
    Credit,
    Sweep,
    Revoke,
}
