"""The stages' functions, one file each: read inputs, call the layers below, write outputs, return numbers."""
