"""The report of rewriting: security against utility and cost of masking, of routing sentences, of rewriting all."""
