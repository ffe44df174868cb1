//! Parameters of a request, from the address and from a form.

use std::convert::Infallible;

use axum::{
    extract::{Form, FromRequest, Query, Request},
    http::Method,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A boolean that is true unless it says otherwise.
    pub(crate) fn unless_false(&self, name: &str) -> bool {
        self.one(name) != Some("false")
    }
}

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let mut pairs = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).map_or_else(|_| vec![], |q| q.0);
        if request.method() == Method::POST
            && let Ok(Form(form)) = Form::<Vec<(String, String)>>::from_request(request, state).await
        {
            pairs.extend(form);
        }
        Ok(Self(pairs))
    }
}
