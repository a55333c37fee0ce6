//! PCI Express: completer of BAR0, DMA engines, at the level of TLPs. `docs/card.md` is the contract.
