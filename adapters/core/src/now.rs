//! Time as a parameter, so that a test can set it.

use std::{fmt, sync::Arc};

/// Tells the wall clock's time, in milliseconds since 1970. Waiting is tokio's business.
#[derive(Clone)]
pub struct Now(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Now {
    pub fn new(tell: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub fn millis(&self) -> i64 {
        (self.0)()
    }

    pub fn seconds(&self) -> i64 {
        self.millis().div_euclid(1000)
    }
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}
