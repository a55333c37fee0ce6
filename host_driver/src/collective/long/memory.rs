//! Memory of a communicator for long operations: what others write to, and what is sent from. It is kept from one to the next.

use std::sync::Arc;

use crate::{Access, Exposed, ProtectionDomain};

/// Memory for one operation at a time.
#[derive(Debug, Default)]
pub struct Memory {
    lent: Option<Arc<Exposed>>,
    outgoing: Option<Arc<Exposed>>,
}

/// Takes what there is if it is long enough, or makes it. Without room on card or host there is none.
fn fit(
    kept: &mut Option<Arc<Exposed>>,
    domain: &ProtectionDomain,
    access: Access,
    bytes: usize,
) -> Option<Arc<Exposed>> {
    if kept.as_ref().is_none_or(|kept| kept.length() < bytes) {
        *kept = None;
        let region = domain.reg_mr(bytes, access).ok()?;
        *kept = region.expose(bytes).map(Arc::new);
    }
    kept.clone()
}

impl Memory {
    /// Memory that others write to.
    pub fn lend(&mut self, domain: &ProtectionDomain, bytes: usize) -> Option<Arc<Exposed>> {
        fit(&mut self.lent, domain, Access::REMOTE_WRITE, bytes)
    }

    /// Memory that is sent from; nobody else has its key.
    pub fn outgoing(&mut self, domain: &ProtectionDomain, bytes: usize) -> Option<Arc<Exposed>> {
        fit(&mut self.outgoing, domain, Access::REMOTE_READ, bytes)
    }

    /// Somebody may still write to what was lent: the next operation gets other memory.
    pub fn spoil(&mut self) {
        self.lent = None;
    }
}
