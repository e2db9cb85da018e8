// members.hpp: what the members of an object were at the last call. A frozen dataclass of forty arrays is the same at
// each call, and forty attribute lookups cost more than the launch: while the object's dict is unchanged they are not
// made.
#pragma once
#include <optional>
#include <vector>

#include "guards.hpp"

namespace qd::py {

// The members of one argument that a plan reads. Holds no references: an unchanged dict holds the values.
class Members {
 public:
  explicit Members(uint32_t owner) : owner_(owner) {}
  void add(uint32_t member, PyObject *name) { list_.push_back({member, name, nullptr}); }
  uint32_t owner() const { return owner_; }
  size_t size() const { return list_.size(); }
  uint32_t member(size_t k) const { return list_[k].arg; }
  PyObject *value(size_t k) const { return list_[k].value; }
  // Whether `object` is the one of the last call and no member of it has changed.
  bool known(PyObject *object) const;
  // Notes the values that were read from `object`, in order; for objects whose attributes are no plain items of a
  // dict it notes that there is nothing to note.
  void note(PyObject *object, const std::vector<PyObject *> &values);

 private:
  struct Member {
    uint32_t arg;
    PyObject *name, *value;  // the plan owns the name
  };
  uint32_t owner_, misses_ = 0;
  std::vector<Member> list_;
  PyObject *object_ = nullptr, *dict_ = nullptr;
  std::optional<Tag> tag_;
  uint64_t seen_ = 0;
  unsigned type_version_ = 0;
};

}  // namespace qd::py
