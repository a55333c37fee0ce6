//! Messages to bytes.

use super::*;

/// BTH and body of a message, without the payload of DATA.
///
/// # Errors
/// A field that does not fit.
pub fn encode(msg: &Message) -> Result<(Bth, Vec<u8>), WireError> {
    let head = |arg: u8, node: u32, word: u32| Head {
        to_sender: !msg.to_receiver(),
        tail: false,
        arg,
        node: node as u16,
        word,
    };
    at_most("node", msg.src().unwrap_or(0), NODES - 1)?;
    let (dest_qp, psn, head, rest) = match msg {
        Message::Data(d) => {
            payload_ok(usize::from(d.len), d.tail)?;
            at_most("round", d.round, 15u8)?;
            at_most("gen", d.r#gen, 0xFF_FFFFu32)?;
            (
                d.wptr,
                d.pidx,
                Head {
                    tail: d.tail,
                    ..head(d.round, d.src, d.r#gen)
                },
                Vec::new(),
            )
        }
        Message::Complete(m) => (m.slot, 0, head(m.status.code(), 0, m.xid), Vec::new()),
        Message::RetxOne(m) => (m.slot, m.pidx, head(0, 0, m.xid), Vec::new()),
        Message::RetxRange(m) => {
            at_most("round", m.round, 15u8)?;
            (m.slot, m.pidx, head(m.round, 0, m.xid), Vec::new())
        }
        Message::Connect(m) => {
            let mut rest = Vec::with_capacity(24);
            rest.extend(m.incarnation.to_be_bytes());
            rest.extend([0; 2]);
            rest.extend(m.length.to_be_bytes());
            rest.extend(m.addr.to_be_bytes());
            rest.extend(m.rkey.to_be_bytes());
            rest.extend([0; 4]);
            (m.slot, 0, head(m.mtu, m.src, m.xid), rest)
        }
        Message::ConnectResp(m) => {
            at_most("gen", m.r#gen, 0xFF_FFFFu32)?;
            at_most("credit", m.credit, NUMBER_MAX)?;
            let mut rest = Vec::with_capacity(16);
            rest.extend(m.wptr.to_be_bytes());
            rest.extend(m.w.to_be_bytes());
            rest.extend(m.r#gen.to_be_bytes());
            rest.extend(m.credit.to_be_bytes());
            rest.extend(m.retry.to_be_bytes());
            rest.extend([0; 2]);
            (m.slot, 0, head(m.status.code(), 0, m.xid), rest)
        }
        Message::Poll(m) => {
            at_most("gen", m.r#gen, 0xFF_FFFFu32)?;
            let mut rest = Vec::with_capacity(8);
            rest.extend(m.slot.to_be_bytes());
            rest.extend([0; 2]);
            rest.extend(m.xid.to_be_bytes());
            (m.wptr, u32::from(m.seq), head(0, m.src, m.r#gen), rest)
        }
        Message::Status(m) => {
            at_most("wbase", m.wbase, NUMBER_MAX)?;
            at_most("credit", m.credit, NUMBER_MAX)?;
            at_most("W", m.bitmap.len() as u64, MAX_W as u64)?;
            let mut rest = Vec::with_capacity(16 + m.bitmap.len() / 8 + 8);
            rest.extend(m.wbase.to_be_bytes());
            rest.extend(m.credit.to_be_bytes());
            rest.extend((m.bitmap.len() as u16).to_be_bytes());
            rest.extend([0; 6]);
            for word in m.bitmap.chunks(64) {
                let word = word.iter_ones().fold(0u64, |bits, bit| bits | 1 << bit);
                rest.extend(word.to_be_bytes());
            }
            (
                m.slot,
                u32::from(m.seq),
                Head {
                    tail: m.w_tail,
                    ..head(0, 0, m.xid)
                },
                rest,
            )
        }
        Message::Abort(m) => (m.slot, 0, head(m.reason.code(), m.src, m.xid), Vec::new()),
        Message::Unknown(m) => (m.slot, 0, head(m.reason.code(), 0, m.xid), Vec::new()),
    };
    if matches!(
        msg,
        Message::Data(_) | Message::RetxOne(_) | Message::RetxRange(_)
    ) {
        at_most("pidx", psn, NUMBER_MAX - 1)?;
    }
    let mut body = vec![
        u8::from(head.to_sender) << 3 | u8::from(head.tail) << 2,
        head.arg,
    ];
    body.extend(head.node.to_be_bytes());
    body.extend(head.word.to_be_bytes());
    body.extend(rest);
    Ok((
        Bth {
            opcode: opcode(msg.kind()),
            dest_qp: dest_qp.into(),
            psn,
        },
        body,
    ))
}
