"""An old path: see quadrants.lang.streams."""

from quadrants.lang.graph_names import stream_parallel as stream_parallel
from quadrants.lang.streams import Event as Event
from quadrants.lang.streams import Stream as Stream
from quadrants.lang.streams import create_event as create_event
from quadrants.lang.streams import create_stream as create_stream
