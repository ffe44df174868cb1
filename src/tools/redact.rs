//! Takes secrets out of what a tool found, before anybody stores it or shows it to a model. It is careful: labels and
//! ordinary prose stay as they are, because an answer is built from them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

const GONE: &str = "[redacted]";

/// Redacting twice gives the same as redacting once.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    // What one rule leaves behind may show another rule its secret; three rounds are more than any known case needs.
    for _ in 0..3 {
        let next = RULES.iter().fold(text.clone(), |text, rule| rule.apply(text));
        if next == text {
            break;
        }
        text = next;
    }
    text
}

struct Rule {
    pattern: Regex,
    replace: fn(&Captures<'_>) -> String,
}

impl Rule {
    #[expect(clippy::expect_used, reason = "the patterns are constants, and every test builds all of them")]
    fn new(pattern: &str, replace: fn(&Captures<'_>) -> String) -> Self {
        Self { pattern: Regex::new(pattern).expect("a pattern of ours is wrong"), replace }
    }

    fn apply(&self, text: String) -> String {
        if self.pattern.is_match(&text) { self.pattern.replace_all(&text, self.replace).into_owned() } else { text }
    }
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let all = |_: &Captures<'_>| GONE.to_owned();
    vec![
        // With its end, or, cut off, as far as it looks like a key (`\n` may be written out in JSON).
        Rule::new(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-{1,4}[^-])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\n|\\r|\s)+[A-Za-z0-9+/=]{16,})*)",
            |_| "[redacted private key]".to_owned(),
        ),
        Rule::new(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#<>\x22'`]+@", |c| format!("{}{GONE}@", &c[1])),
        Rule::new(r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]+", |c| {
            format!("{}{GONE}", &c[1])
        }),
        Rule::new(r"\b(?:xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{6,}|xapp-[A-Za-z0-9-]{6,})", all),
        Rule::new(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", all),
        Rule::new(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", all),
        Rule::new(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9_-]{20,})",
            all,
        ),
        // Telegram: the bot's number, a colon, 35 characters; also inside a URL (`/bot123:AA…/getMe`).
        Rule::new(r"\d{6,12}:[A-Za-z0-9_-]{35}\b", all),
        Rule::new(
            r#"(?i)\b((?:proxy-)?authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?(?:(?:bearer|basic|digest|token|apikey)[ \t]+)?)([^\s"'\\,;\]]+)"#,
            |c| keep_or_cut(&c[1], &c[2]),
        ),
        Rule::new(r"(?i)\b((?:bearer|basic)[ \t]+)([A-Za-z0-9._~+/=-]{8,})", |c| {
            // "basic authentication" is prose.
            if looks_random(&c[2]) { keep_or_cut(&c[1], &c[2]) } else { c[0].to_owned() }
        }),
        Rule::new(
            r#"(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)(\\*["']?)[ \t]*([=:])[ \t]*)(\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'\\&,;(){}\[\]]+|\[redacted\])"#,
            assignment,
        ),
    ]
});

fn keep_or_cut(lead: &str, value: &str) -> String {
    if value.starts_with("[redacted") { format!("{lead}{value}") } else { format!("{lead}{GONE}") }
}

fn looks_random(value: &str) -> bool {
    value.len() >= 32 || (value.len() >= 8 && value.chars().any(|c| c.is_ascii_digit()))
}

/// `password=x`, `"token": "x"`, `api_key: x`. Prose ("unexpected token: end of input") and matchers (`secret=~"db.*"`) stay.
fn assignment(c: &Captures<'_>) -> String {
    let (lead, value) = (&c[1], &c[4]);
    let quote = if value.starts_with("\\\"") {
        "\\\""
    } else if value.starts_with('"') {
        "\""
    } else if value.starts_with('\'') {
        "'"
    } else {
        ""
    };
    let inner = value.trim_matches(|c| matches!(c, '\\' | '"' | '\''));
    let prose = &c[3] == ":" && c[2].is_empty() && quote.is_empty() && {
        let key = lead.to_lowercase();
        let surely = ["password", "passwd", "passphrase", "pwd", "key"].iter().any(|k| key.contains(k));
        !surely && !looks_random(value)
    };
    if inner.is_empty() || inner.starts_with("[redacted") || value.starts_with(['~', '=']) || prose {
        return c[0].to_owned();
    }
    format!("{lead}{quote}{GONE}{quote}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_go() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl";
        let cases = [
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("-H 'authorization: Basic dXNlcjpwdw=='", "-H 'authorization: Basic [redacted]'"),
            (r#"{"Authorization":"token-x9"}"#, r#"{"Authorization":"[redacted]"}"#),
            ("sent bearer 0123456789abcdef", "sent bearer [redacted]"),
            ("password=hunter2 user=bob", "password=[redacted] user=bob"),
            (r#"{"password": "two words", "n": 1}"#, r#"{"password": "[redacted]", "n": 1}"#),
            (r#"msg="{\"db_password\":\"a b\",\"n\":1}""#, r#"msg="{\"db_password\":\"[redacted]\",\"n\":1}""#),
            ("GET /x?token=abc&y=1", "GET /x?token=[redacted]&y=1"),
            ("client_secret='s3'", "client_secret='[redacted]'"),
            ("API-Key: k1", "API-Key: [redacted]"),
            ("token: a1b2c3d4e5", "token: [redacted]"),
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted]"),
            ("id AKIAIOSFODNN7EXAMPLE used", "id [redacted] used"),
            ("xoxb-123-456-abc and xapp-1-A2-3", "[redacted] and [redacted]"),
            ("https://hooks.slack.com/services/T0/B0/xyz!", "https://hooks.slack.com/services/[redacted]!"),
            ("/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/getMe", "/bot[redacted]/getMe"),
            ("postgres://app:p@ss@db:5432/x", "postgres://[redacted]@db:5432/x"),
            (
                "k:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow-x\n-----END RSA PRIVATE KEY-----\nafter",
                "k:\n[redacted private key]\nafter",
            ),
            ("-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEA\\nMIIEowIBAAKC", "[redacted private key]\\nMIIEowIBAAKC"),
        ];
        for (text, expected) in cases {
            assert_eq!(redact(text), expected);
        }
        assert_eq!(redact(&format!("cookie {jwt}; x")), "cookie [redacted]; x");
    }

    #[test]
    fn labels_and_prose_stay() {
        for text in [
            r#"up{job="x", instance="10.0.0.1:9100"} 1"#,
            r#"kube_secret_info{secret=~"db.*", namespace!="kube-system"}"#,
            "parse error: unexpected token: end of input",
            "no secret: none found",
            "uses basic authentication for bearer tokens",
            "input_tokens=512 max_tokens: 4096 tokenizer=x",
            "see https://grafana.example/d/abc?from=now-1h and mail ops@example.com",
            r#"password="""#,
            "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "2026-11-30T17:07:52Z 10:20:30 pg_pool_in_use 98",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "password=",
                "token",
                ":",
                "=",
                " ",
                "\"",
                "'",
                "\\",
                "\\\"",
                "[redacted]",
                "[redacted",
                "]",
                "Bearer ",
                "Authorization: ",
                "basic ",
                "https://",
                "@",
                "xoxb-",
                "AKIAIOSFODNN7EXAMPLE",
                "eyJhbGciOiJI",
                ".",
                "-----BEGIN PRIVATE KEY-----",
                "-----END PRIVATE KEY-----",
                "-----",
                "\n",
                "123456789:",
                "sk-",
            ])
            .prop_map(str::to_owned),
            "[a-zA-Z0-9/+]{1,24}",
            ".{0,6}",
        ]
    }

    proptest! {
        #[test]
        fn redacting_twice_changes_nothing_more(pieces in prop::collection::vec(piece(), 0..12)) {
            let once = redact(&pieces.concat());
            prop_assert_eq!(redact(&once), once.clone());
        }
    }
}
