"""An old path for the key in the metadata of dataclass members. Values that a kernel reads are always part of what it was
compiled for, so the key needs no effect."""

FIELD_METADATA_CACHE_VALUE = "add_value_to_cache_key"
