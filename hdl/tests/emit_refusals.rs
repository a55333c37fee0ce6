//! What cannot be emitted is an error that names block, signal and reason.
#![allow(missing_docs)]

use rust_hdl::prelude::*;
use rust_hdl_widgets::prelude::DFF;
use tributary_hdl::emit::{EmitError, ModuleInfo, Reason, emit};

/// The error of a block that must be refused, without rust-hdl's checks before it.
fn refused<B: Block>(mut block: B) -> EmitError {
    block.connect_all();
    match emit(&block) {
        Err(e) => e,
        Ok(design) => panic!("emitted:\n{}", design.to_text()),
    }
}

fn assert_refused<B: Block>(block: B, text: &str) {
    let e = refused(block);
    assert_eq!(e.to_string(), text);
}

#[derive(LogicBlock, Default)]
struct Latch {
    pub en: Signal<In, Bit>,
    pub d: Signal<In, Bits<4>>,
    pub q: Signal<Out, Bits<4>>,
}

impl Logic for Latch {
    #[hdl_gen]
    fn update(&mut self) {
        if self.en.val() {
            self.q.next = self.d.val();
        }
    }
}

#[test]
fn a_latch_is_refused_by_name() {
    assert_refused(
        Latch::default(),
        "block `top`, signal `q`: not assigned on every path (bits 3..0): this is a latch; assign a default first",
    );
}

/// Two fields.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Pair {
    low: Bits<3>,
    high: Bits<5>,
}

#[derive(LogicBlock, Default)]
struct PartLatch {
    pub en: Signal<In, Bit>,
    pub d: Signal<In, Bits<3>>,
    pub q: Signal<Out, Pair>,
}

impl Logic for PartLatch {
    #[hdl_gen]
    fn update(&mut self) {
        self.q.next.low = self.d.val();
        if self.en.val() {
            self.q.next.high = 1.into();
        }
    }
}

#[test]
fn a_latch_in_one_field_is_refused_with_its_bits() {
    assert_refused(
        PartLatch::default(),
        "block `top`, signal `q`: not assigned on every path (bits 7..3): this is a latch; assign a default first",
    );
}

#[derive(LogicBlock, Default)]
struct Ring {
    pub a: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
    pub p: Signal<Local, Bit>,
    pub q: Signal<Local, Bit>,
}

impl Logic for Ring {
    #[hdl_gen]
    fn update(&mut self) {
        self.p.next = self.q.val() & self.a.val();
        self.q.next = self.p.val();
        self.y.next = self.q.val();
    }
}

#[test]
fn a_combinational_loop_is_refused_with_its_way() {
    let e = refused(Ring::default());
    assert_eq!(e.block, "top");
    assert!(
        matches!(&e.reason, Reason::Loop(way) if way.contains("p <- q")),
        "{e}"
    );
}

#[derive(LogicBlock, Default)]
struct Pass {
    pub x: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
}

impl Logic for Pass {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = !self.x.val();
    }
}

#[derive(LogicBlock, Default)]
struct LoopThroughChild {
    pub y: Signal<Out, Bit>,
    pub pass: Pass,
}

impl Logic for LoopThroughChild {
    #[hdl_gen]
    fn update(&mut self) {
        self.pass.x.next = self.pass.y.val();
        self.y.next = self.pass.y.val();
    }
}

#[test]
fn a_combinational_loop_through_a_child_is_refused() {
    let e = refused(LoopThroughChild::default());
    assert!(
        matches!(&e.reason, Reason::Loop(way) if way.contains("pass.x <- pass.y")),
        "{e}"
    );
}

#[derive(LogicBlock, Default)]
struct Undriven {
    pub y: Signal<Out, Bit>,
    pub x: Signal<In, Bit>,
    pub pass: Pass,
}

impl Logic for Undriven {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val() & self.pass.y.val();
    }
}

#[test]
fn an_input_of_a_child_that_nothing_drives_is_refused() {
    assert_refused(
        Undriven::default(),
        "block `top`, signal `pass.x`: never assigned",
    );
}

const LIMIT: u64 = 3;

#[derive(LogicBlock, Default)]
struct PlainConst {
    pub x: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bit>,
}

impl Logic for PlainConst {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val() == LIMIT;
    }
}

#[test]
fn a_plain_constant_is_refused_with_the_way_out() {
    let e = refused(PlainConst::default());
    assert_eq!((e.block.as_str(), e.signal.as_deref()), ("top", Some("y")));
    assert!(e.to_string().contains("`LIMIT` is not a signal"), "{e}");
    assert!(e.to_string().contains("use a `Constant` field"), "{e}");
}

#[derive(LogicBlock, Default)]
struct WideLiteral {
    pub x: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bit>,
}

impl Logic for WideLiteral {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val() == 16;
    }
}

#[test]
fn a_literal_that_does_not_fit_is_refused() {
    assert_refused(
        WideLiteral::default(),
        "block `top`, signal `y`: the literal 16 does not fit in 4 bits",
    );
}

#[derive(LogicBlock, Default)]
struct AmbiguousCast {
    pub x: Signal<In, Signed<4>>,
    pub y: Signal<Out, Bit>,
}

impl Logic for AmbiguousCast {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = signed_bit_cast::<8, 4>(self.x.val()) < signed_bit_cast::<8, 4>(self.x.val());
    }
}

#[test]
fn a_signed_cast_whose_width_is_lost_is_refused() {
    let e = refused(AmbiguousCast::default());
    assert_eq!(e.reason, Reason::AmbiguousWidth("signed_cast(x)".into()));
    assert_eq!(e.signal.as_deref(), Some("y"));
}

#[derive(LogicBlock, Default)]
struct WritesInput {
    pub x: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
}

impl Logic for WritesInput {
    #[hdl_gen]
    fn update(&mut self) {
        self.x.next = true;
        self.y.next = self.x.val();
    }
}

#[test]
fn an_assignment_to_an_input_is_refused() {
    assert_refused(
        WritesInput::default(),
        "block `top`, signal `x`: assigned, but it is an input of this block",
    );
}

#[derive(LogicBlock, Default)]
struct Reserved {
    pub x: Signal<In, Bit>,
    pub signed: Signal<Out, Bit>,
}

impl Logic for Reserved {
    #[hdl_gen]
    fn update(&mut self) {
        self.signed.next = self.x.val();
    }
}

#[test]
fn a_port_with_a_reserved_name_is_refused() {
    let e = refused(Reserved::default());
    assert_eq!(e.reason, Reason::BadName("signed".into()));
}

#[derive(LogicBlock, Default)]
struct GatedClock {
    pub clk: Signal<In, Clock>,
    pub en: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
    pub r: DFF<Bit>,
}

// The branches differ in when they are taken, which is the point.
#[allow(clippy::if_same_then_else)]
impl Logic for GatedClock {
    #[hdl_gen]
    fn update(&mut self) {
        if self.en.val() {
            self.r.clock.next = self.clk.val();
        } else {
            self.r.clock.next = self.clk.val();
        }
        self.r.d.next = self.en.val();
        self.q.next = self.r.q.val();
    }
}

#[test]
fn a_gated_clock_is_refused() {
    let e = refused(GatedClock::default());
    assert_eq!(
        (e.signal.as_deref(), e.reason),
        (Some("r.clock"), Reason::Clock)
    );
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Only {
    One,
}

#[derive(LogicBlock, Default)]
struct NoBits {
    pub x: Signal<In, Only>,
    pub y: Signal<Out, Bit>,
}

impl Logic for NoBits {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val() == Only::One;
    }
}

#[test]
fn a_signal_without_bits_is_refused() {
    let e = refused(NoBits::default());
    assert_eq!(
        (e.signal.as_deref(), e.reason),
        (Some("x"), Reason::ZeroWidth)
    );
}

/// Custom Verilog without a name.
#[derive(LogicBlock, Default)]
struct Anonymous {
    x: Signal<In, Bit>,
    y: Signal<Out, Bit>,
}

impl Logic for Anonymous {
    fn update(&mut self) {}
    fn connect(&mut self) {
        self.y.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom("assign y = x;".into())
    }
}

#[test]
fn custom_verilog_of_a_block_without_a_name_is_refused() {
    let e = refused(Anonymous::default());
    assert!(
        e.to_string()
            .starts_with("block `top`: custom Verilog of a block without"),
        "{e}"
    );
}

/// A black box.
#[derive(LogicBlock, Default)]
struct Foreign {
    x: Signal<In, Bit>,
}

impl Logic for Foreign {
    fn update(&mut self) {}
    fn hdl(&self) -> Verilog {
        Verilog::Blackbox(BlackBox {
            code: String::new(),
            name: "foreign".into(),
        })
    }
}

#[derive(LogicBlock, Default)]
struct UsesForeign {
    pub x: Signal<In, Bit>,
    pub foreign: [Foreign; 2],
}

impl Logic for UsesForeign {
    #[hdl_gen]
    fn update(&mut self) {
        self.foreign[0].x.next = self.x.val();
        self.foreign[1].x.next = self.x.val();
    }
}

#[test]
fn a_black_box_is_refused_with_its_path() {
    assert_refused(
        UsesForeign::default(),
        "block `top.foreign[0]`: a black box cannot be emitted",
    );
}

/// A wrapper around foreign Verilog.
#[derive(LogicBlock, Default)]
struct Wrapped {
    x: Signal<In, Bit>,
}

impl Logic for Wrapped {
    fn update(&mut self) {}
    fn hdl(&self) -> Verilog {
        Verilog::Wrapper(Wrapper {
            code: String::new(),
            cores: String::new(),
        })
    }
}

#[test]
fn a_wrapper_is_refused() {
    assert_refused(
        Wrapped::default(),
        "block `top`: a wrapper cannot be emitted",
    );
}

/// Calls itself the same at every size.
#[derive(LogicBlock, Default)]
struct Sloppy<const N: usize> {
    x: Signal<In, Bits<N>>,
    y: Signal<Out, Bits<N>>,
}

impl<const N: usize> Logic for Sloppy<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = !self.x.val();
    }
    fn timing(&self) -> Vec<TimingInfo> {
        ModuleInfo {
            name: "sloppy".into(),
            ..Default::default()
        }
        .into_timing()
    }
}

#[derive(LogicBlock, Default)]
struct Clash {
    pub x: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bits<4>>,
    pub z: Signal<Out, Bits<5>>,
    pub a: Sloppy<4>,
    pub b: Sloppy<5>,
}

impl Logic for Clash {
    #[hdl_gen]
    fn update(&mut self) {
        self.a.x.next = self.x.val();
        self.b.x.next = bit_cast::<5, 4>(self.x.val());
        self.y.next = self.a.y.val();
        self.z.next = self.b.y.val();
    }
}

#[test]
fn two_blocks_of_one_name_and_different_text_are_refused() {
    assert_refused(
        Clash::default(),
        "block `top.b (sloppy)`: another block with different contents is also called `sloppy`: put every size in the name",
    );
}

#[derive(LogicBlock, Default)]
struct TriState {
    pub pin: Signal<InOut, Bit>,
    pub x: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
}

impl Logic for TriState {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val();
    }
}

#[test]
fn an_in_out_signal_is_refused() {
    assert_refused(
        TriState::default(),
        "block `top`, signal `pin`: an `InOut` signal cannot be emitted",
    );
}

#[derive(LogicBlock, Default)]
struct BeyondEnd {
    pub x: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bit>,
}

impl Logic for BeyondEnd {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val().get_bit(4);
    }
}

#[test]
fn a_bit_beyond_the_end_is_refused() {
    let e = refused(BeyondEnd::default());
    assert!(
        e.to_string()
            .contains("signal `y`: `x.get_bit(4)`, beyond the end, cannot be emitted"),
        "{e}"
    );
}

#[derive(LogicBlock, Default)]
struct OpenLocal {
    pub x: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
    pub open: Signal<Local, Bit>,
}

impl Logic for OpenLocal {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.x.val() & self.open.val();
    }
}

#[test]
fn rust_hdls_own_checks_run_first_and_their_message_is_kept() {
    match tributary_hdl::emit::emit_block(&mut OpenLocal::default()) {
        Err(EmitError {
            reason: Reason::Check(text),
            ..
        }) => assert!(text.contains("open"), "{text}"),
        other => panic!("{other:?}"),
    }
}
