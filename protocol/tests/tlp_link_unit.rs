//! Units of the link of TLPs in frames: what comes out goes in again, and nothing else goes in.

use proptest::prelude::*;
use tributary_protocol::pcie::Header;
use tributary_protocol::tlp_link::unit::{SETTINGS_LEN, is_completion};
use tributary_protocol::tlp_link::wire::{Kind, MAX_WORDS};
use tributary_protocol::tlp_link::{Content, Settings, UnitError};

/// A TLP of any type, with the data that its header says.
fn tlp() -> impl Strategy<Value = Content> {
    let length = prop_oneof![8 => 0..70u32, 1 => 0..1024u32];
    (any::<Header>(), length, any::<u32>()).prop_map(|(mut header, length, first)| {
        header[0] &= !(1 << 31 | 1 << 15 | 0x3FF);
        header[0] |= length;
        let words = match (header[0] >> 30 & 1, length) {
            (0, _) => 0,
            (_, 0) => 1024,
            (_, length) => length,
        };
        if header[0] >> 29 & 1 == 0 {
            header[3] = 0;
        }
        let data = (0..words).map(|at| first.wrapping_mul(at + 1)).collect();
        Content::Tlp { header, data }
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    (any::<u16>(), any::<[bool; 4]>(), 0..6u32, 0..6u32).prop_map(|(function_id, flags, a, b)| {
        Settings {
            function_id,
            bus_master: flags[0],
            msix_enable: flags[1],
            msix_mask: flags[2],
            function_reset: flags[3],
            max_payload: 128 << a,
            max_read: 128 << b,
        }
    })
}

proptest! {
    #[test]
    fn contents_survive_the_unit(content in prop_oneof![
        4 => tlp(), 1 => settings().prop_map(Content::Settings),
    ]) {
        let unit = content.emit().unwrap();
        prop_assert!(unit.1.len().is_multiple_of(8) && (1..=MAX_WORDS).contains(&(unit.1.len() / 8)));
        prop_assert_eq!(Content::parse(&unit), Ok(content));
    }

    /// A unit that is read is the one that is written, but for the padding.
    #[test]
    fn other_units_are_refused(
        settings in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..60),
    ) {
        let kind = if settings { Kind::Settings } else { Kind::Tlp };
        if let Ok(content) = Content::parse(&(kind, bytes.clone())) {
            let (again, mut written) = content.emit().unwrap();
            prop_assert_eq!((again, written.len()), (kind, bytes.len()));
            if let Content::Tlp { data, .. } = &content {
                let end = 16 + 4 * data.len();
                written[end..].copy_from_slice(&bytes[end..]);
            }
            prop_assert_eq!(written, bytes);
        }
    }

    /// A word more or less than the header says.
    #[test]
    fn units_of_a_wrong_length_are_refused(content in tlp(), more in any::<bool>()) {
        let (kind, mut bytes) = content.emit().unwrap();
        let want = bytes.len();
        bytes.resize(if more { want + 8 } else { want - 8 }, 0);
        let got = bytes.len();
        let want = if got < 16 { 16 } else { want };
        prop_assert_eq!(Content::parse(&(kind, bytes)), Err(UnitError::Size { got, want }));
    }
}

/// A write of one word below 4 GiB, and a read of two above, byte for byte.
#[test]
fn bytes_of_a_unit() {
    let write = Content::Tlp {
        header: [0x4000_0001, 0x0000_000F, 0xFDAF_F040, 0],
        data: vec![0x4433_2211],
    };
    let bytes = [
        0x40, 0, 0, 1, 0, 0, 0, 0x0F, 0xFD, 0xAF, 0xF0, 0x40, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44,
        0, 0, 0, 0,
    ];
    assert_eq!(write.emit(), Ok((Kind::Tlp, bytes.to_vec())));
    let read = Content::Tlp {
        header: [0x2000_0002, 0x0100_0CFF, 0x12, 0x3456_7000],
        data: vec![],
    };
    let bytes = [
        0x20, 0, 0, 2, 1, 0, 0x0C, 0xFF, 0, 0, 0, 0x12, 0x34, 0x56, 0x70, 0,
    ];
    assert_eq!(read.emit(), Ok((Kind::Tlp, bytes.to_vec())));
    let settings = Content::Settings(Settings {
        function_id: 0x0300,
        bus_master: true,
        msix_enable: true,
        msix_mask: false,
        function_reset: true,
        max_payload: 256,
        max_read: 512,
    });
    let bytes = vec![3, 0, 0b1101_0000, 0b0001_0010, 0, 0, 0, 0];
    assert_eq!(settings.emit(), Ok((Kind::Settings, bytes)));
}

#[test]
fn what_has_no_place_in_a_unit_is_refused() {
    let tlp = |header, data| Content::Tlp { header, data }.emit();
    assert_eq!(
        tlp([0x8000_0000, 0, 0, 0], vec![]),
        Err(UnitError::Format(4))
    );
    assert_eq!(tlp([0x0000_8001, 0, 0, 0], vec![]), Err(UnitError::Digest));
    assert_eq!(
        tlp([1, 0, 0, 5], vec![]),
        Err(UnitError::FourthWord(5)),
        "a read of three words"
    );
    let (got, want) = (1, 2);
    assert_eq!(
        tlp([0x4000_0002, 0, 0, 0], vec![0]),
        Err(UnitError::Data { got, want })
    );
    let sizes = Settings {
        max_read: 64,
        ..Settings::default()
    };
    assert_eq!(Content::Settings(sizes).emit(), Err(UnitError::Bytes(64)));
    let settings = |at: usize, byte: u8| {
        let mut bytes = vec![0; SETTINGS_LEN];
        bytes[at] = byte;
        Content::parse(&(Kind::Settings, bytes))
    };
    assert_eq!(settings(2, 1), Err(UnitError::Reserved));
    assert_eq!(settings(3, 0x80), Err(UnitError::Reserved));
    assert_eq!(settings(7, 1), Err(UnitError::Reserved));
    assert_eq!(settings(3, 6), Err(UnitError::Bytes(8192)));
    assert_eq!(
        settings(3, 0),
        Ok(Content::Settings(Settings::default())),
        "those of a session that begins"
    );
}

#[test]
fn completions_are_told_from_requests() {
    for (ty, answers) in [(0, false), (2, false), (4, false), (0xA, true), (0xB, true)] {
        for format in 0..4 {
            assert_eq!(is_completion(&[format << 29 | ty << 24, 0, 0, 0]), answers);
        }
    }
}
