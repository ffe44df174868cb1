//! The calls we make, by name: how each is made, whether it counts for the month, and where its answer is. What codes mean
//! is left to `errors`.

use reqwest::{Method, multipart::Form};
use serde_json::Value;
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Token,
    /// `bot/v3/info`
    Identity,
    /// Where the long connection is.
    Endpoint,
    Send,
    Reply,
    /// Of a text or post, by PUT.
    Edit,
    /// Of a card.
    Patch,
    Recall,
    React,
    /// One message.
    Message,
    History,
    Chat,
    Resource,
    UploadImage,
    UploadFile,
    Names,
    /// What the company lets the app do.
    Scopes,
}

impl Call {
    /// In logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Identity => "bot info",
            Self::Endpoint => "long connection",
            Self::Send => "send",
            Self::Reply => "reply",
            Self::Edit => "edit",
            Self::Patch => "patch",
            Self::Recall => "recall",
            Self::React => "react",
            Self::Message => "message",
            Self::History => "history",
            Self::Chat => "chat",
            Self::Resource => "resource",
            Self::UploadImage => "upload image",
            Self::UploadFile => "upload file",
            Self::Names => "names",
            Self::Scopes => "scopes",
        }
    }

    pub(crate) fn method(self) -> Method {
        match self {
            Self::Identity | Self::Message | Self::History | Self::Chat | Self::Resource | Self::Scopes => Method::GET,
            Self::Edit => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Recall => Method::DELETE,
            _ => Method::POST,
        }
    }

    /// Made as the app, with its token.
    pub(crate) fn is_signed_in(self) -> bool {
        !matches!(self, Self::Token | Self::Endpoint)
    }

    /// Counted against the month's allowance.
    pub(crate) fn is_counted(self) -> bool {
        !matches!(self, Self::Token | Self::Endpoint | Self::Names)
    }

    /// The part of the answer that holds what was asked for; `None`: the whole.
    pub(crate) fn part(self) -> Option<&'static str> {
        match self {
            Self::Token => None,
            Self::Identity => Some("bot"),
            _ => Some("data"),
        }
    }
}

/// What a call says, apart from its method and the token.
#[derive(Debug, Default)]
pub(crate) struct Request {
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(crate) body: RequestBody,
}

#[derive(Default)]
pub(crate) enum RequestBody {
    #[default]
    None,
    Json(Value),
    /// Builds the form anew for each try.
    Form(Box<dyn Fn() -> Form + Send + Sync>),
}

impl std::fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RequestBody")
    }
}

impl Request {
    /// Ids may come from outside: each is one segment, whatever it holds.
    pub(crate) fn to<'a>(path: impl IntoIterator<Item = &'a str>) -> Self {
        Self { path: path.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Of the open API, beneath `im/v1/messages`.
    pub(crate) fn messages<'a>(rest: impl IntoIterator<Item = &'a str>) -> Self {
        Self::to(["open-apis", "im", "v1", "messages"].into_iter().chain(rest))
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn json(mut self, body: Value) -> Self {
        self.body = RequestBody::Json(body);
        self
    }

    pub(crate) fn form(mut self, build: impl Fn() -> Form + Send + Sync + 'static) -> Self {
        self.body = RequestBody::Form(Box::new(build));
        self
    }

    pub(crate) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_from_outside_can_not_lead_to_another_call() {
        let base: Url = "http://127.0.0.1:1/sub/".parse().unwrap();
        let url = |id| Request::messages([id, "reply"]).query("a", "b&c").url(&base);
        assert_eq!(url("om_1").as_str(), "http://127.0.0.1:1/sub/open-apis/im/v1/messages/om_1/reply?a=b%26c");
        assert_eq!(url("a/../b?c#d").path(), "/sub/open-apis/im/v1/messages/a%2F..%2Fb%3Fc%23d/reply");
    }
}
