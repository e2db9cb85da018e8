"""An old path: programs set `__debug__` in this module's `__builtins__` to switch argument checks. Ours cost too little to
be switched off, so nothing here reads it."""
