"""The only reader and writer of mappings: encrypted, whole or absent, erased by destroying one key."""

from sm_ops.vault.dataset import is_name
from sm_ops.vault.entries import Mappings, MappingWriter
from sm_ops.vault.vault import Vault

__all__ = ["MappingWriter", "Mappings", "Vault", "is_name"]
