//! Joins the parts of a push that came in several frames. Everything is bounded: the number of parts, their size, how many
//! pushes may be incomplete, and for how long. Pure: the time is handed in.

use std::{collections::VecDeque, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

const MOST_PARTS: usize = 256;
const MOST_BYTES: usize = 8 << 20;
const MOST_OPEN: usize = 64;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Pushes of which parts are missing, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Parts {
    open: VecDeque<Push>,
}

#[derive(Debug)]
struct Push {
    id: String,
    began: Instant,
    parts: Vec<Option<Bytes>>,
    bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    Whole(Bytes),
    /// More is to come.
    Waiting,
    /// Dropped, for this reason.
    Bad(&'static str),
}

impl Parts {
    /// `sum` and `seq` as the headers say them: how many parts there are, and which one this is.
    pub(super) fn take(
        &mut self,
        id: &str,
        sum: Option<&str>,
        seq: Option<&str>,
        payload: Bytes,
        now: Instant,
    ) -> Joined {
        self.open.retain(|push| now.saturating_duration_since(push.began) < FORGOTTEN_AFTER);
        let number = |text: Option<&str>, unsaid| text.map_or(Some(unsaid), |text| text.parse::<usize>().ok());
        let (Some(sum), Some(seq)) = (number(sum, 1), number(seq, 0)) else { return Joined::Bad("no numbers") };
        if sum == 0 || sum > MOST_PARTS || seq >= sum {
            return Joined::Bad("numbers out of range");
        }
        if sum == 1 {
            return Joined::Whole(payload);
        }
        let at = match self.open.iter().position(|push| push.id == id) {
            Some(at) if self.open[at].parts.len() != sum => return Joined::Bad("another number of parts than before"),
            Some(at) => at,
            None => {
                if self.open.len() >= MOST_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back(Push { id: id.to_owned(), began: now, parts: vec![None; sum], bytes: 0 });
                self.open.len() - 1
            }
        };
        let Some(push) = self.open.get_mut(at) else { return Joined::Waiting };
        // A part that comes twice is the same part.
        if push.parts[seq].is_none() {
            push.bytes += payload.len();
            push.parts[seq] = Some(payload);
        }
        if self.open.iter().map(|push| push.bytes).sum::<usize>() > MOST_BYTES {
            self.open.remove(at);
            return Joined::Bad("too many bytes");
        }
        if self.open[at].parts.iter().any(Option::is_none) {
            return Joined::Waiting;
        }
        let Some(push) = self.open.remove(at) else { return Joined::Waiting };
        let mut whole = BytesMut::with_capacity(push.bytes);
        push.parts.into_iter().flatten().for_each(|part| whole.extend_from_slice(&part));
        Joined::Whole(whole.freeze())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{
            frames::Frame,
            vectors::{bytes, named, one, text},
        },
        *,
    };

    fn take(parts: &mut Parts, id: &str, sum: &str, seq: &str, payload: &'static str, now: Instant) -> Joined {
        parts.take(id, Some(sum), Some(seq), payload.into(), now)
    }

    #[test]
    fn a_push_cut_inside_a_character_is_whole_again_in_either_order() {
        let split = one("split");
        let names: Vec<_> = split["parts"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let frames: Vec<_> =
            names.iter().map(|name| Frame::read(bytes(text(named("frames", name), "hex"))).unwrap()).collect();
        for order in [[0, 1], [1, 0]] {
            let mut parts = Parts::default();
            let joined = order.map(|at| {
                let frame = &frames[at];
                let payload = frame.payload.clone().unwrap();
                let id = frame.header("message_id").unwrap();
                assert_eq!(id, text(split, "message_id"));
                parts.take(id, frame.header("sum"), frame.header("seq"), payload, Instant::now())
            });
            let whole = Joined::Whole(text(split, "merged_payload").to_owned().into());
            assert_eq!(joined, [Joined::Waiting, whole]);
        }
    }

    #[test]
    fn what_is_not_split_passes() {
        let mut parts = Parts::default();
        let now = Instant::now();
        assert_eq!(take(&mut parts, "a", "1", "0", "x", now), Joined::Whole("x".into()));
        assert_eq!(parts.take("a", None, None, "x".into(), now), Joined::Whole("x".into()));
        assert_eq!(take(&mut parts, "a", "1", "0", "", now), Joined::Whole("".into()));
    }

    #[test]
    fn pushes_do_not_mix_and_a_part_may_come_twice() {
        let mut parts = Parts::default();
        let now = Instant::now();
        let waiting = [("a", "1", "A1"), ("b", "1", "B1"), ("a", "1", "again"), ("a", "2", "")];
        for (id, seq, payload) in waiting {
            assert_eq!(take(&mut parts, id, "3", seq, payload, now), Joined::Waiting, "{id} {seq}");
        }
        assert_eq!(take(&mut parts, "a", "3", "0", "A0", now), Joined::Whole("A0A1".into()));
        assert_eq!(parts.open.len(), 1);
    }

    #[test]
    fn bad_numbers_are_dropped_and_harm_no_other_part() {
        let mut parts = Parts::default();
        let now = Instant::now();
        assert_eq!(take(&mut parts, "a", "2", "0", "A0", now), Joined::Waiting);
        for (sum, seq) in
            [("0", "0"), ("-1", "0"), ("2", "2"), ("2", "-1"), ("x", "0"), ("2", ""), ("257", "0"), ("3", "1")]
        {
            assert!(matches!(take(&mut parts, "a", sum, seq, "!", now), Joined::Bad(_)), "{sum} {seq}");
        }
        assert_eq!(take(&mut parts, "a", "2", "1", "A1", now), Joined::Whole("A0A1".into()));
    }

    #[test]
    fn what_stays_incomplete_is_forgotten() {
        let mut parts = Parts::default();
        let now = Instant::now();
        assert_eq!(take(&mut parts, "a", "2", "0", "A0", now), Joined::Waiting);
        assert_eq!(take(&mut parts, "a", "2", "1", "A1", now + FORGOTTEN_AFTER), Joined::Waiting);
        for number in 0..200 {
            take(&mut parts, &number.to_string(), "2", "0", "x", now + FORGOTTEN_AFTER);
        }
        assert_eq!(parts.open.len(), MOST_OPEN);
        assert_eq!(take(&mut parts, "a", "2", "0", "A0", now + FORGOTTEN_AFTER), Joined::Waiting);
    }

    #[test]
    fn what_is_too_large_is_dropped() {
        let mut parts = Parts::default();
        let (now, half) = (Instant::now(), Bytes::from(vec![b'x'; MOST_BYTES / 2]));
        let mut take = |seq: &str, payload| parts.take("a", Some("3"), Some(seq), payload, now);
        assert_eq!(take("0", half.clone()), Joined::Waiting);
        assert_eq!(take("1", half.clone()), Joined::Waiting);
        assert_eq!(take("2", half), Joined::Bad("too many bytes"));
        assert_eq!(parts.open.len(), 0);
    }

    proptest! {
        #[test]
        fn any_order_gives_the_same_bytes_once(
            payload in proptest::collection::vec(any::<u8>(), 2..200), pieces in 2_usize..8,
            order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let size = payload.len().div_ceil(pieces);
            let pieces: Vec<_> = payload.chunks(size).map(<[u8]>::to_vec).collect();
            let (sum, mut parts, mut wholes) = (pieces.len().to_string(), Parts::default(), Vec::new());
            for seq in order.into_iter().filter(|seq| *seq < pieces.len()) {
                let piece = pieces[seq].clone().into();
                match parts.take("a", Some(&sum), Some(&seq.to_string()), piece, Instant::now()) {
                    Joined::Whole(whole) => wholes.push(whole.to_vec()),
                    Joined::Waiting => {}
                    Joined::Bad(why) => prop_assert!(false, "{}", why),
                }
            }
            prop_assert_eq!(wholes, vec![payload]);
        }

        #[test]
        fn any_parts_are_taken_without_panic_and_within_bounds(
            parts in proptest::collection::vec(("[abc]", "-?[0-9]{0,3}|x", "-?[0-9]{0,3}|x", 0_usize..50), 0..60),
        ) {
            let mut open = Parts::default();
            for (id, sum, seq, size) in parts {
                open.take(&id, Some(&sum), Some(&seq), vec![0; size].into(), Instant::now());
                prop_assert!(open.open.len() <= MOST_OPEN);
            }
        }
    }
}
