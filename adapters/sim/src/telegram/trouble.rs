//! What goes wrong on purpose: faults of methods, second pollers, dead connections, lost confirmations, floods.

use std::time::{Duration, Instant};

use super::{Fault, TelegramSim};

impl TelegramSim {
    /// The next call of `method` fails this way. Faults queue and are used up in order.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.fault_times(method, fault, 1);
    }

    pub fn fault_times(&self, method: &str, fault: Fault, times: usize) {
        self.shared.world.change(|world| {
            let queue = world.faults.entry(method.to_ascii_lowercase()).or_default();
            queue.extend(std::iter::repeat_n(fault, times));
        });
    }

    /// Forgets the faults that are still queued.
    pub fn clear_faults(&self) {
        self.shared.world.change(|world| world.faults.clear());
    }

    /// The next `times` polls are refused because of another poller.
    pub fn conflict(&self, times: usize) {
        self.shared.world.change(|world| world.updates.conflicts = times);
    }

    /// Polls, the open one included, get no answer while TCP stays open. Those that hang stay so.
    pub fn hang_polls(&self, hang: bool) {
        self.shared.world.change(|world| world.updates.hang = hang);
    }

    /// Breaks every open connection.
    pub fn cut_connections(&self) {
        self.door.cut();
    }

    /// While down, open connections are cut and new ones end before a byte is read.
    pub fn down(&self, down: bool) {
        self.door.shut(down);
        if down {
            self.door.cut();
        }
    }

    /// Forgets the latest confirmation: its updates come once more, whatever offset the bot polls with.
    ///
    /// # Panics
    /// If nothing was ever confirmed.
    pub fn redeliver(&self) {
        let again = self.shared.world.change(|world| world.updates.redeliver());
        assert!(again > 0, "no update was confirmed since the last redelivery");
    }

    /// Leaves a gap before the next `update_id`.
    pub fn skip_update_ids(&self, number: u64) {
        self.shared.world.change(|world| world.updates.skip_ids(number));
    }

    /// The chat refuses its next message or edit, if it comes within this time, and tells as long a wait. Who calls before the
    /// wait is over doubles it, and is complained about.
    pub fn flood(&self, chat: i64, seconds: u64) {
        let wait = Duration::from_secs(seconds);
        self.shared.world.change(|world| world.rates.flood(chat, wait, Instant::now()));
    }

    /// From now on the token is unknown.
    pub fn revoke_token(&self) {
        self.shared.world.change(|world| world.revoked = true);
    }

    /// Turns privacy mode off (true) or on, as its owner would at BotFather.
    pub fn set_can_read_all_group_messages(&self, reads_all: bool) {
        self.shared.world.change(|world| world.reads_all = reads_all);
    }
}
