"""python-telegram-bot on everything that is refused: which class it takes each answer for."""

import asyncio
import json
import os

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, ReplyParameters
from telegram.error import ChatMigrated, RetryAfter, TelegramError

URL, TOKEN = os.environ["API_URL"], os.environ["TOKEN"]
ROOM, FORUM, GROUP = (int(os.environ[name]) for name in ("ROOM", "FORUM", "GROUP"))
PERSON, HERS = int(os.environ["PERSON"]), int(os.environ["HERS"])


def made(token):
    return Bot(token, base_url=f"{URL}/bot", base_file_url=f"{URL}/file/bot")


async def refused(step, call):
    try:
        answer = await call
    except ChatMigrated as error:
        seen = {"error": "ChatMigrated", "to": error.new_chat_id}
    except RetryAfter as error:
        wait = error.retry_after
        seen = {"error": "RetryAfter", "wait": int(getattr(wait, "total_seconds", lambda: wait)())}
    except TelegramError as error:
        seen = {"error": type(error).__name__, "text": error.message}
    else:
        seen = {"answer": str(answer)}
    print(json.dumps({"step": step, **seen}))


async def main():
    async with made(TOKEN) as bot:
        ours = (await bot.send_message(ROOM, "ours")).message_id
        await refused("the same again", bot.edit_message_text("ours", ROOM, ours))
        await refused("somebody else's", bot.edit_message_text("mine", ROOM, HERS))
        await refused("gone", bot.edit_message_text("x", ROOM, 999))
        await refused("nowhere", bot.send_message(-5, "x"))
        await refused("bad markup", bot.send_message(ROOM, "a <p>", parse_mode="HTML"))
        await refused("too long", bot.send_message(ROOM, "x" * 4097))
        await refused("General by number", bot.send_message(FORUM, "x", message_thread_id=1))
        await refused("no such parent", bot.send_message(ROOM, "x", reply_parameters=ReplyParameters(999)))
        lenient = ReplyParameters(999, allow_sending_without_reply=True)
        print(json.dumps({"step": "leniently", "text": (await bot.send_message(ROOM, "x", reply_parameters=lenient)).text}))
        long = InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="d" * 65)]])
        await refused("long data", bot.send_message(ROOM, "x", reply_markup=long))
        await refused("never started", bot.send_message(PERSON, "x"))
        await refused("upgraded", bot.send_message(GROUP, "x"))
        await refused("an old press", bot.answer_callback_query("4242"))
        await refused("flood", bot.send_chat_action(ROOM, "typing"))
        await refused("a gateway", bot.get_updates())
        await refused("a second poller", bot.get_updates())
        await refused("a lost answer", bot.set_my_commands([("stop", "Stops what runs here")]))
    await refused("a wrong token", made("1234:AAsomebody-elses-token-for-another-bot").get_me())


asyncio.run(main())
