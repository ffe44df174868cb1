//! The personas of this moment, for everybody who needs them. A reload puts a new registry in the place of the old one; who
//! holds the old one goes on with it.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Registry;

/// Cheap to clone; all clones see the same personas.
#[derive(Clone, Debug)]
pub struct Personas(Arc<ArcSwap<Registry>>);

impl Personas {
    pub fn new(registry: Registry) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(registry)))
    }

    /// A snapshot: what a turn starts with, it ends with. Never waits.
    pub fn now(&self) -> Registry {
        Registry::clone(&self.0.load())
    }

    pub fn replace(&self, registry: Registry) {
        self.0.store(Arc::new(registry));
    }
}
