"""Sanitization: which filter takes targets out of a labelled corpus at what price, and where surprise is no filter."""
