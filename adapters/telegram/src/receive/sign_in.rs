//! Who we are, as Telegram knows us. Nothing can be read before: a mention is compared with it.

use serde_json::json;
use watchfloor_channel::Refusal;

use super::{text_in::Own, trouble::Trouble, updates::User};
use crate::{api::Api, errors::CallError};

pub(crate) async fn me(api: &Api) -> Result<User, CallError> {
    let me: User = api.raw("getMe", &json!({}), api.call_timeout).await?;
    match me.id != 0 && me.username.as_ref().is_some_and(|name| !name.is_empty()) {
        true => Ok(me),
        false => Err(CallError::Unclear("the answer names no bot".to_owned())),
    }
}

/// Asks until it is answered. `None`: stop. With it, whether we see all that is said in groups.
pub(crate) async fn until_known(api: &Api, trouble: &mut Trouble<'_>) -> Result<Option<(Own, bool)>, Refusal> {
    loop {
        match me(api).await {
            Ok(me) => {
                let reads_all = me.can_read_all_group_messages != Some(false);
                return Ok(Some((Own { id: me.id, username: me.username.unwrap_or_default() }, reads_all)));
            }
            Err(error) => {
                if !trouble.with(error).await? {
                    return Ok(None);
                }
            }
        }
    }
}
