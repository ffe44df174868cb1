//! Arguments of a Web API call, whichever way they came: query, form or JSON.

use axum::{
    extract::{Form, FromRequest, Query, Request},
    http::{Method, Uri, header},
};
use bytes::Bytes;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default)]
pub(crate) struct Args(pub(crate) Map<String, Value>);

/// Why a body was not understood; the code of the answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) &'static str);

impl Args {
    pub(crate) async fn read(uri: &Uri, content_type: &str, body: Bytes) -> Result<Self, Unreadable> {
        let mut args = Map::new();
        let query = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| Unreadable("invalid_arguments"))?;
        let mut pairs = query.0;
        if content_type.starts_with("application/json") {
            if !body.is_empty() {
                match serde_json::from_slice(&body) {
                    Ok(Value::Object(fields)) => args.extend(fields),
                    Ok(_) => return Err(Unreadable("json_not_object")),
                    Err(_) => return Err(Unreadable("invalid_json")),
                }
            }
        } else if content_type.starts_with("application/x-www-form-urlencoded") {
            pairs.extend(form(body).await?);
        } else if !body.is_empty() {
            return Err(Unreadable("invalid_post_type"));
        }
        args.extend(pairs.into_iter().map(|(key, value)| (key, Value::String(value))));
        Ok(Self(args))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true" || text == "1",
            _ => false,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        match self.0.get(key)? {
            Value::Number(number) => number.as_u64().and_then(|n| usize::try_from(n).ok()),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A structured argument. Forms carry it as JSON in a string, and JSON bodies may do so as well.
    pub(crate) fn json(&self, key: &str) -> Option<Value> {
        match self.0.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(serde_json::from_str(text).unwrap_or(Value::String(text.clone()))),
            value => Some(value.clone()),
        }
    }
}

async fn form(body: Bytes) -> Result<Vec<(String, String)>, Unreadable> {
    let request = Request::builder()
        .method(Method::POST)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body.into())
        .map_err(|_| Unreadable("invalid_form_data"))?;
    let form = Form::<Vec<(String, String)>>::from_request(request, &()).await;
    Ok(form.map_err(|_| Unreadable("invalid_form_data"))?.0)
}
