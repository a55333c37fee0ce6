//! Verilog identifiers: spelling, reserved words, uniqueness.

use std::collections::BTreeSet;

use super::error::{Fallible, Reason};

/// Words that Verilog-2001 or SystemVerilog reserves (tools often read `.v` as the latter), and
/// those of C++, about which Verilator complains.
const RESERVED: &str = " accept_on alias always always_comb always_ff always_latch and assert assign \
assume automatic before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell \
chandle checker class clocking cmos config const constraint context continue cover covergroup coverpoint \
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass \
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive \
endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect export \
extends extern final first_match for force foreach forever fork forkjoin function generate genvar global \
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial \
inout input inside instance int integer interconnect interface intersect join join_any join_none large \
let liblist library local localparam logic longint macromodule matches medium modport module nand \
negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed \
parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup \
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg \
reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually \
s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft \
solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 \
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 \
tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with \
untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire \
with within wor xnor xor \
alignas alignof and_eq asm auto bitand bitor bool catch char char16_t char32_t compl const_cast \
constexpr decltype delete double dynamic_cast explicit false float friend goto inline long mutable \
namespace noexcept not_eq nullptr operator or_eq private public register reinterpret_cast short sizeof \
static_assert static_cast switch template thread_local throw true try typeid typename using volatile \
wchar_t xor_eq ";

/// True if `name` can stand in Verilog as it is.
pub(super) fn is_legal(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&format!(" {name} "))
}

/// rust-hdl's `s$0$valid` as `s_valid_0`: the number stands behind, as in an array of signals.
/// Rust's `r#` of a field called like a keyword goes.
pub(super) fn flatten(key: &str) -> String {
    let is_number = |part: &&str| part.parse::<usize>().is_ok();
    let (numbers, names): (Vec<&str>, Vec<&str>) = key.split('$').partition(is_number);
    [names, numbers].concat().join("_").replace("r#", "")
}

/// rust-hdl's `lanes$0$x` as Rust spells it, `lanes[0].x`, for messages.
pub(super) fn rust_path(key: &str) -> String {
    let mut out = String::new();
    for (i, part) in key.split('$').enumerate() {
        if i > 0 && part.chars().all(|c| c.is_ascii_digit()) && !part.is_empty() {
            out.push_str(&format!("[{part}]"));
        } else {
            if i > 0 {
                out.push('.');
            }
            out.push_str(part);
        }
    }
    out
}

/// `FlowState::WaitAck` as `FLOW_STATE_WAIT_ACK`; runs of capitals stay together.
pub(super) fn screaming(name: &str) -> String {
    let chars: Vec<char> = name.replace("::", "_").chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let starts_word = c.is_ascii_uppercase()
            && i > 0
            && chars[i - 1] != '_'
            && (!chars[i - 1].is_ascii_uppercase()
                || chars.get(i + 1).is_some_and(char::is_ascii_lowercase));
        if starts_word {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// The names in use in one module.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Every name in use.
    pub(super) fn taken(&self) -> impl Iterator<Item = &String> {
        self.taken.iter()
    }

    /// Takes exactly `name`: ports, whose spelling is an interface.
    pub(super) fn exact(&mut self, name: &str) -> Fallible<String> {
        if !is_legal(name) {
            return Err(Reason::BadName(name.to_owned()));
        }
        if !self.taken.insert(name.to_owned()) {
            return Err(Reason::NameClash(name.to_owned()));
        }
        Ok(name.to_owned())
    }

    /// Takes `name`, or the first free `name_2`, `name_3`...: everything inside a module.
    pub(super) fn fresh(&mut self, name: &str) -> Fallible<String> {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Reason::BadName(name.to_owned()));
        }
        let base = if is_legal(name) {
            name.to_owned()
        } else {
            format!("{name}_sig")
        };
        let mut candidate = base.clone();
        let mut n = 2;
        while !self.taken.insert(candidate.clone()) {
            candidate = format!("{base}_{n}");
            n += 1;
        }
        Ok(candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enum_variants_become_screaming_snake_case() {
        assert_eq!(screaming("State::WaitAck"), "STATE_WAIT_ACK");
        assert_eq!(screaming("RxFSM::SendNAK"), "RX_FSM_SEND_NAK");
    }

    #[test]
    fn reserved_words_are_refused_for_ports_and_renamed_inside() {
        let mut names = Names::default();
        assert_eq!(names.exact("bit"), Err(Reason::BadName("bit".into())));
        assert_eq!(names.fresh("priority").as_deref(), Ok("priority_sig"));
        assert_eq!(names.fresh("priority").as_deref(), Ok("priority_sig_2"));
    }

    #[test]
    fn vector_elements_are_spelled_as_in_rust() {
        assert_eq!(rust_path("lanes$3$bus$data"), "lanes[3].bus.data");
    }
}
