"""Corpora: readers of documents in the layouts they are published in, and generated ones; one file each."""
