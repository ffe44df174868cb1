//! Posts and where they land.
