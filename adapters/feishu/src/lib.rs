//! Feishu and Lark: one custom app as a channel.
