"""Following a run folder, live or finished: no Qt but in `follower`, no widgets anywhere."""
