//! Does the fence still stand after what was done behind it?

/// Whether the fence still stands.
pub(super) enum Fence {
    Held,
    /// It could not be had or held, and why.
    Lost(String),
}
