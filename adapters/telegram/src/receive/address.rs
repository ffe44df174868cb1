//! Whether Telegram still delivers to us: whoever has the same token can take the webhook away, and then nothing comes any more.
//! It is named and shown, and not fought over.

use serde_json::json;
use tokio::time::sleep;
use url::Url;
use watchfloor_channel::Refusal;

use super::{arrivals::Shared, trouble::Trouble, updates::WebhookInfo};

const NOWHERE: &str =
    "Telegram knows no address to deliver to: set public_url and start the service, or call setWebhook";
const ELSEWHERE: &str =
    "Telegram delivers to another address: start the service to set ours, and see who set the other";

/// What is wrong with where Telegram delivers. Without an address of our own any will do.
pub(crate) fn astray(info: &WebhookInfo, url: Option<&Url>) -> Option<&'static str> {
    match url {
        _ if info.url.is_empty() => Some(NOWHERE),
        Some(url) if url.as_str() != info.url => Some(ELSEWHERE),
        _ => None,
    }
}

/// Until `shared.stop`, or until Telegram says what no retry can mend.
pub(crate) async fn watch(shared: &Shared, url: Option<&Url>, trouble: &mut Trouble<'_>) -> Result<(), Refusal> {
    let (api, config) = (&shared.api, &shared.config);
    loop {
        let info = async {
            sleep(config.reconnect.longest).await;
            api.raw::<WebhookInfo>("getWebhookInfo", &json!({}), config.call_timeout).await
        };
        let Some(info) = shared.stop.run_until_cancelled(info).await else { return Ok(()) };
        match info.map(|info| astray(&info, url)) {
            Ok(Some(why)) => trouble.is_lasting(why),
            Ok(None) => trouble.is_over(),
            Err(error) => {
                if !trouble.with(error).await? {
                    return Ok(());
                }
            }
        }
    }
}
