//! The operations wrapped for simulators: messages in, outputs out, each message as often as the configuration says.

use super::*;

impl Receiver {
    /// Acts on a message from the network. `now` in ticks of any width; messages that go to senders are ignored.
    pub fn handle(&mut self, msg: &Message, now: u64) -> Vec<Output> {
        let tick = now as Tick;
        let outputs = match msg {
            Message::Data(d) => match self.data(d, tick) {
                Ok(accepted) => {
                    let update = if accepted.credit_due {
                        self.credit_update(d.wptr)
                    } else {
                        None
                    };
                    std::iter::once(Output::Write(accepted.write))
                        .chain(update)
                        .collect()
                }
                Err(_) => Vec::new(),
            },
            Message::Connect(c) => {
                let out = self.connect(c, tick);
                let aborted = out.aborted.map(Output::Completion);
                aborted
                    .into_iter()
                    .chain(out.reply.map(|msg| Output::Send { dst: c.src, msg }))
                    .collect()
            }
            Message::Poll(p) => vec![Output::Send {
                dst: p.src,
                msg: self.poll(p),
            }],
            Message::Abort(a) => self.abort(a).map(Output::Completion).into_iter().collect(),
            Message::Complete(_)
            | Message::RetxOne(_)
            | Message::RetxRange(_)
            | Message::ConnectResp(_)
            | Message::Status(_)
            | Message::Unknown(_) => Vec::new(),
        };
        self.copied(outputs)
    }

    /// Each message as often as it leaves, copies one behind the other; anything else once (RW-16).
    fn copied(&self, outputs: Vec<Output>) -> Vec<Output> {
        let frames = self.config.frames_per_message();
        let times = |output: &Output| match output {
            Output::Send { .. } => frames,
            Output::Write(_) | Output::Completion(_) => 1,
        };
        outputs
            .into_iter()
            .flat_map(|output| std::iter::repeat_n(output.clone(), times(&output)))
            .collect()
    }

    /// The STATUS that an accepted packet with `credit_due` calls for.
    pub fn credit_update(&mut self, wptr: u16) -> Option<Output> {
        let status = self.status(wptr, 0)?;
        self.stats.credit_updates += 1;
        Some(Output::Send {
            dst: self.transfer(wptr)?.src,
            msg: Message::Status(status),
        })
    }

    /// A write is visible in host memory; finishes the transfer if it was the last one.
    pub fn handle_write_done(&mut self, wptr: u16, r#gen: u32) -> Vec<Output> {
        if !self.write_done(wptr, r#gen) {
            return Vec::new();
        }
        let outputs = self.finish(wptr).map_or_else(Vec::new, |done| {
            let msg = Message::Complete(done.complete_msg);
            vec![
                Output::Completion(done.completion),
                Output::Send {
                    dst: done.completion.src,
                    msg,
                },
            ]
        });
        self.copied(outputs)
    }

    /// Sweeps every window once.
    pub fn handle_sweep(&mut self, now: u64) -> Vec<Output> {
        let outputs = (0..self.config.r)
            .flat_map(|wptr| self.sweep(wptr as u16, now as Tick))
            .collect();
        self.copied(outputs)
    }
}
