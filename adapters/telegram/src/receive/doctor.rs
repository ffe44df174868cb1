//! What is wrong with the account and how to mend it.

use serde_json::json;
use watchfloor_channel::Finding;

use super::{
    address, sign_in,
    updates::{User, WebhookInfo},
};
use crate::{Intake, TelegramConfig, api::Api, errors::CallError};

pub(crate) const PRIVACY: &str = "privacy mode is on, so mentions in groups may not reach us: say /setprivacy to \
    BotFather, choose the bot, Disable, then remove the bot from each group and add it again (or make it an \
    administrator there)";
/// Updates that wait at Telegram although somebody should fetch them.
const MANY: u64 = 50;

pub(crate) async fn findings(config: &TelegramConfig, api: &Api) -> Vec<Finding> {
    let me = sign_in::me(api).await;
    let reads_all = me.as_ref().ok().and_then(|me: &User| me.can_read_all_group_messages);
    let mut findings = vec![finding("the bot token is accepted", me.err().map(remedy))];
    if !findings[0].ok {
        return findings;
    }
    let privacy = (reads_all == Some(false)).then(|| PRIVACY.to_owned());
    findings.push(finding("the bot sees mentions in groups", privacy));
    let info: WebhookInfo = match api.raw("getWebhookInfo", &json!({}), config.call_timeout).await {
        Ok(info) => info,
        Err(error) => {
            findings.push(finding("Telegram tells how it delivers", Some(remedy(error))));
            return findings;
        }
    };
    findings.push(match &config.intake {
        Intake::Polling { .. } => {
            let wrong = (!info.url.is_empty()).then(|| {
                "a webhook is set for this bot, and Telegram refuses polls then: set mode = \"webhook\", or remove it \
                 by calling deleteWebhook"
                    .to_owned()
            });
            finding("no webhook is in the way of polling", wrong)
        }
        Intake::Webhook { url, .. } => {
            finding("Telegram delivers to our address", address::astray(&info, url.as_ref()).map(str::to_owned))
        }
    });
    if !info.last_error_message.is_empty() && !info.url.is_empty() {
        let said = watchfloor_channel::text::one_line(&info.last_error_message, 200);
        let remedy = format!(
            "the latest delivery failed ({said}): check that public_url is reachable from the internet, its \
             certificate, and that secret_token is the one the webhook was set with"
        );
        findings.push(finding("Telegram's deliveries arrive", Some(remedy)));
    }
    let waiting = (info.pending_update_count > MANY).then(|| {
        format!("{} updates wait: see that the service runs and its store can be written", info.pending_update_count)
    });
    findings.push(finding("updates don't pile up at Telegram", waiting));
    findings
}

fn remedy(error: CallError) -> String {
    match error {
        CallError::Refused(refusal) => refusal.remedy,
        error => error.to_string(),
    }
}

fn finding(what: &str, remedy: Option<String>) -> Finding {
    Finding { ok: remedy.is_none(), what: what.to_owned(), remedy }
}
