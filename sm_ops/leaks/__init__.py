"""Whether values stand where they should not: every file and database searched, in every form, without telling them."""

from sm_ops.leaks.search import Finding, Leaks, find_leaks

__all__ = ["Finding", "Leaks", "find_leaks"]
