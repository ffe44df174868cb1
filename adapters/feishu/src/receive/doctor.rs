//! What is wrong with an app's setup, as far as it can be asked, and how to mend it.

use secrecy::ExposeSecret;
use watchfloor_channel::{Finding, RefusalKind};

use super::endpoint::{self, NotOpened};
use crate::{FeishuConfig, Transport, api::Api, errors::CallError};

/// Two calls, of which one counts.
pub(super) async fn look(config: &FeishuConfig, api: &Api) -> Vec<Finding> {
    let mut findings = Vec::new();
    let accepted = "app_id and app_secret are accepted";
    let bot = "the app's bot is switched on";
    let remedy = "add the bot capability in the console and publish a version";
    match api.identity().await {
        Ok(own) => {
            findings.push(fine(accepted));
            findings.push(if own.is_active { fine(bot) } else { wrong(bot, remedy.to_owned()) });
        }
        Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Credentials => {
            let (here, there) = endpoint::hosts(&config.base_url);
            let hosts = format!("{}; {here} was asked: an app made at {there} needs that as base_url", refusal.remedy);
            findings.push(wrong(accepted, hosts));
        }
        Err(CallError::Refused(refusal)) => {
            findings.push(fine(accepted));
            findings.push(wrong(bot, refusal.remedy));
        }
        Err(error) => findings.push(wrong(accepted, error.to_string())),
    }
    match &config.transport {
        Transport::LongConnection => {
            let granted = "long connections are granted";
            findings.push(match endpoint::ask(api, config).await {
                Ok(_) => fine(granted),
                Err(NotOpened::Slowly(remedy) | NotOpened::Soon { why: remedy, .. }) => wrong(granted, remedy),
            });
        }
        Transport::Webhook { verification_token, encrypt_key } => {
            let known = "requests can be told from forged ones";
            let set = [verification_token, encrypt_key].into_iter().flatten();
            findings.push(match set.map(|secret| secret.expose_secret()).any(|secret| !secret.is_empty()) {
                true => fine(known),
                false => wrong(known, "set encrypt_key, or at least verification_token, as in the console".to_owned()),
            });
        }
    }
    let way = match config.transport {
        Transport::LongConnection => "by long connection",
        Transport::Webhook { .. } => "at this channel's address",
    };
    findings.push(fine(&format!(
        "not to be seen from here: that events (im.message.receive_v1, im.message.recalled_v1) and callbacks \
         (card.action.trigger) are set to arrive {way}, and that the version with them is published"
    )));
    findings
}

fn fine(what: &str) -> Finding {
    Finding { ok: true, what: what.to_owned(), remedy: None }
}

fn wrong(what: &str, remedy: String) -> Finding {
    Finding { ok: false, what: what.to_owned(), remedy: Some(remedy) }
}
