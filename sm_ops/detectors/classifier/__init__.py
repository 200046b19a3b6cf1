"""A token classifier of the user's own: an encoder fine-tuned on a labelled sample, and the folder that holds it."""
