//! Commands of a platform that act on nothing: whoever sends one is told what to do instead. Nothing is written down.

use watchfloor_channel::{Inbound, InboundKind};

use super::{Channel, Intake};
use crate::wording;

impl Intake {
    /// Once for each message, however often it is delivered. Bots are told nothing: two of them would go on for ever. A change
    /// may be no more than somebody's reaction, hours later.
    pub(super) fn explain(&self, inbound: &Inbound, name: &str, channel: &Channel) {
        let key = format!("{}/{}", inbound.conversation.channel, inbound.message_key);
        if inbound.author.is_bot
            || inbound.kind != InboundKind::Message
            || !self.explained.first_in_a_while(&key, self.services.now())
        {
            return;
        }
        let sentence = match name {
            "start" | "help" => wording::greeting(inbound.private),
            _ => wording::command_without_effect(name),
        };
        self.say(inbound, channel, "command", sentence);
    }
}
