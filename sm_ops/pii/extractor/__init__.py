"""A causal model that reads a document and writes its private values as TYPE<TAB>VALUE rows."""
