//! What is wrong with an app's setup, as far as it can be asked, and how to mend it.

use secrecy::ExposeSecret;
use watchfloor_channel::{Finding, RefusalKind};

use super::{
    endpoint::{self, NotOpened},
    scopes,
};
use crate::{FeishuConfig, Transport, api::Api, errors::CallError};

/// Three calls, of which two count, and one for each room.
pub(super) async fn look(config: &FeishuConfig, api: &Api, rooms: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut signed_in = true;
    let accepted = "app_id and app_secret are accepted";
    let bot = "the app's bot is switched on";
    let remedy = "add the bot capability in the console and publish a version";
    match api.identity().await {
        Ok(own) => {
            findings.push(Finding::fine(accepted));
            findings.push(if own.is_active { Finding::fine(bot) } else { Finding::wrong(bot, remedy) });
        }
        Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Credentials => {
            signed_in = false;
            let (here, there) = endpoint::hosts(&config.base_url);
            let hosts = format!("{}; {here} was asked: an app made at {there} needs that as base_url", refusal.remedy);
            findings.push(Finding::wrong(accepted, hosts));
        }
        Err(CallError::Refused(refusal)) => {
            findings.push(Finding::fine(accepted));
            findings.push(Finding::wrong(bot, refusal.remedy));
        }
        Err(error) => {
            signed_in = false;
            findings.push(Finding::wrong(accepted, error.to_string()));
        }
    }
    if signed_in {
        findings.extend(scopes::look(config, api, rooms).await);
    }
    match &config.transport {
        Transport::LongConnection => {
            let granted = "long connections are granted";
            findings.push(match endpoint::ask(api, config).await {
                Ok(_) => Finding::fine(granted),
                Err(NotOpened::Slowly(remedy) | NotOpened::Soon { why: remedy, .. }) => Finding::wrong(granted, remedy),
            });
        }
        Transport::Webhook { verification_token, encrypt_key } => {
            let known = "requests can be told from forged ones";
            let set = [verification_token, encrypt_key].into_iter().flatten();
            findings.push(match set.map(|secret| secret.expose_secret()).any(|secret| !secret.is_empty()) {
                true => Finding::fine(known),
                false => Finding::wrong(known, "set encrypt_key, or at least verification_token, as in the console"),
            });
        }
    }
    let way = match config.transport {
        Transport::LongConnection => "by long connection",
        Transport::Webhook { .. } => "at this channel's address",
    };
    findings.push(Finding::fine(format!(
        "not to be seen from here: that events (im.message.receive_v1, im.message.recalled_v1) and callbacks \
         (card.action.trigger) are set to arrive {way}, and that the version with them is published"
    )));
    findings
}
