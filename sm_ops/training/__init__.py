"""Training: one trainer with the masked loss, the small base model, continued pretraining and LoRA."""
