// streams.hpp: Stream and Event of core/api over a Session. Inside core/runtime only.
#pragma once
#include "core/runtime/session.hpp"

namespace qd {

std::shared_ptr<Stream> make_stream(std::shared_ptr<Session>);  // within a Use
std::shared_ptr<Event> make_event(std::shared_ptr<Session>);    // within a Use

}  // namespace qd
