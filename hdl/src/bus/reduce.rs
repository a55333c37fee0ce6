//! Reduction groups of the card's queue pairs.

use crate::prelude::*;

hdl_record! {
    /// A queue pair in a reduction group.
    pub struct ReduceMember {
        /// Queue pair.
        qpn: Bits<12>,
        /// VNI of the group.
        vni: Bits<16>,
        /// Its tree.
        tree: Bits<13>,
        /// Its cookie, in units of 8.
        cookie: Bits<29>,
        /// Of the root: members of the group; 0 of all others.
        members: Bits<19>,
    }
}

hdl_record! {
    /// A row of the table of groups.
    pub struct ReduceRow {
        /// Its number.
        number: Bits<4>,
        /// There is one.
        there: Bit,
        /// Its queue pair receives.
        receives: Bit,
        /// The queue pair, and its group.
        of: ReduceMember,
    }
}

hdl_bus! {
    /// Half the rows of the table of groups, the even or the odd ones, go round, one a clock: whoever looks at both halves for
    /// eight clocks has seen all 16.
    pub struct ReduceRows {
        /// The row of this clock.
        of: ReduceRow,
    }
}

hdl_bus! {
    /// A queue pair is to be in a group: stays until answered.
    pub struct ReduceJoin {
        /// A queue pair and its group.
        valid: Bit,
        /// The answer; pulse.
        #[back] done: Bit,
        /// With it: it is in the group. Otherwise another one is, or there is no room.
        #[back] ok: Bit,
        /// Who is to be in which group.
        of: ReduceMember,
    }
}

hdl_bus! {
    /// Work requests of queue pairs in groups, out of those that pass.
    pub struct ReduceWorks<const Q: usize> {
        /// A word of any work request lands; its eight words do so one by one.
        lands: Bit,
        /// It is its first.
        first: Bit,
        /// The word.
        data: Bits<64>,
        /// The work request whose words landed last is of a group; pulse, while there is room.
        valid: Bit,
        /// There is room for one.
        #[back] room: Bit,
        /// Its queue pair.
        qpn: Bits<Q>,
        /// How many its queue pair fetched before it, modulo 2^16.
        request: Bits<16>,
    }
}

hdl_record! {
    /// Whom a reduction frame is for.
    pub struct ReduceKey {
        /// VNI.
        vni: Bits<16>,
        /// Cookie: of the group, and the reduction id.
        cookie: Bits<32>,
        /// Tree that it came by.
        tree: Bits<13>,
        /// It came by a tree, on the reduction id of its cookie.
        by_tree: Bit,
        /// It was sent to this card.
        own: Bit,
        /// It contributes, and no engine was told of too many: it may be the result of a round.
        whole: Bit,
        /// Members that it has the contributions of.
        count: Bits<20>,
        /// Its sequence number.
        seqno: Bits<10>,
    }
}

hdl_record! {
    /// A result that the card answers (CL-6).
    pub struct ReduceAnswer {
        /// VNI of the group.
        vni: Bits<16>,
        /// Cookie: of the group, and the reduction id.
        cookie: Bits<32>,
        /// Tree of the group.
        tree: Bits<13>,
        /// Round that the answer begins.
        round: Bits<56>,
    }
}

hdl_bus! {
    /// A frame of a root's host wants to leave: stays until answered.
    pub struct ReduceLeave {
        /// One wants to.
        valid: Bit,
        /// The answer; pulse.
        #[back] done: Bit,
        /// With it: it may. Otherwise the card has answered its round.
        #[back] ok: Bit,
        /// Row of the group, and reduction id.
        place: Bits<7>,
        /// It goes to the tree.
        to_tree: Bit,
        /// It is of kind 0.
        plain: Bit,
        /// It arms.
        arm: Bit,
        /// Its sequence number.
        seqno: Bits<10>,
        /// Its round.
        round: Bits<56>,
    }
}

hdl_bus! {
    /// A frame has all contributions of a round: stays until answered.
    pub struct ReduceResult {
        /// There is one.
        valid: Bit,
        /// The answer; pulse.
        #[back] done: Bit,
        /// With it: the round is the one that is armed, and the card answers the frame.
        #[back] ok: Bit,
        /// With it: round that the answer begins.
        #[back] round: Bits<56>,
        /// Row of the group, and reduction id.
        place: Bits<7>,
        /// Its sequence number.
        seqno: Bits<10>,
    }
}

hdl_bus! {
    /// What has been decided of a frame whose words will be delivered; pulse, while there is room.
    pub struct ReduceAnswered {
        /// It is decided.
        valid: Bit,
        /// There is room for a decision.
        #[back] ready: Bit,
        /// There is room for an answer.
        #[back] room: Bit,
        /// The card answers it.
        answers: Bit,
        /// The answer, if it does.
        of: ReduceAnswer,
    }
}

hdl_bus! {
    /// Answers that are ready to leave.
    pub struct ReduceAnswers {
        /// One is.
        valid: Bit,
        /// It has left; pulse.
        #[back] done: Bit,
        /// What it is.
        of: ReduceAnswer,
        /// Word of its work request that is wanted: 2 header, 3 round, 4 to 7 data.
        #[back] word: Bits<3>,
        /// The word, in the same clock.
        data: Bits<64>,
    }
}

hdl_bus! {
    /// Good reduction frames, whose words wait.
    pub struct ReduceArrivals {
        /// A frame is offered.
        valid: Bit,
        /// It is taken.
        #[back] ready: Bit,
        /// Whom it is for.
        of: ReduceKey,
    }
}

hdl_bus! {
    /// What becomes of the words of the oldest frame; pulse, while there is room.
    pub struct ReduceVerdicts {
        /// It is decided.
        valid: Bit,
        /// There is room for a decision.
        #[back] room: Bit,
        /// They are thrown away.
        drop: Bit,
    }
}
