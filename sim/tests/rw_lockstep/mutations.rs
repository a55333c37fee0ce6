//! Wrong engines: each differs from `rw_window` in one statement, and lock step must notice.

use super::{bench::Bench, plan};
use tributary_sim::rw::rtl;

/// A change of one place in the text of a module, which must be found exactly once.
struct Patch {
    module: &'static str,
    what: What,
}

enum What {
    /// The first text becomes the second.
    Text(&'static str, &'static str),
    /// The statement that starts with this text, such as `x_reg <=`, and is no reset to 0, has
    /// its right-hand side changed.
    Right(&'static str, fn(&str) -> String),
}

impl Patch {
    const fn text(module: &'static str, from: &'static str, to: &'static str) -> Self {
        Self {
            module,
            what: What::Text(from, to),
        }
    }

    const fn right(module: &'static str, head: &'static str, change: fn(&str) -> String) -> Self {
        Self {
            module,
            what: What::Right(head, change),
        }
    }

    fn apply(&self, text: &str) -> String {
        match self.what {
            What::Text(from, to) => {
                self.once(from, text.matches(from).count());
                text.replace(from, to)
            }
            What::Right(head, change) => self.statement(text, head, change),
        }
    }

    fn once(&self, pattern: &str, count: usize) {
        assert_eq!(
            count, 1,
            "{}: pattern not found, or more than once: {pattern}",
            self.module
        );
    }

    fn statement(&self, text: &str, head: &str, change: fn(&str) -> String) -> String {
        let mut found = vec![];
        for (at, _) in text.match_indices(head) {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let from = at + head.len();
            let Some(len) = text[from..].find(';') else {
                continue;
            };
            let right = text[from..from + len].trim();
            let zero = right.split_once('\'').is_some_and(|(_, digits)| {
                digits.trim_start_matches(['b', 'd', 'h', '0']).is_empty()
            });
            if text[line..at].trim().is_empty() && !zero {
                found.push((from, len, right));
            }
        }
        self.once(head, found.len());
        let (from, len, right) = found[0];
        format!("{} {}{}", &text[..from], change(right), &text[from + len..])
    }
}

/// Asserts that lock step fails with the patches, with one seed or another.
fn caught(patches: &[Patch]) {
    let (top, mut files) = rtl::sources(64, 16).unwrap();
    for patch in patches {
        let file = files
            .iter_mut()
            .find(|(name, _)| name.starts_with(patch.module));
        let (_, text) = file.unwrap_or_else(|| panic!("no module {}", patch.module));
        *text = patch.apply(text);
    }
    let library = rtl::build_sources(&top, &files, false).unwrap();
    let wrong =
        (0..SEEDS).find_map(|seed| Bench::run(plan(64, 16, seed, CLOCKS), &library, 0).err());
    println!("{}", wrong.expect("not caught"));
}

const ACCEPT: &str = "rw_accept_";
const ACKS: &str = "rw_acks_";
const CONTROL: &str = "rw_control_";

/// Seeds, and clocks with each of them, within which a wrong engine shows.
const SEEDS: u64 = 4;
const CLOCKS: u64 = 20_000;

#[test]
fn rw_07_mutation_no_generation_is_caught_by_lock_step() {
    caught(&[Patch::right(ACCEPT, "s4_stale_reg <=", |_| "1'b0".into())]);
}

/// Of the incarnation only bit 0 is compared.
#[test]
fn rw_07_mutation_one_bit_generation_is_caught_by_lock_step() {
    let bit_0 = |right: &str| {
        let (table, own) = right
            .split_once(" != ")
            .expect("pattern not found: a comparison");
        format!("((({table}) ^ ({own})) & 16'd1) != 16'd0")
    };
    caught(&[Patch::right(ACCEPT, "s4_stale_reg <=", bit_0)]);
}

#[test]
fn p_14_mutation_generation_stands_still_is_caught_by_lock_step() {
    caught(&[Patch::text(
        CONTROL,
        "gens_rd_data + 16'd1",
        "gens_rd_data + 16'd0",
    )]);
}

#[test]
fn rw_10_mutation_no_poll_is_caught_by_lock_step() {
    caught(&[Patch::text(CONTROL, "ctl_type == 3'd6", "ctl_type == 3'd1")]);
}

#[test]
fn rw_02_mutation_no_duplicate_check_is_caught_by_lock_step() {
    caught(&[Patch::right(ACCEPT, "assign duplicate =", |_| {
        "1'b0".into()
    })]);
}

#[test]
fn rw_03_mutation_slide_off_by_one_is_caught_by_lock_step() {
    let one_more = |right: &str| format!("({right}) + {{21'd0, slide}}");
    caught(&[Patch::right(ACCEPT, "s6_wbase_reg <=", one_more)]);
}

/// The last packet is the one that says so.
#[test]
fn rw_04_mutation_tail_not_by_index_is_caught_by_lock_step() {
    caught(&[Patch::right(ACCEPT, "s4_at_last_reg <=", |_| {
        "s3_tail_reg".into()
    })]);
}

/// Every write that becomes visible ends the transfer if its last packet has arrived.
#[test]
fn rw_04_rw_16_mutation_completion_on_tail_alone_is_caught_by_lock_step() {
    let first = Patch::right(ACKS, "s4_full_reg <=", |_| "s3_valid_reg & known".into());
    let tail = Patch::right(CONTROL, "all_received_reg <=", |_| "tail_reg".into());
    caught(&[first, tail]);
}

/// Every write that becomes visible ends the transfer if all packets have arrived.
#[test]
fn rw_16_mutation_writes_not_counted_is_caught_by_lock_step() {
    caught(&[Patch::right(ACKS, "s4_full_reg <=", |_| {
        "s3_valid_reg & known".into()
    })]);
}

/// Shows when a window with a hole is silent, as all are at the end of a run.
#[test]
fn rw_13_mutation_range_from_wbase_is_caught_by_lock_step() {
    caught(&[Patch::text(
        CONTROL,
        "msg_pidx_next = highest_reg;",
        "msg_pidx_next = wbase_reg;",
    )]);
}

#[test]
fn rw_07_mutation_xid_of_poll_unchecked_is_caught_by_lock_step() {
    caught(&[Patch::right(CONTROL, "xid_match_reg <=", |_| "1'b1".into())]);
}

#[test]
fn rw_07_mutation_xid_of_abort_unchecked_is_caught_by_lock_step() {
    caught(&[Patch::right(CONTROL, "same_xid_reg <=", |_| "1'b1".into())]);
}
