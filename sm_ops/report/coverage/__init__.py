"""Figure 4 over the runs of a home: what masks cover against what models leak and can do (paper, section 3.1)."""
