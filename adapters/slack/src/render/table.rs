//! Tables, which Slack's markup lacks: columns aligned by spaces, to be shown as code.

pub(super) fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().filter_map(|row| row.get(c)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for (n, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (c, wanted) in widths.iter().enumerate() {
            let cell = row.get(c).map_or("", String::as_str);
            if c > 0 {
                line.push_str("  ");
            }
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wanted.saturating_sub(width(cell))));
        }
        lines.push(line.trim_end().to_owned());
        if n == 0 {
            lines.push(widths.iter().map(|width| "-".repeat((*width).max(1))).collect::<Vec<_>>().join("  "));
        }
    }
    lines.join("\n")
}

/// Columns on a screen: East Asian letters and emoji take two.
fn width(text: &str) -> usize {
    let of = |c: char| match u32::from(c) {
        0x200B..=0x200F | 0xFE00..=0xFE0F | 0x0300..=0x036F => 0,
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F => 2,
        0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_also_with_wide_letters() {
        let rows = [["host", "错误率"], ["db-1", "12 %"], ["汉", ""]].map(|row| row.map(String::from).to_vec());
        assert_eq!(align(&rows), "host  错误率\n----  ------\ndb-1  12 %\n汉");
    }
}
