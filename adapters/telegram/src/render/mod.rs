//! From CommonMark to Telegram's HTML.

/// A model's text.
pub(crate) fn markdown(text: &str) -> String {
    plain(text)
}

/// Our own sentences: shown as they are.
pub(crate) fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
