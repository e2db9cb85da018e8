// cases.cpp: what no rule generates: memory, locals, regions, functions, results and reports. One row a case; `T` after a dot or a
// space in its text is each type of the class in turn. Everything is compared bit by bit with the reference.
//
// Parameters are bound by name: a buffer has 1,000 elements of odd and random bits (`scratch` what it declares), `$at...` indices
// below 1,000; `$n` is 1,000, other scalars are random.
#include <algorithm>
#include <cctype>
#include <tuple>

#include "core/ir/ir.hpp"
#include "qd/qd_backend.h"
#include "tests/conformance/operands.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/ir/values.hpp"

namespace qd::conformance {
namespace {

constexpr size_t n = 1000;

enum class Over { any, num, integer, index, none };  // types that a case runs over

struct Case {
  Op op;
  Over over;
  const char *name, *params, *code;
  const char *functions = "";
  int tasks = 1;
  bool recursive = false;
};

// Opens the usual loop over 1,000 iterations.
#define EACH "%zero = const.i32 0\n%n = const.i32 1000\noperand %zero, %n\nparallel.i32 1, 0 {\n%i = axis.i32 0\n"

// Blocks of 128 threads; FULL has no odd one at its end.
#define TEAM_OF(count)                                                                                                 \
  "%zero = const.i32 0\n%n = const.i32 " #count                                                                        \
  "\n%one = const.i32 1\n%team = const.i32 128\noperand %zero, %n\nparallel.i32 1, 128 {\n%i = axis.i32 0\n"
#define TEAM TEAM_OF(1000)
#define FULL TEAM_OF(896)

const Case table[] = {
    // --- constants, parameters, plumbing
    {Op::arg, Over::any, "stored", "$a: T, $z: buf T 1", EACH "%a = arg.T $a\nstore $z, %i, %a\n}\n"},
    {Op::arg, Over::any, "result", "$u: i8, $a: T, $v: i64", "%a = arg.T $a\noutput 3, %a\n"},
    {Op::shape, Over::index, "of three axes", "$q: buf f64 3, $x: buf T 1",
     "%a = shape.T $q, 0\n%b = shape.T $q, 1\n%c = shape.T $q, 2\n%d = shape.T $x, 0\n"
     "output 0, %a\noutput 1, %b\noutput 2, %c\noutput 3, %d\n"},
    {Op::shape, Over::index, "as a bound", "$m: buf T 2",
     "%zero = const.T 0\n%h = shape.T $m, 0\n%w = shape.T $m, 1\noperand %zero, %h, %zero\noperand %w\nparallel.T 2, 0 {\n"
     "%i = axis.T 0\n%j = axis.T 1\n%r = mul.T %i, %w\n%at = add.T %r, %j\nstore $m, %at, %at\n}\n"},
    {Op::operand, Over::none, "seven arguments", "$z: buf i64 1",
     EACH "%w = cast.i64 %i\n%k = const.i64 3\noperand %w, %k, %w\noperand %k, %k, %w\noperand %w\n%c = call 1\n"
          "%r = result.i64 %c, 0\nstore $z, %i, %r\n}\n",
     "func @f(7 args, 1 results) {\n%a = farg.i64 0\n%b = farg.i64 1\n%c = farg.i64 2\n%d = farg.i64 3\n%e = farg.i64 4\n"
     "%f = farg.i64 5\n%g = farg.i64 6\n%s = sub.i64 %a, %b\n%t = mul.i64 %s, %c\n%u = sub.i64 %t, %d\n%v = mul.i64 %u, %e\n"
     "%w = sub.i64 %v, %f\n%x = mul.i64 %w, %g\noperand %x\nret\n}\n"},
    // --- memory
    {Op::load, Over::any, "in order and gathered", "$x: buf T 1, $at: buf i32 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = load.T $x, %i\nstore $y, %i, %a\n%at = load.i32 $at, %i\n%b = load.T $x, %at\nstore $z, %i, %b\n}\n"},
    {Op::load, Over::any, "64-bit index", "$x: field T 1, $at: field i64 1, $z: field T 1",
     EACH "%at = load.i64 $at, %i\n%b = load.T $x, %at\nstore $z, %i, %b\n}\n"},
    {Op::load, Over::any, "serial, behind a store", "$x: buf T 1, $y: buf T 1",
     "%zero = const.i32 0\n%n = const.i32 999\n%one = const.i32 1\n%i = loop.i32 %zero, %n {\n%a = load.T $x, %i\n"
     "%j = add.i32 %i, %one\nstore $x, %j, %a\n%b = load.T $x, %j\nstore $y, %i, %b\n}\n"},
    {Op::store, Over::any, "backwards and strided", "$x: buf T 1, $z: buf T 1, $w: buf T 1",
     EACH "%last = const.i32 999\n%a = load.T $x, %i\n%b = sub.i32 %last, %i\nstore $z, %b, %a\n%s = const.i32 7\n"
          "%p = mul.i32 %i, %s\n%m = urem.i32 %p, %n\nstore $w, %m, %a\n}\n"},
    {Op::store, Over::any, "read again in the same iteration", "$x: buf T 1, $z: buf T 1, $w: buf T 1",
     EACH "%a = load.T $x, %i\nstore $z, %i, %a\n%b = load.T $z, %i\n%last = const.i32 999\n%c = sub.i32 %last, %i\n"
          "%d = load.T $x, %c\nstore $z, %i, %d\nstore $w, %i, %b\n}\n"},
    {Op::store, Over::any, "pairs of one array, read after writing", "$x: buf T 1, $y: buf T 1",
     "%zero = const.i32 0\n%n = const.i32 500\n%two = const.i32 2\n%one = const.i32 1\noperand %zero, %n\nparallel.i32 1, 0 {\n"
     "%i = axis.i32 0\n%e = mul.i32 %i, %two\n%o = add.i32 %e, %one\n%a = load.T $x, %e\nstore $x, %o, %a\n%b = load.T $x, %o\n"
     "store $y, %e, %b\n%c = load.T $y, %e\nstore $y, %o, %c\nstore $x, %e, %c\n}\n"},
    {Op::store, Over::any, "scratch", "$x: buf T 1, $s: scratch T 1000, $z: buf T 1",
     EACH "%a = load.T $x, %i\nstore $s, %i, %a\n%b = load.T $s, %i\nstore $z, %i, %b\n}\n"},
    {Op::volatile_load, Over::any, "twice", "$x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = volatile_load.T $x, %i\n%b = volatile_load.T $x, %i\nstore $y, %i, %a\nstore $z, %i, %b\n}\n"},
    {Op::random, Over::any, "draws of an iteration", "$y: buf T 1, $z: buf T 1",
     EACH "%a = random.T\n%b = random.T\nstore $y, %i, %a\nstore $z, %i, %b\n}\n"},
    {Op::random, Over::any, "serial, two tasks", "$z: buf T 1",
     "%zero = const.i32 0\n%n = const.i32 9\n%i = loop.i32 %zero, %n {\n%a = random.T\nstore $z, %i, %a\n}\n%b = random.T\n"
     "output 0, %b\n",
     "", 2},
    {Op::random, Over::any, "under a condition, two axes", "$c: buf b1 1, $z: buf T 1",
     "%zero = const.i32 0\n%h = const.i32 20\n%w = const.i32 50\noperand %zero, %h, %zero\noperand %w\nparallel.i32 2, 0 {\n"
     "%i = axis.i32 0\n%j = axis.i32 1\n%r = mul.i32 %i, %w\n%at = add.i32 %r, %j\n%c = load.b1 $c, %at\nwhen %c {\n"
     "%s = random.T\n}\n%a = random.T\nstore $z, %at, %a\n}\n"},
    // --- locals
    {Op::var, Over::any, "fresh in each turn", "$x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = load.T $x, %i\n%b = load.T $y, %i\n%three = const.i32 3\n%k = loop.i32 %zero, %three {\n%v = var.T %a\n"
          "%g = get.T %v\nstore $z, %i, %g\nset %v, %b\n}\n}\n"},
    {Op::get, Over::any, "before and after", "$x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = load.T $x, %i\n%b = load.T $y, %i\n%v = var.T %a\n%p = get.T %v\nset %v, %b\n%q = get.T %v\nstore $y, %i, %p\n"
          "store $z, %i, %q\n}\n"},
    {Op::set, Over::any, "under a condition", "$c: buf b1 1, $x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = load.T $x, %i\n%b = load.T $y, %i\n%v = var.T %a\n%c = load.b1 $c, %i\nwhen %c {\nset %v, %b\n}\n%g = get.T %v\n"
          "store $z, %i, %g\n}\n"},
    {Op::set, Over::any, "carried round a loop", "$x: buf T 1, $z: buf T 1",
     "%zero = const.i32 0\n%n = const.i32 999\n%a = load.T $x, %zero\n%v = var.T %a\n%w = var.T %a\n%i = loop.i32 %zero, %n {\n"
     "%g = get.T %v\nset %w, %g\n%b = load.T $x, %i\nset %v, %b\n%h = get.T %w\nstore $z, %i, %h\n}\n"},
    {Op::array, Over::any, "zeros each time", "$x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%r = array.T 5\n%one = const.i32 1\n%a = load.T $x, %i\n%b = array_get.T %r, %one\nstore $y, %i, %b\n"
          "array_set %r, %one, %a\n%two = const.i32 2\n%k = loop.i32 %zero, %two {\n%s = array.T 3\n%c = array_get.T %s, %one\n"
          "store $z, %i, %c\narray_set %s, %one, %a\n}\n}\n"},
    {Op::array_get, Over::any, "indexed by memory", "$x: buf T 1, $at: buf i32 1, $z: buf T 1",
     EACH "%r = array.T 8\n%eight = const.i32 8\n%k = loop.i32 %zero, %eight {\n%p = add.i32 %i, %k\n%m = urem.i32 %p, %n\n"
          "%a = load.T $x, %m\narray_set %r, %k, %a\n}\n%at = load.i32 $at, %i\n%q = urem.i32 %at, %eight\n%b = array_get.T %r, %q\n"
          "store $z, %i, %b\n}\n"},
    {Op::array_get, Over::any, "index of every integer type", "$x: buf T 1, $z: buf T 1",
     EACH "%r = array.T 4\n%a = load.T $x, %i\n%b8 = const.i8 1\n%b16 = const.i16 1\n%b64 = const.i64 1\narray_set %r, %b8, %a\n"
          "%c = array_get.T %r, %b16\narray_set %r, %b64, %c\n%d = array_get.T %r, %b64\nstore $z, %i, %d\n}\n"},
    {Op::array_set, Over::any, "last one wins", "$x: buf T 1, $at: buf i32 1, $z: buf T 1",
     EACH "%r = array.T 16\n%w = const.i32 16\n%k = loop.i32 %zero, %w {\n%p = add.i32 %i, %k\n%m = urem.i32 %p, %n\n"
          "%at = load.i32 $at, %m\n%q = urem.i32 %at, %w\n%a = load.T $x, %m\narray_set %r, %q, %a\n}\n%s = urem.i32 %i, %w\n"
          "%b = array_get.T %r, %s\nstore $z, %i, %b\n}\n"},
    // --- regions
    {Op::parallel, Over::index, "negative bounds", "$z: buf T 1",
     "%lo = const.T -300\n%hi = const.T 500\noperand %lo, %hi\nparallel.T 1, 0 {\n%i = axis.T 0\n%at = sub.T %i, %lo\n"
     "store $z, %at, %i\n}\n"},
    {Op::parallel, Over::index, "three axes, one from 1", "$z: buf T 1",
     "%zero = const.T 0\n%one = const.T 1\n%a = const.T 7\n%b = const.T 9\n%c = const.T 11\noperand %zero, %a, %one\n"
     "operand %b, %zero, %c\nparallel.T 3, 0 {\n%i = axis.T 0\n%j = axis.T 1\n%k = axis.T 2\n%p = mul.T %i, %b\n%q = add.T %p, %j\n"
     "%r = mul.T %q, %c\n%at = add.T %r, %k\nstore $z, %at, %at\n}\n"},
    {Op::parallel, Over::index, "nothing to do", "$z: buf T 1",
     "%lo = const.T 5\n%hi = const.T 2\n%zero = const.T 0\n%n = const.T 10\noperand %zero, %n, %lo\noperand %hi\nparallel.T 2, 0 {\n"
     "%i = axis.T 0\nstore $z, %i, %i\n}\n"},
    {Op::parallel, Over::index, "bound from memory, blocks of 64", "$s: scratch T, $z: buf T 1",
     "%z = const.i32 0\n%zero = const.T 0\n%g = load.T $s, %z\n%k = const.T 999\n%n = and.T %g, %k\noperand %zero, %n\n"
     "parallel.T 1, 64 {\n%i = axis.T 0\nstore $z, %i, %i\n}\n"},
    {Op::axis, Over::index, "as a value", "$z: buf T 1",
     "%zero = const.T 0\n%h = const.T 20\n%w = const.T 50\noperand %zero, %h, %zero\noperand %w\nparallel.T 2, 0 {\n%i = axis.T 0\n"
     "%j = axis.T 1\n%r = mul.T %i, %w\n%at = add.T %r, %j\n%x = xor.T %i, %j\nstore $z, %at, %x\n}\n"},
    {Op::loop, Over::integer, "bounds with sign, read once", "$z: buf T 1",
     "%lo = const.T -9\n%hi = const.T 11\n%v = var.T %hi\n%b = get.T %v\n%zero = const.i32 0\n%one = const.i32 1\n"
     "%at = var.i32 %zero\n%i = loop.T %lo, %b {\nset %v, %lo\n%p = get.i32 %at\nstore $z, %p, %i\n%q = add.i32 %p, %one\n"
     "set %at, %q\n}\n"},
    {Op::loop, Over::integer, "up to the largest number", "$z: buf T 1",
     "%one = const.T 1\n%k = const.T -1\n%max = shr.T %k, %one\n%five = const.T 5\n%lo = sub.T %max, %five\n%zero = const.i32 0\n"
     "%i1 = const.i32 1\n%at = var.i32 %zero\n%i = loop.T %lo, %max {\n%p = get.i32 %at\nstore $z, %p, %i\n%q = add.i32 %p, %i1\n"
     "set %at, %q\n}\n"},
    {Op::loop, Over::integer, "empty", "$z: buf T 1",
     "%lo = const.T 3\n%hi = const.T -3\n%zero = const.i32 0\n%i = loop.T %lo, %hi {\nstore $z, %zero, %i\n}\n"
     "%j = loop.T %lo, %lo {\nstore $z, %zero, %j\n}\n"},
    {Op::repeat, Over::none, "until a leave", "$x: buf i32 1, $z: buf i32 1",
     EACH "%a = load.i32 $x, %i\n%v = var.i32 %a\n%c = var.i32 %zero\n%one = const.i32 1\nrepeat {\n%g = get.i32 %v\n"
          "%stop = eq.b1 %g, %zero\nwhen %stop {\nleave 0\n}\n%h = shr.i32 %g, %one\nset %v, %h\n%k = get.i32 %c\n"
          "%l = add.i32 %k, %one\nset %c, %l\n}\n%r = get.i32 %c\nstore $z, %i, %r\n}\n"},
    {Op::block, Over::none, "left early", "$c: buf b1 1, $z: buf i32 1",
     EACH "%c = load.b1 $c, %i\nblock {\nwhen %c {\nleave 0\n}\nstore $z, %i, %i\n}\n}\n"},
    {Op::when, Over::none, "one arm", "$c: buf b1 1, $z: buf i32 1", EACH "%c = load.b1 $c, %i\nwhen %c {\nstore $z, %i, %i\n}\n}\n"},
    {Op::other, Over::none, "two arms, nested", "$c: buf b1 1, $d: buf b1 1, $z: buf i32 1",
     EACH "%c = load.b1 $c, %i\n%d = load.b1 $d, %i\n%one = const.i32 1\n%two = const.i32 2\n%three = const.i32 3\nwhen %c {\n"
          "store $z, %i, %one\n} other {\nwhen %d {\nstore $z, %i, %two\n} other {\nstore $z, %i, %three\n}\n}\n}\n"},
    {Op::end, Over::none, "eight deep", "$z: buf i32 1",
     "%zero = const.i32 0\n%two = const.i32 2\n%one = const.i32 1\n%v = var.i32 %zero\n%a = loop.i32 %zero, %two {\nblock {\n"
     "%b = loop.i32 %zero, %two {\nblock {\n%c = loop.i32 %zero, %two {\nblock {\n%d = loop.i32 %zero, %two {\nblock {\n"
     "%g = get.i32 %v\nstore $z, %g, %g\n%h = add.i32 %g, %one\nset %v, %h\n}\n}\n}\n}\n}\n}\n}\n}\n"},
    {Op::leave, Over::none, "the second label outwards", "$x: buf i32 1, $z: buf i32 1",
     EACH "%a = load.i32 $x, %i\n%seven = const.i32 7\n%m = and.i32 %a, %seven\n%ten = const.i32 10\n%v = var.i32 %zero\n"
          "%one = const.i32 1\n%j = loop.i32 %zero, %ten {\n%k = loop.i32 %zero, %ten {\n%p = mul.i32 %j, %k\n"
          "%hit = eq.b1 %p, %m\n%far = lt.b1 %seven, %k\nwhen %far {\nleave 0\n}\n%g = get.i32 %v\n%h = add.i32 %g, %one\nset %v, %h\n"
          "when %hit {\nblock {\nleave 2\n}\n}\n}\n}\n%r = get.i32 %v\nstore $z, %i, %r\n}\n"},
    // --- threads of a block: 1,000 positions are 7 blocks of 128 and one of 104
    {Op::thread, Over::none, "blocks of 128 and of 48", "$z: buf i32 1, $y: buf i32 1",
     TEAM "%t = thread.i32\nstore $z, %i, %t\n}\n"},
    {Op::thread, Over::none, "two axes, odd blocks", "$z: buf i32 1",
     "%zero = const.i32 0\n%h = const.i32 20\n%w = const.i32 50\noperand %zero, %h, %zero\noperand %w\nparallel.i32 2, 48 {\n"
     "%i = axis.i32 0\n%j = axis.i32 1\n%r = mul.i32 %i, %w\n%at = add.i32 %r, %j\n%t = thread.i32\nstore $z, %at, %t\n}\n"},
    {Op::position, Over::index, "offset bounds", "$z: buf T 1",
     "%lo = const.i32 7\n%hi = const.i32 900\noperand %lo, %hi\nparallel.i32 1, 0 {\n%i = axis.i32 0\n%p = position.T\n"
     "store $z, %i, %p\n}\n"},
    {Op::position, Over::index, "serial", "$z: buf T 1", "%zero = const.i32 0\n%p = position.T\nstore $z, %zero, %p\n"},
    {Op::barrier, Over::any, "a block turned round", "$x: buf T 1, $z: buf T 1, $s: shared T 128",
     TEAM "%t = thread.i32\n%a = load.T $x, %i\nstore $s, %t, %a\nbarrier 0\n%n1 = sub.i32 %n, %one\n%q = sub.i32 %i, %t\n"
          "%left = sub.i32 %n, %q\n%size = min.i32 %left, %team\n%last = sub.i32 %size, %one\n%u = sub.i32 %last, %t\n"
          "%b = load.T $s, %u\nstore $z, %i, %b\n}\n"},
    {Op::barrier, Over::none, "a sum by halves", "$x: buf i32 1, $z: buf i32 1, $s: shared i32 128",
     "%zero = const.i32 0\n%n = const.i32 896\n%one = const.i32 1\n%team = const.i32 128\noperand %zero, %n\nparallel.i32 1, 128 {\n"
     "%i = axis.i32 0\n%t = thread.i32\n%a = load.i32 $x, %i\nstore $s, %t, %a\nbarrier 0\n%half = const.i32 64\n%v = var.i32 %half\n"
     "repeat {\n%h = get.i32 %v\n%end = eq.b1 %h, %zero\nwhen %end {\nleave 0\n}\n%low = lt.b1 %t, %h\nwhen %low {\n"
     "%u = add.i32 %t, %h\n%p = load.i32 $s, %t\n%q = load.i32 $s, %u\n%sum = add.i32 %p, %q\nstore $s, %t, %sum\n}\nbarrier 0\n"
     "%h2 = shr.i32 %h, %one\nset %v, %h2\n}\n%total = load.i32 $s, %zero\nstore $z, %i, %total\n}\n"},
    {Op::barrier, Over::none, "of a subgroup, in a function", "$x: buf i32 1, $z: buf i32 1, $s: shared i32 128",
     TEAM "%t = thread.i32\n%a = load.i32 $x, %i\noperand %t, %a\n%c = call 1\n%r = result.i32 %c, 0\nstore $z, %i, %r\n}\n",
     "func @f(2 args, 1 results) {\n%t = farg.i32 0\n%a = farg.i32 1\nstore $s, %t, %a\nbarrier 1\n%one = const.i32 1\n"
     "%u = xor.i32 %t, %one\n%b = load.i32 $s, %u\nbarrier 1\noperand %b\nret\n}\n"},
    {Op::barrier_vote, Over::none, "all, any, how many", "$x: buf i32 1, $c: buf b1 1, $z: buf i32 1, $y: buf i32 1, $w: buf i32 1",
     TEAM "%c = load.b1 $c, %i\n%p = barrier_vote.i32 %c, 0\nstore $z, %i, %p\n%q = barrier_vote.i32 %c, 1\nstore $y, %i, %q\n"
          "%r = barrier_vote.i32 %c, 2\nstore $w, %i, %r\n}\n"},
    {Op::barrier_vote, Over::none, "where all agree", "$z: buf i32 1, $y: buf i32 1",
     TEAM "%c = le.b1 %zero, %i\n%p = barrier_vote.i32 %c, 0\nstore $z, %i, %p\n%d = lt.b1 %i, %zero\n%q = barrier_vote.i32 %d, 1\n"
          "store $y, %i, %q\n}\n"},
    {Op::fence, Over::none, "each scope", "$z: buf i32 1",
     TEAM "fence 0\nstore $z, %i, %i\nfence 1\n%a = load.i32 $z, %i\nfence 2\n%b = add.i32 %a, %one\nstore $z, %i, %b\n}\n"},
    {Op::shuffle, Over::any, "of every kind", "$x: buf T 1, $at: buf i32 1, $z: buf T 1, $y: buf T 1, $w: buf T 1, $u: buf T 1",
     FULL "%a = load.T $x, %i\n%at = load.i32 $at, %i\n%p = shuffle.T %a, %at, 0\nstore $z, %i, %p\n%q = shuffle.T %a, %at, 1\n"
          "store $y, %i, %q\n%r = shuffle.T %a, %at, 2\nstore $w, %i, %r\n%s = shuffle.T %a, %at, 3\nstore $u, %i, %s\n}\n"},
    {Op::shuffle, Over::none, "of a mask", "$x: buf f32 1, $z: buf f32 1",
     FULL "%a = load.f32 $x, %i\n%c15 = const.i32 15\n%c16 = const.i32 16\n%low = and.i32 %i, %c16\n%in = eq.b1 %low, %zero\n"
          "%mask = const.i32 65535\nwhen %in {\noperand %mask\n%p = shuffle.f32 %a, %one, 3\nstore $z, %i, %p\n}\n}\n"},
    {Op::vote, Over::none, "of every kind", "$c: buf b1 1, $z: buf i32 1, $y: buf i32 1, $w: buf i32 1, $u: buf i32 1",
     TEAM "%c = load.b1 $c, %i\n%p = vote.i32 %c, 0\nstore $z, %i, %p\n%q = vote.i32 %c, 1\nstore $y, %i, %q\n%r = vote.i32 %c, 2\n"
          "store $w, %i, %r\n%s = vote.i32 %c, 3\nstore $u, %i, %s\n}\n"},
    {Op::vote, Over::none, "where all agree", "$z: buf i32 1, $y: buf i32 1",
     TEAM "%c = le.b1 %zero, %i\n%p = vote.i32 %c, 0\nstore $z, %i, %p\n%r = vote.i32 %c, 2\nstore $y, %i, %r\n}\n"},
    {Op::match, Over::any, "any and all", "$x: buf T 1, $at: buf i32 1, $z: buf i32 1, $y: buf i32 1",
     TEAM "%c3 = const.i32 3\n%k = and.i32 %i, %c3\n%a = load.T $x, %k\n%p = match.i32 %a, 0\nstore $z, %i, %p\n"
          "%b = load.T $x, %zero\n%q = match.i32 %b, 1\n%r = match.i32 %a, 1\n%s = xor.i32 %q, %r\nstore $y, %i, %s\n}\n"},
    {Op::active, Over::none, "all of a subgroup", "$z: buf i32 1", TEAM "%a = active.i32\nstore $z, %i, %a\n}\n"},
    {Op::clock, Over::none, "does not run backwards", "$z: buf b1 1",
     EACH "%a = clock.i64\n%b = clock.i64\n%d = sub.i64 %b, %a\n%z64 = const.i64 0\n%c = le.b1 %z64, %d\nstore $z, %i, %c\n}\n"},
    {Op::clock, Over::none, "serial", "$z: buf b1 1",
     "%a = clock.i64\n%b = clock.i64\n%c = le.b1 %a, %b\n%zero = const.i32 0\nstore $z, %zero, %c\n"},
    {Op::atomic_add, Over::num, "shared by a block", "$x: buf T 1, $z: buf T 1, $s: shared T 4",
     FULL "%t = thread.i32\n%c3 = const.i32 3\n%k = and.i32 %t, %c3\n%c4 = const.i32 4\n%few = lt.b1 %t, %c4\n%v = cast.T %zero\n"
          "when %few {\nstore $s, %t, %v\n}\nbarrier 0\n%w = cast.T %one\n%old = atomic_add.T $s, %k, %w\nbarrier 0\n"
          "%r = load.T $s, %k\nstore $z, %i, %r\n}\n"},
    // --- functions
    {Op::farg, Over::any, "handed through", "$x: buf T 1, $y: buf T 1, $z: buf T 1",
     EACH "%a = load.T $x, %i\n%b = load.T $y, %i\noperand %a, %b\n%c = call 1\n%r = result.T %c, 0\nstore $z, %i, %r\n}\n",
     "func @second(2 args, 1 results) {\n%a = farg.T 0\n%b = farg.T 1\noperand %b\nret\n}\n"},
    {Op::call, Over::none, "effects happen once each", "$z: buf i32 1",
     EACH "operand %i\n%c = call 1\noperand %i\n%d = call 1\n}\n",
     "func @bump(1 args, 0 results) {\n%i = farg.i32 0\n%a = load.i32 $z, %i\n%three = const.i32 3\n%b = mul.i32 %a, %three\n"
     "store $z, %i, %b\nret\n}\n"},
    {Op::call, Over::none, "recursion", "$z: buf i64 1",
     "%zero = const.i32 0\n%n = const.i32 20\noperand %zero, %n\nparallel.i32 1, 0 {\n%i = axis.i32 0\n%w = cast.i64 %i\noperand %w\n"
     "%c = call 1\n%r = result.i64 %c, 0\nstore $z, %i, %r\n}\n",
     "func @fibonacci(1 args, 1 results) {\n%n = farg.i64 0\n%two = const.i64 2\n%one = const.i64 1\n%v = var.i64 %n\n"
     "%deep = le.b1 %two, %n\nwhen %deep {\n%p = sub.i64 %n, %one\n%q = sub.i64 %n, %two\noperand %p\n%c = call 1\n"
     "%a = result.i64 %c, 0\noperand %q\n%d = call 1\n%b = result.i64 %d, 0\n%s = add.i64 %a, %b\nset %v, %s\n}\n%r = get.i64 %v\n"
     "operand %r\nret\n}\n",
     1, true},
    {Op::result, Over::any, "five of them", "$x: buf T 1, $y: buf T 1, $z: buf T 1, $w: buf i64 1",
     EACH "%a = load.T $x, %i\n%b = load.T $y, %i\noperand %a, %b, %i\n%c = call 1\n%p = result.T %c, 0\n%q = result.T %c, 4\n"
          "%r = result.i64 %c, 2\nstore $y, %i, %p\nstore $z, %i, %q\nstore $w, %i, %r\n}\n",
     "func @five(3 args, 5 results) {\n%a = farg.T 0\n%b = farg.T 1\n%i = farg.i32 2\n%l = cast.i64 %i\n%t = const.b1 1\n"
     "operand %b, %t, %l\noperand %i, %a\nret\n}\n"},
    {Op::ret, Over::none, "without results", "$z: buf i32 1",
     EACH "%c = call 1\n%d = load.i32 $z, %i\nstore $z, %i, %d\n}\n", "func @nothing(0 args, 0 results) {\nret\n}\n"},
    // --- results and reports
    {Op::output, Over::any, "zero-extended", "$x: buf T 1",
     "%zero = const.i32 0\n%a = load.T $x, %zero\noutput 0, %a\n%last = const.i32 999\n%b = load.T $x, %last\noutput 511, %b\n"
     "output 7, %a\noutput 7, %b\n"},
    {Op::report, Over::any, "values, zero-extended", "$x: buf T 1, $c: buf b1 1",
     EACH "%a = load.T $x, %i\n%c = load.b1 $c, %i\nwhen %c {\noperand %a, %i, %c\noperand %a\nreport 5, 0\n} other {\nreport 2, 0\n}\n}\n"},
    {Op::report, Over::none, "a failure ends the launch", "$z: buf i32 1",
     "%zero = const.i32 0\n%g = load.i32 $z, %zero\noutput 1, %zero\nreport 1, 1\noperand %g\nreport 0, 0\nstore $z, %zero, %zero\n",
     "", 2},
};
#undef EACH

bool covers(Over over, Type t) {
  switch (over) {
    case Over::any: return t != Type::none;
    case Over::num: return ir::is_int(t) || ir::is_float(t);
    case Over::integer: return ir::is_int(t);
    case Over::index: return t == Type::i32 || t == Type::i64;
    case Over::none: return t == Type::none;
  }
  return false;
}

// `T` standing alone, or at the end of an operation's name, becomes the type.
std::string of_type(std::string text, Type t) {
  for (size_t at = 0; (at = text.find('T', at)) != std::string::npos; ++at)
    if (t != Type::none && at > 0 && (text[at - 1] == '.' || text[at - 1] == ' ') &&
        (at + 1 == text.size() || !std::isalnum(static_cast<unsigned char>(text[at + 1]))))
      text.replace(at, 1, ir::info(t).name);
  return text;
}

Memory memory_of(const ir::Unit &u) {
  Memory m;
  m.random_key = 0x0000000700000123;
  for (size_t p = 0; p < u.params.size(); ++p) {
    const ir::Param &param = u.params[p];
    const std::string &name = u.debug.params[p];
    const uint32_t seed = uint32_t(20 + p);
    if (ir::words(param) == 0) continue;  // shared by a block
    if (param.kind == QD_PARAM_SCALAR) {
      m.scalars[name] = random_bits(param.type, 1, seed)[0];
      continue;
    }
    Bits v = edges(param.type), more = random_bits(param.type, n, seed);
    if (name.starts_with("at"))
      for (uint64_t &b : more) b %= n;
    else std::copy(v.begin(), v.begin() + ptrdiff_t(std::min(n, v.size())), more.begin() + 3);
    const size_t count = param.alias == QD_ALIAS_SCRATCH ? std::max<uint32_t>(param.count, 1) : n;
    more.resize(count);
    std::vector<int64_t> extents{int64_t(count)};
    if (param.rank == 2) extents = {20, 50};
    if (param.rank == 3) extents = {10, 4, 25};
    m.arrays[name] = {param.type, extents, pack(param.type, more)};
  }
  return m;
}

std::string different(const Memory &found, const Memory &want) {
  using ir::testing::show_value;
  for (const auto &[name, array] : want.arrays) {
    const Bits w = unpack(array.type, array.bytes), f = unpack(array.type, found.arrays.at(name).bytes);
    for (size_t i = 0; i < w.size(); ++i)
      if (w[i] != f[i])
        return "$" + name + "[" + std::to_string(i) + "] is " + show_value(array.type, f[i]) + ", reference " +
               show_value(array.type, w[i]);
  }
  return "";
}

std::string different(Outcome found, Outcome want) {
  for (size_t k = 0; k < want.results.size(); ++k)
    if (found.results[k] != want.results[k])
      return "result slot " + std::to_string(k) + " is " + std::to_string(found.results[k]) + ", reference " +
             std::to_string(want.results[k]);
  if (found.failed != want.failed) return std::string("the failure flag is ") + (found.failed ? "set" : "not set");
  const auto key = [](const ir::testing::ReportLine &r) { return std::tie(r.task, r.iteration, r.site, r.values); };
  const auto less = [&](const auto &a, const auto &b) { return key(a) < key(b); };
  std::sort(found.reports.begin(), found.reports.end(), less);
  std::sort(want.reports.begin(), want.reports.end(), less);
  if (!std::equal(found.reports.begin(), found.reports.end(), want.reports.begin(), want.reports.end(),
                  [&](const auto &a, const auto &b) { return key(a) == key(b); }))
    return "the reports differ: " + std::to_string(found.reports.size()) + ", reference " +
           std::to_string(want.reports.size());
  return "";
}

std::string run_units(Bench &b, const std::vector<ir::Unit> &tasks) {
  if (b.load_only) {
    for (const ir::Unit &u : tasks) b.plugin.load(u);
    return "";
  }
  Memory found = memory_of(tasks[0]), want = found;
  const Outcome f = b.plugin.run(tasks, found), w = b.reference.run(tasks, want);
  const std::string fault = different(found, want);
  return fault.empty() ? different(f, w) : fault;
}

std::string run_case(Bench &b, const Case &c, Type t) {
  const ir::Unit u =
      unit_of(of_type("raw\nfunc @c(" + std::string(c.params) + ") {\n" + c.code + "}\n" + c.functions, t));
  const bool threads = std::any_of(u.code().begin(), u.code().end(), [](const ir::Inst &i) { return ir::info(i.op).flags & ir::Threads; });
  if ((c.recursive && !(b.plugin.caps() & QDB_CAP_RECURSION)) || (threads && !(b.plugin.caps() & QDB_CAP_THREADS))) {
    try {
      b.plugin.load(u);
    } catch (const std::exception &) { return ""; }
    return "a unit was accepted without the capability that it needs";
  }
  return run_units(b, std::vector<ir::Unit>(size_t(c.tasks), u));
}

// Every edge of the type as a constant, stored and compared.
std::string run_constants(Bench &b, Type t) {
  const std::string type(ir::info(t).name);
  std::string s = "raw\nfunc @c($z: buf " + type + " 1) {\n";
  size_t k = 0;
  for (const uint64_t v : edges(t)) {
    const std::string id = std::to_string(k++);
    s += "%i" + id + " = const.i32 " + id + "\n%c" + id + " = const." + type + " " + ir::testing::show_value(t, v) +
         "\nstore $z, %i" + id + ", %c" + id + "\n";
  }
  return run_units(b, {unit_of(s + "}\n")});
}

}  // namespace

void run_cases(Bench &b) {
  for (const Type t : all_types) b.enter(Op::const_, t, "every edge", [&] { return run_constants(b, t); });
  for (const Case &c : table)
    for (int t = 0; t < int(Type::count); ++t)
      if (covers(c.over, Type(t))) b.enter(c.op, Type(t), c.name, [&] { return run_case(b, c, Type(t)); });
}

}  // namespace qd::conformance
