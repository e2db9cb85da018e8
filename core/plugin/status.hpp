// status.hpp: from a plugin's answer to qd::Error, by the rows of status.def.
#pragma once
#include <string>

#include "core/support/error.hpp"
#include "qd/qd_backend.h"

namespace qd::plugin {

Kind kind_of(QdbStatus);         // of an error; unknown ones are internal faults
std::string name_of(QdbStatus);  // "QDB_E_COMPILE", or "status -77, which this version does not know"
std::string meaning_of(QdbStatus);

}  // namespace qd::plugin
