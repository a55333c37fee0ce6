//! Bodies of the messages of the receiver window, as records.

use crate::prelude::*;
use tributary_protocol::bulk::{READ_REFUSED, READ_REQUEST, TRANSFER};
use tributary_protocol::rw::wire::layout::{
    BODY, CONNECT_RESP_REST, CONNECT_REST, POLL_REST, STATUS_REST,
};
use tributary_protocol::xud::onesided::ONE_SIDED_HEADER;

hdl_record! {
    /// First 8 bytes of a body.
    #[header(BODY)]
    pub struct BodyHead {
        version: _,
        to_sender: _,
        tail: _,
        arg: _,
        node: _,
        word: _,
    }
}

hdl_record! {
    /// CONNECT behind them.
    #[header(CONNECT_REST)]
    pub struct ConnectRest {
        incarnation: _,
        length: _,
        address: _,
        rkey: _,
    }
}

hdl_record! {
    /// POLL behind them.
    #[header(POLL_REST)]
    pub struct PollRest {
        slot: _,
        xid: _,
    }
}

hdl_record! {
    /// CONNECT_RESP behind them.
    #[header(CONNECT_RESP_REST)]
    pub struct ConnectRespRest {
        wptr: _,
        packets: _,
        incarnation: _,
        credit: _,
        retry: _,
    }
}

hdl_record! {
    /// STATUS behind them.
    #[header(STATUS_REST)]
    pub struct StatusRest {
        wbase: _,
        credit: _,
        packets: _,
    }
}

hdl_record! {
    /// What a card puts behind CONNECT.
    #[header(TRANSFER)]
    pub struct TransferRest {
        version: _,
        notify: _,
        response: _,
        qpn: _,
        source: _,
        q_key: _,
        immediate: _,
        token: _,
    }
}

hdl_record! {
    /// Head of a one-sided work request.
    #[header(ONE_SIDED_HEADER)]
    pub struct OneSidedHead {
        address: _,
        rkey: _,
        answer: _,
        operation: _,
        length: _,
    }
}

hdl_record! {
    /// Body of a READ request.
    #[header(READ_REQUEST)]
    pub struct ReadRequestBody {
        version: _,
        mtu: _,
        node: _,
        q_key: _,
        token: _,
        length: _,
        rkey: _,
        address: _,
        to_address: _,
        to_key: _,
        source: _,
    }
}

hdl_record! {
    /// Body of its refusal.
    #[header(READ_REFUSED)]
    pub struct ReadRefusedBody {
        version: _,
        reason: _,
        node: _,
        retry: _,
        token: _,
    }
}
