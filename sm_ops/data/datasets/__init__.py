"""One file per dataset: its name is the public name, `generate(settings, seed)` its only duty.

`READS` names the settings of the section `data` that it reads beside those of every data set (`dataset`, `seed`,
`hosts`, `public_chars`); what is set without being read is refused.
"""
