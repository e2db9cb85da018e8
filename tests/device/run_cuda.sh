#!/usr/bin/env bash
# The CUDA backend on a machine with a GPU that has only a driver and Python: what to carry there, and what to run there.
#
#   tests/device/run_cuda.sh pack FOLDER BUILD [PYTHON_BUILD]    here: copies what a run needs from build trees
#   tests/device/run_cuda.sh run FOLDER PART...                  there, from the root of the repository
#
# PYTHON_BUILD: a build whose native module is for that machine's Python, if BUILD's is for another version; made with
# -DCMAKE_BUILD_RPATH='$ORIGIN/../lib', its module finds the libraries packed with it in programs that clear their environment, too.
# Parts, each ends inside ten minutes: ir conformance python cases programs memcheck racecheck bench. Totals come last; the exit code is 1 when a
# part failed. memcheck and racecheck want that machine's compute-sanitizer, `cases` wants QD_CASES=FOLDER; `python` takes QD_TEST_FILES='GLOB' for some of the files,
# `programs` (random ones, also on that machine's CPU) QD_PROGRAMS='OPTIONS' for other options of the campaign.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
[ $# -ge 2 ] || usage

pack() {
  local to=$1 build=$2 python=${3:-$2}
  rm -rf "$to" && mkdir -p "$to/quadrants/plugins" || exit 1
  cp "$build"/tests/ir/ir_files "$build"/tests/conformance/qd_conformance "$to/" &&
    cp "$build"/plugins/libqd_{cuda,cuda_codegen,cpu,cpu_codegen,reference}.so "$to/quadrants/plugins/" &&
    cp -rL "$root"/python/quadrants/. "$to/quadrants/" &&
    cp "$python"/python/quadrants/_native*.so "$to/quadrants/" || exit 1
  for more in qd_probe libqd_null.so; do  # what some tests want besides
    [ ! -e "$build/plugins/$more" ] || cp "$build/plugins/$more" "$to/quadrants/plugins/"
  done
  mkdir "$to/lib"  # what that machine need not have; the C and C++ libraries are its own
  ldd "$to"/quadrants/_native*.so | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl)\.so/ {print $3}' | xargs -r cp -L -t "$to/lib"
  find "$to" -name __pycache__ -prune -exec rm -rf {} +
  strip "$to"/ir_files "$to"/qd_conformance "$to"/quadrants/plugins/* "$to"/quadrants/_native*.so
  du -sh "$to"
}

failed=0
part() {  # part NAME COMMAND...
  local name=$1 started=$SECONDS
  shift
  if "$@"; then echo "== $name: ok, $((SECONDS - started)) s"; else echo "== $name: FAILED, $((SECONDS - started)) s"; failed=1; fi
}

# A process a file, so that a lost device takes one file's tests with it.
python_suite() {
  cd "$root" || return 1
  find tests/python tests/device -name "${QD_TEST_FILES:-test_*.py}" | sort | xargs -P "${QD_TEST_JOBS:-8}" -I{} bash -c \
    'arch=; case $1 in tests/python/*) arch="--arch cuda";; esac; python3 -m pytest "$1" $arch -q -p no:cacheprovider --timeout 120 --tb=short > "$2.${1//\//.}" 2>&1' _ {} "$1"
  cat "$1".tests.* > "$1" && rm -f "$1".tests.*
  grep -E '^(FAILED|ERROR) ' "$1" | cut -c 1-200
  python3 - "$1" <<'END'
import collections, re, sys
totals = collections.Counter()
for line in open(sys.argv[1], errors="replace"):
    if re.search(r" in [0-9.]+s( \(.*\))?$", line.strip("= \n")):
        for number, what in re.findall(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)", line):
            totals[what] += int(number)
print("python suite:", dict(totals))
sys.exit(bool(totals["failed"] or totals["error"] or totals["errors"] or not totals["passed"]))
END
}

sanitize() {  # sanitize TOOL LOG
  local tool
  tool=$(command -v compute-sanitizer) || { echo "no compute-sanitizer"; return 1; }
  local check=("$tool" --tool "$1" --error-exitcode 9 --print-limit 20) code=0
  timeout 120 "${check[@]}" "$at/ir_files" --plugin "$plugins/libqd_cuda.so" "$root/tests/ir/run" > "$2" 2>&1 || code=1
  timeout 450 "${check[@]}" "$at/qd_conformance" --plugin "$plugins/libqd_cuda.so" \
    --reference "$plugins/libqd_reference.so" --option fast_math=1 >> "$2" 2>&1 || code=1
  grep -E "^FAILED|tests of|files, |ERROR SUMMARY|RACECHECK SUMMARY|=========.*(Invalid|Race|Error)" "$2" | head -n 40
  return $code
}

run() {
  local at plugins log
  at=$(cd "$1" && pwd) && plugins=$at/quadrants/plugins && log=${OUT:-$(mktemp -d)}
  mkdir -p "$log"
  shift
  export PYTHONPATH=$at PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$at/lib:${LD_LIBRARY_PATH:-}
  for what in "$@"; do
    case $what in
      ir) part ir "$at/ir_files" --plugin "$plugins/libqd_cuda.so" "$root/tests/ir/run" ;;
      conformance)
        for fast in 0 1; do
          local expect=()
          [ "$fast" = 1 ] || expect=(--expect "$root/backends/cuda/expected_failures.toml")
          part "conformance fast_math=$fast" bash -c '"$@" > "$0" 2>&1; code=$?; grep -E "^FAILED|tests of" "$0"; exit $code' \
            "$log/conformance$fast.txt" "$at/qd_conformance" --plugin "$plugins/libqd_cuda.so" \
            --reference "$plugins/libqd_reference.so" --option "fast_math=$fast" "${expect[@]}"
        done ;;
      python)
        part python python_suite "$log/python.txt" ;;
      cases)
        part cases env QD_TEST_ARCH=cuda bash -c 'set -o pipefail; python3 -m pytest "$1" -q -p no:cacheprovider --timeout 120 --tb=short 2>&1 | tee "$0" | tail -n 40' \
          "$log/cases.txt" "${QD_CASES:?the folder of the cases}" ;;
      programs)
        part programs bash -c 'set -o pipefail; cd "$1/tests/python" && PYTHONPATH=$PYTHONPATH:. python3 -m programs --archs reference,cpu,cuda \
          --programs 1000000 --seed 0 --jobs "$(nproc)" --seconds 420 --out "$0.jsonl" ${QD_PROGRAMS:-} 2>&1 | tee "$0.txt"' "$log/programs" "$root" ;;
      memcheck | racecheck) part "$what" sanitize "$what" "$log/$what.txt" ;;
      bench)
        part "compile time" bash -c 'set -o pipefail; python3 "$1"/benchmarks/compile_time.py --arch cuda --tasks 242 --statements 10 --rounds 1 2>&1 | tee "$0"' "$log/compile_time.txt" "$root"
        part "steady state" bash -c 'set -o pipefail; python3 "$1"/benchmarks/steady_state.py --arch cuda --rounds 1 2>&1 | tee "$0"' "$log/steady_state.txt" "$root" ;;
      *) usage ;;
    esac
  done
  exit $failed
}

case $1 in
  pack) shift; [ $# -ge 2 ] || usage; pack "$@" ;;
  run) shift; [ $# -ge 2 ] || usage; run "$@" ;;
  *) usage ;;
esac
