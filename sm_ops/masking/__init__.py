"""From reference scores to the tokens that a model must not learn: rules, propagation, baselines."""
