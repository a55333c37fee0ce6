//! Whose turn it is: the next request behind the one served last.

use crate::prelude::*;

hdl_module! {
    /// Takes turns over N requests: chooses the first one behind the one served last, or the first of all if there
    /// is none. Combinational, without a carry chain.
    #[module("take_turns_n{N}")]
    pub struct TakeTurns<const N: usize> {
        /// Who asks.
        pub req: Signal<In, Bits<N>>,
        /// The one served last, one-hot or zero.
        pub last: Signal<In, Bits<N>>,
        /// The one chosen, one-hot; zero if nobody asks.
        pub choice: Signal<Out, Bits<N>>,
    }
}

impl<const N: usize> Logic for TakeTurns<N> {
    fn update(&mut self) {
        let (req, last) = (self.req.val(), self.last.val());
        let first = |from: usize| (from..N).find(|&i| req.get_bit(i));
        let behind = (0..N).find(|&i| last.get_bit(i)).map(|i| i + 1);
        let chosen = behind.and_then(first).or_else(|| first(0));
        let none = Bits::<N>::default();
        self.choice.next = chosen.map_or(none, |i| none.replace_bit(i, true));
    }

    fn connect(&mut self) {
        self.choice.connect();
    }

    fn hdl(&self) -> Verilog {
        let range = |bits: usize| match bits {
            1 => "[0]".to_owned(),
            _ => format!("[{}:0]", bits - 1),
        };
        let mut text = format!(
            "wire [{top}:0] later;\nassign later[0] = 1'b0;\n",
            top = N - 1
        );
        for i in 1..N {
            text += &format!("assign later[{i}] = req[{i}] & (|last{});\n", range(i));
        }
        for i in 0..N {
            let (first_later, first) = match i {
                0 => (String::new(), String::new()),
                _ => (
                    format!(" & ~(|later{})", range(i)),
                    format!(" & ~(|req{})", range(i)),
                ),
            };
            text += &format!(
                "assign choice[{i}] = (later[{i}]{first_later}) | (req[{i}] & ~(|later){first});\n"
            );
        }
        // Behind the last one there is nobody.
        text += &format!("wire _unused = &{{1'b0, last[{}]}};\n", N - 1);
        Verilog::Custom(text.trim_end().to_owned())
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info().into_timing()
    }
}
