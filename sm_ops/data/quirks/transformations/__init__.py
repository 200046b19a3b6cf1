"""The ten transformations of table 2, one file each: `edits` says what is changed where, `shows` finds it in a tree."""
