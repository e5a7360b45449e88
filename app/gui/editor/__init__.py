"""The sweep editor: a draft that is edited, and widgets that each show one part of it."""
