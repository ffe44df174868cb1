use proptest::prelude::*;
use watchfloor_channel::{Author, ChannelId, ConversationId, FileRef, InboundKind};

use super::*;

const PAUSE: Duration = Duration::from_millis(1_200);

fn inbound(number: i32, author: &str, text: &str) -> Inbound {
    Inbound {
        conversation: ConversationId {
            channel: ChannelId::new("telegram"),
            room: "-4001".into(),
            thread: format!("m{number}"),
        },
        message_key: format!("-4001/{number}"),
        event_id: None,
        message: MessageId { room: "-4001".into(), id: number.to_string() },
        kind: InboundKind::Message,
        author: Author { id: author.into(), name: None, is_bot: false, is_self: false, is_outsider: false },
        text: text.into(),
        addressed: Addressed::Overheard,
        opens_with_other: false,
        private: false,
        starts_thread: true,
        files: Vec::new(),
        command: None,
        room_now: None,
        sent_at: 0,
    }
}

fn piece(number: i32, author: &str, units: usize) -> Piece<i32> {
    let inbound = inbound(number, author, &format!("{number}"));
    Piece { inbound, frame: Frame::default(), number, album: None, units, begins: false, ticket: number }
}

fn mention(number: i32, author: &str, units: usize) -> Piece<i32> {
    let mut piece = piece(number, author, units);
    piece.inbound.addressed = Addressed::Mention;
    piece.begins = true;
    piece
}

fn picture(number: i32, album: &str, caption: &str) -> Piece<i32> {
    let mut piece = piece(number, "5001", caption.len());
    piece.inbound.text = caption.into();
    piece.album = Some(album.into());
    let file = format!("f{number}");
    piece.inbound.files =
        vec![FileRef { id: file, name: "photo.jpg".into(), media_type: "image/jpeg".into(), bytes: 1, url: None }];
    piece
}

/// Key, text, tickets.
fn seen(whole: &[Whole<i32>]) -> Vec<(&str, &str, Vec<i32>)> {
    whole.iter().map(|it| (it.inbound.message_key.as_str(), it.inbound.text.as_str(), it.tickets.clone())).collect()
}

#[test]
fn a_paste_in_three_pieces_is_one_message() {
    let (mut gather, start) = (Gather::new(PAUSE), Instant::now());
    for (piece, at) in [(mention(10, "5001", 4096), 0), (piece(11, "5001", 4096), 300), (piece(12, "5001", 808), 600)] {
        assert!(gather.offer(piece, start + Duration::from_millis(at)).is_empty());
    }
    assert_eq!(gather.next_due(), Some(start + Duration::from_millis(1_800)));
    assert!(gather.due(start + Duration::from_millis(1_799)).is_empty());
    let whole = gather.due(start + Duration::from_millis(1_800));
    assert_eq!(seen(&whole), [("-4001/10", "10\n11\n12", vec![10, 11, 12])]);
    assert_eq!(whole[0].inbound.addressed, Addressed::Mention);
    assert_eq!(whole[0].inbound.conversation.thread, "m10");
    assert_eq!(whole[0].rest.iter().map(|id| id.id.as_str()).collect::<Vec<_>>(), ["11", "12"]);
    assert!(gather.held.is_empty());
}

#[test]
fn short_messages_and_other_people_never_wait() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    assert_eq!(seen(&gather.offer(piece(9, "5001", 3_399), now)), [("-4001/9", "9", vec![9])]);
    assert!(gather.offer(mention(10, "5001", 3_400), now).is_empty());
    assert_eq!(seen(&gather.offer(piece(11, "5002", 20), now)), [("-4001/11", "11", vec![11])]);
    let mut elsewhere = piece(12, "5001", 20);
    elsewhere.inbound.conversation.thread = "t77".into();
    assert_eq!(gather.offer(elsewhere, now).len(), 1);
    let mut other_room = piece(13, "5001", 20);
    other_room.inbound.message.room = "-4002".into();
    assert_eq!(gather.offer(other_room, now).len(), 1);
    assert_eq!(seen(&gather.due(now + PAUSE)), [("-4001/10", "10", vec![10])]);
}

#[test]
fn a_new_mention_ends_what_went_before() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    gather.offer(mention(10, "5001", 4_000), now);
    let whole = gather.offer(mention(11, "5001", 10), now);
    assert_eq!(seen(&whole), [("-4001/10", "10", vec![10]), ("-4001/11", "11", vec![11])]);
}

#[test]
fn pieces_that_overtake_each_other_are_put_in_order() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    for piece in [piece(12, "5001", 4_000), piece(11, "5001", 4_096), mention(10, "5001", 4_096), piece(13, "5001", 8)]
    {
        assert!(gather.offer(piece, now).is_empty());
    }
    let whole = gather.due(now + PAUSE);
    assert_eq!(seen(&whole), [("-4001/10", "10\n11\n12\n13", vec![10, 11, 12, 13])]);
    assert_eq!(whole[0].inbound.addressed, Addressed::Mention);
}

#[test]
fn an_album_is_one_message_whichever_picture_has_the_caption() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    gather.offer(picture(10, "a", ""), now);
    let mut captioned = picture(11, "a", "what is this?");
    captioned.inbound.addressed = Addressed::Mention;
    captioned.begins = true;
    assert!(gather.offer(captioned, now).is_empty());
    let first = gather.offer(picture(12, "b", "another"), now);
    assert_eq!(seen(&first), [("-4001/10", "what is this?", vec![10, 11])]);
    assert_eq!(first[0].inbound.files.iter().map(|file| file.id.as_str()).collect::<Vec<_>>(), ["f10", "f11"]);
    assert_eq!(first[0].inbound.addressed, Addressed::Mention);
    assert_eq!(seen(&gather.due(now + PAUSE)), [("-4001/12", "another", vec![12])]);
}

#[test]
fn a_piece_that_comes_twice_is_read_once() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    for number in [10, 11, 10, 11] {
        assert!(
            gather.offer(mention(10, "5001", 4_096), now).is_empty()
                && gather.offer(piece(number, "5001", 4_000), now).is_empty()
        );
    }
    let whole = gather.due(now + PAUSE);
    assert_eq!(whole.len(), 1);
    assert_eq!((whole[0].inbound.text.as_str(), whole[0].tickets.len()), ("10\n11", 8));
}

#[test]
fn a_piece_that_is_changed_while_it_waits_is_read_as_it_is_now() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    gather.offer(piece(10, "5001", 4_096), now);
    gather.offer(piece(11, "5001", 100), now);
    let edited = |number, text: &str| {
        let mut inbound = inbound(number, "5001", text);
        (inbound.kind, inbound.addressed) = (InboundKind::Edit, Addressed::Mention);
        Piece { inbound, frame: Frame::default(), number, album: None, units: 7, begins: true, ticket: () }
    };
    assert!(gather.edit(&edited(11, "eleven")) && !gather.edit(&edited(12, "twelve")));
    let whole = gather.due(now + PAUSE).remove(0).inbound;
    assert_eq!((whole.text.as_str(), whole.kind), ("10\neleven", InboundKind::Message));
    // The change may be what says it to us.
    assert_eq!(whole.addressed, Addressed::Mention);
}

/// After an outage the words of hours come at once.
#[test]
fn what_was_said_later_is_no_piece_although_it_comes_at_once() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    let said_at = |mut piece: Piece<i32>, at: i64| {
        piece.inbound.sent_at = at * 1_000;
        piece
    };
    assert!(gather.offer(said_at(piece(10, "5001", 4_096), 100), now).is_empty());
    assert!(gather.offer(said_at(piece(11, "5001", 4_096), 104), now).is_empty());
    assert!(gather.offer(said_at(piece(12, "5001", 50), 109), now).is_empty());
    let whole = gather.offer(said_at(piece(13, "5001", 50), 115), now);
    assert_eq!(seen(&whole), [("-4001/10", "10\n11\n12", vec![10, 11, 12]), ("-4001/13", "13", vec![13])]);
}

#[test]
fn what_stands_around_the_pieces_is_said_once() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    let quoted = || FileRef { id: "q".into(), ..picture(1, "a", "").inbound.files.remove(0) };
    for (number, caption, origin) in [(10, "", "Bob"), (11, "look", "Bob"), (12, "and here", "Eve"), (13, "", "Eve")] {
        let mut piece = picture(number, "a", caption);
        piece.frame = Frame { origin: Some(origin.into()), quoted: Some("> it is down".into()), files: vec![quoted()] };
        assert!(gather.offer(piece, now).is_empty());
    }
    let whole = gather.due(now + PAUSE).remove(0).inbound;
    assert_eq!(whole.text, "[forwarded from Bob]\nlook\n[forwarded from Eve]\nand here\n\n> it is down");
    let files: Vec<_> = whole.files.iter().map(|file| file.id.as_str()).collect();
    assert_eq!(files, ["f10", "f11", "f12", "f13", "q"]);
}

#[test]
fn an_endless_paste_comes_to_an_end() {
    let (mut gather, now) = (Gather::new(PAUSE), Instant::now());
    let mut whole = Vec::new();
    for number in 0..70 {
        whole.extend(gather.offer(piece(number, "5001", 4_096), now));
    }
    assert_eq!(whole.iter().map(|it| it.tickets.len()).collect::<Vec<_>>(), [32, 32]);
    let mut trickle = Gather::new(PAUSE);
    for number in 0..20 {
        trickle
            .offer(piece(number, "5001", 4_096), now + Duration::from_millis(u64::try_from(number).unwrap() * 1_000));
    }
    assert_eq!(trickle.next_due(), Some(now + PAUSE * 5));
}

proptest! {
    #[test]
    fn every_piece_comes_out_exactly_once(
        pieces in prop::collection::vec((0_i32..50, 0_usize..3, 0_usize..5_000, any::<bool>(), 0_u64..900), 0..80)
    ) {
        let (mut gather, mut now) = (Gather::new(PAUSE), Instant::now());
        let mut out = Vec::new();
        let count = i32::try_from(pieces.len()).unwrap();
        for (ticket, (number, author, units, begins, later)) in pieces.into_iter().enumerate() {
            now += Duration::from_millis(later);
            out.extend(gather.due(now));
            let author = ["5001", "5002", "5003"][author];
            let ticket = i32::try_from(ticket).unwrap();
            out.extend(gather.offer(Piece { ticket, begins, ..piece(number, author, units) }, now));
        }
        out.extend(gather.due(now + PAUSE));
        prop_assert!(gather.held.is_empty());
        let mut tickets: Vec<_> = out.iter().flat_map(|whole| whole.tickets.clone()).collect();
        tickets.sort_unstable();
        prop_assert_eq!(tickets, (0..count).collect::<Vec<_>>());
        prop_assert!(out.iter().all(|whole| whole.rest.len() < whole.tickets.len()));
    }
}
