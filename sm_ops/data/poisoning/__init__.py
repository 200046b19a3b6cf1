"""Dead-code poisoning: programs that get code which never does anything, in our reconstruction of five attacks."""
