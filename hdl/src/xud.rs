//! Datagrams on the line: frames, acknowledgements, requests in flight. `docs/card.md` is the contract.
