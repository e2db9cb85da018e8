// streams.cpp: Stream and Event for Python, and calls on a stream. Handles keep their context, so that what they made
// is given back before it goes.
#include "runtime.hpp"

namespace nb = nanobind;

namespace qd::py {
namespace {

struct StreamHandle {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
};
struct EventHandle {
  std::shared_ptr<Context> context;
  std::shared_ptr<Event> event;
};

Context &open(const ContextHandle &h) {
  if (!h.context) throw Error(Kind::runtime, "the runtime was reset: call qd.init first");
  return *h.context;
}

template <class F>
auto without_gil(F &&f) {
  const WithoutGil nogil;
  return f();
}

// Makes a stream the thread's for a scope.
class On {
 public:
  explicit On(Stream &s) : before_(Stream::use(&s)) {}
  ~On() { Stream::use(before_); }
  On(const On &) = delete;
  On &operator=(const On &) = delete;

 private:
  Stream *before_;
};

nb::object call(const StreamHandle &self, nb::callable function, nb::args args, nb::kwargs kwargs) {
  const std::shared_ptr<Stream> kept = self.stream;
  const On on(*kept);
  return function(*args, **kwargs);
}

Stream *raw(const StreamHandle *s) { return s ? s->stream.get() : nullptr; }

}  // namespace

void init_streams(nb::module_ &m) {
  nb::class_<StreamHandle>(m, "Stream", "A queue of launches beside the usual one.")
      .def("__init__",
           [](StreamHandle *self, const ContextHandle &c) {
             auto made = without_gil([&] { return open(c).create_stream(); });
             new (self) StreamHandle{c.context, std::move(made)};
           })
      .def_prop_ro("handle", [](const StreamHandle &s) { return s.stream->handle(); })
      .def("call", call)
      .def("sync", [](const StreamHandle &s) { without_gil([&] { s.stream->sync(); }); })
      .def("destroy", [](const StreamHandle &s) { without_gil([&] { s.stream->destroy(); }); });
  nb::class_<EventHandle>(m, "Event", "A point in a stream.")
      .def("__init__",
           [](EventHandle *self, const ContextHandle &c) {
             new (self) EventHandle{c.context, open(c).create_event()};
           })
      .def_prop_ro("handle", [](const EventHandle &e) { return e.event->handle(); })
      .def(
          "record", [](const EventHandle &e, StreamHandle *s) { e.event->record(raw(s)); },
          nb::arg("stream").none() = nb::none())
      .def(
          "wait", [](const EventHandle &e, StreamHandle *s) { e.event->wait(raw(s)); },
          nb::arg("stream").none() = nb::none())
      .def("sync", [](const EventHandle &e) { without_gil([&] { e.event->sync(); }); })
      .def("destroy", [](const EventHandle &e) { without_gil([&] { e.event->destroy(); }); });
  // Order with a stream of another library, given by the driver's handle.
  m.def("native_stream", [](const ContextHandle &c) { return open(c).native_stream(); });
  m.def("after_native", [](const ContextHandle &c, uint64_t native) { open(c).after(native); });
  m.def("before_native", [](const ContextHandle &c, uint64_t native) { open(c).before(native); });
}

}  // namespace qd::py
