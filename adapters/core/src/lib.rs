//! The contract between chat platforms and the coordinator.
//!
//! An adapter translates: platform events into [`Inbound`], [`Outbound`] into platform calls. It decides nothing.
//! What the coordinator may ask of a platform is data in [`Features`]; what went wrong is a [`SendError`], sorted by
//! what to do next.

mod adapter;
pub mod backoff;
mod features;
#[cfg(test)]
#[path = "../tests/support/fuzz.rs"]
mod fuzzing;
mod ids;
mod inbound;
mod notes;
mod now;
mod outbound;
pub mod text;

pub use adapter::{ChannelAdapter, ChannelState, Finding, ReceiveError, Refusal, RefusalKind, SendError, Sign};
pub use features::{Budget, Counted, Features, Gaps, Quota, Repeats, Scope};
pub use ids::{ChannelId, ConversationId, DeliveryKey, MessageId};
pub use inbound::{
    Act, Addressed, Aside, Author, Deliver, FileRef, Inbound, InboundKind, Inbox, InboxError, Overheard, Verdict,
};
pub use notes::{Keep, Note, Notes, NotesError, ShortMemory};
pub use now::Now;
pub use outbound::{Ask, Body, Choice, File, Operation, Outbound, Tone, Urgency};
pub use text::TextUnit;
