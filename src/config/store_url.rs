//! The store's address. It may hold a password, so it is a secret, and a path in it is resolved like any other.

use super::read::Reading;

/// `None` if no store has such an address.
pub(super) fn resolve(reading: &Reading, url: &str) -> Option<String> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return url::Url::parse(url).ok().map(|_| url.to_owned());
    }
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.starts_with(":memory:") {
        return Some(url.to_owned());
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    if path.is_empty() {
        return None;
    }
    let path = reading.resolve(path).to_string_lossy().into_owned();
    Some(match query {
        Some(query) => format!("sqlite://{path}?{query}"),
        None => format!("sqlite://{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_sqlite_path_starts_at_the_configuration_file() {
        let reading =
            Reading { place: "config.toml".to_owned(), base: "/etc/watchfloor".into(), errors: Vec::new().into() };
        let table = [
            ("sqlite://data/w.db", Some("sqlite:///etc/watchfloor/data/w.db")),
            ("sqlite:w.db", Some("sqlite:///etc/watchfloor/w.db")),
            ("sqlite:///var/lib/w.db", Some("sqlite:///var/lib/w.db")),
            ("sqlite://w.db?mode=rwc", Some("sqlite:///etc/watchfloor/w.db?mode=rwc")),
            ("sqlite::memory:", Some("sqlite::memory:")),
            ("sqlite://:memory:", Some("sqlite://:memory:")),
            ("postgres://u:p@db:5432/w", Some("postgres://u:p@db:5432/w")),
            ("mysql://db/w", None),
            ("data/w.db", None),
            ("sqlite://", None),
        ];
        for (url, expected) in table {
            assert_eq!(resolve(&reading, url).as_deref(), expected, "{url}");
        }
    }
}
