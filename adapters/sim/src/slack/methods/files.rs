//! `files.*`: what a file is, and the upload in three steps.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Outcome, Refused, answer, is_ts, scope};
use crate::slack::{
    args::Args,
    events,
    files::{SimFile, with_files},
    message::Author,
    world::World,
};

pub(super) fn info(world: &World, args: &Args) -> Outcome {
    scope(world, "files:read")?;
    let id = args.text("file").unwrap_or_default();
    let kept = world.files.kept.get(id).filter(|_| world.sees_file(&world.caller, id));
    let kept = kept.ok_or(Refused::because("file_not_found"))?;
    if kept.file.tombstone {
        return Err(Refused::because("file_deleted"));
    }
    answer(json!({"file": world.files.whole(id)}))
}

pub(super) fn upload_url(world: &mut World, args: &Args) -> Outcome {
    scope(world, "files:write")?;
    let name = args.text("filename").unwrap_or_default().to_owned();
    let length = args.number("length").filter(|length| *length > 0);
    let (Some(length), false) = (length, name.is_empty()) else { return Err(Refused::because("invalid_arguments")) };
    let id = format!("F0{:06}", world.next_id());
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let mimetype = match ending {
        "md" | "txt" | "log" => "text/plain",
        "png" => "image/png",
        _ => "application/octet-stream",
    };
    world.files.keep(&id, SimFile::new(&name, mimetype, Bytes::new()), &world.caller.bot_user);
    if let Some(kept) = world.files.kept.get_mut(&id) {
        (kept.length, kept.written) = (length, false);
    }
    let address = format!("{}/upload/{id}", world.files.base);
    answer(json!({"upload_url": address, "file_id": id}))
}

pub(super) fn complete(world: &mut World, args: &Args) -> Outcome {
    scope(world, "files:write")?;
    let wanted = args.json("files").unwrap_or_default();
    let wanted: Vec<(String, Option<String>)> = wanted
        .as_array()
        .into_iter()
        .flatten()
        .map(|file| {
            let text = |key: &str| file[key].as_str().map(str::to_owned);
            (text("id").unwrap_or_default(), text("title"))
        })
        .collect();
    if wanted.is_empty() {
        return Err(Refused::because("invalid_arguments"));
    }
    for (id, _) in &wanted {
        let kept = world.files.kept.get(id).filter(|kept| kept.by == world.caller.bot_user && kept.written);
        kept.ok_or(Refused::because("file_not_found"))?;
    }
    let Some(place) = args.text("channel_id").map(str::to_owned) else {
        return answer(json!({"files": listed(&wanted)}));
    };
    let channel = world.channels.get(&place).filter(|channel| channel.teams.contains(&world.caller)).cloned();
    let channel = channel.ok_or(Refused::because("channel_not_found"))?;
    if channel.archived {
        return Err(Refused::because("is_archived"));
    }
    if !channel.bot_is_in {
        return Err(Refused::because("not_in_channel"));
    }
    let thread = match args.text("thread_ts").filter(|ts| !ts.is_empty()) {
        None => None,
        Some(ts) if !is_ts(ts) => return Err(Refused::because("invalid_thread_ts")),
        Some(ts) => {
            let parent = world.visible(&place, ts).ok_or(Refused::because("invalid_thread_ts"))?;
            Some(parent.thread().to_owned())
        }
    };
    let mut message = world.draft(&place, Author::Bot, args.text("initial_comment").unwrap_or_default());
    message.thread_ts = thread;
    message.extra.extend(world.caller.sign().as_object().cloned().unwrap_or_default());
    let mut wires = Vec::new();
    for (id, title) in &wanted {
        if let Some(kept) = world.files.kept.get_mut(id) {
            kept.shares.push((place.clone(), message.ts.clone()));
            if let Some(title) = title {
                kept.title.clone_from(title);
            }
        }
        wires.extend(world.files.wire(id));
    }
    let message = with_files(message, wires);
    let event = events::posted(&message, &channel);
    world.messages.push(message);
    let mut done = answer(json!({"files": listed(&wanted)}))?;
    done.events.push(event);
    Ok(done)
}

fn listed(files: &[(String, Option<String>)]) -> Value {
    files.iter().map(|(id, title)| json!({"id": id, "title": title})).collect()
}
