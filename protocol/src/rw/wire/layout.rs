//! Where the fields of a body lie, for hardware: what [`super::encode`] writes and [`super::decode`] reads.

use super::{CONNECT_LEN, HEADER_LEN};

header! {
    BODY "body" HEADER_LEN, "First 8 bytes of every body.";
    B_VERSION "version" [0 / 0 +: 4] "0.",
    B_TO_SENDER "to_sender" [0 / 4 +: 1] "The message is for the sender of its transfer, otherwise for the receiver.",
    B_TAIL "tail" [0 / 5 +: 1] "DATA: the last packet; STATUS: that has arrived.",
    B_ARG "arg" [1 / 0 +: 8] "Status, reason, round, or log2 of the packet size.",
    B_NODE "node" [2 / 0 +: 16] "To the receiver: node that sends, bits 15:0; all 20 are in the address of the frame.",
    B_WORD "word" [4 / 0 +: 32] "DATA, POLL: incarnation of the window; all others: number of the transfer.",
}

header! {
    CONNECT_REST "connect_rest" (CONNECT_LEN - HEADER_LEN), "CONNECT behind its first 8 bytes.";
    C_INCARNATION "incarnation" [0 / 0 +: 16] "Incarnation of the sender.",
    C_LENGTH "length" [4 / 0 +: 32] "Bytes of the transfer.",
    C_ADDRESS "address" [8 / 0 +: 64] "Address of byte 0.",
    C_RKEY "rkey" [16 / 0 +: 32] "Key of its region.",
}

header! {
    POLL_REST "poll_rest" 8, "POLL behind its first 8 bytes.";
    P_SLOT "slot" [0 / 0 +: 16] "Transfer slot at the sender.",
    P_XID "xid" [4 / 0 +: 32] "Number of the transfer.",
}

header! {
    CONNECT_RESP_REST "connect_resp_rest" 16, "CONNECT_RESP behind its first 8 bytes.";
    R_WPTR "wptr" [0 / 0 +: 16] "Window.",
    R_W "packets" [2 / 0 +: 16] "Its packets, W.",
    R_GEN "incarnation" [4 / 0 +: 32] "Its incarnation.",
    R_CREDIT "credit" [8 / 0 +: 32] "Packets below this number may be sent.",
    R_RETRY "retry" [12 / 0 +: 16] "BUSY: ticks to wait.",
}

header! {
    STATUS_REST "status_rest" 16, "STATUS behind its first 8 bytes, in front of its bitmap.";
    S_WBASE "wbase" [0 / 0 +: 32] "First packet that is missing.",
    S_CREDIT "credit" [4 / 0 +: 32] "Packets below this number may be sent.",
    S_W "packets" [8 / 0 +: 16] "Bits of the bitmap, W.",
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use crate::header::HeaderField;

    fn fields(at: usize, body: &[u8], fields: &[HeaderField]) -> Vec<u64> {
        fields.iter().map(|field| field.get(&body[at..])).collect()
    }

    /// Every field of a message is where the layout says, and nothing else is there.
    #[test]
    fn rw_20_layouts_are_what_is_encoded() {
        let connect = Connect {
            src: 0x1234,
            slot: 0x5678,
            xid: 0x9ABC_DEF0,
            incarnation: 0x1357,
            length: 0x2468_ACE0,
            addr: 0x1122_3344_5566_7788,
            rkey: 0x99AA_BBCC,
            mtu: 12,
        };
        let (_, body) = encode(&Message::Connect(connect)).unwrap();
        let head = fields(0, &body, BODY.fields);
        assert_eq!(head, [0, 0, 0, 12, 0x1234, 0x9ABC_DEF0]);
        let rest = fields(HEADER_LEN, &body, CONNECT_REST.fields);
        assert_eq!(
            rest,
            [0x1357, 0x2468_ACE0, 0x1122_3344_5566_7788, 0x99AA_BBCC]
        );
        let poll = Poll {
            src: 1,
            wptr: 2,
            r#gen: 3,
            slot: 0x4567,
            xid: 0x89AB_CDEF,
            seq: 5,
        };
        let (_, body) = encode(&Message::Poll(poll)).unwrap();
        assert_eq!(
            fields(HEADER_LEN, &body, POLL_REST.fields),
            [0x4567, 0x89AB_CDEF]
        );
        let resp = ConnectResp {
            slot: 1,
            xid: 2,
            status: ConnectStatus::Ok,
            wptr: 0x1357,
            r#gen: 0x24_6813,
            w: 256,
            credit: 0x12_3456,
            retry: 0,
        };
        let (_, body) = encode(&Message::ConnectResp(resp)).unwrap();
        let rest = fields(HEADER_LEN, &body, CONNECT_RESP_REST.fields);
        assert_eq!(rest, [0x1357, 256, 0x24_6813, 0x12_3456, 0]);
        assert_eq!(fields(0, &body, BODY.fields), [0, 1, 0, 0, 0, 2]);
        let status = StatusReport {
            slot: 1,
            xid: 2,
            seq: 3,
            wbase: 0x12_3456,
            w_tail: true,
            credit: 0x17_89AB,
            bitmap: Bitmap::repeat(false, 64),
        };
        let (_, body) = encode(&Message::Status(status)).unwrap();
        assert_eq!(fields(0, &body, BODY.fields), [0, 1, 1, 0, 0, 2]);
        let rest = fields(HEADER_LEN, &body, STATUS_REST.fields);
        assert_eq!(rest, [0x12_3456, 0x17_89AB, 64]);
    }
}
