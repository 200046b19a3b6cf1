"""The data of runs, versioned: which bytes a run read and wrote, where they lie, and how they come back.

    HOME/data/                       a git and DVC repository of small `.dvc` files: PIPELINE/STEP/OUTPUT.dvc
    HOME/data-remote/                the remote `default` (or a prefix of a bucket): internal and public data
    HOME/restricted/data-remote/     the remote `restricted` (or another bucket): data that holds private values
    HOME/restricted/data-cache/      DVC's cache

A commit a run whose data changed, and the tag `run/ID` a run. Each `.dvc` file names the one remote that its data may
go to, so `dvc push` by hand sends restricted data nowhere else; a remote is marked with its class by a file in it.
Mappings are refused by content: DVC's history cannot be purged, so what destroying a key must erase never enters it.

`entries` says what is versioned, `repository` keeps it in git, `places` holds the bytes, `refusals` looks at them, and
`verbs` is what commands and reports call.
"""
