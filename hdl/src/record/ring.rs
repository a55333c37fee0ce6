//! Entries of the rings in host memory.

use tributary_protocol::card::descriptor::{
    ARRIVAL, COMPLETION, COMPLETION_LEN, RECEIVE, RECEIVE_LEN, REDUCE, WORK, WORK_LEN,
};

use tributary_protocol::multicast::ring::{END, END_LEN, ENTRY_LEN, SCHEDULE};

use crate::prelude::*;

hdl_record! {
    /// A completion, as the host reads it.
    #[words(COMPLETION, COMPLETION_LEN)]
    pub struct CompletionEntry {
        wr_id: _,
        status: _,
        of: _,
        version_flags: _,
        marked: Bit,
        length: _,
        node: _,
        qpn: _,
        win_id: _,
        epoch: _,
        win_msn: _,
        q_key: _,
        psn: _,
        request: _,
        phase: Bit,
        number: _,
    }
}

hdl_record! {
    /// A receive request, as the host writes it.
    #[words(RECEIVE, RECEIVE_LEN)]
    pub struct ReceiveEntry {
        wr_id: _,
        address: _,
        lkey: _,
        length: _,
    }
}

hdl_record! {
    /// A work request, as the host writes it.
    #[words(WORK, WORK_LEN)]
    pub struct WorkEntry {
        opcode: _,
        flags: _,
        head_len: _,
        length: _,
        wr_id: _,
        address: _,
        lkey: _,
        version_flags: _,
        node: _,
        qpn: _,
        win_msn: _,
        win_id: _,
        epoch: _,
        head_low: _,
        head_high: _,
    }
}

hdl_record! {
    /// An entry of a schedule ring, as the host writes it.
    #[words(SCHEDULE, ENTRY_LEN)]
    pub struct ScheduleEntry {
        kind: _,
        waits: _,
        source: _,
        to: _,
        step: _,
        block: _,
        message: _,
        received: _,
        credit: _,
        user: _,
    }
}

hdl_record! {
    /// What a host is told of the end of a group, in the length of a completion.
    #[words(END, END_LEN)]
    pub struct EndWord {
        code: _,
        peer: _,
        fetched: _,
    }
}

hdl_record! {
    /// A work request of a queue pair in a reduction group, as the host writes it.
    #[words(REDUCE, WORK_LEN)]
    pub struct ReduceEntry {
        opcode: _,
        flags: _,
        to_node: Bit,
        reduction: _,
        kind: _,
        node: _,
        wr_id: _,
        header: _,
        round: _,
        data0: _,
        data1: _,
        data2: _,
        data3: _,
    }
}

hdl_record! {
    /// A completion that is a frame of a reduction group, as the host reads it.
    #[words(ARRIVAL, COMPLETION_LEN)]
    pub struct ArrivalEntry {
        round: _,
        kind: _,
        reduction: _,
        by_tree: Bit,
        status: _,
        of: _,
        fetched: _,
        source: _,
        header: _,
        data0: _,
        data1: _,
        data2: _,
        data3: _,
        phase: Bit,
        answered: Bit,
        number: _,
    }
}
