"""The paper's tables on training-time experiments, filled by a run and laid beside the paper's figures."""
