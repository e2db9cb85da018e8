"""`qd.interop`: sharing a device with other libraries."""


def get_mps_command_queue() -> int:
    """Address of PyTorch's command queue on Metal, for `qd.init(external_metal_command_queue=...)`; 0 where there is no
    Metal, as on every system that this version runs on."""
    return 0


def __dir__() -> list[str]:
    return ["get_mps_command_queue"]
