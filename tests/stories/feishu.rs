//! The same bot in a Feishu tenant: groups, topics and private chats, over the long connection and over a webhook. What a
//! story begins with is in `setting`, what it does and looks at in `stage`.

mod again;
mod asking;
mod clicks;
mod editing;
mod field;
mod late;
mod leaks;
mod mentions;
mod setting;
mod stage;
mod troubles;
