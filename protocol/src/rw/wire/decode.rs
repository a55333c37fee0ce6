//! Bytes to messages.

use super::*;

fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

fn zero(name: &'static str, value: impl Into<u64>) -> Result<(), WireError> {
    if value.into() == 0 {
        Ok(())
    } else {
        Err(WireError::Reserved(name))
    }
}

/// Message and payload of a BTH and its body.
///
/// # Errors
/// The first check that fails.
pub fn decode<'a>(bth: &Bth, body: &'a [u8]) -> Result<(Message, &'a [u8]), WireError> {
    let kind = bth
        .opcode
        .checked_sub(0xC0)
        .and_then(MessageType::from_code)
        .ok_or(WireError::Opcode(bth.opcode))?;
    let length = |expected: usize| {
        if body.len() == expected {
            Ok(())
        } else {
            Err(WireError::Length {
                kind,
                got: body.len(),
                expected,
            })
        }
    };
    if body.len() < HEADER_LEN {
        length(HEADER_LEN)?;
    }
    let head = Head {
        to_sender: body[0] & 8 != 0,
        tail: body[0] & 4 != 0,
        arg: body[1],
        node: be16(body, 2),
        word: be32(body, 4),
    };
    if body[0] >> 4 != 0 {
        return Err(WireError::Version(body[0] >> 4));
    }
    zero("reserved bits of byte 0", body[0] & 3)?;
    at_most("destination QP", bth.dest_qp, 0xFFFFu32)?;
    let (id, xid, arg) = (bth.dest_qp as u16, head.word, head.arg);
    let numbered = matches!(
        kind,
        MessageType::Data | MessageType::RetxOne | MessageType::RetxRange
    );
    match kind {
        _ if numbered => at_most("pidx", bth.psn, NUMBER_MAX - 1)?,
        MessageType::PollStatus => at_most("seq", bth.psn, 0xFFFFu32)?,
        _ => zero("PSN", bth.psn)?,
    }
    let both_ways = matches!(kind, MessageType::PollStatus | MessageType::AbortUnknown);
    let from_sender = matches!(kind, MessageType::Data | MessageType::Connect);
    if !both_ways && head.to_sender == from_sender {
        return Err(WireError::Direction(kind));
    }
    if head.to_sender {
        zero("node", head.node)?;
    }
    let is_status = kind == MessageType::PollStatus && head.to_sender;
    let is_fixed = !is_status && kind != MessageType::Data;
    if is_fixed {
        zero("tail flag", head.tail)?;
    }
    let (src, pidx, seq) = (head.node.into(), bth.psn, bth.psn as u16);
    let reason = || {
        Reason::from_code(arg).ok_or(WireError::Code {
            field: "reason",
            value: arg,
        })
    };
    let of_card = kind == MessageType::Connect && body.len() > CONNECT_LEN;
    if is_fixed {
        length(match kind {
            MessageType::Connect if of_card => CONNECT_LEN + TRANSFER_LEN,
            MessageType::Connect => CONNECT_LEN,
            MessageType::ConnectResp => 24,
            MessageType::PollStatus => 16,
            _ => HEADER_LEN,
        })?;
    }
    let msg = match kind {
        MessageType::Data => {
            at_most("round", arg, 15u8)?;
            at_most("gen", head.word, 0xFF_FFFFu32)?;
            let payload = &body[HEADER_LEN..];
            payload_ok(payload.len(), head.tail)?;
            let len = payload.len() as u16;
            let data = Data {
                src,
                wptr: id,
                r#gen: head.word,
                pidx,
                tail: head.tail,
                round: arg,
                len,
            };
            return Ok((Message::Data(data), payload));
        }
        MessageType::Complete => {
            let status = Status::from_code(arg).ok_or(WireError::Code {
                field: "status",
                value: arg,
            })?;
            Message::Complete(Complete {
                slot: id,
                xid,
                status,
            })
        }
        MessageType::RetxOne => {
            zero("arg", arg)?;
            Message::RetxOne(RetxOne {
                slot: id,
                xid,
                pidx,
            })
        }
        MessageType::RetxRange => {
            at_most("round", arg, 15u8)?;
            Message::RetxRange(RetxRange {
                slot: id,
                xid,
                pidx,
                round: arg,
            })
        }
        MessageType::Connect => {
            zero("reserved bytes", be16(body, 10))?;
            zero("reserved bytes", be32(body, 28))?;
            let header = &body[CONNECT_LEN..];
            if of_card {
                Transfer::decode(header).map_err(WireError::Transfer)?;
            }
            let connect = Connect {
                src,
                slot: id,
                xid,
                incarnation: be16(body, 8),
                length: be32(body, 12),
                addr: be64(body, 16),
                rkey: be32(body, 24),
                mtu: arg,
            };
            return Ok((Message::Connect(connect), header));
        }
        MessageType::ConnectResp => {
            let status = ConnectStatus::from_code(arg).ok_or(WireError::Code {
                field: "connect status",
                value: arg,
            })?;
            zero("reserved bytes", be16(body, 22))?;
            at_most("gen", be32(body, 12), 0xFF_FFFFu32)?;
            at_most("credit", be32(body, 16), NUMBER_MAX)?;
            Message::ConnectResp(ConnectResp {
                slot: id,
                xid,
                status,
                wptr: be16(body, 8),
                w: be16(body, 10),
                r#gen: be32(body, 12),
                credit: be32(body, 16),
                retry: be16(body, 20),
            })
        }
        MessageType::PollStatus if is_status => {
            zero("arg", arg)?;
            let w = usize::from(be16(body, 16));
            at_most("W", w as u64, MAX_W as u64)?;
            length(24 + w.div_ceil(64) * 8)?;
            zero("reserved bytes", be16(body, 18))?;
            zero("reserved bytes", be32(body, 20))?;
            at_most("wbase", be32(body, 8), NUMBER_MAX)?;
            at_most("credit", be32(body, 12), NUMBER_MAX)?;
            let words = (0..w.div_ceil(64))
                .map(|word| be64(body, 24 + word * 8))
                .collect();
            let mut bitmap = Bitmap::from_vec(words);
            zero("bitmap above W", bitmap[w..].count_ones() as u64)?;
            bitmap.truncate(w);
            let (wbase, credit) = (be32(body, 8), be32(body, 12));
            Message::Status(StatusReport {
                slot: id,
                xid,
                seq,
                wbase,
                w_tail: head.tail,
                credit,
                bitmap,
            })
        }
        MessageType::PollStatus => {
            zero("arg", arg)?;
            zero("reserved bytes", be16(body, 10))?;
            at_most("gen", head.word, 0xFF_FFFFu32)?;
            Message::Poll(Poll {
                src,
                wptr: id,
                r#gen: head.word,
                slot: be16(body, 8),
                xid: be32(body, 12),
                seq,
            })
        }
        MessageType::AbortUnknown if head.to_sender => Message::Unknown(Unknown {
            slot: id,
            xid,
            reason: reason()?,
        }),
        MessageType::AbortUnknown => Message::Abort(Abort {
            src,
            slot: id,
            xid,
            reason: reason()?,
        }),
    };
    Ok((msg, &[]))
}
