"""Tables of cases: a Qt model over series, a filter, and the widget around them."""
