//! Ids of calls in the letters that the format allows. A call that another provider numbered keeps one id of ours
//! for ever, the same for the call and its result.

use std::borrow::Cow;

/// Of ids that had to be written otherwise. No other id begins like this, so two never become one.
const CODED: &str = "hex_";

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

pub(super) fn id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && is_plain(id) && !id.starts_with(CODED) {
        return Cow::Borrowed(id);
    }
    let hex = id.bytes().map(|byte| format!("{byte:02x}"));
    Cow::Owned(CODED.to_owned() + &hex.collect::<String>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_stays_and_the_rest_is_written_otherwise() {
        for (given, expected) in [
            ("toolu_01A-b", "toolu_01A-b"),
            ("call:1", "hex_63616c6c3a31"),
            ("", "hex_"),
            ("hex_61", "hex_6865785f3631"),
            ("é", "hex_c3a9"),
        ] {
            assert_eq!(id(given), expected);
        }
    }

    proptest! {
        #[test]
        fn two_ids_never_become_one(a in ".{0,12}|hex_[0-9a-f]{0,8}", b in ".{0,12}|hex_[0-9a-f]{0,8}") {
            prop_assert_eq!(a == b, id(&a) == id(&b));
            prop_assert!(!id(&a).is_empty() && is_plain(&id(&a)));
        }
    }
}
