"""Documents as values, and what renders them: terminal, Markdown, HTML and JSON."""
