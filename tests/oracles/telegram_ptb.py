"""python-telegram-bot as a bot that polls: hears people, answers in their topic, edits, asks with buttons, moves files."""

import asyncio
import json
import os

from telegram import BotCommand, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, Update
from telegram.constants import ChatAction, ParseMode
from telegram.ext import Application, CallbackQueryHandler, MessageHandler, filters

URL, TOKEN, ROOM = os.environ["API_URL"], os.environ["TOKEN"], int(os.environ["ROOM"])


def report(step, **seen):
    print(json.dumps({"step": step, **seen}))


async def document(message):
    file = await message.document.get_file()
    content = await file.download_as_bytearray()
    report("document", name=message.document.file_name, type=message.document.mime_type, size=file.file_size,
           content=content.decode(), caption=message.caption, mentions=list(message.parse_caption_entities().values()))
    sent = await message.reply_document(InputFile(b"# All of it", filename="answer.md"), caption="It was long.")
    report("sent document", name=sent.document.file_name, size=sent.document.file_size, caption=sent.caption)


async def topic(message):
    await message.chat.send_action(ChatAction.TYPING, message_thread_id=message.message_thread_id)
    created = message.reply_to_message.forum_topic_created
    sent = await message.reply_text("Looking …", do_quote=True)
    report("topic", created=created.name, in_topic=sent.is_topic_message,
           same=sent.message_thread_id == message.message_thread_id, answers=sent.reply_to_message.text)
    edited = await sent.edit_text("The <b>pool</b> is full: <code>a &lt; b</code>", parse_mode=ParseMode.HTML)
    report("edited", same=edited.message_id == sent.message_id, html=edited.text_html, dated=edited.edit_date is not None)


async def heard(update, context):
    message = update.effective_message
    if message.document:
        await document(message)
    elif message.photo:
        report("photo", sizes=[photo.file_size for photo in message.photo], album=message.media_group_id is not None)
    elif update.edited_message:
        report("edit", text=message.text, dated=message.edit_date > message.date or message.edit_date == message.date)
    elif message.is_topic_message and message.text:
        await topic(message)
    elif message.sender_chat:
        report("anonymous", by=message.from_user.username, group=message.sender_chat.id == message.chat.id)
    elif message.text and "approve" in message.text:
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Approve", callback_data="a:1"),
                                          InlineKeyboardButton("Read", url="https://example.org/run")]])
        sent = await message.reply_text("Restart?", reply_markup=keyboard)
        report("asked", buttons=[button.text for button in sent.reply_markup.inline_keyboard[0]])
    elif message.text:
        entities = message.parse_entities()
        report("message", text=message.text, by=message.from_user.first_name, kind=str(message.chat.type.value),
               entities=[[entity.type.value, part] for entity, part in entities.items()])


async def pressed(update, context):
    query = update.callback_query
    answered = await query.answer("No longer valid", show_alert=True)
    edited = await query.edit_message_text("Nobody approved.")
    report("pressed", data=query.data, by=query.from_user.first_name, answered=answered, text=edited.text,
           keyboard=edited.reply_markup is not None)


async def main():
    builder = Application.builder().token(TOKEN).base_url(f"{URL}/bot").base_file_url(f"{URL}/file/bot")
    app = builder.build()
    app.add_handler(MessageHandler(filters.ALL, heard))
    app.add_handler(CallbackQueryHandler(pressed))
    async with app:
        me = app.bot.bot
        report("me", id=me.id, name=me.username, reads_all=me.can_read_all_group_messages)
        commands = [BotCommand("stop", "Stops what runs here")]
        await app.bot.set_my_commands(commands)
        report("commands", same=list(await app.bot.get_my_commands()) == commands)
        chat = await app.bot.get_chat(ROOM)
        member = await chat.get_member(me.id)
        report("chat", title=chat.title, kind=str(chat.type.value), member=str(member.status))
        await app.start()
        # What waits is heard as well.
        await app.updater.start_polling(timeout=10, allowed_updates=["message", "edited_message", "callback_query"])
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
