//! Whose turn it is: the next request behind the one served last.

use crate::prelude::*;

hdl_module! {
    /// Takes turns over N requests: chooses the first one in behind, or the first of all if there is none.
    /// Combinational; the choice and the bits behind it are found without a carry chain.
    pub struct TakeTurns<const N: usize> {
        /// Who asks.
        pub req: Signal<In, Bits<N>>,
        /// Those behind the one served last: beyond of that time.
        pub behind: Signal<In, Bits<N>>,
        /// The one chosen, one-hot; zero if nobody asks.
        pub choice: Signal<Out, Bits<N>>,
        /// Those behind it.
        pub beyond: Signal<Out, Bits<N>>,
    }
}

impl<const N: usize> Logic for TakeTurns<N> {
    fn update(&mut self) {
        let (req, behind) = (self.req.val(), self.behind.val());
        let later = req & behind;
        let from = if later.any() { later } else { req };
        let mut choice = Bits::<N>::default();
        let mut beyond = Bits::<N>::default();
        let mut found = false;
        for i in 0..N {
            beyond = beyond.replace_bit(i, found);
            if from.get_bit(i) && !found {
                choice = choice.replace_bit(i, true);
                found = true;
            }
        }
        self.choice.next = choice;
        self.beyond.next = beyond;
    }

    fn connect(&mut self) {
        self.choice.connect();
        self.beyond.connect();
    }

    fn hdl(&self) -> Verilog {
        let range = |bits: usize| match bits {
            1 => "[0]".to_owned(),
            _ => format!("[{}:0]", bits - 1),
        };
        let mut text = format!("wire [{}:0] later = req & behind;\n", N - 1);
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
        text += "assign beyond[0] = 1'b0;\n";
        for i in 1..N {
            text += &format!("assign beyond[{i}] = |choice{};\n", range(i));
        }
        Verilog::Custom(text.trim_end().to_owned())
    }

    fn timing(&self) -> Vec<TimingInfo> {
        Self::module_info(format!("take_turns_n{N}")).into_timing()
    }
}
