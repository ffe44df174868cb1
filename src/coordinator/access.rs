//! Who may talk to us where. The one place where this is decided; everything else asks here.

use std::collections::HashSet;

use watchfloor_channel::Author;

use super::late::Late;
use crate::tools::Role;

/// A list of ids, or everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdList {
    everybody: bool,
    ids: HashSet<String>,
}

impl IdList {
    pub fn new(entries: impl IntoIterator<Item = String>) -> Self {
        let mut list = Self::default();
        for entry in entries {
            if entry == "*" {
                list.everybody = true;
            } else {
                list.ids.insert(entry);
            }
        }
        list
    }

    fn is_empty(&self) -> bool {
        !self.everybody && self.ids.is_empty()
    }

    fn holds(&self, id: &str) -> bool {
        self.everybody || self.ids.contains(id)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DmPolicy {
    /// Until people can pair: the ids of `allow_from` are admitted, others are told whom to ask.
    #[default]
    Pairing,
    Allowlist,
    Open,
    Disabled,
}

/// Who, in a thread where somebody mentioned us, is addressed without a mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadFollow {
    #[default]
    Asker,
    All,
    Mention,
}

/// The access settings of one channel.
#[derive(Clone, Debug)]
pub struct Access {
    pub allow_rooms: IdList,
    pub allow_from: IdList,
    pub dm_policy: DmPolicy,
    pub require_mention: bool,
    pub thread_follow: ThreadFollow,
    pub late: Late,
    /// Whom a refused person can ask, as she would see them.
    pub admins: Vec<String>,
    /// Empty: whoever may talk is one. Else whoever isn't in here only looks.
    pub operators: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Welcome,
    /// The room isn't served: silence.
    RoomClosed,
    /// The room is served, this person isn't: told once in a while whom to ask.
    PersonUnknown,
    /// Of another organisation that shares the room: silence, since a refusal would tell it about us.
    Outsider,
}

impl Access {
    /// `now` is what the room is called today, if that is another name than the one its conversations have.
    pub fn admits(&self, private: bool, room: &str, now: Option<&str>, author: &Author) -> Admission {
        let (person, is_bot) = (author.id.as_str(), author.is_bot);
        // Other bots start nothing, wherever they are, unless they are named one by one.
        let listed = if is_bot { self.allow_from.ids.contains(person) } else { self.allow_from.holds(person) };
        // Entries narrow what would be open to everybody.
        let open_to_all = self.allow_from.is_empty() && !is_bot;
        let welcome = match (private, self.dm_policy) {
            (true, DmPolicy::Disabled) => return Admission::RoomClosed,
            (true, DmPolicy::Pairing | DmPolicy::Allowlist) => listed,
            (true, DmPolicy::Open) => listed || open_to_all,
            (false, _) if !self.serves(room) && !now.is_some_and(|now| self.serves(now)) => {
                return Admission::RoomClosed;
            }
            (false, _) => listed || open_to_all,
        };
        match welcome {
            // No list lets the data of our organisation out.
            _ if author.is_outsider => Admission::Outsider,
            true => Admission::Welcome,
            false => Admission::PersonUnknown,
        }
    }

    /// Of somebody who may talk.
    pub fn role(&self, person: &str) -> Role {
        let is_in = |list: &[String]| list.iter().any(|id| id == person);
        if is_in(&self.admins) {
            Role::Admin
        } else if self.operators.is_empty() || is_in(&self.operators) {
            Role::Operator
        } else {
            Role::Viewer
        }
    }

    fn serves(&self, room: &str) -> bool {
        self.allow_rooms.holds(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(rooms: &[&str], from: &[&str], dm_policy: DmPolicy) -> Access {
        let list = |ids: &[&str]| IdList::new(ids.iter().map(|id| (*id).to_owned()));
        Access {
            allow_rooms: list(rooms),
            allow_from: list(from),
            dm_policy,
            require_mention: true,
            thread_follow: ThreadFollow::Asker,
            late: Late::default(),
            admins: Vec::new(),
            operators: Vec::new(),
        }
    }

    fn author(id: &str, is_bot: bool) -> Author {
        Author { id: id.into(), name: None, is_bot, is_self: false, is_outsider: false }
    }

    #[test]
    fn whoever_may_talk_is_an_operator_until_a_list_says_otherwise() {
        use Role::{Admin, Operator, Viewer};
        for (admins, operators, expected) in [
            (&[][..], &[][..], [Operator, Operator, Operator]),
            (&["U1"], &[], [Admin, Operator, Operator]),
            (&["U1"], &["U2"], [Admin, Operator, Viewer]),
            (&[], &["U1", "U2"], [Operator, Operator, Viewer]),
            (&["U1"], &["U1"], [Admin, Viewer, Viewer]),
        ] {
            let list = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
            let access =
                Access { admins: list(admins), operators: list(operators), ..access(&["*"], &[], DmPolicy::Open) };
            assert_eq!(["U1", "U2", "U3"].map(|person| access.role(person)), expected, "{admins:?} {operators:?}");
        }
    }

    #[test]
    fn no_list_admits_somebody_of_another_organisation() {
        use Admission::{Outsider, RoomClosed};
        let outsider = Author { is_outsider: true, ..author("U1", false) };
        for (from, policy) in [(&[][..], DmPolicy::Open), (&["*"], DmPolicy::Allowlist), (&["U1"], DmPolicy::Disabled)]
        {
            let access = access(&["C1"], from, policy);
            let private = if policy == DmPolicy::Disabled { RoomClosed } else { Outsider };
            assert_eq!(access.admits(false, "C1", None, &outsider), Outsider, "{from:?}");
            assert_eq!(access.admits(true, "D1", None, &outsider), private, "{from:?}");
            assert_eq!(access.admits(false, "C2", None, &outsider), RoomClosed, "{from:?}");
        }
    }

    #[test]
    fn rooms_are_closed_until_listed_and_then_open_to_everybody_or_to_those_listed() {
        use Admission::{PersonUnknown, RoomClosed, Welcome};
        let cases = [
            (access(&[], &[], DmPolicy::Pairing), "C1", "U1", false, RoomClosed),
            (access(&["C1"], &[], DmPolicy::Pairing), "C1", "U1", false, Welcome),
            (access(&["C1"], &[], DmPolicy::Pairing), "C2", "U1", false, RoomClosed),
            (access(&["*"], &["U2"], DmPolicy::Pairing), "C2", "U1", false, PersonUnknown),
            (access(&["*"], &["U2"], DmPolicy::Pairing), "C2", "U2", false, Welcome),
            (access(&["*"], &["*"], DmPolicy::Pairing), "C2", "B1", true, PersonUnknown),
            (access(&["*"], &["B1"], DmPolicy::Pairing), "C2", "B1", true, Welcome),
        ];
        for (access, room, person, is_bot, expected) in cases {
            assert_eq!(
                access.admits(false, room, None, &author(person, is_bot)),
                expected,
                "{access:?} {room} {person}"
            );
        }
    }

    #[test]
    fn a_room_is_served_by_the_name_it_had_and_by_the_one_it_has() {
        use Admission::{RoomClosed, Welcome};
        let cases = [
            (&["-12"][..], Some("-1001"), Welcome),
            (&["-1001"], Some("-1001"), Welcome),
            (&["-1001"], None, RoomClosed),
            (&["-1002"], Some("-1001"), RoomClosed),
            (&[], Some("-1001"), RoomClosed),
        ];
        for (rooms, now, expected) in cases {
            let admitted = access(rooms, &[], DmPolicy::Pairing).admits(false, "-12", now, &author("7", false));
            assert_eq!(admitted, expected, "{rooms:?} {now:?}");
        }
    }

    #[test]
    fn private_chats_follow_their_policy() {
        use Admission::{PersonUnknown, RoomClosed, Welcome};
        let cases = [
            (DmPolicy::Pairing, &[][..], PersonUnknown),
            (DmPolicy::Pairing, &["U1"][..], Welcome),
            (DmPolicy::Allowlist, &["U2"][..], PersonUnknown),
            (DmPolicy::Allowlist, &["*"][..], Welcome),
            (DmPolicy::Open, &[][..], Welcome),
            (DmPolicy::Open, &["U2"][..], PersonUnknown),
            (DmPolicy::Disabled, &["*"][..], RoomClosed),
        ];
        for (policy, from, expected) in cases {
            assert_eq!(
                access(&[], from, policy).admits(true, "D1", None, &author("U1", false)),
                expected,
                "{policy:?} {from:?}"
            );
        }
    }

    #[test]
    fn a_bot_is_admitted_by_its_id_alone() {
        use Admission::{PersonUnknown, Welcome};
        for (from, expected) in [(&[][..], PersonUnknown), (&["*"], PersonUnknown), (&["*", "B1"], Welcome)] {
            let access = access(&["C1"], from, DmPolicy::Open);
            let admitted = [true, false].map(|private| access.admits(private, "C1", None, &author("B1", true)));
            assert_eq!(admitted, [expected; 2], "{from:?}");
        }
    }
}
