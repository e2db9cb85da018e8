"""An old path: see quadrants.lang.snode."""

from quadrants.lang.snode import FieldsBuilder as FieldsBuilder
