//! XUD-4 as a property of what happened at the block's ports.

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Message number n was accepted, with or without a payload.
    Taken { n: usize, writes: bool },
    /// dma_write took a request for a payload.
    Asked,
    /// card_cq took a completion that belongs to a message, or to none.
    Offered { message: bool },
    /// The oldest completion is ordered in host memory.
    Landed,
    /// The acknowledgement of message number n was taken.
    Acknowledged { n: usize },
}

/// Checks a recording.
///
/// # Errors
/// The first event against the rule.
pub fn check(events: &[Event]) -> Result<(), String> {
    let mut writes = vec![];
    let (mut asked, mut offered, mut acknowledged) = (0, vec![], 0);
    // Messages completed so far, and of them those that have landed.
    let (mut messages, mut landed, mut landed_messages) = (0, 0, 0);
    for (at, event) in events.iter().enumerate() {
        let against = |rule: &str| Err(format!("event {at}, {event:?}: {rule}"));
        match *event {
            Event::Taken { n, writes: w } => {
                if n != writes.len() {
                    return against("messages are taken in order");
                }
                writes.push(w);
            }
            Event::Asked => asked += 1,
            Event::Offered { message } => {
                if message {
                    if messages >= writes.len() {
                        return against("a completion needs a message");
                    }
                    messages += 1;
                    if writes[..messages].iter().filter(|&&w| w).count() > asked {
                        return against("a payload is asked for before its completion is offered");
                    }
                }
                offered.push(message);
            }
            Event::Landed => {
                if landed >= offered.len() {
                    return against("only what was offered can land");
                }
                landed_messages += usize::from(offered[landed]);
                landed += 1;
            }
            Event::Acknowledged { n } => {
                if n != acknowledged {
                    return against("messages are acknowledged in order");
                }
                if n >= landed_messages {
                    return against("acknowledged before its completion landed");
                }
                acknowledged += 1;
            }
        }
    }
    Ok(())
}
