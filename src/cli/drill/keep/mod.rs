//! After the play: service and simulators stay up until ctrl-c, and whoever is there talks to the bot, from the keyboard
//! or through a small door on loopback.

mod door;
mod keyboard;
mod speaker;

use std::time::Duration;

use anyhow::Context;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use self::{keyboard::Typed, speaker::Speaker};
use super::{
    play::WasSaid,
    scenario::Scenario,
    show::{Numbers, Show},
    stage::Stage,
};
use crate::{lifecycle::Signals, wording};

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Of orders that wait for their turn; more of them wait at the door.
const WAITING: usize = 8;

/// Until a signal, or `/quit`.
pub(super) async fn keep(
    scenario: &Scenario,
    stage: &Stage,
    said: &[WasSaid],
    signals: &mut Signals,
) -> anyhow::Result<()> {
    let sims = &stage.sims;
    if let Some(model) = &sims.model {
        // Behind all others: the recording goes as far as it goes.
        model.push_rule(watchfloor_sim::model::Rule::reply(wording::recording_ends()));
    }
    let stop = CancellationToken::new();
    let _ends_the_door = stop.clone().drop_guard();
    let (orders, mut ordered) = mpsc::channel(WAITING);
    let door = door::open(orders, stop.clone()).await.context("the door for scripts can't be opened")?;
    let mut typed = keyboard::listen();
    let mut speaker = Speaker::after(scenario, &sims.platforms, said);
    introduce(stage, &speaker, door.address, typed.is_some());

    let mut show = Show::in_lines_from(sims.scene(scenario));
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = signals.next() => break,
            order = ordered.recv() => {
                let Some(order) = order else { break };
                // Who asked may have gone.
                let _ = order.answer.send(speaker.say(&order.words).await);
            }
            line = keyboard::next(&mut typed) => match line {
                Typed::Line(line) => match speaker.typed(&line).await {
                    Ok(Some(told)) => super::super::say(told),
                    Ok(None) => {}
                    Err(speaker::Quit) => break,
                },
                Typed::End => typed = None,
            },
            _ = looks.tick() => {
                show.look(sims.scene(scenario), Numbers::default());
            }
        }
    }
    stop.cancel();
    door.served.await.ok();
    Ok(())
}

fn introduce(stage: &Stage, speaker: &Speaker<'_>, door: std::net::SocketAddr, keyboard: bool) {
    let say = |line: String| super::super::say(line);
    say("\nThe drill stays up until ctrl-c.".to_owned());
    if keyboard {
        say(format!("  talk       type a line: {}", speaker.place()));
        say(format!("             {}", speaker::COMMANDS));
    }
    say(format!("  script     curl --data-urlencode 'text=@watchfloor why?' http://{door}/say"));
    say("             platform=, person=, room= and thread= (an id of the scenario, or new) say who and where"
        .to_owned());
    say(format!("  health     http://{}/readyz", stage.app.address()));
    for platform in &stage.sims.platforms {
        say(format!("  {:<10} {}", format!("{} API", platform.kind()), platform.api()));
    }
    say(String::new());
}
