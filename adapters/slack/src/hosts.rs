//! Which addresses are Slack's: files name their own, and neither the bot's token nor a file of ours may go elsewhere. Pure.

use url::Url;

/// Slack's own names, each with everything below it; the second set is Slack for governments.
const PLATFORM: [&str; 2] = ["slack.com", "slack-gov.com"];
/// Where Slack keeps files; nothing there asks for a token of ours.
const STORAGE: [&str; 2] = ["slack-files.com", "slack-edge.com"];

/// How far an address is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The token may go there.
    Token,
    /// Slack's, but without the token.
    Bytes,
    Foreign,
}

#[derive(Debug)]
pub(crate) struct Hosts {
    /// A Slack behind a proxy of one's own, or on loopback, hands out addresses of its own.
    api: Url,
}

impl Hosts {
    pub(crate) fn new(api: &Url) -> Self {
        Self { api: api.clone() }
    }

    pub(crate) fn trust(&self, address: &Url) -> Trust {
        // A name before the host would show somebody else's log in, and hide where an address leads.
        if !address.username().is_empty() || address.password().is_some() {
            return Trust::Foreign;
        }
        if matches!(address.scheme(), "http" | "https") && address.origin() == self.api.origin() {
            return Trust::Token;
        }
        let Some(url::Host::Domain(host)) = address.host() else { return Trust::Foreign };
        let is_below = |names: &[&str]| {
            names.iter().any(|name| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
        };
        match address.scheme() == "https" && address.port().is_none() {
            true if is_below(&PLATFORM) => Trust::Token,
            true if is_below(&STORAGE) => Trust::Bytes,
            _ => Trust::Foreign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_slack_and_to_the_configured_address_alone() {
        let hosts = Hosts::new(&"http://127.0.0.1:4000/api/".parse().unwrap());
        let trust = |address: &str| hosts.trust(&address.parse().unwrap());
        for (address, expected) in [
            ("https://files.slack.com/files-pri/T1-F1/a.log", Trust::Token),
            ("https://slack.com/x", Trust::Token),
            ("https://acme.slack-gov.com/x", Trust::Token),
            ("http://127.0.0.1:4000/files/F1", Trust::Token),
            ("https://slack-files.com/x", Trust::Bytes),
            ("https://a.slack-edge.com/x", Trust::Bytes),
            ("http://files.slack.com/x", Trust::Foreign),
            ("https://files.slack.com:8443/x", Trust::Foreign),
            ("https://evilslack.com/x", Trust::Foreign),
            ("https://files.slack.com.evil.example/x", Trust::Foreign),
            ("https://files.slack.com@evil.example/x", Trust::Foreign),
            ("https://u:p@files.slack.com/x", Trust::Foreign),
            ("http://127.0.0.1:4001/files/F1", Trust::Foreign),
            ("https://169.254.169.254/latest", Trust::Foreign),
            ("file:///etc/passwd", Trust::Foreign),
        ] {
            assert_eq!(trust(address), expected, "{address}");
        }
    }
}
