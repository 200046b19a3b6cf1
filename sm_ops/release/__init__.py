"""Releases: a dataset leaves the house as files with a state, whose evidence the right people signed.

folder      where releases lie, their names, the files of a bundle
clock       the time, and how it is written
keys        Ed25519 key files; the builder's own
envelopes   signed statements: in-toto, RFC 8785, DSSE
ledger      the chained log of a release, and changes to its files that happen whole or not at all
states      what a release is, read from its files, and which verb is due
verbs/      one file a verb, each an idempotent function over files
checks/     what a policy may ask of the evidence, one file each
"""
