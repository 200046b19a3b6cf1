"""One file per dataset: its name is the public name, `generate(settings, seed)` its only duty."""
