"""The web chat: which chats are open, and who their visitors are."""
