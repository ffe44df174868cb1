//! The last word: the placeholder becomes the answer's first part, what doesn't fit follows as replies. May be repeated from
//! the start after a crash: the rows tell what is shown, and how it was cut.

use std::collections::VecDeque;

use watchfloor_channel::{
    Body, MessageId, Operation, Refusal, RefusalKind,
    text::{Limits, Size, for_people, split_within},
};

use super::{Owed, ReplyError, Route, Undelivered};
use crate::{
    store::{DeliveryKind, DeliveryRow, DeliveryState},
    wording,
};

/// How often a part that a platform finds too long is halved.
const HALVINGS: u32 = 3;
/// A part that falls into more pieces when halved was not too long: what surrounds the text is.
const MOST_HALVES: usize = 8;
/// More messages than that bury the thread.
const MOST_PARTS: usize = 5;

/// One message of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    body: Body,
    halvings: u32,
}

impl Route {
    /// Shows the answer. What is settled stays as it is.
    pub(in super::super) async fn finish(&self, answer: &Body) -> Result<(), ReplyError> {
        let parts = self.cut(answer);
        let mut parts = VecDeque::from(match answer {
            Body::Markdown(text) if parts.len() > MOST_PARTS && self.attach(text).await? => vec![self.beginning(text)],
            _ => parts,
        });
        let mut number = 0;
        while let Some(part) = parts.pop_front() {
            let row = self.row_of(number).await?;
            let (part, rest) = match &row {
                Some(row) => self.as_before(part, &row.text),
                None => (part, Vec::new()),
            };
            put_in_front(&mut parts, rest);
            if row.as_ref().is_none_or(|row| row.state != DeliveryState::Settled)
                && let Err(error) = self.show(row.as_ref(), number, &part.body).await
            {
                let instead = match error.refusal() {
                    Some(refusal) if refusal.kind == RefusalKind::TooLong => self.halve(&part),
                    Some(refusal) if refusal.kind == RefusalKind::Content => self.in_place_of(&part, refusal),
                    _ => None,
                };
                match instead {
                    Some(instead) => put_in_front(&mut parts, instead),
                    None => return Err(error),
                }
                continue;
            }
            number += 1;
        }
        self.clear_replaced().await
    }

    fn cut(&self, answer: &Body) -> Vec<Part> {
        let mut parts = match answer {
            Body::Markdown(text) => self.split(&for_people(text), &self.outlet.features().limits),
            _ => vec![answer.clone()],
        };
        // Nothing in it was for people.
        if parts.is_empty() {
            parts.push(Body::Plain(wording::no_answer()));
        }
        let mut parts = parts.into_iter();
        let first = parts.next().map(|first| self.addressed(first));
        first.into_iter().chain(parts).map(|body| Part { body, halvings: 0 }).collect()
    }

    /// The first message names the person it is for, where nothing else tells her of it.
    fn addressed(&self, body: Body) -> Body {
        match (&self.to, body) {
            (Some(to), Body::Markdown(text)) => Body::Addressed { to: to.clone(), text },
            (Some(to), Body::Plain(text)) => Body::Plain(format!("{to} {text}")),
            (_, body) => body,
        }
    }

    /// What stands in the placeholder of an answer that goes up as a file.
    fn beginning(&self, text: &str) -> Part {
        let notice = wording::answer_goes_on(&wording::answer_file());
        let with_notice = |first: &str| format!("{}\n\n{notice}", first.trim_end());
        let limits = &self.outlet.features().limits;
        let parts = split_within(&for_people(text), limits, |part| self.measure(with_notice(part)));
        let first = parts.first().map_or("", String::as_str);
        Part { body: self.addressed(Body::Markdown(with_notice(first))), halvings: 0 }
    }

    fn split(&self, text: &str, limits: &Limits) -> Vec<Body> {
        split_within(text, limits, |part| self.measure(part.to_owned())).into_iter().map(Body::Markdown).collect()
    }

    fn measure(&self, markdown: String) -> Size {
        // Any part may be the first.
        self.outlet.adapter().measure(&self.addressed(Body::Markdown(markdown)))
    }

    fn halve(&self, part: &Part) -> Option<Vec<Part>> {
        let (Body::Markdown(text) | Body::Addressed { text, .. }) = &part.body else { return None };
        let halvings = part.halvings + 1;
        if halvings > HALVINGS {
            return None;
        }
        let limits = self.outlet.features().limits;
        let size = self.outlet.adapter().measure(&part.body);
        let half = Limits { text: size.text.or_less(limits.text), ..limits }.halved();
        let halves = self.split(text, &half);
        if halves.len() > MOST_HALVES {
            return None;
        }
        let is_first = matches!(part.body, Body::Addressed { .. });
        let body = |(at, body)| if is_first && at == 0 { self.addressed(body) } else { body };
        let halves = halves.into_iter().enumerate().map(body);
        Some(halves.map(|body| Part { body, halvings }).collect())
    }

    /// What a platform takes in no form gives way to a sentence of ours: nobody should wait for nothing.
    fn in_place_of(&self, part: &Part, refusal: &Refusal) -> Option<Vec<Part>> {
        let sentence = Body::Plain(wording::not_let_through(&refusal.remedy));
        if part.body == sentence {
            return None;
        }
        tracing::error!(turn.id = %self.turn_id, %refusal, "the platform does not take the answer in any form; a sentence stands in its place");
        Some(vec![Part { body: sentence, halvings: HALVINGS }])
    }

    /// An earlier attempt may have cut this part smaller: then it is cut the same way, or text would be lost or said twice.
    fn as_before(&self, part: Part, shown: &str) -> (Part, Vec<Part>) {
        let mut parts = VecDeque::from([part.clone()]);
        while let Some(first) = parts.pop_front() {
            if first.body.text() == shown {
                return (first, parts.into());
            }
            match self.halve(&first) {
                Some(halves) => put_in_front(&mut parts, halves),
                None => break,
            }
        }
        (part, Vec::new())
    }

    /// What a part became so far. A placeholder that is gone for good is no place for the first.
    async fn row_of(&self, number: i64) -> Result<Option<DeliveryRow>, ReplyError> {
        let rows = self.services.store.deliveries().of_turn(&self.turn_id).await?;
        Ok(rows.into_iter().find(|row| match row.kind {
            DeliveryKind::Placeholder => number == 0 && row.state != DeliveryState::Failed,
            DeliveryKind::Part => row.part == number,
            DeliveryKind::Notice | DeliveryKind::File | DeliveryKind::Replaced => false,
        }))
    }

    async fn show(&self, row: Option<&DeliveryRow>, number: i64, body: &Body) -> Result<(), ReplyError> {
        let store = self.services.store.deliveries();
        let owed = match row {
            Some(row) if row.kind == DeliveryKind::Placeholder => {
                if self.turn_into_answer(row, body).await? {
                    return Ok(());
                }
                self.intend(DeliveryKind::Part, number, body.text()).await?
            }
            Some(row) => {
                store.finalise(&row.id, body.text(), self.services.now()).await?;
                row.into()
            }
            None => self.intend(DeliveryKind::Part, number, body.text()).await?,
        };
        self.place(&owed, body).await?;
        store.settle(&owed.id, self.services.now()).await?;
        if number == 0 {
            self.clear_placeholder().await?;
        }
        Ok(())
    }

    /// One that could not become the answer, also where that was an earlier attempt's misfortune.
    async fn clear_placeholder(&self) -> Result<(), ReplyError> {
        // Where it stands now: it may have moved on the way here.
        let rows = self.services.store.deliveries().of_turn(&self.turn_id).await?;
        let failed =
            rows.iter().find(|row| row.kind == DeliveryKind::Placeholder && row.state == DeliveryState::Failed);
        if let Some(id) = failed.and_then(|row| Owed::from(row).message).filter(|_| self.outlet.features().edits) {
            let _removed = self.clear_away(id).await;
        }
        Ok(())
    }

    /// Edits the placeholder into the first part. False: it can't be, and the part has to be posted.
    async fn turn_into_answer(&self, row: &DeliveryRow, body: &Body) -> Result<bool, ReplyError> {
        let store = self.services.store.deliveries();
        store.finalise(&row.id, body.text(), self.services.now()).await?;
        let placed = self.place(&row.into(), body).await?;
        if !placed.fresh
            && let Err(error) = self.bring_up_to(row, placed.id, body).await
        {
            match error.refusal() {
                Some(refusal) if !is_final(refusal.kind) => {
                    tracing::warn!(turn.id = %self.turn_id, %refusal, "the placeholder can't become the answer; posting it");
                    store.fail(&row.id, &refusal.to_string(), self.services.now()).await?;
                    return Ok(false);
                }
                _ => return Err(error),
            }
        }
        store.settle(&row.id, self.services.now()).await?;
        Ok(true)
    }

    /// One that can't be edited gives its place to another message, as it would have before the answer.
    async fn bring_up_to(&self, row: &DeliveryRow, id: MessageId, body: &Body) -> Result<(), ReplyError> {
        let Err(error) = self.edit(id.clone(), body).await else { return Ok(()) };
        if error.refusal().is_none_or(|refusal| refusal.kind != RefusalKind::NotEditable) {
            return Err(error);
        }
        let placed = self.replace(&row.into(), id, body).await?;
        if placed.fresh { Ok(()) } else { self.edit(placed.id, body).await }
    }

    async fn edit(&self, id: MessageId, body: &Body) -> Result<(), ReplyError> {
        if !self.outlet.features().edits {
            let refusal = Refusal::unsupported("messages can't be edited on this channel");
            return Err(Undelivered::Refused(refusal).into());
        }
        self.insist(Operation::Edit(id), body).await?;
        Ok(())
    }
}

/// Where an edit is refused like this, a post would be too.
fn is_final(kind: RefusalKind) -> bool {
    use RefusalKind::{Credentials, Room, ThreadGone, TooLong};
    matches!(kind, Credentials | Room | ThreadGone | TooLong)
}

fn put_in_front(parts: &mut VecDeque<Part>, first: Vec<Part>) {
    for part in first.into_iter().rev() {
        parts.push_front(part);
    }
}
