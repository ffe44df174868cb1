//! What is wrong with the account and how to mend it.

use serde_json::json;
use watchfloor_channel::Finding;

use super::{
    Rooms, address, membership, sign_in,
    updates::{User, WebhookInfo},
};
use crate::{Intake, TelegramConfig, api::Api, errors::CallError};

pub(crate) const PRIVACY: &str = "privacy mode is on, so mentions in groups may not reach us: say /setprivacy to \
    BotFather, choose the bot, Disable, then remove the bot from each group and add it again (or make it an \
    administrator there)";
/// Updates that wait at Telegram although somebody should fetch them.
const MANY: u64 = 50;

pub(crate) async fn findings(config: &TelegramConfig, api: &Api, moves: &Rooms, rooms: &[String]) -> Vec<Finding> {
    let accepted = "the bot token is accepted";
    let me: User = match sign_in::me(api).await {
        Ok(me) => me,
        Err(error) => return vec![Finding::wrong(accepted, remedy(error))],
    };
    let seen = membership::look(api, moves, me.id, rooms).await;
    let mut findings = vec![Finding::fine(accepted)];
    // To administrators Telegram shows everything.
    let private = me.can_read_all_group_messages == Some(false);
    findings.push(match private && seen.sees_all_of_them {
        true => Finding::fine("the bot sees mentions in groups: privacy mode is on, but it is an administrator there"),
        false => finding("the bot sees mentions in groups", private.then(|| PRIVACY.to_owned())),
    });
    findings.extend(delivery(config, api).await);
    findings.extend(seen.findings);
    findings
}

/// How updates come, and whether they do.
async fn delivery(config: &TelegramConfig, api: &Api) -> Vec<Finding> {
    let mut findings = Vec::new();
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

pub(super) fn remedy(error: CallError) -> String {
    match error {
        CallError::Refused(refusal) => refusal.remedy,
        error => error.to_string(),
    }
}

fn finding(what: &str, remedy: Option<String>) -> Finding {
    Finding { ok: remedy.is_none(), what: what.to_owned(), remedy }
}
