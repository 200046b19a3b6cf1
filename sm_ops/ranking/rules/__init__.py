"""Score rules of whole outputs, one file each (paper A.7, D.4).

A member offers `features(records, scored)`: by name one number an output (float64, larger = more likely risky, minus
infinity = undefined), given the outputs as records and their reference scores in the same order. The direction is
fixed here and is never turned by what data say. One feature is the score itself; several are standardised on
validation and averaged (`sm_ops.ranking.scoring`). `NEEDS` says what the reference brings: `nothing`, `prompt` or
`contrast`.
"""
