//! The bot under test and the desk its events arrive at.
